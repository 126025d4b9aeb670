"""Reads the values that checks expect, without running anything.

Literals are read as they stand; arithmetic and a few constructors over literals (`2.0 / 3.0`, `[0] * 5`,
`set([1, 2])`, `float("nan")`) are folded here, bounded, so that most expectations never need a kernel.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any


class NotReadable(ValueError):  # noqa: N818  it names a property of the text, not a fault
    """The expression needs running."""


_MAX_POWER = 4096
_MAX_ITEMS = 100_000
_MAX_BITS = 40_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "set": set,
    "frozenset": frozenset,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "float": float,
    "int": int,
    "str": str,
    "bytes": bytes,
    "complex": complex,
    "abs": abs,
    "round": round,
    "sorted": sorted,
    "sum": sum,
    "len": len,
    "range": range,
}
_CONSTANTS = {
    "math.inf": float("inf"),
    "math.nan": float("nan"),
    "math.pi": 3.141592653589793,
    "math.e": 2.718281828459045,
}


def read_value(node: ast.expr) -> Any:
    """Return the plain value of an expression that only holds literals.

    Args:
        node: the expression.

    Raises:
        NotReadable: it holds names, calls or sizes that are not folded here.
    """
    try:
        value = _read(node)
    except NotReadable:
        raise
    except (ArithmeticError, TypeError, ValueError, MemoryError, RecursionError) as error:
        raise NotReadable(str(error)) from error
    return list(value) if isinstance(value, range) else value


def _read(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return value
        case ast.List(elts=items):
            return [_read(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_read(item) for item in items)
        case ast.Set(elts=items):
            return {_read(item) for item in items}
        case ast.Dict(keys=keys, values=values):
            return {_read_key(key): _read(value) for key, value in zip(keys, values, strict=True)}
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_read(operand))
        case ast.BinOp(left=left, op=op, right=right):
            return _fold(op, _read(left), _read(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CONSTRUCTORS:
            return _bounded(_CONSTRUCTORS[name](*(_guard_range(name, _read(arg)) for arg in args)))
        case ast.Attribute(value=ast.Name(id=module), attr=attr) if f"{module}.{attr}" in _CONSTANTS:
            return _CONSTANTS[f"{module}.{attr}"]
        case _:
            raise NotReadable(type(node).__name__)


def _read_key(key: ast.expr | None) -> Any:
    if key is None:
        raise NotReadable("dict unpacking")
    return _read(key)


def _guard_range(name: str, value: Any) -> Any:
    if name == "range" and isinstance(value, int) and abs(value) > _MAX_ITEMS:
        raise NotReadable("a long range")
    if name == "bytes" and isinstance(value, int):
        raise NotReadable("bytes of a size")
    return value


def _fold(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Pow) and (not isinstance(right, (int, float)) or abs(right) > _MAX_POWER):
        raise NotReadable("a large power")
    if isinstance(op, ast.Pow) and isinstance(left, int) and left.bit_length() * abs(right) > _MAX_BITS:
        raise NotReadable("a large power")
    if isinstance(op, ast.LShift) and (not isinstance(right, int) or right > _MAX_POWER):
        raise NotReadable("a large shift")
    if isinstance(op, ast.Mult):
        for size, times in ((left, right), (right, left)):
            if hasattr(size, "__len__") and isinstance(times, int) and len(size) * times > _MAX_ITEMS:
                raise NotReadable("a long repetition")
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        raise NotReadable("formatting")
    if type(op) not in _BINARY:
        raise NotReadable(type(op).__name__)
    return _bounded(_BINARY[type(op)](left, right))


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise NotReadable("a large number")
    return value
