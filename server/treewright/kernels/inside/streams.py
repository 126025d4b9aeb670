"""What stands for standard output, error and input while a candidate runs.

First of the three files that make up the guard's namespace: `streams`, `observe`, `guard`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_CHECK_OUTPUT = 65536


class CheckTimeoutError(BaseException):
    """One check took longer than it may."""


class OutputLimitError(BaseException):
    """The candidate printed more than it may."""


class Output:
    """Stands for `sys.stdout` and `sys.stderr`: passes text on, counts it, keeps what one check printed."""

    encoding, errors, closed, newlines = "utf-8", "replace", False, None

    def __init__(self, forward: Callable[[str], Any], number: int, tally: dict[str, int], keep: bool) -> None:
        self._forward = forward
        self._number = number
        self._tally = tally
        self._keep = keep
        self._kept: list[str] = []

    def write(self, text: str) -> int:
        """Pass text on, up to the limit of the whole branch."""
        if type(text) is not str:
            if not isinstance(text, str):
                raise TypeError(f"write() argument must be str, not {type(text).__name__}")
            text = str.__str__(text)
        left = self._tally["left"]
        self._tally["left"] = left - len(text)
        shown = text if len(text) <= left else text[: max(left, 0)]
        if shown:
            if self._keep and self._tally["kept"] > 0:
                self._kept.append(shown[: self._tally["kept"]])
                self._tally["kept"] -= len(shown)
            self._forward(shown)
        if self._tally["left"] < 0:
            self._tally["over"] = 1
            raise OutputLimitError
        return len(text)

    def take(self) -> str:
        """What was printed since the last call, up to 64 KiB."""
        text = "".join(self._kept)
        self._kept.clear()
        self._tally["kept"] = _CHECK_OUTPUT
        return text

    def writelines(self, lines: Any) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)

    def fileno(self) -> int:
        """The descriptor that stands behind."""
        return self._number

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """A candidate may close it; the next one to write finds out."""
        self._forward = _closed

    def isatty(self) -> bool:
        """No."""
        return False

    def readable(self) -> bool:
        """No."""
        return False

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """No."""
        return False

    @property
    def buffer(self) -> Any:
        """A bytes view, for programs that write to `sys.stdout.buffer`."""
        return _Bytes(self)

    def __enter__(self) -> Output:  # noqa: PYI034  Self is newer than 3.10
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def reconfigure(self, **_: Any) -> None:
        """Accepted and without effect."""


def _closed(_: str) -> None:
    raise ValueError("I/O operation on closed file.")


class _Bytes:
    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, data: Any) -> int:
        """Write bytes as text."""
        raw = bytes(data)
        self._output.write(raw.decode("utf-8", "replace"))
        return len(raw)

    def flush(self) -> None:
        """Nothing is held back."""


class Input:
    """Stands for `sys.stdin`: the plan's text, or a refusal that is noted."""

    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._empty = not text
        self.refused = False

    def readline(self, _limit: int = -1) -> str:
        """The next line; empty at the end."""
        if self._empty:
            self.refused = True
        return self._lines.pop(0) if self._lines else ""

    def read(self, _limit: int = -1) -> str:
        """Everything that is left."""
        if self._empty:
            self.refused = True
        text = "".join(self._lines)
        self._lines.clear()
        return text

    def readlines(self) -> list[str]:
        """Every line that is left."""
        return self.read().splitlines(keepends=True)

    def __iter__(self) -> Any:
        while line := self.readline():
            yield line

    def isatty(self) -> bool:
        """No."""
        return False

    def fileno(self) -> int:
        """Standard input is /dev/null."""
        return 0

    def close(self) -> None:
        """Nothing to close."""

    def ask(self, prompt: object = "", /) -> str:
        """Stands for `input`: never waits for a person."""
        if prompt != "":
            sys.stdout.write(str(prompt))
        line = self.readline()
        if not line:
            raise EOFError("no standard input")
        return line.rstrip("\n")
