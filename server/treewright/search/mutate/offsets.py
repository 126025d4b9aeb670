"""Off by one: a step more or less where numbers index, bound, count or come back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import ARITH, Site


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """`e + 1` and `e - 1` for an expression that may be a number."""
    if not isinstance(node, ast.expr) or isinstance(node, (ast.Constant, ast.Slice, ast.Starred)):
        return
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    place = _place(node, site.parents.get(node), site)
    if (
        place is None
        or not fits(site.scope_of(node).kinds.of(node), "num")
        or isinstance(node, (ast.Compare, ast.BoolOp))
    ):
        return
    if place != "offset.index" and site.scope_of(node).kinds.of(node) == "bool":
        return
    text = site.operand(node, ARITH)
    for sign in ("+", "-"):
        yield Edit(place, (site.replace(node, f"{text} {sign} 1", ARITH),), node.lineno)


def _place(node: ast.expr, parent: ast.AST | None, site: Site) -> str | None:
    match parent:
        case ast.Subscript(slice=index) if index is node:
            return "offset.index"
        case ast.Slice():
            return "offset.index"
        case ast.Call(func=ast.Name(id="range"), args=args) if node in args:
            return "offset.index"
        case ast.Call(func=func) if func is not node:
            return "offset.argument"
        case ast.Compare() | ast.Return():
            return "offset.bound"
        case ast.Tuple() if isinstance(node, (ast.Name, ast.BinOp)) and _indexes(parent, site):
            return "offset.index"
        case ast.Assign(value=value) if value is node:
            return "offset.stored"
        case ast.BinOp() | ast.Tuple() | ast.AugAssign() | ast.IfExp():
            return (
                "offset.value" if isinstance(node, (ast.Name, ast.Call, ast.BinOp, ast.Subscript)) else None
            )
        case _:
            return None


def _indexes(node: ast.Tuple, site: Site) -> bool:
    """Whether a tuple is what a subscript asks for, as in `table[i, j]`."""
    parent = site.parents.get(node)
    return isinstance(parent, ast.Subscript) and parent.slice is node
