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
    for part, value in arguments.all():
        if not value.composed or not value.prefix or _TELLS.search(name):
            continue
        bare = spoken.rpartition(".")[2]
        if _STATEMENT.match(value.prefix) and _RUNS_SQL.search(spoken):
            rule = "sql-text-built-from-input"
        elif _COMMAND.match(value.prefix) and _RUNS_COMMAND.search(bare):
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
    at = next(
        (i for i, (_, v) in enumerate(given) if isinstance(v.const, str) and _STATEMENT.match(v.const)), None
    )
    if at is None or not _RUNS_SQL.search(spoken):
        return False
    flows = merge_flows(*(value.flows for _, value in given[at + 1 :])) if given[at + 1 :] else ()
    if flows:
        run.sink("sql-text-built-from-input", node, _shown(node), run.effective(flows),
                 "the values are given beside a constant statement")  # fmt: skip
    return True


def split_command(value: Value) -> Value:
    """`command.split()`: still one text that somebody put together, now as arguments."""
    return Value(merge_flows(value.flows), name="str().split()", prefix=value.prefix, composed=value.composed)


def _shown(node: ast.Call) -> str:
    func = node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return f"{func.value.id}.{func.attr}"
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "the call")
