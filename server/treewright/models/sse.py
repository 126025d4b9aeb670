"""Server-sent events, read from bytes.

Lines are split on bytes, never on decoded text: a character whose bytes arrive in two network chunks stays
whole, and U+2028 inside a JSON string is no line end (it would be one for `str.splitlines`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (`message` when unnamed) and its data."""

    name: str
    data: str


class EventReader:
    """Turns chunks of bytes, split anywhere, into events."""

    def __init__(self) -> None:
        self._pending = b""
        self._long: list[bytes] = []
        self._name = ""
        self._data: list[str] = []
        self.seen = 0
        """Lines of the protocol so far, comments included: none means that this is something else."""

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that this chunk completes."""
        if b"\n" not in chunk and b"\r" not in chunk and not self._pending.endswith(b"\r"):
            self._long.append(chunk)  # joined once, so that a line of megabytes is not copied for each chunk
            return
        buffer = self._pending + b"".join(self._long) + chunk
        self._long.clear()
        start = 0
        for match in _LINE_END.finditer(buffer):
            if match.group() == b"\r" and match.end() == len(buffer):
                break  # its \n may come with the next chunk
            event = self._line(buffer[start : match.start()])
            start = match.end()
            if event is not None:
                yield event
        self._pending = buffer[start:]

    def finish(self) -> Iterator[ServerEvent]:
        """Yield what the stream's end completes: some servers end without a blank line."""
        rest = (self._pending + b"".join(self._long)).rstrip(b"\r")
        self._pending = b""
        self._long.clear()
        for line in (rest, b""):
            event = self._line(line)
            if event is not None:
                yield event

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            if not self._data:
                self._name = ""
                return None
            event = ServerEvent(self._name or "message", "\n".join(self._data))
            self._name, self._data = "", []
            return event
        name, _, value = line.decode("utf-8", "replace").removeprefix("\ufeff").partition(":")
        self.seen += name in {"", "data", "event", "id", "retry"}
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None


class TextJoiner:
    """Joins pieces of text so that a character split over two of them comes out whole.

    JSON may escape an emoji as two surrogates, and some servers send them in two events.
    """

    def __init__(self) -> None:
        self._held = ""
        self._parts: list[str] = []

    def add(self, piece: str) -> str:
        """Return what can be shown now; half a character is held back."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        whole = whole_characters(text)
        self._parts.append(whole)
        return whole

    @property
    def text(self) -> str:
        """Everything so far; half a character at the very end is dropped."""
        return "".join(self._parts)


def whole_characters(text: str) -> str:
    """Return text with surrogate pairs joined and lone surrogates replaced, so that it can be encoded."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
