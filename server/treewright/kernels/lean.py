"""A small Jupyter client: a DEALER and, where output is wanted, a SUB, with no waiting by the clock.

jupyter_client's own `wait_for_ready` ends by draining iopub until it has been silent for a fixed 0.2 s; a kernel
that says when its sockets are bound needs none of that.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

_LARGEST_MESSAGE = 64 << 20


@cache
def context() -> Any:
    """The one ZeroMQ context of this process."""
    import zmq

    return zmq.Context()


class LeanClient:
    """Talks to one kernel. Not for two threads at a time.

    Args:
        connection: Jupyter connection information.
        iopub: also subscribe to output.
    """

    def __init__(self, connection: dict[str, Any], *, iopub: bool = False) -> None:
        import zmq
        from jupyter_client.session import Session

        self._zmq = zmq
        self.session = Session(
            key=str(connection["key"]).encode("ascii"),
            signature_scheme=connection["signature_scheme"],
            check_pid=False,
        )
        self._connection = connection
        self.shell = self._socket(zmq.DEALER, "shell")
        self.iopub = self._socket(zmq.SUB, "iopub") if iopub else None
        if self.iopub is not None:
            self.iopub.subscribe(b"")

    def _address(self, name: str) -> str:
        transport, ip, port = (self._connection[key] for key in ("transport", "ip", f"{name}_port"))
        return f"{transport}://{ip}{'-' if transport == 'ipc' else ':'}{port}"

    def _socket(self, kind: int, name: str) -> Any:
        one = context().socket(kind)
        one.linger = 0
        one.setsockopt(self._zmq.MAXMSGSIZE, _LARGEST_MESSAGE)
        one.connect(self._address(name))
        return one

    def wait_subscribed(self, seconds: float) -> bool:
        """Wait for the kernel's welcome, after which no output is missed; False when none came."""
        if self.iopub is None:
            return False
        return (
            self._receive(self.iopub, seconds, lambda message: message["msg_type"] == "iopub_welcome")
            is not None
        )

    def execute(self, code: str, *, silent: bool = False, expressions: dict[str, str] | None = None) -> str:
        """Send an execute request; returns its id."""
        content = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": expressions or {},
            "allow_stdin": False,
            # Aborting would hit the next request, not one that is queued: one is sent at a time.
            "stop_on_error": False,
        }
        return self.request("execute_request", content)

    def request(self, kind: str, content: dict[str, Any]) -> str:
        """Send a request on the shell channel; returns its id."""
        message = self.session.msg(kind, content)
        self.session.send(self.shell, message)
        return str(message["header"]["msg_id"])

    def reply(self, request: str, seconds: float) -> dict[str, Any] | None:
        """Wait for the reply to a request; None when it did not come in time."""
        return self._receive(
            self.shell, seconds, lambda message: message.get("parent_header", {}).get("msg_id") == request
        )

    def read(self, socket: Any) -> dict[str, Any] | None:
        """One message that has arrived, or None; a message with a wrong signature is dropped."""
        try:
            frames = socket.recv_multipart(self._zmq.NOBLOCK)
        except self._zmq.Again:
            return None
        try:
            _, parts = self.session.feed_identities(frames)
            found: dict[str, Any] = self.session.deserialize(parts)
        except (ValueError, TypeError, IndexError, KeyError):
            return {"msg_type": "unreadable", "parent_header": {}, "content": {}}
        return found

    def _receive(self, socket: Any, seconds: float, wanted: Any) -> dict[str, Any] | None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not socket.poll(int(left * 1000) + 1):
                continue
            message = self.read(socket)
            if message is not None and wanted(message):
                return message
        return None

    def close(self) -> None:
        """Close the sockets."""
        self.shell.close(0)
        if self.iopub is not None:
            self.iopub.close(0)
