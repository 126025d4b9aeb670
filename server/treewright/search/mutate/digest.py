"""One digest for all spellings of the same program.

Two texts have the same digest when their syntax trees agree after cheap equivalences: formatting, comments,
docstrings and parentheses do not count; `a > b` is `b < a`; `x + 1 - 1` is `x`; `x[0:]` is `x[:]`;
`range(0, n)` is `range(n)`; `not a == b` is `a != b`; `if not c: A else: B` is `if c: B else: A`; a `pass`
among other statements is nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from typing import Any

_FLIP = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def program_digest(source: str) -> str | None:
    """Digest of a program's normalised syntax tree, as 32 hexadecimal digits; None when it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree_digest(tree)


def tree_digest(tree: ast.AST) -> str:
    """Digest of a normalised syntax tree, as 32 hexadecimal digits."""
    return hashlib.blake2b(normal_form(tree).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def normal_form(node: ast.AST) -> str:
    """A text that is the same for equivalent syntax trees."""
    special = _SPECIAL.get(type(node))
    if special is not None:
        text = special(node)
        if text is not None:
            return text
    return _plain(node)


def _plain(node: ast.AST) -> str:
    parts = [type(node).__name__]
    for name in node._fields:
        if name in ("ctx", "type_comment", "kind", "type_ignores"):
            continue
        parts.append(_field(getattr(node, name, None)))
    return f"({' '.join(parts)})"


def _field(value: Any) -> str:
    if isinstance(value, ast.AST):
        return normal_form(value)
    if isinstance(value, list):
        if value and isinstance(value[0], ast.stmt):
            return _block(value)
        return f"[{' '.join(_field(item) for item in value)}]"
    return repr(value)


def _block(body: list[ast.stmt]) -> str:
    kept = [node for node in body if not _is_nothing(node)]
    return f"[{' '.join(normal_form(node) for node in kept)}]"


def _is_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _compare(node: ast.Compare) -> str | None:
    if len(node.ops) != 1:
        return None
    left, right = normal_form(node.left), normal_form(node.comparators[0])
    op: type[ast.cmpop] = type(node.ops[0])
    if op in _FLIP:
        left, right, op = right, left, _FLIP[op]
    elif op in (ast.Eq, ast.NotEq) and right < left:
        left, right = right, left
    return f"(Compare {op.__name__} {left} {right})"


def _not(node: ast.UnaryOp) -> str | None:
    inner = node.operand
    if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
        opposite = _NEGATED.get(type(inner.ops[0]))
        if opposite is not None:
            return normal_form(ast.Compare(inner.left, [opposite()], inner.comparators))
    if (
        isinstance(node.op, ast.USub)
        and isinstance(inner, ast.Constant)
        and isinstance(inner.value, (int, float))
        and type(inner.value) is not bool
    ):
        return f"(Constant {-inner.value!r})"
    if type(node.op) is ast.USub and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub):
        return normal_form(inner.operand)
    return None


def _sum(node: ast.BinOp) -> str | None:
    """A chain of additions of whole numbers, folded: `n - 1 + 1` is `n`."""
    if isinstance(node.op, ast.Mult) and _is_one(node.right):
        return normal_form(node.left)
    if not isinstance(node.op, (ast.Add, ast.Sub)):
        return None
    total = 0
    base: ast.expr = node
    while (
        isinstance(base, ast.BinOp)
        and isinstance(base.op, (ast.Add, ast.Sub))
        and _whole(base.right) is not None
    ):
        step = _whole(base.right) or 0
        total += step if isinstance(base.op, ast.Add) else -step
        base = base.left
    if base is node:
        return None
    if isinstance(base, ast.Constant) and type(base.value) is int:
        return f"(Constant {base.value + total!r})"
    inner = normal_form(base)
    return inner if total == 0 else f"(Step {inner} {total})"


def _whole(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 1


def _slice(node: ast.Slice) -> str | None:
    lower = None if node.lower is not None and _whole(node.lower) == 0 and node.step is None else node.lower
    step = None if node.step is not None and _whole(node.step) == 1 else node.step
    return f"(Slice {_field(lower)} {_field(node.upper)} {_field(step)})"


def _call(node: ast.Call) -> str | None:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=0), stop], keywords=[]):
            return normal_form(ast.Call(node.func, [stop], []))
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, ast.Constant(value=1)], keywords=[]):
            return normal_form(ast.Call(node.func, [start, stop], []))
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[one, other], keywords=[]):
            return f"({name} {' '.join(sorted((normal_form(one), normal_form(other))))})"
        case ast.Call(
            func=ast.Name(id="list" | "sorted" | "set" as name),
            args=[ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[])],
        ):
            return normal_form(ast.Call(ast.Name(name, ast.Load()), [inner], node.keywords))
        case _:
            return None


def _augmented(node: ast.AugAssign) -> str | None:
    match node:
        case ast.AugAssign(
            op=ast.Add() | ast.Sub() as op, value=ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as value)
        ):
            other: ast.operator = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            return normal_form(ast.AugAssign(node.target, other, value))
        case _:
            return None


def _if(node: ast.If) -> str | None:
    if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) and node.orelse:
        return normal_form(ast.If(node.test.operand, node.orelse, node.body))
    return None


def _return(node: ast.Return) -> str | None:
    return (
        "(Return None)"
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        else None
    )


_SPECIAL: dict[type[ast.AST], Callable[[Any], str | None]] = {
    ast.Compare: _compare,
    ast.UnaryOp: _not,
    ast.BinOp: _sum,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.Return: _return,
}
