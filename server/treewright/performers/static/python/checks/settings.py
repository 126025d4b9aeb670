"""Settings of web applications and of connections."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.rulebook import table

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of `data/static/python/settings.toml`.

    Attributes:
        rule: its id. bad, good: constants; none for a switch whose other position is the good one.
        text: pattern of the value's source text that is bad; `safe_text` of one that is good.
    """

    rule: str
    bad: tuple[object, ...] = ()
    good: tuple[object, ...] = ()
    text: re.Pattern[str] | None = None
    safe_text: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    """What elsewhere in the file makes it right."""
    entry: bool = False
    """Whether it is meant as the key of a dict too, though it is written in small letters."""


@cache
def _settings() -> dict[str, tuple[Setting, ...]]:
    found: dict[str, tuple[Setting, ...]] = {}
    for row in table("python", "settings")["setting"]:
        bad = tuple(row.get("bad", ()))
        good = tuple(not value for value in bad if isinstance(value, bool)) or tuple(row.get("good", ()))
        text, safe, unless = (
            re.compile(row[key]) if key in row else None for key in ("text", "safe_text", "unless")
        )
        one = Setting(row["rule"], bad, good, text, safe, unless, bool(row.get("entry")))
        for name in row["names"].split():
            found[name] = (*found.get(name, ()), one)
    return found


def _is(value: ast.expr, wanted: tuple[object, ...]) -> bool:
    """Whether an expression is one of some constants, of the very same type."""
    return isinstance(value, ast.Constant) and any(
        type(value.value) is type(one) and value.value == one for one in wanted
    )


def _judge(unit: "Unit", node: ast.AST, name: str, value: ast.expr, owner: ast.expr | None) -> None:
    """Report a setting by what it is set to."""
    rows = _settings().get(name)
    if rows is None or not _plausible(unit, owner, name):
        return
    shown = unit.source.segment(node).split("\n")[0][:80]
    for row in rows:
        text = unit.source.segment(value) if row.text or row.safe_text else ""
        if row.unless is not None and row.unless.search(unit.source.text):
            continue
        if _is(value, row.bad) or (row.text is not None and row.text.search(text)):
            unit.report(row.rule, node, what=shown, strength=_optional(unit, node))
        elif _is(value, row.good) or (row.safe_text is not None and row.safe_text.search(text)):
            unit.report(row.rule, node, what=shown, safe=f"`{name}` is set the safe way")


_OPEN_STORE = re.compile(
    r"^(postgres(ql)?|mysql|mariadb|mssql|oracle|mongodb(\+srv)?|cockroachdb|redshift)(\+\w+)?://[\w.-]+:?@(?!localhost|127\.|/)"
)
"""The address of a database with a user and no password."""


@check("debug-mode-on", ast.Assign)
def settings(unit: "Unit", node: ast.Assign) -> None:
    """`DEBUG = True`, `app.config["WTF_CSRF_ENABLED"] = False`, `context.check_hostname = False`."""
    if unit.source.is_test:
        return
    if (
        isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and _OPEN_STORE.match(node.value.value)
    ):
        unit.report("login-without-password", node, what=unit.source.segment(node)[:80])
    target = node.targets[0]
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        _judge(unit, node, str(target.slice.value), node.value, target)
    elif isinstance(target, ast.Attribute):
        _judge(unit, node, target.attr, node.value, target)
    elif isinstance(target, ast.Name) and (unit.source.function_of(node) is None or target.id.isupper()):
        _judge(unit, node, target.id, node.value, target)


@check("debug-mode-on", ast.AnnAssign)
def declared(unit: "Unit", node: ast.AnnAssign) -> None:
    """`DEBUG: bool = True`."""
    if isinstance(node.target, ast.Name) and node.value is not None and not unit.source.is_test:
        _judge(unit, node, node.target.id, node.value, node.target)


@check("debug-mode-on", ast.Dict)
def listed(unit: "Unit", node: ast.Dict) -> None:
    """`{"SESSION_COOKIE_SECURE": False}`: settings given together."""
    if unit.source.is_test:
        return
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        rows = _settings().get(key.value)
        if rows is not None and (key.value.isupper() or any(row.entry for row in rows)):
            _judge(unit, value, key.value, value, None)


_GIVES = re.compile(r"(^|\.)(update|from_mapping|dict|configure)$")


@check("debug-mode-on", ast.Call)
def given(unit: "Unit", node: ast.Call) -> None:
    """`app.config.update(SESSION_COOKIE_SECURE=False)`."""
    if not node.keywords or unit.source.is_test or not _GIVES.search(unit.source.dotted(node.func)):
        return
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg.isupper():
            _judge(unit, keyword.value, keyword.arg, keyword.value, None)


def _optional(unit: "Unit", node: ast.AST) -> int:
    """In a package, a switch under a condition is the caller's to choose."""
    current = unit.source.parent(node)
    while current is not None:
        if isinstance(current, ast.If) and unit.source.library:
            return -1
        current = unit.source.parent(current)
    return 0


def _plausible(unit: "Unit", target: ast.expr | None, key: str) -> bool:
    """Lower-case names mean the setting only on an object that has it."""
    if target is None and not key.isupper():
        return True
    if key.isupper():
        if unit.source.library and not re.search(
            r"(^|/)(settings|config)[^/]*\.py$|/settings/", unit.source.path
        ):
            return False
        return key != "DEBUG" or not unit.source.library or not isinstance(target, ast.Name)
    owner = unit.source.segment(target.value) if isinstance(target, ast.Attribute) else ""
    if isinstance(target, ast.Subscript):
        return (
            key.lower() in {"secure", "httponly"}
            and re.search(r"(?i)cookie|morsel", unit.source.segment(target.value)) is not None
        )
    if key == "verify":
        return bool(re.search(r"(?i)session|client|sess|\bs\d?$", owner))
    if key == "debug":
        return bool(re.search(r"(?i)\bapp$", owner))
    return bool(owner) and owner != "self"


@check("any-origin-allowed", ast.Assign)
def origin_header(unit: "Unit", node: ast.Assign) -> None:
    """`response.headers["Access-Control-Allow-Origin"] = "*"`."""
    target = node.targets[0]
    if (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and str(target.slice.value).lower() == "access-control-allow-origin"
    ):
        text = unit.source.segment(node.value)
        if text.strip("\"'") == "*" or re.search(r"(?i)request\.|origin", text):
            unit.report("any-origin-allowed", node, what=unit.source.segment(node)[:60])
