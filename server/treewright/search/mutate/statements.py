"""Whole statements: left out, swapped, repeated, moved into and out of blocks, joined to an else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import Site

_INDENT = "    "
_SIMPLE = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Continue,
    ast.Break,
    ast.Raise,
    ast.Assert,
)


def propose(node: ast.AST, site: Site, _material: Material) -> Iterator[Edit]:
    """Edits of one statement's presence and place."""
    if not isinstance(node, ast.stmt) or isinstance(
        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    ):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if not isinstance(node, ast.Pass):
        yield Edit(
            "statement.delete", (site.remove(node),), node.lineno, 0.0 if isinstance(node, _SIMPLE) else 1.5
        )
    if isinstance(node, (ast.Break, ast.Continue)):
        other = "continue" if isinstance(node, ast.Break) else "break"
        yield Edit("statement.jump", ((*site.span(node), other),), node.lineno)
        yield Edit("statement.jump", ((*site.span(node), "pass"),), node.lineno, 1.0)
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        yield from _assignment(node, site)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _stored(node, node.value, site)
    if site.starts_line(node):
        yield from _places(node, site)
    if isinstance(node, ast.If):
        yield from _branches(node, site)


def _assignment(node: ast.Assign | ast.AugAssign, site: Site) -> Iterator[Edit]:
    start, end = site.span(node)
    value = site.text(node.value)
    yield Edit("statement.returned", ((start, end, f"return {value}"),), node.lineno)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        items = node.targets[0].elts
        for index in range(len(items) - 1):
            one, other = items[index], items[index + 1]
            splices = (site.replace(one, site.text(other)), site.replace(other, site.text(one)))
            yield Edit("argument.element", splices, node.lineno)


def _stored(node: ast.Expr, call: ast.Call, site: Site) -> Iterator[Edit]:
    """`a.update(b)` and its kin as an assignment to `a`: a copy was changed where the original was due, or the
    other way round."""
    if isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords:
        owner, value = site.text(call.func.value), site.text(call.args[0])
        if isinstance(call.func.value, (ast.Name, ast.Subscript, ast.Attribute)):
            yield Edit("statement.stored", ((*site.span(node), f"{owner} = {value}"),), node.lineno)
            yield Edit("statement.stored", ((*site.span(node), f"{owner} += {value}"),), node.lineno, 0.5)


def _places(node: ast.stmt, site: Site) -> Iterator[Edit]:
    block = site.block_of(node)
    index = block.index(node)
    if index + 1 < len(block) and site.starts_line(block[index + 1]):
        below = block[index + 1]
        splices = (
            (*site.lines_span(node), site.lines_text(below)),
            (*site.lines_span(below), site.lines_text(node)),
        )
        yield Edit("statement.swap", splices, node.lineno)
        yield from _into_next(node, below, site)
    if index and site.starts_line(block[index - 1]):
        yield from _into_previous(node, block[index - 1], site)
    yield from _out(node, block, index, site)
    yield from _further(node, block, index, site)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield Edit(
            "statement.repeat", ((site.lines_span(node)[1],) * 2 + (site.lines_text(node),),), node.lineno
        )


def _into_previous(node: ast.stmt, above: ast.stmt, site: Site) -> Iterator[Edit]:
    """The statement becomes the last of the block above it."""
    start, end = site.lines_span(node)
    for body in (getattr(above, "orelse", None), getattr(above, "body", None)):
        if isinstance(body, list) and body and isinstance(body[-1], ast.stmt) and site.starts_line(body[-1]):
            yield Edit(
                "statement.into", ((start, end, site.reindented(node, site.indent(body[-1]))),), node.lineno
            )
            deepest: ast.stmt | None = _last_inside(body[-1], site)
            while deepest is not None:
                moved = (start, end, site.reindented(node, site.indent(deepest)))
                yield Edit("statement.into", (moved,), node.lineno, 1.0)
                deepest = _last_inside(deepest, site)
    if isinstance(above, ast.If) and not above.orelse and isinstance(above.body[-1], ast.stmt):
        indent = site.indent(node)
        text = f"{indent}else:\n{site.reindented(node, indent + _INDENT)}"
        yield Edit("statement.else", ((start, end, text),), node.lineno)
    if isinstance(above, (ast.For, ast.While)) and not above.orelse:
        indent = site.indent(node)
        text = f"{indent}else:\n{site.reindented(node, indent + _INDENT)}"
        yield Edit("statement.else", ((start, end, text),), node.lineno, 2.0)


def _last_inside(node: ast.stmt, site: Site) -> ast.stmt | None:
    """The last statement of a statement's own block, when it stands on a line of its own."""
    body = getattr(node, "body", None)
    last = body[-1] if isinstance(body, list) and body else None
    return last if isinstance(last, ast.stmt) and site.starts_line(last) else None


def _into_next(node: ast.stmt, below: ast.stmt, site: Site) -> Iterator[Edit]:
    """The statement becomes the first of the block below it."""
    body = getattr(below, "body", None)
    if isinstance(below, (ast.For, ast.While, ast.If)) and body and site.starts_line(body[0]):
        at = site.lines_span(body[0])[0]
        text = site.reindented(node, site.indent(body[0]))
        yield Edit("statement.into", ((*site.lines_span(node), ""), (at, at, text)), node.lineno)


def _out(node: ast.stmt, block: list[ast.stmt], index: int, site: Site) -> Iterator[Edit]:
    """The last statements of a block move behind it; the first one moves before it."""
    parent = site.parents.get(node)
    if (
        not isinstance(parent, (ast.For, ast.While, ast.If, ast.With))
        or len(block) < 2
        or not site.starts_line(parent)
    ):
        return
    indent = site.indent(parent)
    start = site.lines_span(node)[0]
    if (index == len(block) - 1 and block is not getattr(parent, "body", None)) or (
        index == len(block) - 1 and not getattr(parent, "orelse", None)
    ):
        yield Edit("statement.out", ((*site.lines_span(node), site.reindented(node, indent)),), node.lineno)
    if index == 0:
        at = site.lines_span(parent)[0]
        yield Edit(
            "statement.out",
            ((at, at, site.reindented(node, indent)), (*site.lines_span(node), "")),
            node.lineno,
        )
    if index and index < len(block) - 1 and not getattr(parent, "orelse", None):
        end = site.lines_span(block[-1])[1]
        text = "".join(site.reindented(one, indent) for one in block[index:])
        yield Edit("statement.out", ((start, end, text),), node.lineno, 1.0)


def _further(node: ast.stmt, block: list[ast.stmt], index: int, site: Site) -> Iterator[Edit]:
    """The statement moves to another place in its own block."""
    text = site.lines_text(node)
    for other_index, other in enumerate(block):
        if other_index in (index - 1, index, index + 1) or not site.starts_line(other):
            continue
        at = site.lines_span(other)[0 if other_index < index else 1]
        yield Edit("statement.move", ((*site.lines_span(node), ""), (at, at, text)), node.lineno)


def _branches(node: ast.If, site: Site) -> Iterator[Edit]:
    """Edits of a whole alternative: its two sides swapped, or the else taken away or joined."""
    if not node.orelse or (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
        return
    if not (site.starts_line(node.body[0]) and site.starts_line(node.orelse[0]) and site.starts_line(node)):
        return
    body = "".join(site.lines_text(one) for one in node.body)
    orelse = "".join(site.lines_text(one) for one in node.orelse)
    body_span = (site.lines_span(node.body[0])[0], site.lines_span(node.body[-1])[1])
    orelse_span = (site.lines_span(node.orelse[0])[0], site.lines_span(node.orelse[-1])[1])
    yield Edit("statement.branches", ((*body_span, orelse), (*orelse_span, body)), node.lineno)
    outside = "".join(site.reindented(one, site.indent(node)) for one in node.orelse)
    yield Edit("statement.else", ((body_span[1], orelse_span[1], outside),), node.lineno)
    yield Edit("statement.else", ((body_span[1], orelse_span[1], ""),), node.lineno, 1.0)
