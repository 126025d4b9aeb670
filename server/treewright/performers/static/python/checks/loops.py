"""Loops and recursions: without an end, over what they change, or too dear."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit


_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_SERVES = re.compile(
    r"yield|await|sleep\(|\.accept\(|\.recv|\.get\(|input\(|serve|select\(|\.wait\(|run_once|poll\(|next\(|process\(|"
    r"listen|sys\.exit|exit\(|readline|pop\("
)
"""Inside `while True` these wait for work: a server's or worker's loop is meant to go on."""


@check("loop-without-end", ast.While)
def endless(unit: "Unit", node: ast.While) -> None:
    """`while True` with no way out, or a condition that the body never changes."""
    if isinstance(node.test, ast.Constant) and node.test.value:
        if not (
            _leaves_loop(node.body)
            or isinstance(unit.source.parent(node), ast.Try)
            or _SERVES.search(unit.source.segment(node))
            or (unit.source.library and any(isinstance(part, ast.Call) for part in ast.walk(node)))
        ):
            unit.report("loop-without-end", node, what="while True", strength=0)
        return
    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    if not names or _asks_elsewhere(unit, node, names):
        return
    shown = unit.source.segment(node.test)[:60]
    changed = _changed_line(unit, node, names)
    if changed:
        if not unit.source.library and isinstance(node.test, ast.Compare):
            unit.report("loop-without-end", node, what=shown, safe="the loop changes what its condition looks at",
                        safe_line=changed)  # fmt: skip
        return
    unit.report("loop-without-end", node, what=shown)


def _asks_elsewhere(unit: "Unit", node: ast.While, names: set[str]) -> bool:
    """The condition looks at something that others may change: a call, an attribute, an object's part."""
    function = unit.source.function_of(node)
    around = unit.source.segment(function) if function else unit.source.text
    if not isinstance(node.test, ast.Compare) and re.search(
        rf"=\s*({'|'.join(map(re.escape, names))})\.", around
    ):
        return True
    elsewhere = (ast.Call, ast.Attribute, ast.Await, ast.Subscript)
    return any(isinstance(part, elsewhere) for part in ast.walk(node.test))


def _changed_line(unit: "Unit", node: ast.While, names: set[str]) -> int:
    """The line in the body that changes what the condition looks at or leaves the loop, or 0."""
    compares = isinstance(node.test, ast.Compare)
    for part in (p for statement in node.body for p in ast.walk(statement)):
        line: int = getattr(part, "lineno", 0)
        if isinstance(part, ast.Name) and part.id in names and not isinstance(part.ctx, ast.Load):
            return line
        if isinstance(part, ast.Call):
            given = any(isinstance(entry, ast.Name) and entry.id in names for entry in part.args)
            harmless = {"print", "len", "str", "repr"}
            if not compares and given and unit.source.dotted(part.func) not in harmless:
                return line
            owner = part.func.value if isinstance(part.func, ast.Attribute) else None
            if isinstance(owner, ast.Name) and owner.id in names:
                return line
        if (
            isinstance(part, (ast.Subscript, ast.Attribute))
            and not isinstance(part.ctx, ast.Load)
            and isinstance(part.value, ast.Name)
            and part.value.id in names
        ):
            return line
        if isinstance(
            part, (ast.Global, ast.Nonlocal, ast.Return, ast.Raise, ast.Break, ast.Yield, ast.Await)
        ):
            return line
    return 0


def _leaves_loop(body: list[ast.stmt]) -> bool:
    stack: list[ast.AST] = list(body)
    while stack:
        part = stack.pop()
        if isinstance(part, (ast.Return, ast.Raise, ast.Break)):
            return True
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(part, (ast.For, ast.While)):
            stack.extend(p for p in ast.walk(part) if isinstance(p, (ast.Return, ast.Raise)))
            stack.extend(part.orelse)
            continue
        stack.extend(ast.iter_child_nodes(part))
    return False


@check("recursion-without-end", ast.FunctionDef)
def endless_recursion(unit: "Unit", node: ast.FunctionDef) -> None:
    """A function that calls itself on every way."""
    if any(
        isinstance(part, (ast.Import, ast.ImportFrom, ast.Global)) for part in ast.walk(node)
    ) or _decorated(node):
        return
    for statement in node.body:
        for part in ast.walk(statement):
            if isinstance(
                part,
                (
                    ast.If,
                    ast.IfExp,
                    ast.Try,
                    ast.While,
                    ast.For,
                    ast.Match,
                    ast.BoolOp,
                    ast.FunctionDef,
                    ast.Lambda,
                ),
            ):
                return
            if isinstance(part, ast.comprehension):
                return
        for part in ast.walk(statement):
            if (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Name)
                and part.func.id == node.name
                and isinstance(unit.source.parent(node), ast.Module)
            ):
                unit.report("recursion-without-end", part, what=node.name)
                return
        if isinstance(statement, _LEAVES):
            return


def _decorated(node: ast.FunctionDef) -> bool:
    """A decorator may put another function in its place."""
    return bool(node.decorator_list)


@check("list-changed-while-looped", ast.For)
def changed_while_looped(unit: "Unit", node: ast.For) -> None:
    """`for x in items: items.remove(x)`."""
    if not isinstance(node.iter, ast.Name):
        return
    name = node.iter.id
    for part in (p for statement in node.body for p in ast.walk(statement)):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and isinstance(part.func.value, ast.Name)
            and part.func.value.id == name
            and part.func.attr in {"remove", "append", "pop", "insert", "add", "discard"}
        ):
            if not any(
                isinstance(p, (ast.Break, ast.Return)) for statement in node.body for p in ast.walk(statement)
            ):
                unit.report(
                    "list-changed-while-looped",
                    part,
                    what=unit.source.segment(part)[:60],
                    facts=(("shown", name),),
                )
            return


@check("text-grown-in-loop", ast.For, ast.While)
def quadratic(unit: "Unit", node: ast.For) -> None:
    """`x in list` in a loop over the list's own growth, nested loops with `.index`."""
    for part in (p for statement in node.body for p in ast.walk(statement)):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and isinstance(part.func.value, ast.Name)
        ):
            inside = part.func.value.id
            if (
                part.func.attr in {"index", "count"}
                and isinstance(node, ast.For)
                and isinstance(node.iter, ast.Name)
                and node.iter.id == inside
                and part.args
            ) or (
                part.func.attr == "insert"
                and part.args
                and isinstance(part.args[0], ast.Constant)
                and part.args[0].value == 0
            ):
                unit.report("text-grown-in-loop", part, what=unit.source.segment(part)[:60], strength=-1)


@check("query-in-loop", ast.For)
def query_in_loop(unit: "Unit", node: ast.For) -> None:
    """One query for each row of another."""
    for part in (p for statement in node.body for p in ast.walk(statement)):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            text = unit.source.segment(part.func)
            if (
                re.search(r"\.(objects\.(get|filter)|query\.(get|filter\w*))$|cursor\.execute$", text)
                and not unit.source.is_test
            ):
                words = unit.source.segment(part)
                if re.search(r"(?i)select|\.get\b|\.filter|query", words):
                    unit.report("query-in-loop", part, what=text, strength=-1)
                    return
