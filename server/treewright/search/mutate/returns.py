"""What comes back: another name, a wrapped value, flags flipped together, a return that was forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import ARITH, Site, own_nodes


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits of return and yield, and of a function's ends."""
    if isinstance(node, ast.Return):
        yield from _return(node, site, material)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _flags(node, site)
        yield from _missing(node, site)
    elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        yield from _expression(node, site)
    elif isinstance(node, ast.YieldFrom):
        yield Edit("return.yield", (site.replace(node, f"yield {site.text(node.value)}", 0),), node.lineno)


def _return(node: ast.Return, site: Site, material: Material) -> Iterator[Edit]:
    value = node.value
    start, end = site.span(node)
    if value is None:
        for name in site.readable(node):
            yield Edit("return.name", ((start, end, f"return {name}"),), node.lineno)
        return
    text = site.text(value)
    kinds = site.scope_of(node).kinds
    kind = kinds.of(value)
    names = site.readable(node)
    if not isinstance(value, ast.Name):
        for name in names:
            if name != text:
                yield Edit(
                    "return.name",
                    (site.replace(value, name),),
                    node.lineno,
                    0.0 if isinstance(value, ast.Constant) else 0.5,
                )
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield from _compared(node, value, names, site, material)
    yield Edit("return.wrap", (site.replace(value, f"[{text}]"),), node.lineno)
    for name in names:
        other = kinds.of_name(name)
        if name == text or not fits(kind, other) or kind == "bool":
            continue
        sure = 0.0 if kind == other else 1.0
        for combined in (f"{name} + {site.operand(value, ARITH)}", f"{site.operand(value, ARITH)} + {name}"):
            yield Edit("return.combine", (site.replace(value, combined, ARITH),), node.lineno, sure)
        if other == "num":
            for sign in ("-", "*", "//"):
                yield Edit(
                    "return.combine",
                    (site.replace(value, f"{site.operand(value, 12)} {sign} {name}", ARITH),),
                    node.lineno,
                    sure + 1.0,
                )
    yield Edit("return.yield", ((start, start + len("return"), "yield"),), node.lineno, 2.0)


def _compared(
    node: ast.Return, value: ast.Constant, names: list[str], site: Site, material: Material
) -> Iterator[Edit]:
    """A flag that ought to have been asked: `return depth == 0`."""
    kinds = site.scope_of(node).kinds
    for name in names:
        kind = kinds.of_name(name)
        options = [f"not {name}", f"bool({name})"]
        if fits(kind, "num"):
            options = [f"{name} == 0", f"{name} > 0", f"{name} != 0", f"{name} == 1", f"{name} < 0", *options]
        for text in options:
            yield Edit(
                "return.compared", (site.replace(value, text, 5),), node.lineno, 0.0 if kind != "any" else 1.0
            )
    for one in names:
        for other in names:
            if one < other and fits(kinds.of_name(one), kinds.of_name(other)):
                yield Edit(
                    "return.compared", (site.replace(value, f"{one} == {other}", 5),), node.lineno, 1.5
                )
    for text in material.donors(node).conditions[:8]:
        yield Edit("return.compared", (site.replace(value, text, 2),), node.lineno, 1.0)


def _flags(node: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Iterator[Edit]:
    """Every flag that a function returns, flipped at once; two returned constants that changed places."""
    found = [
        child.value
        for child in own_nodes(node)
        if isinstance(child, ast.Return) and isinstance(child.value, ast.Constant)
    ]
    flags = [value for value in found if isinstance(value.value, bool)]
    if len(flags) > 1:
        splices = tuple(site.replace(value, str(not value.value)) for value in flags)
        yield Edit("return.flags", splices, flags[0].lineno)
        for value in flags:
            rest = tuple(site.replace(other, str(not other.value)) for other in flags if other is not value)
            if len(rest) > 1:
                yield Edit("return.flags", rest, value.lineno, 1.5)
    by_text: dict[str, list[ast.Constant]] = {}
    for value in found:
        by_text.setdefault(repr(value.value), []).append(value)
    for text, values in by_text.items():
        for other in by_text:
            if other != text and len(by_text) == 2 and text < other:
                pairs = tuple(site.replace(one, other if repr(one.value) == text else text) for one in found)
                yield Edit("return.flags", pairs, values[0].lineno, 0.5)
        if len(values) > 1 and isinstance(values[0].value, str):
            for replacement in ("''", "' '"):
                every = tuple(site.replace(one, replacement) for one in values)
                yield Edit("return.flags", every, values[0].lineno, 1.0)


def _missing(node: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Iterator[Edit]:
    """A return at the end of a function that ends without one."""
    last = node.body[-1]
    if isinstance(last, (ast.Return, ast.Raise)) or not site.starts_line(last):
        return
    for name in site.scope_of(node).names:
        yield Edit(
            "return.missing", (site.insert_after(last, f"return {name}"),), last.end_lineno or last.lineno
        )
    for text in ("True", "False", "[]", "0", "None", "''"):
        yield Edit(
            "return.missing",
            (site.insert_after(last, f"return {text}"),),
            last.end_lineno or last.lineno,
            1.0,
        )


def _expression(node: ast.Expr, site: Site) -> Iterator[Edit]:
    value = node.value
    start = site.span(node)[0]
    if isinstance(value, ast.Yield) and value.value is not None:
        inner = site.text(value.value)
        yield Edit("return.yield", ((*site.span(value), f"yield from {inner}"),), node.lineno)
        yield Edit("return.yield", ((*site.span(value), f"return {inner}"),), node.lineno, 1.0)
        if isinstance(value.value, ast.Call) and value.value.args:
            yield Edit(
                "return.yield",
                ((*site.span(value), f"yield {site.text(value.value.args[0])}"),),
                node.lineno,
                1.0,
            )
    elif isinstance(value, ast.YieldFrom):
        return
    elif isinstance(value, ast.Call):
        yield Edit("return.forgotten", ((start, start, "return "),), node.lineno)
        for name in site.readable(node):
            yield Edit("return.kept", ((start, start, f"{name} = "),), node.lineno)
            yield Edit("return.kept", ((start, start, f"{name} += "),), node.lineno, 0.5)
    elif isinstance(value, (ast.BinOp, ast.Compare, ast.Name, ast.Subscript)):
        yield Edit("return.forgotten", ((start, start, "return "),), node.lineno)
