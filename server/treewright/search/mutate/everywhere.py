"""One slip made again and again: a name or a subscript that a function reads several times, changed in all places."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import Site

_MOST_NAMES = 12


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """Edits of everything alike in one function."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    yield from _subscripts(node, site)
    yield from _names(node, site)


def _subscripts(function: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Iterator[Edit]:
    """`a[i + 1]` wherever it stands becomes `a[i]`, or `a[i]` becomes `a[i + 1]`."""
    alike: dict[str, list[ast.Subscript]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            alike.setdefault(site.text(node), []).append(node)
    for nodes in alike.values():
        if len(nodes) < 2:
            continue
        for text in _indexes(nodes[0].slice, site):
            splices = tuple(site.replace(node.slice, text, 1) for node in nodes)
            yield Edit("everywhere.index", splices, nodes[0].lineno)


def _indexes(index: ast.expr, site: Site) -> list[str]:
    text = site.text(index)
    match index:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return [site.text(left)]
        case ast.Constant(value=int() as value):
            return [str(value + 1), str(value - 1)]
        case ast.Name() | ast.Subscript() | ast.Call():
            return [f"{text} + 1", f"{text} - 1"]
        case _:
            return []


def _names(function: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Iterator[Edit]:
    """A name that is read two to four times becomes another one everywhere."""
    reads: dict[str, list[ast.Name]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            parent = site.parents.get(node)
            if not (isinstance(parent, ast.Call) and parent.func is node):
                reads.setdefault(node.id, []).append(node)
    scope = site.scope_of(function)
    if len(scope.names) > _MOST_NAMES:
        return
    for name, nodes in reads.items():
        if not 2 <= len(nodes) <= 4 or name not in scope.names:
            continue
        for other in scope.names:
            if other != name and fits(scope.kinds.of_name(name), scope.kinds.of_name(other)):
                splices = tuple(site.replace(node, other) for node in nodes)
                yield Edit("everywhere.name", splices, nodes[0].lineno)
