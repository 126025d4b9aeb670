"""Reads one value that starts on a line: plain or quoted text, a flow list, a flow map."""

import re

from treewright.presets.fault import Fault, Mark, fault_at
from treewright.presets.marked import Entry, ListNode, MapNode, Node, ScalarNode

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "0": "\0", "r": "\r", " ": " "}
_HEX_LENGTH = {"x": 2, "u": 4, "U": 8}
_REFUSED_START = {
    "&": ("E107", "anchors are not supported; write the value out"),
    "*": ("E107", "aliases are not supported; write the value out, or quote text that starts with *"),
    "!": ("E108", "tags are not supported; leave the tag away, or quote text that starts with !"),
    "@": ("E109", "text may not start with @ here; put it in quotes"),
    "`": ("E109", "text may not start with a backtick here; put it in quotes"),
    "%": ("E109", "text may not start with % here; put it in quotes"),
}
DEEPEST = 20
"""levels of lists and maps within each other; no front matter needs a quarter of it"""
COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*\Z")


class Syntax(Exception):  # noqa: N818 - not a failure of the program: it carries one fault to the line loop
    """A value could not be read; carries the fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.fault_mark = Mark(line=fault.line, column=fault.column, end_column=fault.end_column)


class Cursor:
    """A place in the lines of a front matter.

    Args:
        path: name of the file, for faults.
        lines: the lines of the front matter, without line ends.
        first_line: 1-based number of `lines[0]` in the file.
        row: index into `lines`.
        col: 0-based column in code points.
    """

    def __init__(self, path: str, lines: list[str], first_line: int, row: int, col: int) -> None:
        self.path, self.lines, self.first_line = path, lines, first_line
        self.row, self.col = row, col
        self.depth = 0

    @property
    def rest(self) -> str:
        """What remains of the current line."""
        return self.lines[self.row][self.col :]

    def mark(self, length: int = 1, *, row: int | None = None, col: int | None = None) -> Mark:
        """Return a mark at the cursor, or at the given row and column."""
        at_row, at_col = self.row if row is None else row, self.col if col is None else col
        column = at_col + 1
        return Mark(line=self.first_line + at_row, column=column, end_column=column + max(length, 0))

    def fail(self, rule: str, message: str, mark: Mark | None = None) -> Syntax:
        """Return the exception for a fault at the cursor."""
        return Syntax(fault_at(self.path, mark or self.mark(), rule, message))

    def skip_blank(self) -> None:
        """Go past spaces and tabs on the current line."""
        rest = self.rest
        self.col += len(rest) - len(rest.lstrip(" \t"))

    def skip_blank_lines(self, opened: Mark) -> None:
        """Go past blanks, comments and line ends inside a flow list or map.

        Raises:
            Syntax: the front matter ended before the bracket was closed.
        """
        self.skip_blank()
        while not self.rest or (self.rest[0] == "#" and self._comment_here()):
            if self.row + 1 >= len(self.lines):
                raise self.fail("E110", "this bracket is never closed", opened)
            self.row, self.col = self.row + 1, 0
            self.skip_blank()

    def _comment_here(self) -> bool:
        return self.col == 0 or self.lines[self.row][self.col - 1] in " \t"


def read_value(cursor: Cursor) -> Node:
    """Read the value that starts at the cursor and whatever may follow it on its line.

    Args:
        cursor: stands on the first character of the value, which is not blank.

    Returns:
        The value; the cursor then stands on the last line that the value used.

    Raises:
        Syntax: the value is malformed, or other text follows it.
    """
    start = cursor.rest[0]
    if start in "\"'":
        node: Node = _quoted(cursor)
        _nothing_after(cursor, "E106", "text follows the closing quote; quote the whole value or none of it")
        return node
    if start in "[{":
        node = _flow(cursor)
        _nothing_after(cursor, "E111", "text follows the closing bracket; put it on a line of its own")
        return node
    return _plain(cursor)


def _nothing_after(cursor: Cursor, rule: str, message: str) -> None:
    remains = COMMENT.sub("", cursor.rest)
    if remains.strip():
        cursor.skip_blank()
        raise cursor.fail(rule, message, cursor.mark(len(remains.strip())))


def _refuse_start(cursor: Cursor) -> None:
    start = cursor.rest[0]
    if start in _REFUSED_START:
        raise cursor.fail(*_REFUSED_START[start])
    if re.match(r"[-?](?:[ \t]|\Z)", cursor.rest):
        raise cursor.fail("E109", f"text may not start with `{start} ` here; put it in quotes")


def _plain(cursor: Cursor) -> ScalarNode:
    """Read unquoted text up to a comment or the end of the line."""
    _refuse_start(cursor)
    text = COMMENT.sub("", cursor.rest).rstrip()
    colon = re.search(r":(?:[ \t]|\Z)", text)
    if colon:
        at = cursor.col + colon.start()
        raise cursor.fail(
            "E105",
            "unquoted text may not contain a colon followed by a space; put the value in quotes",
            cursor.mark(1, col=at),
        )
    node = ScalarNode(cursor.mark(len(text)), text)
    cursor.col += len(text)
    return node


def _quoted(cursor: Cursor) -> ScalarNode:
    """Read quoted text, which ends on the line it starts on."""
    row, start, quote = cursor.row, cursor.col, cursor.rest[0]
    cursor.col += 1
    out: list[str] = []
    while cursor.rest:
        char = cursor.rest[0]
        if char == quote and quote == "'" and cursor.rest.startswith("''"):
            out.append("'")
            cursor.col += 2
        elif char == quote:
            cursor.col += 1
            mark = cursor.mark(cursor.col - start, row=row, col=start)
            return ScalarNode(mark, "".join(out), "quoted")
        elif char == "\\" and quote == '"':
            out.append(_escape(cursor))
        else:
            out.append(char)
            cursor.col += 1
    raise cursor.fail(
        "E112",
        "this quote is not closed on its line; for longer text use `>-` and indented lines",
        cursor.mark(1, row=row, col=start),
    )


def _escape(cursor: Cursor) -> str:
    """Read one backslash escape of double-quoted text."""
    rest = cursor.rest
    letter = rest[1:2]
    if letter in _HEX_LENGTH:
        digits = rest[2 : 2 + _HEX_LENGTH[letter]]
        if re.fullmatch(r"[0-9a-fA-F]+", digits) and len(digits) == _HEX_LENGTH[letter]:
            code = int(digits, 16)
            if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                cursor.col += 2 + len(digits)
                return chr(code)
    elif letter in _ESCAPES:
        cursor.col += 2
        return _ESCAPES[letter]
    raise cursor.fail(
        "E113", f"unknown escape \\{letter}; use single quotes for a literal backslash", cursor.mark(2)
    )


def _flow(cursor: Cursor) -> Node:
    """Read `[a, b]` or `{a: b}`, which may span lines."""
    opened = cursor.mark()
    cursor.depth += 1
    if cursor.depth > DEEPEST:
        raise cursor.fail("E117", f"brackets are nested more than {DEEPEST} deep")
    is_map = cursor.rest[0] == "{"
    close = "}" if is_map else "]"
    cursor.col += 1
    items: list[Node] = []
    entries: list[Entry] = []
    seen: dict[str, Mark] = {}
    while True:
        cursor.skip_blank_lines(opened)
        if cursor.rest[0] == close:
            cursor.col += 1
            cursor.depth -= 1
            return MapNode(opened, tuple(entries)) if is_map else ListNode(opened, tuple(items))
        if is_map:
            entry = _flow_entry(cursor, opened)
            first = seen.setdefault(entry.key.text, entry.key.mark)
            if first is not entry.key.mark:
                where = f"line {first.line}, column {first.column}"
                message = f"the key {entry.key.text} was already given at {where}"
                raise cursor.fail("E104", message, entry.key.mark)
            entries.append(entry)
        else:
            items.append(_flow_value(cursor))
        cursor.skip_blank_lines(opened)
        if cursor.rest[0] == ",":
            cursor.col += 1
        elif cursor.rest[0] != close:
            raise _not_closed(cursor, opened, close)


def _not_closed(cursor: Cursor, opened: Mark, close: str) -> Syntax:
    """Blame the place where a comma is missing, or the bracket itself when the text goes on below it."""
    line = cursor.mark().line
    if line == opened.line:
        return cursor.fail("E110", f"expected a comma or {close} here")
    message = f"this bracket is not closed: line {line} goes on without a comma or {close}"
    return cursor.fail("E110", message, opened)


def _flow_entry(cursor: Cursor, opened: Mark) -> Entry:
    key = _flow_value(cursor)
    if not isinstance(key, ScalarNode):
        raise cursor.fail("E103", "a key must be plain text", key.mark)
    cursor.skip_blank()
    if not cursor.rest.startswith(":"):
        raise cursor.fail("E103", f"expected a colon after the key {key.text}")
    cursor.col += 1
    cursor.skip_blank_lines(opened)
    if cursor.rest[0] in ",}":
        return Entry(key, ScalarNode(cursor.mark(0), ""))
    return Entry(key, _flow_value(cursor))


def _flow_value(cursor: Cursor) -> Node:
    """Read one element inside brackets."""
    start = cursor.rest[0]
    if start in "[{":
        return _flow(cursor)
    if start in "\"'":
        return _quoted(cursor)
    _refuse_start(cursor)
    found = re.match(r"(?:(?![ \t]#)(?!:(?:[ \t,\[\]{}]|\Z))[^,\[\]{}])*", cursor.rest)
    text = found.group().rstrip() if found else ""
    if not text:
        raise cursor.fail("E110", "an element is missing here")
    node = ScalarNode(cursor.mark(len(text)), text)
    cursor.col += len(text)
    return node
