"""The MCP server as a real process, and the SDK's own client to it: over both transports, in both protocols."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.patience import within

STDIO, HTTP = "stdio", "http"
MODERN, LEGACY = "auto", "legacy"
EVERY = [(transport, mode) for transport in (STDIO, HTTP) for mode in (MODERN, LEGACY)]
"""Transports and protocols that the same test runs over."""
LONG_S = within(30.0)
"""Bound of a wait for a process."""
_TOLD = re.compile(r"listens on (?P<url>http://\S+); its token is in (?P<token>.+)$")


def arguments(*more: str) -> list[str]:
    """Return the command line of the server behind the interpreter."""
    return ["-m", "treewright", "mcp", *more]


class HttpServer:
    """A server over HTTP.

    Attributes:
        process: the process.
        url: where it listens.
        token_path: the file with the token.
        token: what is in it.
    """

    def __init__(self, process: asyncio.subprocess.Process, url: str, token_path: Path) -> None:
        self.process = process
        self.url = url
        self.token_path = token_path
        self.token = token_path.read_text(encoding="utf-8").strip()

    def headers(self, **more: str) -> dict[str, str]:
        """Return the headers of a client that knows the token."""
        return {"Authorization": f"Bearer {self.token}", **more}


@contextlib.asynccontextmanager
async def http_server(*more: str, cwd: Path | None = None) -> AsyncIterator[HttpServer]:
    """Start a server over HTTP, and end it as a user would."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments("--http", *more),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(LONG_S):
            while not (told := _TOLD.search((await process.stderr.readline()).decode("utf-8").strip())):
                assert process.returncode is None
        draining = asyncio.ensure_future(process.stderr.read())
        yield HttpServer(process, told["url"], Path(told["token"]))
        draining.cancel()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LONG_S):
            await process.wait()
        transport = process._transport  # type: ignore[attr-defined]  # no public way to close its pipes
        transport.close()


@contextlib.asynccontextmanager
async def connected(
    transport: str, mode: str, root: Path | None, *more: str, cwd: Path | None = None, **client: Any
) -> AsyncIterator[Client]:
    """Start a server and connect a client to it.

    Args:
        transport: `STDIO` or `HTTP`.
        mode: `MODERN` or `LEGACY`.
        root: named with `--root`; None names none.
        more: further arguments.
        cwd: where the server is started.
        client: what the client offers, see `mcp.Client`.
    """
    given = [*(("--root", str(root)) if root else ()), *more]
    if transport == STDIO:
        parameters = StdioServerParameters(
            command=sys.executable, args=arguments(*given), env=dict(os.environ), cwd=cwd
        )
        async with Client(stdio_client(parameters), mode=mode, **client) as found:
            yield found
        return
    async with (
        http_server(*given, cwd=cwd) as server,
        httpx2.AsyncClient(headers=server.headers(), timeout=LONG_S, trust_env=False) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode, **client) as found,
    ):
        yield found


async def call(client: Client, name: str, /, **given: Any) -> dict[str, Any]:
    """Call a tool and return its structured answer, which must also stand in its text."""
    result = await client.call_tool(name, given)
    reply: dict[str, Any] = result.structured_content
    assert reply["message"] in json.loads(result.content[0].text)["message"]
    assert result.is_error is not reply["ok"]
    return reply
