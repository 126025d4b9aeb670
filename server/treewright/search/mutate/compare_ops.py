"""Comparison operators: the boundary, the direction, the kind of test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import COMPARE, Site

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OPPOSITE = {
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OTHERS = {
    "==": ("<=", ">=", "<", ">", "in", "is"),
    "!=": ("<", ">", "<=", ">=", "not in"),
    "<": ("==", "!="),
    ">": ("==", "!="),
    "<=": ("==", "!="),
    ">=": ("==", "!="),
    "in": ("==",),
    "not in": ("!=",),
    "is": ("==", "!="),
    "is not": ("!=", "=="),
}


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """Other operators for each comparison of a chain, and operands that change places."""
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for index, op in enumerate(node.ops):
        sign = _SIGNS[type(op)]
        start, end = site.span(operands[index])[1], site.span(operands[index + 1])[0]
        gap = site.source[start:end]
        if sign not in gap or "\n" in gap:
            continue
        chained = 1.5 if len(node.ops) > 1 else 0.0
        for operator, other in _variants(sign):
            text = gap.replace(
                sign, f" {other} " if other.isalpha() and not gap.startswith(" ") else other, 1
            )
            yield Edit(operator, ((start, end, text),), node.lineno, chained + _against(sign, operator))
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        left, right = node.left, node.comparators[0]
        yield Edit(
            "compare.operands",
            (
                site.replace(left, site.operand(right, COMPARE + 1)),
                site.replace(right, site.operand(left, COMPARE + 1)),
            ),
            node.lineno,
        )


def _against(sign: str, operator: str) -> float:
    """Bits against turning `<` into `>=`: a comparison is more often mirrored or off by its boundary."""
    return 0.8 if operator == "compare.opposite" and sign in _BOUNDARY else 0.0


def _variants(sign: str) -> Iterator[tuple[str, str]]:
    if sign in _BOUNDARY:
        yield "compare.boundary", _BOUNDARY[sign]
    yield "compare.opposite", _OPPOSITE[sign]
    if sign in _MIRROR:
        yield "compare.mirror", _MIRROR[sign]
    for other in _OTHERS[sign]:
        yield "compare.other", other
