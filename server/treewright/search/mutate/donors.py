"""Donor expressions: another expression of the same function where this one stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import ARITH, Site, strength

_MOST = 14


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Donors of a fitting kind for one expression, alone and combined with it."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield from _targets(node, site, material)
        return
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if isinstance(node, (ast.Constant, ast.Slice, ast.Starred, ast.GeneratorExp, ast.Lambda, ast.JoinedStr)):
        return
    parent = site.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    kind = site.scope_of(node).kinds.of(node)
    here = site.text(node)
    for held, donors in material.donors(node).expressions.items():
        if not fits(held, kind) or held == "bool":
            continue
        extra = 0.0 if held == kind and held != "any" else 1.0
        for text, donor in donors[:_MOST]:
            if text == here or isinstance(donor, (ast.GeneratorExp, ast.Compare, ast.Lambda)):
                continue
            yield Edit("donor.expression", (site.replace(node, text, strength(donor)),), node.lineno, extra)
            if isinstance(parent, (ast.Return, ast.Assign)) and held == kind == "num" and here not in text:
                for sign in ("+", "-"):
                    combined = f"{here} {sign} {site.operand(donor, ARITH + 1)}"
                    yield Edit("donor.combine", (site.replace(node, combined, ARITH),), node.lineno)
    if not isinstance(node, ast.Name):
        yield from _names(node, kind, site)
    yield from _with_names(node, kind, here, site)


def _names(node: ast.expr, kind: str, site: Site) -> Iterator[Edit]:
    """A name in scope where an expression stands."""
    kinds = site.scope_of(node).kinds
    for name in site.readable(node):
        if fits(kinds.of_name(name), kind):
            unsure = 0.0 if kinds.of_name(name) == kind and kind != "any" else 0.7
            yield Edit("donor.name", (site.replace(node, name),), node.lineno, unsure)


def _targets(node: ast.Subscript | ast.Attribute, site: Site, material: Material) -> Iterator[Edit]:
    """Another place of the same function where a value is stored."""
    here = site.text(node)
    for donors in material.donors(node).expressions.values():
        for text, donor in donors[:_MOST]:
            if text != here and isinstance(donor, (ast.Subscript, ast.Attribute)):
                yield Edit("donor.target", (site.replace(node, text),), node.lineno)


def _with_names(node: ast.expr, kind: str, here: str, site: Site) -> Iterator[Edit]:
    """A number that lacks a term or factor: `e + n`, `e - n`, `e * n` for names in scope."""
    parent = site.parents.get(node)
    if kind not in ("num", "str", "list", "any") or not isinstance(
        parent, (ast.Return, ast.Assign, ast.AugAssign, ast.Compare, ast.Call, ast.Subscript, ast.Slice)
    ):
        return
    kinds = site.scope_of(node).kinds
    for name in site.readable(node):
        other = kinds.of_name(name)
        if name == here or not fits(kind, other):
            continue
        unsure = 0.0 if kind == other else 1.5
        yield Edit(
            "donor.term",
            (site.replace(node, f"{site.operand(node, ARITH)} + {name}", ARITH),),
            node.lineno,
            unsure,
        )
        if kind in ("num", "any"):
            yield Edit(
                "donor.term",
                (site.replace(node, f"{site.operand(node, ARITH)} - {name}", ARITH),),
                node.lineno,
                unsure,
            )
            for sign in ("*", "//", "%", "/"):
                yield Edit(
                    "donor.term",
                    (site.replace(node, f"{site.operand(node, 11)} {sign} {name}", 11),),
                    node.lineno,
                    unsure + 1.0,
                )
