"""Arithmetic: another operator, operands swapped, dropped or grouped otherwise, augmented assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import Site, strength

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_NEAR = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "//": "%/",
    "%": ("//", "/"),
    "**": "*",
    "&": ("|", "^"),
    "|": ("&", "^"),
    "^": ("&", "|"),
    "<<": ">>",
    ">>": "<<",
}
_FAR = {
    "+": ("*", "//", "/", "%", "**"),
    "-": ("*", "//", "%", "/", "**"),
    "*": ("+", "//", "**", "-", "%"),
    "/": ("//", "%", "-", "+"),
    "//": ("*", "-", "+", ">>"),
    "%": ("*", "-", "+"),
    "**": ("+", "//", "%", "<<"),
    "&": ("%", "-", "+", ">>", "and"),
    "|": ("+", "or", "-"),
    "^": ("**", "+", "*"),
    "<<": ("**", "*"),
    ">>": ("//",),
}
_STRENGTH_CHANGES = {
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "//": 11,
    "%": 11,
    "**": 13,
    "<<": 9,
    ">>": 9,
    "&": 8,
    "^": 7,
    "|": 6,
}


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """Edits of binary operations, unary minus and augmented assignments."""
    if isinstance(node, ast.BinOp):
        yield from _binary(node, site)
        yield from _regroup(node, site)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield Edit(
            "arithmetic.unary",
            (site.replace(node, site.text(node.operand), strength(node.operand)),),
            node.lineno,
        )
    elif isinstance(node, ast.AugAssign):
        yield from _augmented(node, site)
    elif (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], (ast.Name, ast.Subscript))
    ):
        target_end, value_start = site.span(node.targets[0])[1], site.span(node.value)[0]
        for sign, extra in (("+=", 0.0), ("-=", 1.0), ("*=", 1.5)):
            yield Edit("arithmetic.accumulate", ((target_end, value_start, f" {sign} "),), node.lineno, extra)


def _binary(node: ast.BinOp, site: Site) -> Iterator[Edit]:
    sign = _SIGNS.get(type(node.op))
    if sign is None:
        return
    left, right = site.text(node.left), site.text(node.right)
    idiom = _idiom_bits(node, site)
    for operator, others in (("arithmetic.near", _near(sign)), ("arithmetic.far", _FAR[sign])):
        for other in others:
            level = _STRENGTH_CHANGES.get(other, 2)
            tight = level + 1 if other not in ("and", "or") else level
            left_level = level + 1 if other == "**" else level
            text = f"{site.operand(node.left, left_level)} {other} {site.operand(node.right, tight)}"
            # What was written as a true division was seldom meant to be a whole one.
            extra = idiom + (1.0 if (sign, other) == ("/", "//") else 0.0)
            yield Edit(operator, (site.replace(node, text, level),), node.lineno, extra)
    yield Edit("arithmetic.drop", (site.replace(node, left, strength(node.left)),), node.lineno)
    extra = 0.0 if sign in "+*%" else 1.0
    yield Edit("arithmetic.drop", (site.replace(node, right, strength(node.right)),), node.lineno, extra)
    if left != right and not (sign in "*&|^" or (sign == "+" and _numbers(node, site))):
        level = strength(node)
        text = f"{site.operand(node.right, level)} {sign} {site.operand(node.left, level + 1)}"
        yield Edit("arithmetic.swap", (site.replace(node, text, level),), node.lineno)


def _idiom_bits(node: ast.BinOp, site: Site) -> float:
    """Bits against another operator where the present one is an idiom: `n % k == 0`, or one of a row of alike."""
    parent = site.parents.get(node)
    if (
        isinstance(node.op, ast.Mod)
        and isinstance(parent, ast.Compare)
        and isinstance(parent.comparators[0], ast.Constant)
    ):
        return 2.0
    chained = [one for one in (node.left, node.right, parent) if isinstance(one, ast.BinOp)]
    return 0.7 if any(type(one.op) is type(node.op) for one in chained) else 0.0


def _near(sign: str) -> tuple[str, ...]:
    if sign == "//":
        return ("%", "/")
    near = _NEAR[sign]
    return (near,) if isinstance(near, str) else tuple(near)


def _numbers(node: ast.BinOp, site: Site) -> bool:
    return site.scope_of(node).kinds.of(node) == "num"


def _regroup(node: ast.BinOp, site: Site) -> Iterator[Edit]:
    """`a op b op c` grouped the other way round: parentheses that are missing or too many."""
    sign = _SIGNS.get(type(node.op))
    inner = node.left
    if isinstance(inner, ast.BinOp) and sign and type(inner.op) in _SIGNS:
        tight = max(strength(node), strength(inner)) + 1
        first, second = site.operand(inner.left, tight), _SIGNS[type(inner.op)]
        text = f"{first} {second} ({site.text(inner.right)} {sign} {site.text(node.right)})"
        yield Edit("arithmetic.regroup", (site.replace(node, text, strength(inner)),), node.lineno)
        without = f"{first} {second} {site.operand(node.right, strength(inner) + 1)}"
        yield Edit("arithmetic.drop", (site.replace(node, without, strength(inner)),), node.lineno)
    inner = node.right
    if isinstance(inner, ast.BinOp) and sign and type(inner.op) in _SIGNS:
        text = f"({site.text(node.left)} {sign} {site.text(inner.left)}) {_SIGNS[type(inner.op)]} {site.text(inner.right)}"
        yield Edit("arithmetic.regroup", (site.replace(node, text, strength(inner)),), node.lineno)


def _augmented(node: ast.AugAssign, site: Site) -> Iterator[Edit]:
    sign = _SIGNS.get(type(node.op))
    if sign is None:
        return
    start, end = site.span(node.target)[1], site.span(node.value)[0]
    for operator, others in (("arithmetic.near", _near(sign)), ("arithmetic.far", _FAR[sign])):
        for other in others:
            if other not in ("and", "or"):
                yield Edit(operator, ((start, end, f" {other}= "),), node.lineno)
    yield Edit("arithmetic.assign", ((start, end, " = "),), node.lineno)
    target, value = site.text(node.target), site.text(node.value)
    span = site.span(node)
    if sign == "+":
        yield Edit("arithmetic.prepend", ((*span, f"{target} = {value} + {target}"),), node.lineno)
        if isinstance(node.value, ast.BinOp):
            repeated = [part for part in (node.value.left, node.value.right) if site.text(part) == target]
            for part in repeated:
                kept = node.value.right if part is node.value.left else node.value.left
                yield Edit("arithmetic.drop", (site.replace(node.value, site.text(kept)),), node.lineno)
    for wrap in ("max", "min"):
        yield Edit("wrap.extreme", ((*span, f"{target} = {wrap}({target}, {value})"),), node.lineno, 1.5)
