"""Code that does not do what it seems to: comparisons, bounds, loops, defaults, dead ends."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@check("identity-compared-with-literal", ast.Compare)
def is_literal(unit: "Unit", node: ast.Compare) -> None:
    """`x is "text"`, `n is 1000`."""
    for operator, side in zip(node.ops, node.comparators, strict=True):
        if isinstance(operator, (ast.Is, ast.IsNot)):
            for part in (side, node.left):
                literal = (
                    isinstance(part, ast.Constant)
                    and isinstance(part.value, (str, bytes, int, float))
                    and not isinstance(part.value, bool)
                )
                if literal or isinstance(part, (ast.List, ast.Dict, ast.Tuple, ast.Set)):
                    text = unit.source.segment(node)
                    edits: tuple[tuple[int, int, int, int, str], ...] = ()
                    place = unit.source.place(node)
                    if place.line == place.end and len(node.ops) == 1:
                        new = (
                            re.sub(r"\bis not\b", "!=", text, count=1)
                            if isinstance(operator, ast.IsNot)
                            else re.sub(r"\bis\b", "==", text, count=1)
                        )
                        edits = ((place.line, place.column, place.end, place.end_column, new),)
                    unit.report("identity-compared-with-literal", node, what=text[:60], edits=edits)
                    return


@check("identity-compared-with-literal", ast.FunctionDef, ast.AsyncFunctionDef)
def identity_of_values(unit: "Unit", node: ast.FunctionDef) -> None:
    """A function named for equality that returns `a is b`."""
    if unit.source.library or not re.search(r"(?i)equal|compare|same|match|is_valid|check", node.name):
        return
    parameters = {argument.arg for argument in node.args.args} - {"self", "cls"}
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Compare)
            and len(part.ops) == 1
            and isinstance(part.ops[0], (ast.Is, ast.IsNot))
        ):
            sides = (part.left, part.comparators[0])
            if all(isinstance(side, ast.Name) and side.id in parameters for side in sides):
                unit.report("identity-compared-with-literal", part, what=unit.source.segment(part)[:60])


@check("key-given-twice", ast.Dict)
def duplicate_key(unit: "Unit", node: ast.Dict) -> None:
    """`{"a": 1, "a": 2}`."""
    seen: dict[object, ast.expr] = {}
    for key in node.keys:
        if isinstance(key, ast.Constant):
            mark = (type(key.value), key.value)
            if mark in seen:
                unit.report(
                    "key-given-twice",
                    key,
                    what=repr(key.value)[:40],
                    facts=(("shown", repr(key.value)[:40]),),
                )
            seen[mark] = key


@check("index-past-the-end", ast.Subscript)
def past_the_end(unit: "Unit", node: ast.Subscript) -> None:
    """`items[len(items)]`, and `items[i]` in `range(len(items) + 1)`."""
    index = node.slice
    if not isinstance(node.ctx, ast.Load) and not isinstance(unit.source.parent(node), ast.AugAssign):
        return
    subject = unit.source.segment(node.value)
    if (
        isinstance(index, ast.Call)
        and unit.source.dotted(index.func) == "len"
        and index.args
        and unit.source.segment(index.args[0]) == subject
    ):
        unit.report("index-past-the-end", node, what=unit.source.segment(node))
        return
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add) and isinstance(index.left, ast.Name):
        _range_over(unit, node, index.left.id, subject, extra=True)
    elif isinstance(index, ast.Name):
        _range_over(unit, node, index.id, subject, extra=False)


def _range_over(unit: "Unit", node: ast.Subscript, name: str, subject: str, *, extra: bool) -> None:
    current = unit.source.parent(node)
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if (
            isinstance(current, ast.For)
            and isinstance(current.target, ast.Name)
            and current.target.id == name
        ):
            text = re.sub(r"\s", "", unit.source.segment(current.iter))
            if any(isinstance(p, (ast.AugAssign, ast.Assign)) and _sets(p, name) for p in ast.walk(current)):
                return  # the index is brought back into range on the way
            over = "len(" + re.sub(r"\s", "", subject) + ")"
            if text.endswith(f"{over}+1)") or (
                extra and text in {f"range({over})", f"range(0,{over})"} and not _bounded(unit, node, name)
            ):
                unit.report(
                    "index-past-the-end",
                    node,
                    what=unit.source.segment(node),
                    facts=(("shown", unit.source.segment(current.iter)),),
                )
            return
        if isinstance(current, ast.While):
            text = re.sub(r"\s", "", unit.source.segment(current.test))
            if f"{name}<=len({re.sub(chr(92) + 's', '', subject)})" in text:
                unit.report("index-past-the-end", node, what=unit.source.segment(node))
            return
        current = unit.source.parent(current)


def _sets(node: ast.AugAssign | ast.Assign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _bounded(unit: "Unit", node: ast.AST, name: str) -> bool:
    current = unit.source.parent(node)
    while current is not None and not isinstance(current, ast.For):
        if isinstance(current, (ast.If, ast.IfExp)) and name in unit.source.segment(current.test):
            return True
        if isinstance(current, ast.BoolOp):
            return True
        current = unit.source.parent(current)
    return False


@check("default-shared-between-calls", ast.FunctionDef, ast.AsyncFunctionDef)
def mutable_default(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """`def f(items=[])`, reported when the body changes or hands out the default."""
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = [*zip(reversed(plain), reversed(node.args.defaults), strict=False)]
    pairs += [
        (a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None
    ]
    for argument, default in pairs:
        if not (
            isinstance(default, (ast.List, ast.Dict, ast.Set))
            or (isinstance(default, ast.Call) and unit.source.dotted(default.func) in {"list", "dict", "set"})
        ):
            continue
        changed = _changes(node, argument.arg) and not re.search(
            r"(?i)cache|memo|seen|registry|^_", argument.arg
        )
        unit.report(
            "default-shared-between-calls",
            default,
            what=argument.arg,
            strength=0 if changed else -1,
            facts=(("shown", argument.arg),),
        )


def _changes(node: ast.AST, name: str) -> bool:
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and isinstance(part.func.value, ast.Name)
            and part.func.value.id == name
            and part.func.attr
            in {"append", "add", "update", "extend", "insert", "pop", "setdefault", "remove", "clear"}
        ):
            return True
        if (
            isinstance(part, ast.Subscript)
            and isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
            and part.value.id == name
        ):
            return True
    return False


@check("code-never-reached", ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While, ast.If)
def unreachable(unit: "Unit", node: ast.AST) -> None:
    """Statements after `return`, `raise`, `continue` or `break` in one block."""
    for name in ("body", "orelse"):
        block: list[ast.stmt] = getattr(node, name, [])
        for index, statement in enumerate(block[:-1]):
            if isinstance(statement, _LEAVES):
                after = block[index + 1]
                if not (isinstance(after, ast.Expr) and isinstance(after.value, (ast.Yield, ast.Constant))):
                    unit.report("code-never-reached", after, what=type(statement).__name__.lower())
                break


@check("floats-compared-exactly", ast.Compare)
def float_equality(unit: "Unit", node: ast.Compare) -> None:
    """`x == 0.1`."""
    if unit.source.is_test:
        return
    for operator, side in zip(node.ops, node.comparators, strict=True):
        if isinstance(operator, (ast.Eq, ast.NotEq)) and any(
            isinstance(part, ast.Constant)
            and isinstance(part.value, float)
            and not float(part.value).is_integer()
            for part in (side, node.left)
        ):
            unit.report("floats-compared-exactly", node, what=unit.source.segment(node)[:60], strength=-1)


@check("condition-always-the-same", ast.If, ast.While, ast.Assert)
def constant_condition(unit: "Unit", node: ast.If) -> None:
    """`assert (x, "message")`, `if x == "a" or "b"`."""
    test = node.test
    if (isinstance(test, ast.Tuple) and test.elts) or (
        isinstance(test, ast.BoolOp)
        and isinstance(test.op, ast.Or)
        and any(
            isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value
            for part in test.values[1:]
        )
        and isinstance(test.values[0], ast.Compare)
    ):
        unit.report("condition-always-the-same", test, what=unit.source.segment(test)[:60])
