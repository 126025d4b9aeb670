"""Syntax nodes: tree-sitter's, read once and kept, with positions as the facts count them."""

from collections.abc import Iterator
from typing import Any

from treewright.performers.static.facts import Place

FUNCTIONS = frozenset(
    [
        "function_declaration", "generator_function_declaration", "function_expression", "arrow_function",
        "generator_function", "method_definition",
    ]
)  # fmt: skip
CLASSES = frozenset(["class_declaration", "class", "abstract_class_declaration"])
_WRAPPERS = frozenset(
    ["parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"]
)


class Node:
    """One node. Lines count from 1, columns are characters from 0, ends are exclusive."""

    __slots__ = ("_fields", "_named", "_text", "column", "end", "end_column", "key", "kind", "line", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.kind: str = raw.kind()
        span = raw.range()
        self.line, self.column = span.start.line + 1, span.start.column
        self.end, self.end_column = span.end.line + 1, span.end.column
        self.key: tuple[int, int, str] = (span.start.index, span.end.index, self.kind)
        self._fields: dict[str, Node | None] = {}
        self._named: list[Node] | None = None
        self._text: str | None = None

    def field(self, name: str) -> "Node | None":
        """The child under a field's name, or None."""
        if name not in self._fields:
            raw = self.raw.field(name)
            self._fields[name] = Node(raw) if raw is not None else None
        return self._fields[name]

    def need(self, name: str) -> "Node":
        """The child under a field's name; the node itself when the grammar left it out (broken code)."""
        return self.field(name) or self

    @property
    def named(self) -> "list[Node]":
        """Named children, comments left out."""
        if self._named is None:
            self._named = [Node(raw) for raw in self.raw.named_children() if raw.kind() != "comment"]
        return self._named

    @property
    def text(self) -> str:
        """The source text, verbatim."""
        if self._text is None:
            self._text = self.raw.text()
        return self._text

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.line, self.end, self.column, self.end_column)

    def has(self, token: str) -> bool:
        """Tell whether an unnamed child of this kind (`async`, `static`, `default`) stands directly below."""
        return any(child.kind() == token for child in self.raw.children())

    def walk(self) -> "Iterator[Node]":
        """This node and every named one below, outermost first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.named))


def bare(node: Node) -> Node:
    """The expression inside parentheses and type assertions."""
    while node.kind in _WRAPPERS and node.named:
        node = node.named[0]
    if node.kind == "type_assertion" and node.named:
        return bare(node.named[-1])
    return node


def string_of(node: Node | None) -> str | None:
    """The value of a string literal or of a template without substitutions; None for anything else."""
    if node is None:
        return None
    node = bare(node)
    if node.kind == "string":
        return unescape(node.text[1:-1])
    if node.kind == "template_string" and not any(c.kind == "template_substitution" for c in node.named):
        return unescape(node.text[1:-1])
    return None


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def unescape(text: str) -> str:
    """What the inside of a string literal stands for."""
    if "\\" not in text:
        return text
    parts, index = [], 0
    while index < len(text):
        char = text[index]
        if char != "\\" or index + 1 >= len(text):
            parts.append(char)
            index += 1
            continue
        code = text[index + 1]
        width = {"x": 2, "u": 4}.get(code, 0)
        digits = text[index + 2 : index + 2 + width]
        if width and len(digits) == width and all(d in "0123456789abcdefABCDEF" for d in digits):
            parts.append(chr(int(digits, 16)))
            index += 2 + width
            continue
        parts.append(_ESCAPES.get(code, code))
        index += 2
    return "".join(parts)


def property_name(node: Node) -> str | None:
    """The name that a property key stands for, or None when it is computed."""
    if node.kind == "computed_property_name":
        return string_of(node.named[0]) if node.named else None
    if node.kind == "string":
        return string_of(node)
    return node.text


def member_path(node: Node) -> str | None:
    """`a.b.c` (also `this.b`) for a chain of plain names, else None."""
    parts: list[str] = []
    node = bare(node)
    while node.kind == "member_expression":
        name = node.field("property")
        parts.append(name.text if name else "")
        node = bare(node.need("object"))
        if len(parts) > 12:
            return None
    if node.kind not in {"identifier", "this", "super"}:
        return None
    parts.append(node.text)
    return ".".join(reversed(parts))


def parameters(function: Node) -> list[Node]:
    """The parameter nodes of a function, a receiver type (`this: X`) left out."""
    single = function.field("parameter")
    if single is not None:
        return [single]
    listed = function.field("parameters")
    found = listed.named if listed is not None else []
    return [p for p in found if not (p.kind == "required_parameter" and _pattern(p).kind == "this")]


def _pattern(parameter: Node) -> Node:
    return parameter.field("pattern") or parameter


def parameter_target(parameter: Node) -> Node:
    """The name or pattern that a parameter binds, defaults and types taken off."""
    target = _pattern(parameter)
    if target.kind == "assignment_pattern":
        target = target.need("left")
    if target.kind == "rest_pattern" and target.named:
        target = target.named[0]
    return target


def parameter_name(parameter: Node) -> str:
    """How a parameter is called in facts: its name, or the text of its pattern."""
    return parameter_target(parameter).text.split("\n")[0][:40]


def property_part(node: Node) -> str:
    """The name after the dot of a member expression, or empty."""
    part = node.field("property")
    return part.text if part is not None else ""
