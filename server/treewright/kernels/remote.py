"""The host whose kernels run elsewhere, behind a Jupyter kernel gateway or any Jupyter server.

Speaks the gateway's own protocol (REST to start and end a kernel, one websocket for its messages), so that
nothing of the server need be installed here. What the far side isolates is its own affair: a trace names what
this host cannot guarantee.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from treewright.errors import KernelError
from treewright.kernels.branch import run_planned, trace_of
from treewright.kernels.limits import Limits
from treewright.kernels.loop import LoopThread
from treewright.kernels.message import cell_of, run_by_messages
from treewright.kernels.testrun import TestRun
from treewright.kernels.trace import BranchTrace
from treewright.kernels.wire import wire_plan, wire_tests
from treewright.parsing import load_json
from treewright.search.checks import Plan

_REQUEST_S = 30.0
_LIVENESS_S = 1.0
_LARGEST_MESSAGE = 64 << 20


def _failed(message: str) -> KernelError:
    return KernelError(
        "kernel_remote_failed", message, "Check the gateway's address and token, and that it runs."
    )


class Gateway:
    """A Jupyter kernel gateway.

    Args:
        url: such as `http://127.0.0.1:8888`.
        token: sent to this gateway and to nothing else; never shown.
    """

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url.rstrip("/")
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise _failed("A gateway's address begins with http:// or https://.")
        self._token = token

    def headers(self) -> dict[str, str]:
        """What authorises a request."""
        return {"Authorization": f"token {self._token}"} if self._token else {}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request.

        Raises:
            KernelError: kernel_remote_failed.
        """
        data = None if body is None else json.dumps(body).encode("utf-8")
        headers = {**self.headers(), **({"Content-Type": "application/json"} if data else {})}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)  # noqa: S310 - the scheme was checked
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_S) as answer:  # noqa: S310  scheme checked above
                text = answer.read(_LARGEST_MESSAGE)
            return load_json(text) if text else None
        except urllib.error.HTTPError as error:
            error.close()
            raise _failed(f"The gateway answered {error.code} to {method} {path}.") from error
        except (OSError, ValueError) as error:
            raise _failed(f"The gateway did not answer {method} {path}.") from error

    def socket_url(self, kernel: str, session: str) -> str:
        """Where a kernel's messages are."""
        return f"ws{self.url[4:]}/api/kernels/{kernel}/channels?session_id={session}"


class RemoteKernel:
    """One kernel behind a gateway."""

    def __init__(self, gateway: Gateway, name: str, loop: LoopThread) -> None:
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        self._gateway = gateway
        self._loop = loop
        self._session = uuid.uuid4().hex
        self._dead = False
        self._looked = time.monotonic()
        started = gateway.ask("POST", "/api/kernels", {"name": name})
        if not isinstance(started, dict) or not isinstance(started.get("id"), str):
            raise _failed("The gateway started no kernel.")
        self.id: str = started["id"]
        request = HTTPRequest(gateway.socket_url(self.id, self._session), headers=gateway.headers())

        async def connect() -> Any:
            return await websocket_connect(request, max_message_size=_LARGEST_MESSAGE)

        try:
            self._socket: Any = loop.run(connect(), _REQUEST_S)
        except Exception as error:
            self._end()
            raise _failed("The gateway's websocket did not open.") from error

    def wait_ready(self, seconds: float = _REQUEST_S) -> None:
        """Wait until the kernel answers.

        Raises:
            KernelError: kernel_remote_failed.
        """
        request = self._send("shell", "kernel_info_request", {})
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.message(0.2)
            if found is not None and (found[1].get("parent_header") or {}).get("msg_id") == request:
                return
        raise _failed("A remote kernel did not become ready.")

    def execute(self, code: str, *, silent: bool = False) -> str:
        """Send an execute request; returns its id."""
        content = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        return self._send("shell", "execute_request", content)

    def _send(self, channel: str, kind: str, content: dict[str, Any]) -> str:
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "username": "treewright",
            "session": self._session,
            "version": "5.3",
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        message = {
            "channel": channel,
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
            "buffers": [],
        }

        async def write() -> None:
            await self._socket.write_message(json.dumps(message))

        self._loop.run(write(), _REQUEST_S)
        return header["msg_id"]

    def message(self, seconds: float) -> tuple[str, dict[str, Any]] | None:
        """The next message, or None when none came in time."""
        import asyncio

        async def read() -> Any:
            if self._reading is None:
                self._reading = asyncio.ensure_future(self._socket.read_message())
            done, _ = await asyncio.wait({self._reading}, timeout=seconds)
            if not done:
                return ""
            reading, self._reading = self._reading, None
            return reading.result()

        text = self._loop.run(read(), seconds + _REQUEST_S)
        if text is None:
            self._dead = True
            return None
        if text == "":
            return None
        try:
            message = load_json(text)
        except ValueError:
            return None
        if not isinstance(message, dict):
            return None
        content = message.get("content") or {}
        if content.get("execution_state") in ("restarting", "autorestarting", "dead"):
            self._dead = True
        return str(message.get("channel")), message

    _reading: Any = None

    def ended(self) -> tuple[bool, int | None]:
        """Whether the kernel is gone; nobody here knows with what code."""
        if not self._dead and time.monotonic() - self._looked > _LIVENESS_S:
            self._looked = time.monotonic()
            try:
                found = self._gateway.ask("GET", f"/api/kernels/{self.id}")
            except KernelError:
                self._dead = True
            else:
                self._dead = isinstance(found, dict) and found.get("execution_state") in (
                    "dead",
                    "restarting",
                )
        return self._dead, None

    def close(self) -> None:
        """End the kernel."""

        async def close() -> None:
            self._socket.close()
            if self._reading is not None:
                self._reading.cancel()

        self._loop.run(close(), _REQUEST_S)
        self._end()

    def _end(self) -> None:
        try:
            self._gateway.ask("DELETE", f"/api/kernels/{self.id}")
        except KernelError:
            # It died, or the gateway did: either way there is nothing left for us to end.
            self._dead = True


class RemoteHost:
    """Runs branches in kernels behind a gateway. Safe for several threads.

    Args:
        url: of the gateway.
        token: of the gateway.
        kernel: name of a Python kernelspec there.
        limits: of every branch; of these the far kernel itself sets memory, CPU and file size.
        defines: builtin names that programs are expected to define.
    """

    kind = "remote"

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        kernel: str = "python3",
        limits: Limits | None = None,
        defines: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits or Limits()
        self._gateway = Gateway(url, token)
        self._kernel = kernel
        self._defines = defines
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Find out whether the gateway answers and has the kernel.

        Raises:
            KernelError: kernel_remote_failed; E052, it has no such kernelspec.
        """
        if self._loop is not None:
            return
        specs = (self._gateway.ask("GET", "/api/kernelspecs") or {}).get("kernelspecs") or {}
        if self._kernel not in specs:
            raise KernelError(
                "E052",
                f"The gateway has no kernelspec {self._kernel!r}.",
                f"It has: {', '.join(sorted(specs)) or 'none'}.",
            )
        self._loop = LoopThread()

    def guarantees_missing(self) -> tuple[str, ...]:
        """Names of the contract's guarantees that this host could not give."""
        return ("channel", "processes", "network", "files")

    def run_branch(
        self,
        program: str,
        plan: Plan,
        *,
        files: Mapping[str, str] | None = None,
        tests: Mapping[str, str] | None = None,
    ) -> BranchTrace:
        """Run every check of a plan against a program; see `ForkedHost.run_branch`.

        Raises:
            KernelError: kernel_remote_failed, E052, kernel_request_invalid.
        """
        self.start()
        return run_planned(self._one, program, plan, files or {}, tests or {})

    def _one(
        self, program: str, plan: Plan, files: Mapping[str, str], tests: Mapping[str, str]
    ) -> BranchTrace:
        if self._loop is None:
            raise _failed("The host of remote kernels is closed.")
        # Folders of the far side; nobody there can read them before the kernel makes them.
        work = f"/tmp/tw-{secrets.token_hex(8)}"  # noqa: S108 - a name on the far machine
        there = {work: {**files, "solution.py": program}}
        kernel = RemoteKernel(self._gateway, self._kernel, self._loop)
        try:
            kernel.wait_ready()
            with tempfile.TemporaryDirectory(prefix="tw-tests-") as copy:
                if tests:
                    run = TestRun.prepare(Path(copy), tests, plan)
                    wired = wire_tests(program, f"{work}/solution.py", plan, self.limits, run)
                    wired.message["pytest"]["folder"] = folder = f"/tmp/tw-{secrets.token_hex(8)}"  # noqa: S108 - a name on the far machine
                    there[folder] = run.files
                else:
                    wired = wire_plan(program, f"{work}/solution.py", plan, self.limits, self._defines)
                cell = cell_of(wired, [work], there)
                seen = run_by_messages(kernel, wired, cell, plan.per_branch_timeout_s, self.limits)
                return trace_of(seen, wired, self.guarantees_missing())
        finally:
            kernel.close()

    def close(self) -> None:
        """Let go of the gateway; a second call does nothing."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None
