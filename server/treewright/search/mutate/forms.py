"""The same act in another form: stored or collected, looked up with a default, counted from one, passed along."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import ARITH, ATOM, Site

_COLLECTING = ("append", "add", "extend", "update")
_CAUGHT = (
    "Exception",
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "ZeroDivisionError",
    "StopIteration",
)


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Other forms of a statement, a look-up, a range, a handler or a call."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as method, args=[value], keywords=[])):
            yield from _stored(node, method, value, site)
        case ast.Assign(targets=[ast.Name() | ast.Subscript() | ast.Attribute() as target]):
            yield from _collected(node, target, site)
        case ast.ExceptHandler(type=ast.Name() as caught):
            yield from _other_handlers(caught, site)
        case ast.Call(func=ast.Name(id="range")):
            yield from _ranges(node, site)
        case ast.Subscript(ctx=ast.Load()):
            yield from _with_default(node, site)
    if isinstance(node, ast.Call):
        yield from _call(node, site, material)


def _stored(node: ast.Expr, method: ast.Attribute, value: ast.expr, site: Site) -> Iterator[Edit]:
    """`kept.update(value)` as `kept = value`."""
    owner = method.value
    if method.attr in _COLLECTING and isinstance(owner, (ast.Name, ast.Subscript, ast.Attribute)):
        text = f"{site.text(owner)} = {site.text(value)}"
        yield Edit("form.stored", ((*site.span(node), text),), node.lineno)


def _collected(
    node: ast.Assign, target: ast.Name | ast.Subscript | ast.Attribute, site: Site
) -> Iterator[Edit]:
    """`kept = value` as `kept.append(value)` and its like."""
    kind = site.scope_of(node).kinds.of(target)
    for method in _COLLECTING:
        natural = {"append": "list", "extend": "list", "add": "set", "update": "set"}[method]
        if kind == natural or (kind == "any" and not isinstance(target, ast.Name)):
            text = f"{site.text(target)}.{method}({site.text(node.value)})"
            yield Edit(
                "form.collected", ((*site.span(node), text),), node.lineno, 0.0 if kind == natural else 1.0
            )


def _other_handlers(caught: ast.Name, site: Site) -> Iterator[Edit]:
    for name in _CAUGHT:
        if name != caught.id:
            yield Edit(
                "form.caught",
                (site.replace(caught, name),),
                caught.lineno,
                0.0 if name != "Exception" else 0.5,
            )
            both = f"({caught.id}, {name})"
            yield Edit("form.caught", (site.replace(caught, both),), caught.lineno, 1.0)


def _ranges(node: ast.Call, site: Site) -> Iterator[Edit]:
    """The whole range a step up or down, and backwards."""
    if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    if len(node.args) == 1:
        stop = node.args[0]
        later = f"range(1, {_step(stop, 1, site)})"
        backwards = f"range({_step(stop, -1, site)}, -1, -1)"
        yield Edit("form.shifted", (site.replace(node, later),), node.lineno)
        yield Edit("form.backwards", (site.replace(node, backwards),), node.lineno)
    elif len(node.args) == 2:
        start, stop = node.args
        for step in (1, -1):
            moved = f"range({_step(start, step, site)}, {_step(stop, step, site)})"
            yield Edit("form.shifted", (site.replace(node, moved),), node.lineno)
        backwards = f"range({_step(stop, -1, site)}, {_step(start, -1, site)}, -1)"
        yield Edit("form.backwards", (site.replace(node, backwards),), node.lineno)


def _step(node: ast.expr, step: int, site: Site) -> str:
    """The text of a number that is a step away, without `+ 1 - 1` in it."""
    match node:
        case ast.Constant(value=int() as value):
            return str(value + step)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)) if step == -1:
            return site.text(left)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)) if step == 1:
            return site.text(left)
    return f"{site.operand(node, ARITH)} {'+' if step > 0 else '-'} 1"


def _with_default(node: ast.Subscript, site: Site) -> Iterator[Edit]:
    """`d[k]` as `d.get(k, default)`."""
    kind = site.scope_of(node).kinds.of(node.value)
    if isinstance(node.slice, (ast.Slice, ast.Tuple)) or kind not in ("dict", "any"):
        return
    for default, extra in (("0", 0.0), ("None", 0.5), ("[]", 1.0), ("''", 1.0)):
        text = f"{site.operand(node.value, ATOM)}.get({site.text(node.slice)}, {default})"
        unsure = 0.0 if kind == "dict" else 1.5
        yield Edit("form.default", (site.replace(node, text),), node.lineno, extra + unsure)


def _call(node: ast.Call, site: Site, material: Material) -> Iterator[Edit]:
    end = site.span(node)[1] - 1
    closed = site.source[end] == ")"
    if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and len(node.args) == 1 and closed:
        for default in ("0", "[]", "''", "False"):
            yield Edit("argument.add", ((end, end, f", {default}"),), node.lineno)
    if isinstance(node.func, ast.Name) and node.func.id == "bin":
        ones = f"{site.text(node)}.count('1')"
        yield Edit("wrap.method", (site.replace(node, ones),), node.lineno)
    for arg in node.args:
        kind = site.scope_of(node).kinds.of(arg)
        if not isinstance(arg, (ast.Starred, ast.GeneratorExp, ast.List)) and kind in ("num", "str", "any"):
            unsure = 0.0 if kind != "any" else 1.0
            yield Edit("wrap.list", (site.replace(arg, f"[{site.text(arg)}]"),), node.lineno, unsure)
    if closed and not any(isinstance(arg, (ast.GeneratorExp, ast.Starred)) for arg in node.args):
        yield from _passed(node, end, site, material)


def _passed(node: ast.Call, end: int, site: Site, material: Material) -> Iterator[Edit]:
    """A parameter of one of the file's own functions that this call leaves to its default."""
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    function = material.functions.get(name)
    if function is None or any(option.arg is None for option in node.keywords):
        return
    params = [one.arg for one in function.args.args]
    own = params[:1] in (["self"], ["cls"])
    given = len(node.args) + (1 if own and method else 0)
    left = [one for one in params[given:] if all(option.arg != one for option in node.keywords)]
    comma = ", " if node.args or node.keywords else ""
    kinds = site.scope_of(node).kinds
    for param in left[:3]:
        for value in site.readable(node):
            likely = -1.5 if value == param else 1.0
            if value == param or fits(kinds.of_name(value), "any"):
                yield Edit("argument.pass", ((end, end, f"{comma}{param}={value}"),), node.lineno, likely)
