"""Names: another variable, another function, another attribute or method; two names that changed places."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from itertools import combinations

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.priors import siblings
from treewright.search.mutate.site import Site, own_nodes

_BUILTINS = frozenset(dir(builtins))


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits of one name, or of all names of a function."""
    if isinstance(node, ast.Name):
        yield from _name(node, site, material)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node, site, material)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _exchanges(node, site)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.If, ast.Expr)):
        yield from _exchanges_in_statement(node, site)


def _name(node: ast.Name, site: Site, material: Material) -> Iterator[Edit]:
    parent = site.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        yield from _function(node, site, material)
        return
    scope = site.scope_of(node)
    kind = scope.kinds.of_name(node.id)
    target = isinstance(node.ctx, ast.Store)
    if isinstance(node.ctx, ast.Del):
        return
    if target and isinstance(parent, (ast.comprehension, ast.For, ast.Tuple)):
        return
    namesake = _NAMESAKE_BITS if _passes_its_namesake(node, parent, material) else 0.0
    candidates = scope.local if target else [*site.readable(node), *scope.globals]
    for name in dict.fromkeys(candidates):
        if name == node.id or (name in _BUILTINS and name not in scope.names):
            continue
        other = scope.kinds.of_name(name)
        if fits(kind, other):
            extra = namesake + (0.0 if kind == other else 0.5)
            yield Edit(
                "name.target" if target else "name.variable", (site.replace(node, name),), node.lineno, extra
            )
        elif not target and kind == "num" and other in ("list", "str", "seq", "dict", "set"):
            # Dividing by how many there are is what an average does.
            divides = (
                isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is node
            )
            extra = -1.0 if divides else 0.0
            yield Edit("name.length", (site.replace(node, f"len({name})"),), node.lineno, extra)
    if not target and kind in ("num", "any", "str") and not isinstance(parent, ast.Attribute):
        for number in ("0", "1"):
            yield Edit("name.constant", (site.replace(node, number),), node.lineno)


_NAMESAKE_BITS = 1.5
"""An argument that has the name of its parameter is seldom the wrong one."""


def _passes_its_namesake(node: ast.Name, parent: ast.AST | None, material: Material) -> bool:
    if not (isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and node in parent.args):
        return False
    function = material.functions.get(parent.func.id)
    index = parent.args.index(node)
    return (
        function is not None and index < len(function.args.args) and function.args.args[index].arg == node.id
    )


def _function(node: ast.Name, site: Site, material: Material) -> Iterator[Edit]:
    for other, extra in siblings(node.id):
        yield Edit("call.sibling", (site.replace(node, other),), node.lineno, extra)
    if node.id in material.functions:
        for name, function in material.functions.items():
            if name != node.id and len(function.args.args) == len(material.functions[node.id].args.args):
                yield Edit("call.other", (site.replace(node, name),), node.lineno)


def _attribute(node: ast.Attribute, site: Site, material: Material) -> Iterator[Edit]:
    parent = site.parents.get(node)
    end = site.span(node)[1]
    span = (end - len(node.attr), end)
    if isinstance(parent, ast.Call) and parent.func is node:
        for other, extra in siblings(f".{node.attr}"):
            if other.startswith("."):
                yield Edit("call.method", ((*span, other[1:]),), node.lineno, extra)
        return
    for other in material.attributes:
        if other != node.attr:
            yield Edit("name.attribute", ((*span, other),), node.lineno)
    if node.attr in material.attributes and isinstance(node.ctx, ast.Load):
        yield Edit("name.strip", (site.replace(node, site.text(node.value)),), node.lineno)
        chained = f"{site.text(node)}.{node.attr}"
        yield Edit("name.strip", (site.replace(node, chained),), node.lineno, 0.5)


def _exchanges(function: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Iterator[Edit]:
    """Two names that changed places in the whole body, in what is read or in what is written."""
    uses: dict[tuple[str, bool], list[ast.Name]] = {}
    for node in own_nodes(function, comprehensions=True):
        if isinstance(node, ast.Name) and not _is_called(node, site):
            uses.setdefault((node.id, isinstance(node.ctx, ast.Store)), []).append(node)
    names = list(dict.fromkeys(name for name, _ in uses))
    kinds = site.scope_of(function).kinds
    if len(names) > 14:
        return
    for one, other in combinations(names, 2):
        if not fits(kinds.of_name(one), kinds.of_name(other)):
            continue
        for written in (True, False):
            pair = uses.get((one, written), []) + uses.get((other, written), [])
            if uses.get((one, written)) and uses.get((other, written)):
                yield _exchange(pair, one, other, site, "name.exchange", function.body[0].lineno)


def _exchanges_in_statement(node: ast.stmt, site: Site) -> Iterator[Edit]:
    """Two names that changed places inside one statement."""
    roots: list[ast.AST] = [node.test] if isinstance(node, ast.If) else [node]
    reads = [
        child
        for root in roots
        for child in ast.walk(root)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and not _is_called(child, site)
    ]
    names = list(dict.fromkeys(child.id for child in reads))
    if not 2 <= len(names) <= 6:
        return
    kinds = site.scope_of(node).kinds
    for one, other in combinations(names, 2):
        pair = [child for child in reads if child.id in (one, other)]
        if fits(kinds.of_name(one), kinds.of_name(other)) and len(pair) > 1:
            yield _exchange(pair, one, other, site, "name.crossed", node.lineno)


def _is_called(node: ast.Name, site: Site) -> bool:
    parent = site.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _exchange(nodes: list[ast.Name], one: str, other: str, site: Site, operator: str, line: int) -> Edit:
    splices = tuple(site.replace(node, other if node.id == one else one) for node in nodes)
    return Edit(operator, splices, line)
