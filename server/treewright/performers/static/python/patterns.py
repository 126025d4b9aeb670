"""Matching of calls against tables: dotted names, and small conditions over the arguments.

A name is exact (`os.system`), a method of anything (`*.execute`), or everything below (`paramiko.client.*`).
A condition is one string: `verify=False`, `verify!=False`, `mode|1~w` (constant text matches the regular
expression), `0%^/tmp/` (text that it begins with), `0@password` (source text matches), `bits|0<2048`, `shell!` (given), `-timeout` (not given),
`0^` (known constant), `0[` (a list that begins with a constant), `options.verify=False` (an entry of a dict), `recv@cursor`, `0+` (composed text). `a|1` means keyword `a`, else position 1.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from treewright.performers.static.python.value import UNKNOWN, Value

_CONDITION = re.compile(r"^(-?)([\w|*.-]+?)(!=|=|~|%|@|<|>|!|\^|\+|\[|$)(.*)$", re.DOTALL)


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of one call."""

    call: ast.Call
    positional: list[tuple[ast.expr, Value]] = field(default_factory=list)
    keywords: dict[str, tuple[ast.expr, Value]] = field(default_factory=dict)
    open: bool = False
    """Whether `*args` or `**kwargs` may hold more."""
    receiver: Value = UNKNOWN
    receiver_node: ast.expr | None = None
    spread: list[tuple[ast.expr, Value]] = field(default_factory=list)
    """What `**mapping` brings, when its keys are not known."""

    def get(self, spec: str) -> tuple[ast.expr, Value] | None:
        """Find an argument by `name`, `position` or alternatives joined by `|`; `recv` is the receiver, `**` a mapping spread out."""
        for part in spec.split("|"):
            if part == "**":
                return self.spread[0] if self.spread else None
            if "." in part:
                entry = self._entry(*part.split(".", 1))
                if entry is not None:
                    return entry
                continue
            if part == "recv":
                if self.receiver_node is not None:
                    return self.receiver_node, self.receiver
            elif part.isdigit():
                if int(part) < len(self.positional):
                    return self.positional[int(part)]
            elif part in self.keywords:
                return self.keywords[part]
        return None

    def _entry(self, outer: str, key: str) -> tuple[ast.expr, Value] | None:
        """What a dict given as an argument holds under a constant key: `options.verify_signature`."""
        found = self.get(outer)
        if found is None or found[1].entries is None or key not in found[1].entries:
            return None
        return found[0], found[1].entries[key]

    def all(self) -> list[tuple[ast.expr, Value]]:
        """Every argument, the receiver not counted."""
        return [*self.positional, *self.keywords.values()]


@dataclass(frozen=True, slots=True)
class Condition:
    """One parsed condition."""

    spec: str
    operator: str
    literal: Any

    def holds(self, arguments: Arguments, text: "TextOf") -> bool:
        """Tell whether it holds for a call.

        Args:
            text: gives the source text of an expression.
        """
        found = arguments.get(self.spec)
        if self.operator == "-":
            return found is None and not arguments.open
        if found is None:
            return self.operator == "!=" and not arguments.open
        node, value = found
        return _test(self.operator, self.literal, node, value, text)


class TextOf:
    """Gives the verbatim text of a node."""

    def __call__(self, node: ast.AST) -> str:  # pragma: no cover - replaced by Source.segment
        return ast.unparse(node)


def _test(operator: str, literal: Any, node: ast.expr, value: Value, text: TextOf) -> bool:
    match operator:
        case "=":
            return _equals(value, literal)
        case "!=":
            return not _equals(value, literal)
        case "~":
            known = value.text()
            return known is not None and literal.search(known) is not None
        case "%":
            return value.prefix is not None and literal.search(value.prefix) is not None
        case "@":
            return literal.search(text(node)) is not None or bool(value.name and literal.search(value.name))
        case "<" | ">":
            number = value.const
            if not isinstance(number, (int, float)) or isinstance(number, bool):
                return False
            return bool(number < literal if operator == "<" else number > literal)
        case "!":
            return True
        case "^":
            return value.is_const
        case "[":
            return value.items is not None and len(value.items) > 0 and value.items[0].is_const
        case "+":
            return value.composed or (not value.is_const and bool(value.flows))
        case _:
            return False


def _equals(value: Value, literal: Any) -> bool:
    if value.is_const:
        return type(value.const) is type(literal) and bool(value.const == literal)
    return isinstance(literal, str) and bool(value.name) and value.name == literal


@lru_cache(maxsize=4096)
def condition(text: str) -> Condition:
    """Parse one condition.

    Raises:
        ValueError: it is not of the language above.
    """
    found = _CONDITION.match(text)
    if found is None:
        raise ValueError(f"not a condition: {text!r}")
    absent, spec, operator, rest = found.groups()
    if absent:
        return Condition(spec, "-", None)
    if operator in {"~", "@", "%"}:
        return Condition(spec, operator, re.compile(rest, re.IGNORECASE))
    if operator in {"=", "!="}:
        try:
            return Condition(spec, operator, ast.literal_eval(rest))
        except (ValueError, SyntaxError):
            return Condition(spec, operator, rest)  # a dotted name such as ssl.CERT_NONE
    if operator in {"<", ">"}:
        return Condition(spec, operator, float(rest))
    if operator == "":
        raise ValueError(f"not a condition: {text!r}")
    return Condition(spec, operator, None)


def holds(conditions: Iterable[str], arguments: Arguments, text: Any) -> bool:
    """Tell whether all conditions hold."""
    return all(condition(entry).holds(arguments, text) for entry in conditions)


class NameTable:
    """Entries found by the name they are listed under."""

    def __init__(self, entries: Iterable[tuple[str, Any]]) -> None:
        self._exact: dict[str, list[Any]] = {}
        self._methods: dict[str, list[Any]] = {}
        self._below: list[tuple[str, Any]] = []
        self._known: dict[str, tuple[Any, ...]] = {}
        for names, entry in entries:
            for name in names.split():
                if name.startswith("*."):
                    self._methods.setdefault(name[2:], []).append(entry)
                elif name.endswith(".*"):
                    self._below.append((name[:-1], entry))
                else:
                    self._exact.setdefault(name, []).append(entry)

    def find(self, name: str) -> tuple[Any, ...]:
        """All entries for a dotted name, most exact first."""
        known = self._known.get(name)
        if known is not None:
            return known
        found = list(self._exact.get(name, ()))
        parts = name.split(".")
        for length in range(1, min(len(parts), 4)):
            found += self._methods.get(".".join(parts[-length:]), ())
        found += [entry for prefix, entry in self._below if name.startswith(prefix)]
        self._known[name] = tuple(found)
        return self._known[name]
