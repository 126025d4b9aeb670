"""Parts of values: paths of names, elements and entries of displays, folded constants."""

import ast
from collections.abc import Callable
from typing import Any

from treewright.performers.static.python.value import UNKNOWN, Value, constant, join, named


def path_key(node: ast.expr) -> str | None:
    """`a.b.c` for a chain of names, else None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def element(value: Value) -> Value:
    """One element of an iterable."""
    if value.items:
        result = value.items[0]
        for item in value.items[1:]:
            result = join(result, item)
        return result
    return named(f"{value.name}[]" if value.name else "", value.flows)


def entry_at(base: Value, key: Any) -> Value | None:
    """The part of a display under a constant key, when it is known."""
    if base.entries is not None and isinstance(key, (str, int)) and key in base.entries:
        return base.entries[key]
    if isinstance(base.const, str) and isinstance(key, int) and -len(base.const) <= key < len(base.const):
        return constant(base.const[key])
    if base.items is not None and isinstance(key, int) and -len(base.items) <= key < len(base.items):
        return base.items[key]
    return None


def compared(operator: ast.cmpop, left: Value, right: Value) -> Value:
    """Fold a comparison of constants."""
    if not (left.is_const and right.is_const):
        return UNKNOWN
    test = _COMPARISONS.get(type(operator))
    try:
        return constant(bool(test(left.const, right.const))) if test is not None else UNKNOWN
    except TypeError:
        return UNKNOWN


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: bool(a == b),
    ast.NotEq: lambda a, b: bool(a != b),
    ast.Lt: lambda a, b: bool(a < b),
    ast.LtE: lambda a, b: bool(a <= b),
    ast.Gt: lambda a, b: bool(a > b),
    ast.GtE: lambda a, b: bool(a >= b),
    ast.In: lambda a, b: bool(a in b),
    ast.NotIn: lambda a, b: bool(a not in b),
}


def fold(operator: ast.operator, left: Value, right: Value) -> Value:
    """Fold constants; results over 10,000 characters or digits are left unknown."""
    first, second = left.const, right.const
    try:
        if isinstance(operator, ast.Add):
            return constant(first + second)
        if isinstance(operator, ast.Mod) and isinstance(first, (str, int)):
            return constant(first % second)
        if isinstance(operator, ast.Sub):
            return constant(first - second)
        if isinstance(operator, ast.FloorDiv):
            return constant(first // second)
        if isinstance(operator, ast.BitOr):
            return constant(first | second)
        if isinstance(operator, ast.Mult) and isinstance(second, int) and abs(second) < 100_000:
            if isinstance(first, (int, float)):
                return constant(first * second)
            if isinstance(first, (str, bytes)) and len(first) * second < 10_000:
                return constant(first * second)
        if isinstance(operator, ast.LShift) and isinstance(second, int) and 0 <= second < 64:
            return constant(first << second)
        if (
            isinstance(operator, ast.Pow)
            and isinstance(second, int)
            and 0 <= second < 64
            and abs(first) < 1000
        ):
            return constant(first**second)
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
    return UNKNOWN


def matching(node: ast.Match, subject: Value) -> list[ast.match_case]:
    """The cases that a subject can take: one when it and the patterns before it are constants, else all."""
    if not subject.is_const:
        return node.cases
    for case in node.cases:
        fits = _fits(case.pattern, subject.const)
        if fits is None or case.guard is not None:
            return node.cases
        if fits:
            return [case]
    return node.cases


def _fits(pattern: ast.pattern, value: Any) -> bool | None:
    """Whether a constant takes a pattern; None when that is not known."""
    if isinstance(pattern, ast.MatchValue) and isinstance(pattern.value, ast.Constant):
        return bool(pattern.value.value == value)
    if isinstance(pattern, ast.MatchSingleton):
        return pattern.value is value
    if isinstance(pattern, ast.MatchOr):
        parts = [_fits(part, value) for part in pattern.patterns]
        return True if True in parts else None if None in parts else False
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return True
    return None
