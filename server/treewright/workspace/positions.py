"""Lines and columns of a text, and what editors mean by a column. The only place that knows UTF-16.

Everywhere else a column counts code points from 0, as Python's strings do. The language server protocol counts UTF-16
units unless another encoding was agreed on: a character beyond U+FFFF (an emoji, a rare ideograph) is two of them.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal, NamedTuple

_LINE_END = re.compile(r"\r\n|\r|\n")

Units = Literal["utf-8", "utf-16", "utf-32"]
"""What a column counts: bytes, UTF-16 units, or code points."""


class Position(NamedTuple):
    """A place in a text.

    Attributes:
        line: from 0.
        column: from 0, in the units that were asked for.
    """

    line: int
    column: int


def units_before(line: str, column: int, units: Units = "utf-16") -> int:
    """Return a column of a line in other units.

    Args:
        line: the line's text without its end.
        column: in code points; beyond the end means the end.
        units: what to count.
    """
    part = line[: max(column, 0)]
    if units == "utf-32" or part.isascii():
        return len(part)
    if units == "utf-16":
        return len(part) + sum(char > "\uffff" for char in part)
    return len(part.encode("utf-8", "surrogatepass"))


def column_at(line: str, count: int, units: Units = "utf-16") -> int:
    """Return the column in code points of a place given in other units.

    Args:
        line: the line's text without its end.
        count: units from the line's start; beyond the end means the end, inside a character means its start.
        units: what was counted.
    """
    count = max(count, 0)
    if units == "utf-32" or line.isascii():
        return min(count, len(line))
    if units == "utf-8":
        return _count(line, count, lambda char: len(char.encode("utf-8", "surrogatepass")))
    return _count(line, count, lambda char: 2 if char > "\uffff" else 1)


def _count(line: str, count: int, size: Callable[[str], int]) -> int:
    seen = 0
    for column, char in enumerate(line):
        seen += size(char)
        if seen > count:
            return column
    return len(line)


class LineIndex:
    """A text's lines, split at LF, CRLF and CR as editors split them.

    Attributes:
        text: the whole text.
    """

    def __init__(self, text: str) -> None:
        """Index a text."""
        self.text = text
        self._starts = [0]
        self._ends: list[int] = []
        for match in _LINE_END.finditer(text):
            self._ends.append(match.start())
            self._starts.append(match.end())
        self._ends.append(len(text))

    def __len__(self) -> int:
        """Return the number of lines; a text that ends with a line break has an empty last one."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """Return a line's text without its end.

        Args:
            number: from 0.

        Raises:
            IndexError: there is no such line.
        """
        if number < 0:
            raise IndexError(number)
        return self.text[self._starts[number] : self._ends[number]]

    def start(self, number: int) -> int:
        """Return where a line starts, in code points from the text's start."""
        return self._starts[number]

    def end(self, number: int) -> int:
        """Return where a line ends, before its line break, in code points from the text's start."""
        return self._ends[number]

    def line_at(self, offset: int) -> int:
        """Return the line, from 0, that an offset in code points lies in; beyond the end means the last."""
        return bisect_right(self._starts, min(max(offset, 0), len(self.text))) - 1

    def position(self, offset: int, units: Units = "utf-32") -> Position:
        """Return the position of an offset.

        Args:
            offset: code points from the text's start; between CR and LF means before both.
            units: what the column counts.
        """
        line = self.line_at(offset)
        column = min(max(offset, 0), self._ends[line]) - self._starts[line]
        return Position(line, units_before(self.line(line), column, units))

    def offset(self, position: Position, units: Units = "utf-32") -> int:
        """Return the offset of a position, in code points from the text's start.

        A line or column beyond the end means the end, as the language server protocol says.
        """
        if position.line >= len(self):
            return len(self.text)
        line = max(position.line, 0)
        return self._starts[line] + column_at(self.line(line), position.column, units)
