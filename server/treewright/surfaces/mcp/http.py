"""Streamable HTTP on this machine only: a token that only the user can read, and checks of Host and Origin.

The address is bound to 127.0.0.1 and to nothing else. The token is made anew at each start and written to a file below the root folder that
only the user can read; it is never printed (contract: surfaces, 4).
"""

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from treewright.errors import RequestError
from treewright.store.config import load_config
from treewright.store.durable import replace_file
from treewright.surfaces.mcp.launch import run_to_end
from treewright.surfaces.mcp.office import Options
from treewright.surfaces.mcp.server import build
from treewright.surfaces.mcp.wire import LARGEST_MESSAGE

HOST = "127.0.0.1"
PATH = "/mcp"
STOP_S = 3


class Guarded:
    """Lets requests through that carry the token."""

    def __init__(self, app: Any, token: str) -> None:
        """Guard an application.

        Args:
            app: an ASGI application.
            token: what `Authorization: Bearer` has to carry.
        """
        self._app = app
        self._expected = f"Bearer {token}".encode("ascii")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 401 to a request without the token."""
        if scope["type"] == "http" and not self._knows(scope):
            await _refuse(send)
            return
        await self._app(scope, receive, send)

    def _knows(self, scope: Any) -> bool:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


async def _refuse(send: Any) -> None:
    body = json.dumps({"error": "unauthorized", "message": "The token is missing or wrong."}).encode("utf-8")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode("ascii")),
        (b"www-authenticate", b'Bearer realm="treewright"'),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Serving(uvicorn.Server):
    """Leaves signals to us: what clients listen on is ended in good order first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def token_path(folder: Path, port: int) -> Path:
    """Return where the token of a server on a port is kept."""
    return folder / f"mcp-http-{port}.token"


def write_token(path: Path) -> str:
    """Write a fresh token to a file that only the user can read, and return it.

    Raises:
        StoreError: the disk refused.
    """
    token = secrets.token_urlsafe(32)
    replace_file(path, [token.encode("ascii"), b"\n"], private=True)
    return token


def _leave_cleanly_from_now_on(path: Path) -> None:
    """Take the token away when the process is told to end before the server listens to signals itself."""

    def leave(number: int, _frame: object) -> None:
        path.unlink(missing_ok=True)
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, leave)


def serve_http(options: Options, port: int) -> int:
    """Serve until the process is told to end, and return its exit code.

    Args:
        options: how the server is started.
        port: to listen on; 0 for any that is free.

    Raises:
        StoreError: the token cannot be written.
        RequestError: `port_taken`.
    """
    root = load_config().root
    root.prepare()
    with socket.socket(socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as fault:
            raise RequestError(
                "port_taken",
                f"Port {port} of {HOST} cannot be listened on: {fault.strerror}.",
                "Choose another with --http PORT, or leave the port out to take any that is free.",
            ) from fault
        listener.listen(128)
        bound = listener.getsockname()[1]
        path = token_path(root.folder, bound)
        _leave_cleanly_from_now_on(path)
        token = write_token(path)
        try:
            sys.stderr.write(
                f"treewright mcp listens on http://{HOST}:{bound}{PATH}; its token is in {path}\n"
            )
            sys.stderr.flush()
            run_to_end(_serve(options, listener, token, path))
        finally:
            path.unlink(missing_ok=True)
    return 0


async def _serve(options: Options, listener: socket.socket, token: str, path: Path) -> None:
    server, desk = build(options)
    app = Guarded(
        server.streamable_http_app(
            streamable_http_path=PATH, max_request_body_size=LARGEST_MESSAGE, host=HOST
        ),
        token,
    )
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=STOP_S, ws="none"
    )
    serving = _Serving(config)
    loop = asyncio.get_running_loop()

    def leave() -> None:
        serving.should_exit = True
        desk.following.end_streams()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and os.name != "nt":
            loop.add_signal_handler(number, leave)
    try:
        await serving.serve(sockets=[listener])
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)
        await desk.close()
