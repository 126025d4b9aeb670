"""Parts of values: paths of names, elements and entries of displays, folded constants."""

import ast
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
    if base.items is not None and isinstance(key, int) and -len(base.items) <= key < len(base.items):
        return base.items[key]
    return None


def fold(operator: ast.operator, left: Value, right: Value) -> Value:
    """Fold constants; results over 10,000 characters or digits are left unknown."""
    first, second = left.const, right.const
    try:
        if isinstance(operator, ast.Add):
            return constant(first + second)
        if isinstance(operator, ast.Mod) and isinstance(first, (str, int)):
            return constant(first % second)
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
