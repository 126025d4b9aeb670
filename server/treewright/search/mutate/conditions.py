"""Conditions: negated, joined otherwise, one part less, one part more, taken out, put in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.atoms import atoms_at
from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import AND, NOT, OR, TEST, Site, strength


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits of what decides."""
    if isinstance(node, ast.BoolOp):
        yield from _joined(node, site)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        text = site.text(node.operand)
        yield Edit("condition.negate", (site.replace(node, text, strength(node.operand)),), node.lineno)
    elif isinstance(node, (ast.If, ast.While)):
        yield from _test(node.test, site, material)
        yield from _statement(node, site)
    elif isinstance(node, ast.IfExp):
        yield from _test(node.test, site, material)
        yield from _expression(node, site)
    elif isinstance(node, ast.comprehension):
        yield from _filter(node, site, material)
    elif (
        isinstance(node, ast.Return)
        and node.value is not None
        and site.scope_of(node).kinds.of(node.value) == "bool"
    ):
        yield from _returned(node.value, site, material)


def _joined(node: ast.BoolOp, site: Site) -> Iterator[Edit]:
    values = node.values
    other = "or" if isinstance(node.op, ast.And) else "and"
    level = OR if other == "or" else AND
    texts = [site.operand(value, level + 1) for value in values]
    yield Edit("condition.junction", (site.replace(node, f" {other} ".join(texts), level),), node.lineno)
    sign = "and" if isinstance(node.op, ast.And) else "or"
    if len(values) == 3:
        for grouped in (
            f"({texts[0]} {other} {texts[1]}) {sign} {texts[2]}",
            f"{texts[0]} {sign} ({texts[1]} {other} {texts[2]})",
        ):
            yield Edit("condition.junction", (site.replace(node, grouped, strength(node)),), node.lineno, 1.0)
    for index in range(len(values)):
        rest = [site.operand(value, strength(node)) for i, value in enumerate(values) if i != index]
        binds = (
            strength(node)
            if len(rest) > 1
            else strength(values[1 - index] if len(values) == 2 else values[0])
        )
        yield Edit("condition.drop", (site.replace(node, f" {sign} ".join(rest), binds),), node.lineno)
    for index, value in enumerate(values):
        if isinstance(value, ast.BoolOp) and not isinstance(value.op, type(node.op)) and len(values) == 2:
            yield from _regrouped(node, value, index, site)


def _regrouped(node: ast.BoolOp, inner: ast.BoolOp, index: int, site: Site) -> Iterator[Edit]:
    """`a or b and c` as `(a or b) and c`, and the other way round."""
    outer, nested = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    texts = [site.operand(value, NOT) for value in inner.values]
    rest = site.operand(node.values[1 - index], NOT)
    if index == 1:
        text = f"({rest} {outer} {texts[0]}) {nested} {f' {nested} '.join(texts[1:])}"
    else:
        text = f"{f' {nested} '.join(texts[:-1])} {nested} ({texts[-1]} {outer} {rest})"
    yield Edit("condition.regroup", (site.replace(node, text, OR if nested == "or" else AND),), node.lineno)


def _test(test: ast.expr, site: Site, material: Material) -> Iterator[Edit]:
    if not isinstance(test, (ast.Compare, ast.UnaryOp, ast.Constant)):
        yield Edit(
            "condition.negate", (site.replace(test, f"not {site.operand(test, NOT)}", NOT),), test.lineno
        )
    for value in ("True", "False"):
        yield Edit("condition.constant", (site.replace(test, value),), test.lineno)
    yield from _returned(test, site, material)
    if isinstance(test, ast.Constant) or isinstance(site.parents.get(test), (ast.While, ast.If)):
        for text, extra in atoms_at(test, site, material):
            binds = TEST if " " in text else 14
            easier = -1.5 if isinstance(test, ast.Constant) else 0.0
            yield Edit("condition.replace", (site.replace(test, text, binds),), test.lineno, extra + easier)


def _returned(test: ast.expr, site: Site, material: Material) -> Iterator[Edit]:
    """One part more, before or after, so that a guard can protect what follows it."""
    if isinstance(test, ast.Constant):
        return
    for text, extra in atoms_at(test, site, material):
        for sign, level in (("or", OR), ("and", AND)):
            old = site.operand(test, level)
            new = f"({text})" if sign == "and" and " or " in text else text
            operator = "condition.more"
            guards = "is None" in text or text.startswith("not ") or text.isidentifier()
            if guards:
                yield Edit(operator, (site.replace(test, f"{new} {sign} {old}", level),), test.lineno, extra)
            yield Edit(
                operator, (site.replace(test, f"{old} {sign} {new}", level),), test.lineno, extra + 0.2
            )


def _statement(node: ast.If | ast.While, site: Site) -> Iterator[Edit]:
    start = site.span(node)[0]
    if not site.starts_line(node) and not site.source.startswith("elif", start):
        return
    if isinstance(node, ast.If) and site.source.startswith("if", start):
        if not (node.orelse and isinstance(node.orelse[0], ast.If) and site.is_elif(node.orelse[0])):
            yield Edit("condition.loop", ((start, start + 2, "while"),), node.lineno)
        if site.indent(node) and node.body:
            yield from _unconditional(node, site)
    elif isinstance(node, ast.If) and site.source.startswith("elif", start):
        yield Edit("condition.elif", ((start, start + 4, "if"),), node.lineno)
    elif isinstance(node, ast.While):
        yield Edit("condition.loop", ((start, start + 5, "if"),), node.lineno)
    if isinstance(node, ast.If):
        yield from _neighbours(node, site)


def _neighbours(node: ast.If, site: Site) -> Iterator[Edit]:
    """Two `if` in a row that ought to be alternatives."""
    block = site.block_of(node)
    index = block.index(node)
    start = site.span(node)[0]
    if (
        index
        and isinstance(block[index - 1], ast.If)
        and not getattr(block[index - 1], "orelse", None)
        and site.source.startswith("if", start)
    ):
        yield Edit("condition.elif", ((start, start + 2, "elif"),), node.lineno)


def _unconditional(node: ast.If, site: Site) -> Iterator[Edit]:
    """The body alone, as if the condition had always held."""
    if node.body[0].lineno == node.lineno:
        return
    if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
        kept = [*node.body]
    elif node.orelse:
        return
    else:
        kept = node.body
    lines = "".join(site.reindented(statement, site.indent(node)) for statement in kept)
    start, end = site.lines_span(node)
    yield Edit("condition.always", ((start, end, lines),), node.lineno)


def _expression(node: ast.IfExp, site: Site) -> Iterator[Edit]:
    body, orelse = site.text(node.body), site.text(node.orelse)
    splices = (
        site.replace(node.body, orelse, strength(node.orelse)),
        site.replace(node.orelse, body, strength(node.body)),
    )
    yield Edit("condition.negate", splices, node.lineno)
    yield Edit("condition.always", (site.replace(node, body, strength(node.body)),), node.lineno)
    yield Edit("condition.always", (site.replace(node, orelse, strength(node.orelse)),), node.lineno)


def _filter(node: ast.comprehension, site: Site, material: Material) -> Iterator[Edit]:
    line = node.iter.lineno
    end = site.span(node.ifs[-1] if node.ifs else node.iter)[1]
    if site.source[end : end + 1] == ")" and site.source[:end].count("(") > site.source[:end].count(")") + 8:
        return
    for test in node.ifs:
        start = site.source.rfind("if", 0, site.span(test)[0])
        yield Edit("condition.drop", ((start, site.span(test)[1], ""),), line)
        yield from _returned(test, site, material)
        yield Edit(
            "condition.negate", (site.replace(test, f"not {site.operand(test, NOT)}", NOT),), line, 0.5
        )
    targets = {child.id for child in ast.walk(node.target) if isinstance(child, ast.Name)}
    if not node.ifs:
        for text, extra in atoms_at(node.iter, site, material, also=tuple(targets)):
            if any(name in text for name in targets):
                yield Edit("condition.filter", ((end, end, f" if {text}"),), line, extra)
