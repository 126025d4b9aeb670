"""Names that a function binds and never reads: a sign of what was left out or mixed up."""

from __future__ import annotations

import ast


def unread_names(tree: ast.AST) -> set[str]:
    """Parameters and variables of functions that are bound but read nowhere; `_` and `self` do not count.

    Args:
        tree: a program or a function.
    """
    bound: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            bound.add(node.target.id)
    module = {
        target.id
        for node in getattr(tree, "body", [])
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {
        name for name in bound - read - module if not name.startswith("_") and name not in ("self", "cls")
    }


def degenerate(tree: ast.AST) -> int:
    """How many expressions say nothing: `x - x`, `x == x`, `a and a`, `x if c else x`, `f(x, x)`."""
    found = 0
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(
                left=left, op=ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.BitXor(), right=right
            ):
                found += _same(left, right)
            case ast.Compare(left=left, comparators=[right]):
                found += _same(left, right)
            case ast.BoolOp(values=values):
                found += sum(_same(a, b) for i, a in enumerate(values) for b in values[i + 1 :])
            case ast.IfExp(body=body, orelse=orelse):
                found += _same(body, orelse)
            case ast.Call(args=[left, right, *_]) if not isinstance(left, ast.Constant):
                found += _same(left, right)
            case ast.Assign(targets=[target], value=value):
                found += ast.unparse(target) == ast.unparse(value)
            case ast.Expr(value=ast.Name() | ast.Attribute() | ast.BinOp() | ast.Compare() | ast.Subscript()):
                found += 1
            case ast.If(test=ast.Constant()) | ast.IfExp(test=ast.Constant()):
                found += 1
            case _:
                continue
    return found


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
