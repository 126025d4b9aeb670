"""Statements and guards that are missing: steps, stores, base cases, early ends, donors from the same function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.atoms import atoms_at
from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import Site

_ENDS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """What may be put before or after one statement."""
    if not isinstance(node, ast.stmt) or isinstance(
        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    ):
        return
    if not site.starts_line(node) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    if site.source.startswith("elif", site.span(node)[0]):
        return
    lines = dict.fromkeys(_statements(node, site))
    for text, operator, extra in lines:
        yield Edit(operator, (site.insert_before(node, text),), node.lineno, extra)
        if site.block_of(node)[-1] is node and not isinstance(node, _ENDS):
            yield Edit(operator, (site.insert_after(node, text),), node.lineno, extra)
    yield from _guards(node, site, material)
    yield from _conditional(node, site, material)
    yield from _donors(node, site, material)


def _statements(node: ast.stmt, site: Site) -> Iterator[tuple[str, str, float]]:
    scope = site.scope_of(node)
    kinds = scope.kinds
    names = scope.names[:12]
    in_loop = site.loop_of(node) is not None
    stored = _stored(scope.node)
    for one in names:
        kind = kinds.of_name(one)
        # A parameter that nothing stores to is seldom what a missing statement stores to.
        given = 0.0 if one in stored or one not in scope.params else 1.5
        if fits(kind, "num"):
            unsure = given + (0.0 if kind == "num" else 2.0)
            for step in (" += 1", " -= 1"):
                yield f"{one}{step}", "insert.step", unsure + (0.0 if in_loop else 2.0)
            yield f"{one} = 0", "insert.reset", unsure + (0.5 if in_loop else 1.5)
        if kind == "list":
            yield f"{one} = []", "insert.reset", 0.5 if in_loop else 2.0
            yield f"{one}.sort()", "insert.call", 1.0
            yield f"{one}.reverse()", "insert.call", 1.5
            yield f"{one}.pop()", "insert.call", 0.5
        if kind in ("list", "set"):
            verb = "append" if kind == "list" else "add"
            for other in names:
                if other != one and kinds.of_name(other) not in ("set", "dict"):
                    yield f"{one}.{verb}({other})", "insert.collect", 0.0 if in_loop else 1.0
        for other in names:
            if other != one and fits(kind, kinds.of_name(other)):
                unsure = given + (0.0 if kind == kinds.of_name(other) or kind == "any" else 0.7)
                yield f"{one} = {other}", "insert.assign", unsure + (0.0 if in_loop else 1.0)
                if kind == "num" and kinds.of_name(other) == "num":
                    yield f"{one} += {other}", "insert.step", unsure + 1.0
    if in_loop:
        yield "break", "insert.jump", 0.0
        yield "continue", "insert.jump", 0.5


def _stored(function: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _guards(node: ast.stmt, site: Site, material: Material) -> Iterator[Edit]:
    """`if <condition>: return <value>` at the head of a function or before a statement; jumps inside loops."""
    function = site.function_of(node)
    block = site.block_of(node)
    if function is None:
        return
    first = function.body[0]
    head = block is function.body and (node is first or (_is_docstring(first) and block.index(node) == 1))
    values = _values(function, site)
    for text, extra in atoms_at(node, site, material):
        if extra > (1.6 if head else 1.0):
            continue
        for value, more in values:
            splice = site.insert_before(node, f"if {text}:", f"    return {value}")
            yield Edit("insert.base" if head else "insert.guard", (splice,), node.lineno, extra + more)
        if site.loop_of(node) is not None:
            for jump in ("continue", "break"):
                splice = site.insert_before(node, f"if {text}:", f"    {jump}")
                yield Edit("insert.skip", (splice,), node.lineno, extra)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _values(function: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> list[tuple[str, float]]:
    """What the function may return early: constants it returns already, its parameters, common empties."""
    found: dict[str, float] = {}
    for child in ast.walk(function):
        if isinstance(child, ast.Return) and isinstance(child.value, (ast.Constant, ast.List, ast.Name)):
            found.setdefault(site.text(child.value), 0.0)
    kinds = {
        site.scope_of(child).kinds.of(child.value)
        for child in ast.walk(function)
        if isinstance(child, ast.Return) and child.value is not None
    }
    empties = {
        "num": ("0", "1", "-1"),
        "bool": ("True", "False"),
        "str": ("''",),
        "list": ("[]", "[[]]"),
        "any": ("0", "1", "[]", "None", "False", "True", "''"),
    }
    for kind in kinds:
        for text in empties.get(kind, ("None",)):
            found.setdefault(text, 0.5)
    for name in site.scope_of(function).params[:4]:
        found.setdefault(name, 0.5)
    return list(found.items())[:9]


def _conditional(node: ast.stmt, site: Site, material: Material) -> Iterator[Edit]:
    """A statement that ought to run only under a condition."""
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Break, ast.Continue)):
        return
    indent = site.indent(node)
    start, end = site.lines_span(node)
    inner = site.reindented(node, indent + "    ")
    for text, extra in atoms_at(node, site, material):
        if extra <= 2.0:
            yield Edit("insert.if", ((start, end, f"{indent}if {text}:\n{inner}"),), node.lineno, extra)


def _donors(node: ast.stmt, site: Site, material: Material) -> Iterator[Edit]:
    """Statements of the same function, once more in another place, also with one name changed."""
    scope = site.scope_of(node)
    for donor in material.donors(node).statements:
        if donor is node or not isinstance(donor, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.If)):
            continue
        if (
            not site.starts_line(donor)
            or (donor.end_lineno or donor.lineno) - donor.lineno > 2
            or _is_docstring(donor)
        ):
            continue
        extra = 0.0 if isinstance(donor, (ast.Expr, ast.AugAssign, ast.Return)) else 0.7
        text = site.reindented(donor, site.indent(node))
        at, behind = site.lines_span(node)
        yield Edit("insert.donor", ((at, at, text),), node.lineno, extra)
        last = site.block_of(node)[-1] is node and not isinstance(node, _ENDS)
        if last:
            yield Edit("insert.donor", ((behind, behind, text),), node.lineno, extra)
        if (
            isinstance(donor, (ast.Expr, ast.AugAssign))
            and isinstance(donor, ast.Expr)
            and isinstance(donor.value, ast.Call)
        ):
            yield from _renamed(donor.value, node, site, scope.local, last)


def _renamed(call: ast.Call, node: ast.stmt, site: Site, names: list[str], last: bool) -> Iterator[Edit]:
    """The donor call on another owner or with another name as its argument."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) > 1:
        return
    indent = site.indent(node)
    at, behind = site.lines_span(node)
    arguments = [site.text(arg) for arg in call.args]
    owner = site.text(call.func.value)
    for name in names[:10]:
        texts = [f"{name}.{call.func.attr}({', '.join(arguments)})"]
        texts += [f"{owner}.{call.func.attr}({name})"] if arguments else []
        for text in texts:
            if text != site.text(call):
                yield Edit("insert.collect", ((at, at, f"{indent}{text}\n"),), node.lineno, 0.5)
                if last:
                    yield Edit("insert.collect", ((behind, behind, f"{indent}{text}\n"),), node.lineno, 0.5)
