"""Standard input and output as MCP's transport: a line a message, UTF-8, and a descriptor that only the protocol writes to.

A thread of its own reads, so that nothing of ours holds up a client that writes; a thread writes, so that a client that does not read holds
up nothing of ours. What cannot be a message is answered and the session lives on. Whatever prints in this process (libraries, native
code, children) ends up on stderr.
"""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

logger = logging.getLogger(__name__)

LARGEST_MESSAGE = 16 * 1024 * 1024 + 256 * 1024
"""Bytes of the largest line taken: an argument of 16 MiB and what stands around it (contract: surfaces, 4)."""
READER = "wire"
"""Name of the thread that reads; it may wait for a client for ever and is left behind."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600

Line = bytes | None
"""A line without its end, or None when it is too long."""


def take_wire() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and a private copy of stdout; from now on descriptor 1 is stderr.

    Called before anything is imported that might print.
    """
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.set_inheritable(out.fileno(), False)
    os.dup2(2, 1)
    # Children must not read the client's messages either.
    source = os.fdopen(os.dup(0), "rb")
    os.set_inheritable(source.fileno(), False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source, out


def read_lines(source: BinaryIO, hand_over: Callable[[Line], None]) -> None:
    """Hand over each line until the stream ends; of one that is too long, only that it was."""
    while True:
        try:
            line = source.readline(LARGEST_MESSAGE + 1)
        except (OSError, ValueError):  # closed under us
            return
        if not line:
            return
        if len(line) > LARGEST_MESSAGE and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = source.readline(1 << 20)
            hand_over(None)
        elif line.strip():
            hand_over(line.rstrip(b"\r\n"))


def decode(line: Line) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return a line as a JSON-RPC message, or the error to be answered to what is none.

    Returns:
        The message and None, or None and the answer.
    """
    if line is None:
        return None, error(None, INVALID_REQUEST, f"The message has more than {LARGEST_MESSAGE} bytes.")
    try:
        value = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None, error(None, PARSE_ERROR, "The line is no JSON.")
    unanswerable = isinstance(value, dict) and "id" in value and id_of(value) is None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or unanswerable:
        return None, error(id_of(value), INVALID_REQUEST, "The line is no JSON-RPC 2.0 message.")
    return value, None


def error(request: Any, code: int, message: str) -> dict[str, Any]:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a line."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace") + b"\n"


def id_of(value: Any) -> Any:
    """Return the id of a request; None when it has none that can be answered."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


class Wire:
    """The two ends, read by a thread from the moment it is made.

    Attributes:
        closed: whether the client has gone.
    """

    def __init__(
        self, source: BinaryIO, out: BinaryIO, front: Callable[[bytes], dict[str, Any] | None] | None = None
    ) -> None:
        """Begin to read; what comes before `attach` is kept.

        Args:
            source: the client's messages.
            out: takes ours.
            front: may answer the first line at once; the later answer to the same request is then dropped.
        """
        self._source = source
        self._out = out
        self._front = front
        self._answered: tuple[Any] | None = None
        self._turn = threading.Lock()
        self._guard = threading.Lock()
        self._kept: list[Line | bool] = []
        self._take: Callable[[Line | bool], None] | None = None
        self.closed = False
        threading.Thread(target=self._read, name=READER, daemon=True).start()

    def attach(self, take: Callable[[Line | bool], None]) -> None:
        """Have each line handed to `take`, in the reading thread; False stands for the end."""
        with self._guard:
            self._take = take
            for line in self._kept:
                take(line)
            self._kept.clear()

    def write(self, message: dict[str, Any]) -> None:
        """Send a message; a client that has gone is no error."""
        if self._answered is not None and "method" not in message and message.get("id") == self._answered[0]:
            self._answered = None
            return
        self._send(encode(message))

    def _send(self, line: bytes) -> None:
        with self._turn:
            try:
                self._out.write(line)
                self._out.flush()
            except (OSError, ValueError):
                self.closed = True

    def _read(self) -> None:
        read_lines(self._source, self._hand_over)
        self._hand_over(False)

    def _hand_over(self, line: Line | bool) -> None:
        front, self._front = self._front, None
        if front is not None and isinstance(line, bytes) and (answer := front(line)) is not None:
            self._answered = (answer["id"],)
            self._send(encode(answer))
        with self._guard:
            if self._take is None:
                self._kept.append(line)
            else:
                self._take(line)
