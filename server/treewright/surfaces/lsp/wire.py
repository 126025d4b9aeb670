"""The wire: frames in, frames out, and a descriptor that nothing but the protocol can write to.

A thread of its own reads, so that the client can always write: neither long work of ours nor a full pipe can block
both sides at once. Whatever prints in this process (libraries, native code, children) ends up on stderr.
"""

import asyncio
import errno
import os
import queue
import sys
import threading
from dataclasses import dataclass
from typing import BinaryIO, Protocol

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of the largest message taken; an editor that opens a file of 16 MiB sends it escaped, in one message."""
LARGEST_BACKLOG = 4 * LARGEST_FRAME
"""Bytes that a client may leave unread."""
LAST_WORDS_S = 2.0
"""Longest wait for a client to read the last of it."""
WIRE_THREAD = "wire"
OUT_THREAD = "wire out"
_LONGEST_HEADER = 8192


class Writer(Protocol):
    """Takes whole frames."""

    def write(self, data: bytes) -> None:
        """Send a frame, headers included."""

    def close(self) -> None:
        """Close the way out."""


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Something on the wire that is no message, and whether the frames after it can still be told apart."""

    reason: str
    recoverable: bool


Frame = bytes | BadFrame | None
"""A message's bytes, something else, or the end."""


def take_wire() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and a private copy of stdout; from now on descriptor 1 is stderr.

    Called before anything is imported that might print.
    """
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.set_inheritable(out.fileno(), False)
    os.dup2(2, 1)
    # Children must not read the editor's messages either.
    source = os.fdopen(os.dup(0), "rb")
    os.set_inheritable(source.fileno(), False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source, out


def read_frame(stream: BinaryIO) -> Frame:
    """Read one frame, or say what is wrong with it; None at the end of the stream."""
    length = -1
    while True:
        line = stream.readline(_LONGEST_HEADER)
        if not line:
            return None
        if not line.strip():
            if length >= 0:
                break
            continue
        name, colon, value = line.partition(b":")
        if not colon or not line.endswith(b"\n"):
            return BadFrame("this is no header of a message", recoverable=False)
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                return BadFrame("Content-Length is no number", recoverable=False)
            length = int(value)
    if length > LARGEST_FRAME:
        return _skip(stream, length)
    body = stream.read(length)
    return body if len(body) == length else None


def _skip(stream: BinaryIO, length: int) -> BadFrame | None:
    left = length
    while left:
        piece = stream.read(min(left, 1 << 20))
        if not piece:
            return None
        left -= len(piece)
    return BadFrame(f"the message has {length} bytes, more than {LARGEST_FRAME}", recoverable=True)


def start_reader(stream: BinaryIO, loop: asyncio.AbstractEventLoop) -> "asyncio.Queue[Frame]":
    """Read frames in a thread and return the queue they come to; its last item is None."""
    frames: asyncio.Queue[Frame] = asyncio.Queue()

    def hand_over(frame: Frame) -> bool:
        try:
            loop.call_soon_threadsafe(frames.put_nowait, frame)
        except RuntimeError:  # the loop has ended
            return False
        return True

    def read() -> None:
        while True:
            try:
                frame = read_frame(stream)
            except (OSError, ValueError):  # closed under us
                frame = None
            if isinstance(frame, BadFrame) and not frame.recoverable:
                hand_over(frame)
                frame = None
            if not hand_over(frame) or frame is None:
                return

    threading.Thread(target=read, name=WIRE_THREAD, daemon=True).start()
    return frames


class StreamWriter:
    """Writes frames to a blocking stream, whole ones from whatever thread, in a thread of its own.

    So a client that does not read holds up nothing of ours: its messages are still read, and its end is noticed.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Write to a stream."""
        self._stream = stream
        self._turn = threading.Lock()
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._gone = False
        self._thread = threading.Thread(target=self._run, name=OUT_THREAD, daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Send a frame.

        Raises:
            OSError: the client is gone, or has left very much unread.
        """
        with self._turn:
            self._waiting += len(data)
            self._gone = self._gone or self._waiting > LARGEST_BACKLOG
            if self._gone:
                raise BrokenPipeError(errno.EPIPE, "the client is gone")
            self._frames.put(data)

    def _run(self) -> None:
        while (data := self._frames.get()) is not None:
            try:
                self._stream.write(data)
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True
                return
            with self._turn:
                self._waiting -= len(data)

    def close(self) -> None:
        """Send what waits and close the stream; a client that does not read it is not waited for."""
        self._frames.put(None)
        self._thread.join(LAST_WORDS_S)
        if self._thread.is_alive():
            return  # closing would wait for the same client
        try:
            self._stream.close()
        except OSError:
            return
