"""Plain values: what may cross from a branch to the judge.

A branch answers a check with a *plain* value: built from `None`, `bool`, `int`, `float`, `complex`, `str`,
`bytes`, `list`, `tuple`, `dict`, `set` and `frozenset` of exactly these types (never a subclass, so no code
of the candidate comes along). Everything else crosses as an `Opaque` (a type name and a text), iterators as
a `Drained` (a type name and the items they gave). The module imports only the standard library, so a branch
can load its text on its own.

The encoding is a tree of JSON values: scalars stand for themselves, everything else is `[tag, ...]`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

DEPTH_LIMIT = 60
"""Deepest nesting that crosses; what lies deeper arrives as an `Opaque`."""

ITEM_LIMIT = 200_000
"""Most items one value may hold in all; what lies beyond is not encoded."""

DRAIN_LIMIT = 10_000
"""Most items taken from an iterator."""

_TAGS: dict[Any, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_BARE: dict[Any, Any] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
"""The bare plain value in an instance of a subclass, taken without calling anything of the subclass."""

_ITERATORS = [
    "generator",
    "map",
    "filter",
    "zip",
    "enumerate",
    "range",
    "reversed",
    "list_iterator",
    "tuple_iterator",
    "set_iterator",
    "dict_keys",
    "dict_values",
    "dict_items",
    "dict_keyiterator",
    "str_iterator",
    "str_ascii_iterator",
    "range_iterator",
    "list_reverseiterator",
    "chain",
    "islice",
    "accumulate",
    "permutations",
    "combinations",
    "product",
]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is not plain: only its type's name and a text of it crossed."""

    type_name: str
    text: str

    def __repr__(self) -> str:
        return self.text or f"<{self.type_name}>"


@dataclass(frozen=True, slots=True)
class Drained:
    """An iterator's items, in order, and whether all of them were taken."""

    type_name: str
    items: tuple[Any, ...]
    complete: bool = True

    def __repr__(self) -> str:
        return f"<{self.type_name} of {list(self.items)!r}>"


class _Budget:
    """Counts the items of one value."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = ITEM_LIMIT

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


def encode(value: Any) -> Any:
    """Turn any object into JSON-serialisable form without keeping a reference to it.

    Args:
        value: what a check evaluated to.

    Returns:
        A tree of `None`, `bool`, `int` (up to 4,000 digits), `float` (finite), `str` and lists.
    """
    return _encode(value, DEPTH_LIMIT, _Budget())


def _encode(value: Any, depth: int, budget: _Budget) -> Any:
    kind = type(value)
    if not budget.take() or depth <= 0:
        return ["o", kind.__name__, "..."]
    if value is None or kind is bool:
        return value
    if kind is str:
        return (
            value
            if value.isprintable() or _storable(value)
            else ["u", value.encode("utf-8", "surrogatepass").hex()]
        )
    if kind is int:
        return value if -(10**15) < value < 10**15 else ["i", hex(value)]
    if kind is float:
        return value if math.isfinite(value) else ["f", repr(value)]
    if kind in (list, tuple, set, frozenset):
        tag = _TAGS[kind]
        return [tag, *(_encode(item, depth - 1, budget) for item in kind.__iter__(value))]
    if kind is dict:
        pairs = [[_encode(k, depth - 1, budget), _encode(v, depth - 1, budget)] for k, v in dict.items(value)]
        return ["d", *pairs]
    if kind is complex:
        return ["c", repr(value.real), repr(value.imag)]
    if kind in (bytes, bytearray):
        return ["b", bytes(value).hex(), kind.__name__]
    if kind.__name__ in _ITERATORS and kind.__module__ in ("builtins", "itertools"):
        return _drain(value, kind.__name__, depth, budget)
    return _encode_other(value, kind, depth, budget)


def _storable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _drain(value: Any, name: str, depth: int, budget: _Budget) -> Any:
    items: list[Any] = []
    complete = True
    for item in value:
        if len(items) >= DRAIN_LIMIT:
            complete = False
            break
        items.append(_encode(item, depth - 1, budget))
    return ["g", name, complete, *items]


def _encode_other(value: Any, kind: type, depth: int, budget: _Budget) -> Any:
    """Subclasses of plain types cross as the plain type they extend, marked with their own name."""
    for plain, bare in _BARE.items():
        if issubclass(kind, plain):
            return ["x", kind.__name__, _encode(bare(value), depth - 1, budget)]
    name = kind.__name__
    if name in ("Decimal", "Fraction", "date", "datetime", "timedelta") and kind.__module__ in (
        "decimal",
        "fractions",
        "datetime",
    ):
        return ["o", name, repr(value)]
    if kind.__module__ == "numpy":
        return _encode_numpy(value, name, depth, budget)
    try:
        text = repr(value)[:2000]
    except Exception:  # noqa: BLE001  the candidate's own __repr__ may do anything
        text = ""
    return ["o", name, text if isinstance(text, str) else ""]


def _encode_numpy(value: Any, name: str, depth: int, budget: _Budget) -> Any:
    """NumPy arrays and scalars cross as the lists and numbers they hold, marked with their own name."""
    try:
        return ["x", name, _encode(value.tolist(), depth - 1, budget)]
    except Exception:  # noqa: BLE001  any attribute of a foreign object may fail
        return ["o", name, ""]


@dataclass(frozen=True, slots=True)
class Subclassed:
    """A plain value that was an instance of a subclass, such as a `Counter` or an `IntEnum` member."""

    type_name: str
    value: Any

    def __repr__(self) -> str:
        return f"{self.type_name}({self.value!r})"


def decode(data: Any) -> Any:
    """Turn the encoded form back into a plain value.

    Raises:
        ValueError: the data is not something that `encode` makes.
    """
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if not isinstance(data, list) or not data:
        raise ValueError("not an encoded value")
    tag, *rest = data
    if isinstance(tag, str) and tag in _SEQUENCES:
        return _SEQUENCES[tag](_hashable(decode(item), tag) for item in rest)
    reader = _READERS.get(str(tag))
    if reader is None:
        raise ValueError(f"unknown tag {tag!r}")
    return reader(rest)


_READERS: dict[str, Any] = {
    "d": lambda rest: {_hashable(decode(key), "s"): decode(item) for key, item in rest},
    "i": lambda rest: int(str(rest[0]), 16),
    "f": lambda rest: float(rest[0]),
    "c": lambda rest: complex(float(rest[0]), float(rest[1])),
    "b": lambda rest: bytes.fromhex(rest[0]),
    "u": lambda rest: bytes.fromhex(rest[0]).decode("utf-8", "surrogatepass"),
    "g": lambda rest: Drained(str(rest[0]), tuple(decode(item) for item in rest[2:]), bool(rest[1])),
    "x": lambda rest: Subclassed(str(rest[0]), decode(rest[1])),
    "o": lambda rest: Opaque(str(rest[0]), str(rest[1])),
}
_SEQUENCES: dict[str, Any] = {"l": list, "t": tuple, "s": set, "z": frozenset}


def _hashable(value: Any, tag: str) -> Any:
    """Members of sets and keys of dicts must hash; one that cannot becomes an opaque text."""
    if tag not in ("s", "z"):
        return value
    try:
        hash(value)
    except TypeError:
        return Opaque(type(value).__name__, repr(value))
    return value
