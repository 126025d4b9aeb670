"""Checks a front matter against a shape and gives back plain values with their places."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treewright.presets.fault import Fault, Mark, fault_at
from treewright.presets.marked import ListNode, MapNode, Node, ScalarNode, describe

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class TextShape:
    """Text; `one_of` limits it, `empty` allows it to be blank."""

    one_of: tuple[str, ...] = ()
    empty: bool = False


@dataclass(frozen=True, slots=True)
class NumberShape:
    """A whole number within bounds, both included."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class FlagShape:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list of one shape."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapShape:
    """A map of known keys; `others` gives the shape of keys that are not listed, else they are refused."""

    required: Mapping[str, "Shape"] = field(default_factory=dict)
    optional: Mapping[str, "Shape"] = field(default_factory=dict)
    others: "Shape | None" = None


Shape = TextShape | NumberShape | FlagShape | ListShape | MapShape


@dataclass(slots=True)
class Shaped:
    """Plain values of what had the right shape, with the place of every value and key.

    Attributes:
        data: what could be read; a value of the wrong shape is left out.
        marks: place of a value by its path, such as `("score_dims", 2, "key")`.
        key_marks: place of a key by its path.
        faults: what did not have its shape.
    """

    path: str
    data: dict[str, Any] = field(default_factory=dict)
    marks: dict[Path, Mark] = field(default_factory=dict)
    key_marks: dict[Path, Mark] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def mark(self, *where: str | int) -> Mark:
        """Return the place of a value, or of the nearest thing around it."""
        for length in range(len(where), -1, -1):
            found = self.marks.get(where[:length]) or self.key_marks.get(where[:length])
            if found:
                return found
        return Mark(line=1, column=1, end_column=4)

    def key_mark(self, *where: str | int) -> Mark:
        """Return the place of a key, or of the nearest thing around it."""
        return self.key_marks.get(where) or self.mark(*where)


_HINTED = 100
"""faults, and characters of a key, beyond which looking for the nearest name costs more than it tells"""
_MISSING = object()


def shaped(node: MapNode, shape: MapShape, path: str) -> Shaped:
    """Check a front matter against a shape.

    Args:
        node: the front matter.
        shape: what it should look like.
        path: the name of the file, for faults.
    """
    result = Shaped(path)
    data = _map(node, shape, (), result)
    result.data = data if isinstance(data, dict) else {}
    return result


def _fault(result: Shaped, mark: Mark, rule: str, message: str) -> object:
    result.faults.append(fault_at(result.path, mark, rule, message))
    return _MISSING


def _name(where: Path) -> str:
    """Return a path in words: `score_dims[2].key`, counted from 1."""
    out = ""
    for part in where:
        out += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def _value(node: Node, shape: Shape, where: Path, result: Shaped) -> Any:
    result.marks[where] = node.mark
    if isinstance(node, ScalarNode) and node.style == "broken":
        return _MISSING
    if isinstance(shape, MapShape):
        return _map(node, shape, where, result)
    if isinstance(shape, ListShape):
        return _list(node, shape, where, result)
    if not isinstance(node, ScalarNode):
        due = {TextShape: "text", NumberShape: "a whole number", FlagShape: "true or false"}[type(shape)]
        return _fault(result, node.mark, "E121", f"{_name(where)} must be {due}, found {describe(node)}")
    if isinstance(shape, TextShape):
        return _text(node, shape, where, result)
    return (
        _number(node, shape, where, result) if isinstance(shape, NumberShape) else _flag(node, where, result)
    )


def _text(node: ScalarNode, shape: TextShape, where: Path, result: Shaped) -> Any:
    if (node.kind == "nothing" and not node.text) or not node.text.strip():
        if shape.empty and node.style != "plain":
            return ""
        return _fault(result, node.mark, "E122", f"{_name(where)} is empty; write its text after the colon")
    if node.kind != "text":
        message = f"{_name(where)} must be text, found {describe(node)}; put it in quotes"
        return _fault(result, node.mark, "E121", message)
    text = node.text.strip()
    if shape.one_of and text not in shape.one_of:
        near = difflib.get_close_matches(text, shape.one_of, 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        message = f"{_name(where)} must be one of {', '.join(shape.one_of)}, found {text}{hint}"
        return _fault(result, node.mark, "E123", message)
    return text


def _number(node: ScalarNode, shape: NumberShape, where: Path, result: Shaped) -> Any:
    digits = node.text.removeprefix("-")
    if node.style != "plain" or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        message = f"{_name(where)} must be a whole number, found {describe(node)}"
        return _fault(result, node.mark, "E121", message)
    number = int(node.text)
    if not shape.minimum <= number <= shape.maximum:
        message = f"{_name(where)} must be {shape.minimum} to {shape.maximum}, found {number}"
        return _fault(result, node.mark, "E123", message)
    return number


def _flag(node: ScalarNode, where: Path, result: Shaped) -> Any:
    if node.style == "plain" and node.text in ("true", "false"):
        return node.text == "true"
    return _fault(result, node.mark, "E121", f"{_name(where)} must be true or false, found {describe(node)}")


def _list(node: Node, shape: ListShape, where: Path, result: Shaped) -> Any:
    if not isinstance(node, ListNode):
        return _fault(result, node.mark, "E121", f"{_name(where)} must be a list, found {describe(node)}")
    items = [_value(item, shape.item, (*where, i), result) for i, item in enumerate(node.items)]
    return _MISSING if any(item is _MISSING for item in items) else items


def _map(node: Node, shape: MapShape, where: Path, result: Shaped) -> Any:
    if not isinstance(node, MapNode):
        return _fault(result, node.mark, "E121", f"{_name(where)} must be a map, found {describe(node)}")
    known = {**shape.required, **shape.optional}
    before = len(result.faults)
    out: dict[str, Any] = {}
    for entry in node.entries:
        key = entry.key.text
        result.key_marks[(*where, key)] = entry.key.mark
        inner = known.get(key) or shape.others
        if inner is None:
            _unknown_key(entry.key, known, where, result)
            continue
        value = _value(entry.value, inner, (*where, key), result)
        if value is not _MISSING:
            out[key] = value
    for key in shape.required:
        if (*where, key) not in result.key_marks:
            _fault(result, node.mark, "E124", f"the key {_name((*where, key))} is missing")
    complete = len(result.faults) == before and len(out) == len(node.entries)
    return out if complete or not where else _MISSING


def _unknown_key(key: ScalarNode, known: Mapping[str, Shape], where: Path, result: Shaped) -> None:
    few = len(result.faults) < _HINTED and len(key.text) < _HINTED
    near = difflib.get_close_matches(key.text, list(known), 1, 0.5) if few else []
    hint = f"; did you mean {near[0]}?" if near else ""
    _fault(result, key.mark, "E125", f"unknown key {_name((*where, key.text))}{hint}")
