"""Reads the front matter of a Markdown file: a strict subset of YAML with a place for every fault.

The subset: block maps and lists by indentation with spaces, `- key: value` items, flow lists and maps, plain
and quoted text on one line, block text (`|` and `>`), comments. Everything else that YAML knows (anchors,
aliases, tags, merge keys, several documents, text continued on the next line) is refused by name. A fault
never stops the reading: the line is left out and the rest of the file is read.
"""

import re
from dataclasses import dataclass

from treewright.presets.fault import Fault, Mark, fault_at
from treewright.presets.inline import COMMENT, DEEPEST, Cursor, Syntax, read_value
from treewright.presets.marked import Entry, ListNode, MapNode, Node, ScalarNode

_DELIMITER = re.compile(r"---[ \t]*\Z")
_KEY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s#"'\[\]{}&*!|>%@`,-][^#"'\[\]{}]*?)[ \t]*:(?=[ \t]|\Z)""")
_BLOCK_TEXT = re.compile(r"(?P<style>[|>])(?P<chomp>[+-]?)[ \t]*(?:#.*)?\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file taken apart.

    Attributes:
        path: the name of the file, for faults.
        front: the front matter, or None when there is none to read.
        body: the lines after the front matter, without line ends.
        body_line: 1-based number of the first body line in the file.
        text: the whole text with LF line ends and without byte order mark.
        faults: what is wrong with the file so far.
    """

    path: str
    front: MapNode | None
    body: tuple[str, ...]
    body_line: int
    text: str
    faults: tuple[Fault, ...]


def normalised(text: str) -> str:
    """Return the text with LF line ends and without byte order mark."""
    return _LINE_END.sub("\n", text.removeprefix("\ufeff"))


def read_document(text: str, path: str) -> Document:
    """Take a file apart into front matter and body.

    Args:
        text: the decoded file; BOM and CRLF are accepted.
        path: its name, for faults.
    """
    clean = normalised(text)
    lines = clean.split("\n")
    faults = [
        fault_at(path, _mark(number, found.start(), 1), "E114", "control character in the text; delete it")
        for number, line in enumerate(lines, 1)
        if (found := _CONTROL.search(line))
    ]
    if not _DELIMITER.match(lines[0]):
        message = "the file must start with a line `---` that opens its front matter"
        faults.append(fault_at(path, _mark(1, 0, len(lines[0])), "E101", message))
        return Document(path, None, tuple(lines), 1, clean, tuple(faults))
    end = next((i for i, line in enumerate(lines[1:], 1) if _DELIMITER.match(line)), None)
    if end is None:
        message = "the front matter is never closed; add a line `---` after its last key"
        faults.append(fault_at(path, _mark(1, 0, 3), "E102", message))
        return Document(path, None, tuple(lines), 1, clean, tuple(faults))
    parser = _Parser(path, lines[1:end])
    front = parser.parse()
    body = tuple(lines[end + 1 :])
    return Document(path, front, body, end + 2, clean, (*faults, *parser.faults))


def _mark(line: int, col: int, length: int) -> Mark:
    return Mark(line=line, column=col + 1, end_column=col + 1 + length)


class _Parser:
    """Reads block structure line by line; values inside a line are `inline`'s."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.row = 0
        self.depth = 0
        self.lines = [self._without_tabs(row, line) for row, line in enumerate(lines)]

    def _fault(self, row: int, col: int, length: int, rule: str, message: str) -> None:
        self.faults.append(fault_at(self.path, _mark(row + 2, col, length), rule, message))

    def _without_tabs(self, row: int, line: str) -> str:
        """Report tabs in the indentation and read on as if each were two spaces."""
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if "\t" not in indent or not line.strip():
            return line
        self._fault(row, indent.index("\t"), 1, "E115", "tab in the indentation; indent with spaces")
        return indent.replace("\t", "  ") + line[len(indent) :]

    def parse(self) -> MapNode:
        """Read the whole front matter; it is a map, or it is reported."""
        entries: list[Entry] = []
        seen: dict[str, Mark] = {}
        while self._next_content():
            if self._at_item():
                self._skip_line(
                    "E103", "expected `key: value` at the top of the front matter, found a list item"
                )
                continue
            entries.extend(self._map(self._indent(), seen).entries)
        return MapNode(_mark(1, 0, 3), tuple(entries))

    def _next_content(self) -> bool:
        """Go to the next line that is neither blank nor comment; False at the end."""
        while self.row < len(self.lines):
            line = self.lines[self.row].strip()
            if line and not line.startswith("#"):
                return True
            self.row += 1
        return False

    def _indent(self) -> int:
        line = self.lines[self.row]
        return len(line) - len(line.lstrip(" "))

    def _at_item(self) -> bool:
        return bool(re.match(r" *-(?:[ \t]|\Z)", self.lines[self.row]))

    def _skip_line(self, rule: str, message: str) -> None:
        line = self.lines[self.row]
        indent = len(line) - len(line.lstrip())
        self._fault(self.row, indent, len(line.strip()), rule, message)
        self.row += 1

    def _too_deep(self, indent: int) -> None:
        """Report one line that is indented under nothing, and leave out all that follow it as deep."""
        self._skip_line("E116", "unexpected indentation; for text over several lines use `>-` after the key")
        self._skip_deeper(indent)

    def _map(self, indent: int, seen: dict[str, Mark] | None = None) -> MapNode:
        """Read the keys that stand at one indentation."""
        mark = _mark(self.row + 2, indent, 1)
        entries: list[Entry] = []
        seen = {} if seen is None else seen
        while self._next_content() and self._indent() >= indent:
            if self._indent() > indent:
                self._too_deep(indent)
            elif self._at_item():
                break
            else:
                entry = self._entry(indent)
                if entry and self._is_new(entry.key, seen):
                    entries.append(entry)
        return MapNode(mark, tuple(entries))

    def _is_new(self, key: ScalarNode, seen: dict[str, Mark]) -> bool:
        first = seen.setdefault(key.text, key.mark)
        if first is key.mark:
            return True
        message = f"the key {key.text} was already given at line {first.line}, column {first.column}"
        self.faults.append(fault_at(self.path, key.mark, "E104", message))
        return False

    def _entry(self, indent: int) -> Entry | None:
        """Read one `key: value`, with the nested block that belongs to it."""
        line = self.lines[self.row]
        found = _KEY.match(line, indent)
        if not found:
            self._no_key(line[indent:])
            return None
        key = self._key(found)
        start = found.end() + len(line[found.end() :]) - len(line[found.end() :].lstrip(" \t"))
        value = self._value_after(start, indent, key)
        return Entry(key, value) if key else None

    def _no_key(self, text: str) -> None:
        if text.startswith("..."):
            self._skip_line("E103", "`...` does not close a front matter; use `---`")
        elif text[0] in "&*!":
            self._skip_line(
                "E107" if text[0] in "&*" else "E108", "anchors, aliases and tags are not supported"
            )
        else:
            self._skip_line("E103", "expected `key: value`, with a space after the colon")

    def _key(self, found: re.Match[str]) -> ScalarNode | None:
        raw = found.group("key")
        quoted = raw[0] in "\"'"
        text = raw[1:-1] if quoted else raw
        key = ScalarNode(
            _mark(self.row + 2, found.start("key"), len(raw)), text, "quoted" if quoted else "plain"
        )
        if text == "<<":
            self.faults.append(fault_at(self.path, key.mark, "E107", "merge keys are not supported"))
            return None
        if key.kind != "text":
            message = f"the key {text} is not text; a key is an English word"
            self.faults.append(fault_at(self.path, key.mark, "E103", message))
            return None
        return key

    def _value_after(self, start: int, indent: int, key: ScalarNode | None) -> Node:
        """Read what follows a key or a dash: on its line, or as a block below it."""
        row, line = self.row, self.lines[self.row]
        rest = COMMENT.sub("", line[start:]).strip()
        if not rest:
            self.row += 1
            return self._block_below(indent, key, _mark(row + 2, start, 0))
        block = _BLOCK_TEXT.match(line[start:])
        if block:
            self.row += 1
            return self._block_text(indent, block, _mark(row + 2, start, 1))
        cursor = Cursor(self.path, self.lines, 2, row, start)
        try:
            node = read_value(cursor)
        except Syntax as problem:
            self.faults.append(problem.fault)
            # A bracket that is never closed has swallowed the lines below it: read on after its own.
            self.row = row + 1 if problem.fault.rule == "E110" else max(cursor.row, row) + 1
            self._skip_deeper(indent)
            return ScalarNode(problem.fault_mark, "", "broken")
        self.row = cursor.row + 1
        return node

    def _skip_deeper(self, indent: int) -> None:
        """Leave out the lines that belonged to a value that could not be read, lest each be a fault too."""
        while self.row < len(self.lines):
            line = self.lines[self.row]
            if line.strip() and self._indent() <= indent and not line.strip().startswith(("]", "}")):
                return
            self.row += 1

    def _block_below(self, indent: int, key: ScalarNode | None, empty: Mark) -> Node:
        """Read the block under a key, or nothing."""
        if not self._next_content():
            return ScalarNode(empty, "")
        below = self._indent()
        if below > indent:
            return self._nested(below, indent)
        if below == indent and self._at_item() and key is not None:
            return self._list(below)
        return ScalarNode(empty, "")

    def _nested(self, indent: int, outer: int) -> Node:
        """Read the block at an indentation, unless it lies too deep to be meant."""
        if self.depth >= DEEPEST:
            self._skip_line("E117", f"lists and maps are nested more than {DEEPEST} deep")
            self._skip_deeper(outer)
            return ScalarNode(_mark(self.row + 1, indent, 1), "", "broken")
        self.depth += 1
        try:
            return self._list(indent) if self._at_item() else self._map(indent)
        finally:
            self.depth -= 1

    def _list(self, indent: int) -> ListNode:
        """Read the `- ` items that stand at one indentation."""
        mark = _mark(self.row + 2, indent, 1)
        items: list[Node] = []
        while self._next_content() and self._indent() >= indent:
            if self._indent() > indent:
                self._too_deep(indent)
            elif not self._at_item():
                break
            else:
                items.append(self._item(indent))
        return ListNode(mark, tuple(items))

    def _item(self, indent: int) -> Node:
        line = self.lines[self.row]
        content = line[indent + 1 :]
        start = indent + 1 + len(content) - len(content.lstrip(" \t"))
        if _KEY.match(line, start):
            # `- key: value` opens a map whose keys stand where the first one does.
            self.lines[self.row] = " " * start + line[start:]
            return self._map(start)
        if re.match(r"-(?:[ \t]|\Z)", line[start:]):
            self.lines[self.row] = " " * start + line[start:]
            return self._nested(start, indent)
        return self._value_after(start, indent, None)

    def _block_text(self, indent: int, header: re.Match[str], mark: Mark) -> ScalarNode:
        """Read the lines of `|` (kept) or `>` (folded) text."""
        lines: list[str] = []
        while self.row < len(self.lines):
            line = self.lines[self.row]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line.rstrip())
            self.row += 1
        while lines and not lines[-1]:
            lines.pop()
        depth = min((len(line) - len(line.lstrip(" ")) for line in lines if line), default=0)
        text = "\n".join(line[depth:] for line in lines)
        if header["style"] == ">":
            text = re.sub(r"(?<!\n)\n(?!\n)", " ", text).replace("\n\n", "\n")
        return ScalarNode(mark, text if header["chomp"] == "-" or not text else text + "\n", "block")
