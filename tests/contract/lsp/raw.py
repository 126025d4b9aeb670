"""A client that reads the wire strictly: a byte that is no frame is a failure, as it is for the editor's own client."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.patience import within

COMMAND = (sys.executable, "-m", "treewright", "lsp")
COMPILED = Path(tempfile.gettempdir()) / "treewright-tests-compiled"
PATIENCE = within(20.0)
"""Longest wait for one message, in seconds."""


class WireError(AssertionError):
    """Something on stdout was no frame."""


class RawClient:
    """Speaks frames with a server process."""

    def __init__(
        self,
        command: tuple[str, ...] = COMMAND,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start the server."""
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(COMPILED), **(env or {})}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users start it compiled, and so do we
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=cwd,
        )
        self.seen: list[dict[str, Any]] = []
        self.stderr = b""
        self._last = 0
        self._frames: queue.Queue[dict[str, Any] | BaseException | None] = queue.Queue()
        self._held: set[str] = set()
        self._answers: dict[str, Callable[[Any], Any]] = {}
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._drain, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream
        try:
            while True:
                header = stream.readline()
                if not header:
                    break
                name, _, value = header.partition(b":")
                if name != b"Content-Length" or not header.endswith(b"\r\n"):
                    raise WireError(f"no header: {header[:200]!r}")
                if stream.readline() != b"\r\n":
                    raise WireError("no empty line after the header")
                body = stream.read(int(value))
                self._frames.put(json.loads(body))
        except (WireError, ValueError) as fault:
            self._frames.put(fault)
        self._frames.put(None)

    def _drain(self) -> None:
        assert self.process.stderr
        self.stderr = self.process.stderr.read()

    # out

    def send_bytes(self, data: bytes) -> None:
        """Put bytes on the wire as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        """Send a message."""
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}})
        return self._last

    # in

    def on(self, method: str, answer: Callable[[Any], Any]) -> None:
        """Answer requests of the server."""
        self._answers[method] = answer

    def hold(self, method: str) -> None:
        """Leave requests of the server unanswered."""
        self._held.add(method)

    def next(self, timeout: float = PATIENCE) -> dict[str, Any]:
        """Return the next message; requests of the server are answered on the way."""
        message = self._frames.get(timeout=timeout)
        if isinstance(message, BaseException):
            raise message
        if message is None:
            raise EOFError("the server closed the wire")
        self.seen.append(message)
        if "method" in message and "id" in message and message["method"] not in self._held:
            answer = self._answers.get(message["method"], lambda _: None)(message.get("params"))
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool], timeout: float = PATIENCE) -> dict[str, Any]:
        """Return the next message that fits."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"not among {[m.get('method', m.get('id')) for m in self.seen[-20:]]}")
            try:
                message = self.next(left)
            except queue.Empty:
                continue
            if wanted(message):
                return message

    def answer_to(self, msg_id: Any) -> dict[str, Any]:
        """Return the response to a request."""
        return self.until(lambda m: m.get("id") == msg_id and "method" not in m)

    def request(self, method: str, params: Any = None) -> Any:
        """Ask and return the result."""
        reply = self.answer_to(self.begin(method, params))
        assert "error" not in reply, reply["error"]
        return reply["result"]

    def error(self, method: str, params: Any = None) -> dict[str, Any]:
        """Ask and return the error."""
        reply = self.answer_to(self.begin(method, params))
        assert "error" in reply, reply
        found: dict[str, Any] = reply["error"]
        return found

    def notification(self, method: str, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
        """Return the parameters of the next notification that fits."""
        return self.until(lambda m: m.get("method") == method and wanted(m["params"]))["params"]

    # the usual beginning and end

    def initialize(
        self,
        *folders: Path,
        capabilities: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        locale: str = "en",
    ) -> dict[str, Any]:
        """Shake hands and return what the server can do."""
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "locale": locale,
                "capabilities": capabilities or {},
                "rootUri": folders[0].as_uri() if folders else None,
                "workspaceFolders": [{"uri": f.as_uri(), "name": f.name} for f in folders],
                "initializationOptions": dict(options or {}),
            },
        )
        self.notify("initialized")
        found: dict[str, Any] = result["capabilities"]
        return found

    def shut_down(self) -> int:
        """Say good-bye and return the exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.wait()

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for the process to end; whatever it still says must be frames."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(5)
        while (message := self._frames.get(timeout=5)) is not None:
            if isinstance(message, BaseException):
                raise message
        return code

    def close(self) -> None:
        """End the process if it still runs, and every pipe."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(5)
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
