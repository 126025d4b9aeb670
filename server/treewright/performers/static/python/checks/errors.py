"""Errors that are swallowed, checks that vanish, results that are not looked at."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.numbers import short
from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_BROAD = frozenset({"Exception", "BaseException"})
_SECURITY_ASSERT = re.compile(
    r"(?i)(is_(admin|authenticated|staff|superuser|owner|allowed)|has_perm|permission|authori[sz]ed|user\.is_|\brole\b|csrf|"
    r"password|check_(auth|perm|access)|\.verify\(|is_valid_(user|token)|logged_?in)"
)


def _idle(body: list[ast.stmt]) -> bool:
    """Nothing happens: `pass`, `...`, `continue`, or a docstring."""
    return all(
        isinstance(part, (ast.Pass, ast.Continue))
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in body
    )


@check("error-swallowed", ast.ExceptHandler)
def swallowed(unit: "Unit", node: ast.ExceptHandler) -> None:
    """`except: pass` and `except Exception: pass`."""
    names = {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)} if node.type else set()
    broad = node.type is None or bool(names & _BROAD)
    if not broad or unit.source.is_test:
        return
    shown = "except:" if node.type is None else f"except {unit.source.segment(node.type)}:"
    if _idle(node.body):
        unit.report("error-swallowed", node, what=shown)
    elif node.type is None and not _raises(node.body):
        unit.report("handler-too-broad", node, what=shown, strength=-1)


def _raises(body: list[ast.stmt]) -> bool:
    return any(isinstance(part, ast.Raise) for statement in body for part in ast.walk(statement))


@check("exception-text-in-response", ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef)
def told_to_log_only(unit: "Unit", node: ast.ExceptHandler | ast.FunctionDef) -> None:
    """A handler of a web application that logs the error and answers with a fixed text."""
    if unit.source.library or unit.source.is_test or not unit.web:
        return
    if isinstance(node, ast.ExceptHandler):
        name = node.name or ""
    else:
        handles = any(
            "errorhandler" in unit.source.segment(d) or "exception_handler" in unit.source.segment(d)
            for d in node.decorator_list
        )
        name = node.args.args[-1].arg if handles and node.args.args else ""
        if not handles:
            return
    logged = next(
        (p for s in node.body for p in ast.walk(s) if isinstance(p, ast.Call)
         and re.search(r"log\w*\.(exception|error|warning)$", unit.source.segment(p.func))), None
    )  # fmt: skip
    answer = next((s for s in node.body if isinstance(s, ast.Return) and s.value is not None), None)
    if logged is None or answer is None:
        return
    text = unit.source.segment(answer)
    if not re.search(rf"\b({re.escape(name) or 'e'}|traceback|exc_info)\b", text):
        unit.report("exception-text-in-response", answer, what="the response", safe="the error goes to the log, the answer is a fixed text",
                    safe_line=logged.lineno, facts=(("source", "The error"), ("sink", "the response")))  # fmt: skip


@check("assert-guards-access", ast.Assert)
def asserted(unit: "Unit", node: ast.Assert) -> None:
    """An assert that decides on rights or input is gone under -O."""
    if unit.source.is_test:
        return
    text = unit.source.segment(node.test)
    if _SECURITY_ASSERT.search(text) and not text.startswith("isinstance("):
        unit.report(
            "assert-guards-access", node, what=text[:80], facts=(("shown", text.split("\n")[0][:80]),)
        )


@check("result-of-search-unchecked", ast.Attribute)
def unchecked_match(unit: "Unit", node: ast.Attribute) -> None:
    """`re.match(...).group()`: the search may find nothing."""
    if node.attr not in {"group", "groups", "start", "end", "span", "groupdict"} or not isinstance(
        node.value, ast.Call
    ):
        return
    name = unit.source.dotted(node.value.func)
    if name in {"re.match", "re.search", "re.fullmatch"} or name.endswith("re.compile().match"):
        unit.report(
            "result-of-search-unchecked", node, what=name, facts=(("shown", f"{name}(...).{node.attr}"),)
        )


@check("result-of-search-unchecked", ast.Call)
def unchecked_get(unit: "Unit", node: ast.Call) -> None:
    """`os.environ.get("X").split()`, `TABLE.get(name).upper()`: there may be no such key."""
    outer = node.func
    if not isinstance(outer, ast.Attribute) or not isinstance(outer.value, ast.Call) or unit.source.is_test:
        return
    inner = outer.value
    name = unit.source.dotted(inner.func)
    table = inner.func.value if isinstance(inner.func, ast.Attribute) else None
    known = name in {"os.environ.get", "os.getenv"} or (
        isinstance(table, ast.Name) and inner.func.attr == "get" and _is_table(unit, table.id)  # type: ignore[attr-defined]  # an Attribute
    )
    if known and len(inner.args) == 1 and not inner.keywords:
        shown = f"{unit.source.segment(inner)[:60]}.{outer.attr}"
        unit.report("result-of-search-unchecked", node, what=name, facts=(("shown", shown),))


def _is_table(unit: "Unit", name: str) -> bool:
    """Whether a name of the module is bound once, to a dict display."""
    found = [
        part.value
        for part in unit.source.tree.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and part.targets[0].id == name
    ]
    return len(found) == 1 and isinstance(found[0], ast.Dict)


@check("result-of-search-unchecked", ast.Assign)
def unchecked_later(unit: "Unit", node: ast.Assign) -> None:
    """`m = re.match(...)`, then `m.group()` with no look at `m` between."""
    if (
        not isinstance(node.value, ast.Call)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], ast.Name)
    ):
        return
    name = unit.source.dotted(node.value.func)
    finds_none = name in _MAY_BE_NONE or name.endswith(_MAY_BE_NONE_METHODS)
    if not finds_none:
        return
    if name.endswith(".get") and len(node.value.args) > 1:
        return
    variable = node.targets[0].id
    body = _siblings(unit, node)
    for statement in body:
        if _tests(statement, variable):
            if not unit.source.library:
                unit.report("result-of-search-unchecked", node, what=name, safe="the result is looked at before it is used",
                            safe_line=statement.lineno, facts=(("shown", variable),))  # fmt: skip
            return
        used = _dereferenced(statement, variable)
        if used is not None:
            unit.report("result-of-search-unchecked", used, what=name, facts=(("shown", variable),))
            return
        if any(
            isinstance(p, ast.Name) and p.id == variable and isinstance(p.ctx, ast.Store)
            for p in ast.walk(statement)
        ):
            return


_MAY_BE_NONE = frozenset({"re.match", "re.search", "re.fullmatch", "shutil.which"})
_MAY_BE_NONE_METHODS = (
    ".fetchone",
    ".find_one",
    ".query.get",
    ".first",
    ".one_or_none",
    ".scalar_one_or_none",
)


def _siblings(unit: "Unit", node: ast.stmt) -> list[ast.stmt]:
    """The statements after a node in its block."""
    parent = unit.source.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return []


def _tests(statement: ast.stmt, variable: str) -> bool:
    tests: list[ast.AST] = []
    for part in ast.walk(statement):
        if isinstance(part, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            tests.append(part.test)
        elif isinstance(part, ast.BoolOp):
            tests.append(part)
        elif isinstance(part, (ast.Try, ast.Match)):
            return True
    return any(isinstance(p, ast.Name) and p.id == variable for test in tests for p in ast.walk(test))


def _dereferenced(statement: ast.stmt, variable: str) -> ast.AST | None:
    for part in ast.walk(statement):
        if (
            isinstance(part, (ast.Attribute, ast.Subscript))
            and isinstance(part.value, ast.Name)
            and part.value.id == variable
        ):
            return part
    return None


@check("result-ignored", ast.Expr)
def ignored(unit: "Unit", node: ast.Expr) -> None:
    """A call whose result says whether it worked, thrown away."""
    if not isinstance(node.value, ast.Call):
        return
    name = unit.source.dotted(node.value.func)
    keywords = {k.arg for k in node.value.keywords}
    if (name == "subprocess.run" and "check" not in keywords) or name in {"subprocess.call", "os.system"}:
        fixed = all(
            isinstance(p, (ast.Constant, ast.List, ast.Tuple, ast.Load))
            for a in node.value.args
            for p in ast.walk(a)
        )
        strength = 0 if short(unit) and fixed and name == "subprocess.run" and _siblings(unit, node) else -1
        unit.report("result-ignored", node, what=name, strength=strength, facts=(("shown", name),))
    elif name.endswith((".replace", ".strip", ".lower", ".upper", ".format", ".lstrip", ".rstrip")) and name.lstrip("~") and (
        isinstance(node.value.func, ast.Attribute) and len(node.value.args) != 1
        and not name.startswith(("os.", "shutil.", "pathlib", "datetime"))
    ):  # fmt: skip
        value = unit.source.segment(node.value.func.value)
        if (
            re.search(r"(?i)str|text|name|line|msg|message|path|value|input|query|data$", value)
            and "path" not in value.lower()
        ):
            unit.report(
                "result-ignored", node, what=name, facts=(("shown", unit.source.segment(node.value)[:60]),)
            )


@check("raised-in-finally", ast.Try)
def lost_in_finally(unit: "Unit", node: ast.Try) -> None:
    """`return` in `finally` throws a pending exception away."""
    for statement in node.finalbody:
        if isinstance(statement, ast.Return):
            unit.report("raised-in-finally", statement, what="return in finally")


@check("not-implemented-raised", ast.Raise)
def not_implemented(unit: "Unit", node: ast.Raise) -> None:
    """`raise NotImplemented` raises a TypeError instead."""
    target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(target, ast.Name) and target.id == "NotImplemented":
        unit.report("not-implemented-raised", node, what="raise NotImplemented")
