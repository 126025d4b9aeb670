"""Names of what is called, and texts around it."""

from typing import Any

from treewright.performers.static.javascript.node import Node
from treewright.performers.static.python.value import Value


def method(receiver: Value, part: str) -> str:
    """The dotted name of a method of a value."""
    if isinstance(receiver.const, str):
        return f"str().{part}"
    if receiver.name.startswith("#regex"):
        return f"regex().{part}"
    if receiver.items is not None and not receiver.name:
        return f"array().{part}"
    if receiver.name == "window":
        return part
    return f"{receiver.name or '?'}.{part}"


def text_of(node: Any) -> str:
    """The source text of an expression."""
    return str(node.text)


def around(lines: list[str], node: Node) -> str:
    """The lines on which a node begins and ends."""
    first = lines[node.line - 1] if node.line <= len(lines) else ""
    last = lines[node.end - 1] if node.end != node.line and node.end <= len(lines) else ""
    return f"{first} {last}"


def shown(name: str) -> str:
    """A dotted name as a reader writes it: the last two parts, no marks of ours."""
    parts = name.lstrip("~?.#").replace("()", "").replace("[]", "").rpartition("/")[2].split(".")
    found = ".".join(part for part in parts[-2:] if part)
    return found or "the call"
