"""Text put together from parts: what its beginning says about where it can lead."""

import ast

from treewright.performers.static.facts import Flow, Mark
from treewright.performers.static.python.value import Value

_LEADS = frozenset({"redirect", "ssrf"})
_FOLLOWS = frozenset({"path:absolute"})


def marked(value: Value, mark: Mark) -> Value:
    """The same value with a mark on each of its flows."""
    flows: tuple[Flow, ...] = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in value.flows)
    return Value(flows, value.const, value.name, value.prefix, value.composed, value.items, value.entries)


def after_query(value: Value, before: str, node: ast.AST, led: bool = False) -> Value:
    """A value that follows a `?` or `#` cannot change the host of an address; one that follows a folder is not absolute.

    Args:
        value: what comes in. before: the constant text in front of it, as far as it is known. led: more stands before that.
    """
    if value.flows and before.endswith("/") and (led or len(before) > 1):
        line: int = node.lineno  # type: ignore[attr-defined]  # callers hand in expressions
        value = marked(value, Mark(_FOLLOWS, line, "it follows a folder's name"))
    if not value.flows or not ("?" in before or "#" in before):
        return value
    line = node.lineno  # type: ignore[attr-defined]  # callers hand in expressions
    return marked(value, Mark(_LEADS, line, "it comes after the address, in the query"))


def from_template(value: Value, node: ast.AST) -> Value:
    """`template % values`, where the template is the program's own: it decides how an address begins."""
    line: int = node.lineno  # type: ignore[attr-defined]  # callers hand in expressions
    return marked(value, Mark(_LEADS, line, "a template of the program begins the address"))
