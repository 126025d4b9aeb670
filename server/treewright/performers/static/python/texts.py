"""Text that shows what it is: an SQL statement or a shell command put together and handed to a call no table knows."""

import ast
import re
from typing import Any

from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value, merge_flows

_STATEMENT = re.compile(
    r"""\s*\(?\s*(?:select\s+(?:\*|(?:distinct|count|max|min|sum|avg|top)\b|[\w.,`"()*\s\[\]]+\sfrom\s|$)|insert\s+(?:or\s+\w+\s+)?into\s
    |update\s+[\w.`"\[\]]*\s*(?:set\s|$)|delete\s+from\s|replace\s+into\s|(?:create|drop|alter|truncate)\s+(?:table|database|user|view|index)\b
    |with\s+\w+\s*(?:\([^)]*\)\s*)?as\s*\()""",
    re.IGNORECASE | re.VERBOSE,
)
_RUNS_SQL = re.compile(
    r"(?i)(?:^|[._])(?:db|dao|sql|cur|cursor|conn|connection|database|engine)\d*(?:$|[._(])|(?:^|[._])_?(?:sql|query|quer|exec|fetch|raw|prepare"
    r"|do_?query|run_?query|run_?sql|run_?command|(?:select|insert|update|delete)(?=$|[._A-Z]))|(?:sql|query|DB)$"
)
_COMMAND_NAME = re.compile(r"(?i)(^|[._])(cmd|command)(_?line|_?str)?$")
_COMMAND = re.compile(r"\s*[\w./~-]+\s")
_RUNS_COMMAND = re.compile(
    r"(?i)(?:^|\.)_*(?:(?:run|exec|execute|send|call|do|issue|invoke)_?(?:as_?root_?)?(?:ssh|shell|cli|cmd|command|bash|system)(?:_?\w+)?"
    r"|(?:ssh|shell|cli|cmd|bash|adb|remote)_?(?:run|exec|execute|command|cmd|call|cmd_?output)(?:_\w+)?|shell|getoutput|sudo|bash)$"
)
_TELLS = re.compile(
    r"(?i)(?:^|\.)(?:log\w*|debug|info|warn(?:ing)?|error|exception|critical|print|pprint|echo|format|join|replace|append|add|encode|strip|"
    r"[A-Z]\w*(?:Error|Exception|Warning)|startswith|lower|upper|len|str|repr|dedent|write|debug_sql|assert\w*)$"
)
"""Calls that say a text, or change it, and do not run it."""


def told(run: Any, name: str, node: ast.Call, arguments: Arguments) -> None:
    """Report composed SQL or command text given to a call that no table knows, when the call's name says that it runs it.

    Args:
        run: the function's interpreter. name: the dotted name of what is called.
    """
    if not arguments.positional and not arguments.keywords:
        return
    spoken = ".".join(name.replace("()", "").split(".")[-3:])
    if _bound(run, spoken, node, arguments):
        return
    if _separate(run, spoken.rpartition(".")[2], node, arguments):
        return
    for part, value in arguments.all():
        if not value.composed or value.is_fixed or _TELLS.search(name):
            continue
        bare = spoken.rpartition(".")[2]
        named_so = (
            _RUNS.match(bare) is not None and _COMMAND_NAME.search(run.unit.source.segment(part)) is not None
        )
        if not value.prefix and not named_so:
            continue
        if value.prefix is not None and _STATEMENT.match(value.prefix) and _RUNS_SQL.search(spoken):
            rule = "sql-text-built-from-input"
        elif named_so or (value.prefix and _COMMAND.match(value.prefix) and _RUNS_COMMAND.search(bare)):
            rule = "shell-command-from-input"
        else:
            continue
        bound = rule.startswith("sql") and any(
            after is not part for after, _ in arguments.all() if after.col_offset > part.col_offset
        )
        callee = run.unit.project_callee(name)
        run.sink(
            rule, node, _shown(node), run.effective(value.flows), composed=True, bound=bound, callee=callee
        )
        return


def _bound(run: Any, spoken: str, node: ast.Call, arguments: Arguments) -> bool:
    """Whether a constant statement is given with its values beside it; then that is said."""
    given = arguments.all()
    at = next((i for i, (_, v) in enumerate(given) if _is_statement(v)), None)
    if at is None or at + 1 >= len(given):
        return at is not None and given[at][1].is_const and _RUNS_SQL.search(spoken) is not None
    text = str(given[at][1].const if given[at][1].is_const else given[at][1].prefix)
    if not (_RUNS_SQL.search(spoken) or (given[at][1].is_const and _PLACE.search(text))) or _TELLS.search(
        spoken
    ):
        return False
    flows = merge_flows(*(value.flows for _, value in given[at + 1 :]))
    why = "the values are given beside the statement"
    if flows:
        run.sink("sql-text-built-from-input", node, _shown(node), run.effective(flows), why)
    else:
        beside(run, node, _shown(node), why)
    return True


_PLACE = re.compile(r"%s|%\(\w+\)s|\?|:\w+|\$\d")


def _is_statement(value: Value) -> bool:
    """Whether a value is an SQL statement of the program: constant, or put together without anything from outside."""
    if isinstance(value.const, str):
        return _STATEMENT.match(value.const) is not None
    return (
        value.composed
        and not value.flows
        and bool(value.prefix)
        and _STATEMENT.match(value.prefix or "") is not None
    )


def beside(run: Any, node: ast.Call, what: str, why: str) -> None:
    """Say that an SQL statement's values are bound, where nothing is known of where they come from."""
    if not run.unit.source.library:
        run.unit.report(
            "sql-text-built-from-input", node, what=what, safe=why, facts=(("source", "A value"),)
        )


_RUNS = re.compile(
    r"(?i)^_*(?:check_?)?(?:run|exec|execute|call|output|popen|spawn|invoke|getoutput)(?:_?(?:command|cmd|process|ssh|shell|cli|as_?root|root_?cmd|program))?$"
)
_PROGRAM = re.compile(r"^[\w./~-]+$")


def _separate(run: Any, bare: str, node: ast.Call, arguments: Arguments) -> bool:
    """Whether a call that runs programs gets a program's name and its arguments apart; then that is said."""
    if not (_RUNS.match(bare) or _RUNS_COMMAND.search(bare)) or not arguments.positional:
        return False
    first = arguments.positional[0][1]
    parts = first.items or tuple(value for _, value in arguments.positional)
    if len(parts) < 2 or not isinstance(parts[0].const, str) or not _PROGRAM.match(parts[0].const):
        return False
    if (
        run.unit.source.library
        or all(part.is_const for part in parts)
        or any(p.composed and " " in (p.prefix or "") for p in parts)
    ):
        return False
    why = "program and arguments are given apart, so no shell takes them apart"
    run.unit.report(
        "shell-command-from-input", node, what=_shown(node), safe=why, facts=(("source", "A value"),)
    )
    return True


def split_command(value: Value) -> Value:
    """`command.split()`: still one text that somebody put together, now as arguments."""
    return Value(merge_flows(value.flows), name="str().split()", prefix=value.prefix, composed=value.composed)


def _shown(node: ast.Call) -> str:
    func = node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return f"{func.value.id}.{func.attr}"
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "the call")
