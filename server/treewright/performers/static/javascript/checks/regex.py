"""Patterns that take exponential time, match too much, or only seem to check a host or a tag."""

import re
from typing import TYPE_CHECKING

from treewright.performers.static.javascript.checks.registry import check
from treewright.performers.static.javascript.node import Node, bare, property_part, string_of
from treewright.performers.static.python.checks.regex import ambiguous

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_HOST_LIKE = re.compile(r"(?<!\\)\b[\w-]+(?<!\\)\.(com|org|net|io|edu|gov|example|local|co|dev|app)\b")


_ONE = r"(?:\\.|\[(?:[^\]\\]|\\.)*\]|[^()|\[\\])"
_SINGLES = re.compile(rf"\((?:\?:)?{_ONE}(?:\|{_ONE})+\)[*+]")
"""A repeated choice of single characters: only then does an equal beginning make it ambiguous."""


@check("pattern-takes-exponential-time", "regex", "new_expression", "call_expression")
def patterns(unit: "Unit", node: Node) -> None:
    """Look at each pattern literal, and at constant texts given to `RegExp`."""
    pattern = _pattern(node)
    if pattern is None or unit.source.is_test:
        return
    shown = (("shown", pattern[:80]),)
    why = ambiguous(as_python(pattern))
    if "alike" in why and not _SINGLES.search(pattern):
        why = ""
    if why and not _harmless(node):
        unit.report("pattern-takes-exponential-time", node, what=why, facts=shown)
    if re.search(r"\[[^\]]*(A-z|a-Z|0-z)[^\]]*\]", pattern):
        unit.report("pattern-range-too-wide", node, what=pattern[:60], facts=shown)
    if _HOST_LIKE.search(pattern) and not re.search(r"\s", pattern) and _tests_an_address(node):
        unit.report("host-pattern-too-wide", node, what=pattern[:60], facts=shown)
    if _filters_markup(pattern, node):
        unit.report("markup-filtered-by-pattern", node, what="replace", facts=shown)


def _pattern(node: Node) -> str | None:
    if node.kind == "regex":
        part = node.field("pattern")
        return part.text if part is not None else None
    function, listed = node.field("constructor") or node.field("function"), node.field("arguments")
    if function is None or function.text != "RegExp" or listed is None or not listed.named:
        return None
    return string_of(listed.named[0])


def as_python(pattern: str) -> str:
    """A JavaScript pattern in the words of Python's parser, as far as ambiguity goes."""
    pattern = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", pattern)
    pattern = re.sub(r"\\k<(\w+)>", r"(?P=\1)", pattern)
    pattern = re.sub(r"\\u\{[0-9a-fA-F]+\}|\\p\{[^}]*\}|\\P\{[^}]*\}|\\c[A-Z]", "x", pattern)
    return pattern.replace("[^]", r"[\s\S]").replace(r"\/", "/").replace("$)", r"\Z)")


def _parent_call(node: Node) -> tuple[str, str]:
    """The method that a pattern literal is used with, and the text of that call."""
    parent = node.raw.parent()
    if parent is not None and parent.kind() == "member_expression":
        return Node(parent).text.rpartition(".")[2], parent.parent().text() if parent.parent() else ""
    call = parent.parent() if parent is not None and parent.kind() == "arguments" else None
    function = (
        bare(Node(call).need("function")) if call is not None and call.kind() == "call_expression" else None
    )
    return (property_part(function), call.text()) if function is not None and call is not None else ("", "")


def _harmless(node: Node) -> bool:
    """A pattern that only fixed text meets does no harm; here: used on a constant."""
    _, call = _parent_call(node)
    return re.match(r"""['"`]""", call) is not None


def _tests_an_address(node: Node) -> bool:
    method, call = _parent_call(node)
    return method in {"test", "match", "exec"} and re.search(r"(?i)url|host|origin|href|referr?er|domain|redirect", call) is not None  # fmt: skip


def _filters_markup(pattern: str, node: Node) -> bool:
    method, _ = _parent_call(node)
    if method not in {"replace", "replaceAll"}:
        return False
    return re.search(r"(?i)<\W*(script|iframe|style)|javascript:", pattern) is not None
