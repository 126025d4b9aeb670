"""Subscripts and slices: other bounds, a slice where the whole was taken, an element where a slice was."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import COLLECTIONS, fits
from treewright.search.mutate.site import Site


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """Edits of a subscript, or a slice put on a sequence."""
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            yield from _bounds(node, node.slice, site)
        else:
            yield from _index(node, site)
    if isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.ListComp)) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        yield from _sliced(node, site)


def _index(node: ast.Subscript, site: Site) -> Iterator[Edit]:
    value, index = site.text(node.value), site.text(node.slice)
    reads = isinstance(node.ctx, ast.Load)
    if reads:
        yield Edit("slice.whole", (site.replace(node, value),), node.lineno)
        yield Edit("slice.whole", (site.replace(node, index),), node.lineno, 1.0)
        for other in (
            f"{value}[-{index}]" if index.isidentifier() else "",
            f"{value}[{index}:]",
            f"{value}[:{index}]",
        ):
            if other:
                yield Edit("slice.element", (site.replace(node, other),), node.lineno)
    for other in ("0", "-1", "1"):
        if other != index and not isinstance(node.slice, ast.Tuple):
            yield Edit("slice.element", (site.replace(node.slice, other),), node.lineno)
    if isinstance(node.slice, ast.Tuple):
        for first, second in combinations(node.slice.elts, 2):
            splices = (site.replace(first, site.text(second)), site.replace(second, site.text(first)))
            yield Edit("argument.element", splices, node.lineno)
    if isinstance(node.value, ast.Subscript) and not isinstance(node.value.slice, ast.Slice):
        inner = node.value.slice
        splices = (site.replace(inner, index, 1), site.replace(node.slice, site.text(inner), 1))
        yield Edit("slice.transposed", splices, node.lineno)


def _bounds(node: ast.Subscript, cut: ast.Slice, site: Site) -> Iterator[Edit]:
    value = site.text(node.value)
    lower, upper, step = (site.text(part) if part else "" for part in (cut.lower, cut.upper, cut.step))
    options: list[tuple[str, str, str, float]] = [
        ("", upper, step, 0.0),
        (lower, "", step, 0.0),
        (lower, upper, "", 0.0),
    ]
    options += [
        (upper, lower, step, 1.0),
        (lower or "1", upper, step, 0.0),
        (lower, upper or "-1", step, 0.0),
    ]
    options += [
        (lower, upper, "-1", 0.5),
        (lower, upper, "2", 1.5),
        ("", lower, step, 1.0),
        (upper, "", step, 1.0),
    ]
    for name in site.readable(node):
        if (
            fits(site.scope_of(node).kinds.of_name(name), "num")
            and site.scope_of(node).kinds.of_name(name) != "bool"
        ):
            options += [(name, upper, step, 1.0), (lower, name, step, 1.0)]
            if not lower:
                options.append((f"{name} + 1", upper, step, 1.5))
            if not upper:
                options.append((lower, f"{name} + 1", step, 1.5))
    for first, last, by, extra in options:
        if (first, last, by) == (lower, upper, step):
            continue
        text = f"{value}[{first}:{last}:{by}]" if by else f"{value}[{first}:{last}]"
        yield Edit("slice.bound", (site.replace(node, text),), node.lineno, extra)
    yield Edit("slice.whole", (site.replace(node, value),), node.lineno)


def _sliced(node: ast.expr, site: Site) -> Iterator[Edit]:
    """A part of a sequence where all of it is used."""
    parent = site.parents.get(node)
    if isinstance(parent, (ast.Subscript, ast.Attribute, ast.Expr)) or (
        isinstance(parent, ast.Call) and parent.func is node
    ):
        return
    kinds = site.scope_of(node).kinds
    kind = kinds.of(node)
    if not fits(kind, "seq") or (kind == "any" and not isinstance(node, (ast.Name, ast.ListComp))):
        return
    text = site.text(node)
    unsure = 1.0 if kind == "any" else 0.0
    for bounds, extra in (
        ("[1:]", 0.0),
        ("[:-1]", 0.0),
        ("[::-1]", 0.0),
        ("[:]", 0.5),
        ("[0]", 1.0),
        ("[-1]", 1.0),
        ("[1:-1]", 1.5),
    ):
        yield Edit("slice.part", (site.replace(node, text + bounds),), node.lineno, extra + unsure)
    for name in site.readable(node):
        held = kinds.of_name(name)
        if name == text or held in COLLECTIONS or held == "bool":
            continue
        less = 0.0 if held == "num" else 1.5
        for bounds, extra in (
            (f"[{name}:]", 0.0),
            (f"[:{name}]", 0.0),
            (f"[{name}]", 0.5),
            (f"[{name} + 1:]", 1.0),
            (f"[:{name} + 1]", 1.0),
        ):
            yield Edit(
                "slice.part", (site.replace(node, text + bounds),), node.lineno, 0.5 + extra + less + unsure
            )
