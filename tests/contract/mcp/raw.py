"""A server spoken to line by line, so that each byte on stdout is seen."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.contract.mcp.serving import LONG_S, arguments

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


class RawServer:
    """A server and every line it wrote.

    Attributes:
        process: the process.
        lines: what it wrote to stdout, in order.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.lines: list[bytes] = []
        self._queue: queue.Queue[bytes] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._count = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._queue.put(line)
        self._queue.put(b"")

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None, *, notify: bool = False) -> int:
        """Send a request or notification, and return its id."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not notify:
            self._count += 1
            message["id"] = self._count
        self.write(json.dumps(message, ensure_ascii=False).encode("utf-8") + b"\n")
        return self._count

    def next(self) -> dict[str, Any]:
        """Return the next message of the server's."""
        line = self._queue.get(timeout=LONG_S)
        assert line, "the server has left"
        found: dict[str, Any] = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return found

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request; other messages are passed over."""
        while (message := self.next()).get("id") != number or "method" in message:
            pass
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer."""
        return self.answer(self.send(method, params))

    def call(self, name: str, /, **given: Any) -> dict[str, Any]:
        """Call a tool and return its structured answer."""
        reply: dict[str, Any] = self.ask("tools/call", {"name": name, "arguments": given})["result"][
            "structuredContent"
        ]
        return reply

    def start(self) -> dict[str, Any]:
        """Shake hands, and return the server's answer."""
        said = self.ask("initialize", INITIALIZE)
        self.send("notifications/initialized", notify=True)
        return said

    def leave(self) -> int:
        """Close stdin, and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(LONG_S)
        self._thread.join(LONG_S)
        return code


@contextmanager
def raw_server(*more: str, code: str = "", cwd: Path | None = None, **environ: str) -> Iterator[RawServer]:
    """Start a server.

    Args:
        more: arguments behind `treewright mcp`.
        code: Python that is run instead of `-m treewright`, with the arguments in `sys.argv[1:]`.
        cwd: where it is started.
        environ: further variables.
    """
    command = [sys.executable, "-c", code, *more] if code else [sys.executable, *arguments(*more)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environ},
        cwd=cwd,
    )
    assert process.stderr is not None
    drained: list[bytes] = []
    drain = threading.Thread(target=lambda: drained.extend(process.stderr or []), daemon=True)
    drain.start()
    server = RawServer(process)
    try:
        yield server
    finally:
        process.kill()
        process.wait(LONG_S)
        drain.join(LONG_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
