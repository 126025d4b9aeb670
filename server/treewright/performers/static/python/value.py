"""What the interpreter knows of a value: where it came from, what it is, how its text begins."""

import re
from dataclasses import dataclass
from typing import Any

from treewright.performers.static.facts import Flow, Step

MAX_FLOWS = 8
"""Distinct origins kept of one value; more say nothing new to a reader."""
MAX_STEPS = 10
MAX_MARKS = 64
"""Marks of one origin from which on calls that it passed leave none: each would stand in every later flow."""
_MAX_NAME = 160
_CONSTANT_NAME = re.compile(r"(?:[a-zA-Z_]\w*\.)+[A-Z][A-Z0-9_]+$")
"""`settings.BASE_DIR`: a name in capitals of another module."""


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


@dataclass(slots=True, frozen=True)
class Value:
    """An abstract value.

    Attributes:
        flows: the origins it may carry.
        const: the Python constant it is, or UNSET.
        name: what it denotes: a dotted name (`os.path.join`), with `()` after each call that made it
            (`sqlite3.connect().cursor()`), starting with `~` when the first name is not resolved.
        prefix: constant text it begins with, or None when it does not begin with constant text.
        composed: text put together from parts, not all of them constant.
        items: parts of a tuple, list or set display, or None.
        entries: parts of a dict display with constant keys, or None.
        fixed: put together from the program's own constants alone, whichever way was taken.
    """

    flows: tuple[Flow, ...] = ()
    const: Any = UNSET
    name: str = ""
    prefix: str | None = None
    composed: bool = False
    items: "tuple[Value, ...] | None" = None
    entries: "dict[Any, Value] | None" = None
    fixed: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether nothing but constants of the program makes it up: its own or those that another module names."""
        if self.fixed or self.const is not UNSET:
            return True
        if self.flows:
            return False
        if self.items:
            return all(item.is_fixed for item in self.items)
        return bool(self.name) and _CONSTANT_NAME.match(self.name) is not None

    @property
    def is_const(self) -> bool:
        """Whether the exact constant is known."""
        return self.const is not UNSET

    def text(self) -> str | None:
        """The constant as text, or None."""
        if isinstance(self.const, str):
            return self.const
        if isinstance(self.const, bytes):
            return self.const.decode("latin-1")
        return None


UNKNOWN = Value()


def constant(value: Any) -> Value:
    """A known constant; strings are their own prefix."""
    return Value(const=value, prefix=value if isinstance(value, str) else None)


def named(name: str, flows: tuple[Flow, ...] = ()) -> Value:
    """A value known by what it denotes."""
    return Value(flows, name=name[:_MAX_NAME]) if name or flows else UNKNOWN


def merge_flows(*groups: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Join origins: one flow a label, the one with the fewest marks (what is not marked on every way is not safe)."""
    filled = [group for group in groups if group]
    if not filled:
        return ()
    if len(filled) == 1:
        return filled[0]
    best: dict[Any, Flow] = {}
    for group in filled:
        for flow in group:
            known = best.get(flow.label)
            if known is None or len(flow.marks) < len(known.marks):
                best[flow.label] = flow
    return tuple(best.values())[:MAX_FLOWS]


def join(first: Value | None, second: Value | None) -> Value:
    """The value after two ways meet."""
    if first is None or second is None or first is second:
        return first or second or UNKNOWN
    same_const = first.is_const and second.is_const and type(first.const) is type(second.const)
    return Value(
        merge_flows(first.flows, second.flows),
        first.const if same_const and first.const == second.const else UNSET,
        first.name
        if first.name == second.name or not second.name
        else (second.name if not first.name else ""),
        first.prefix if first.prefix == second.prefix else None,
        first.composed or second.composed,
        _joined_items(first.items, second.items),
        first.entries if first.entries == second.entries else None,
        first.is_fixed and second.is_fixed,
    )


def _joined_items(
    first: tuple[Value, ...] | None, second: tuple[Value, ...] | None
) -> tuple[Value, ...] | None:
    """Parts after two ways meet: what both begin with, and one part for all the rest."""
    if first is None or second is None or first == second:
        return first if first == second else None
    same = 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    if not same:
        return None
    rest: Value | None = None
    for part in (*first[same:], *second[same:]):
        rest = join(rest, part)
    return (*first[:same], *((rest,) if rest is not None else ()))


def add_step(value: Value, step: Step) -> Value:
    """Note that the value passed a line; the same line twice in a row counts once."""
    if not value.flows:
        return value
    flows = tuple(
        flow
        if len(flow.steps) >= MAX_STEPS or (flow.steps and flow.steps[-1].line == step.line)
        else flow._replace(steps=(*flow.steps, step))
        for flow in value.flows
    )
    return Value(flows, value.const, value.name, value.prefix, value.composed, value.items, value.entries)
