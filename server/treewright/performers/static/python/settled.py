"""Values that the program fixes itself: a place where they do no harm is examined and refuted, with the line quoted."""

import ast
import re
from typing import Any

from treewright.performers.static.python.patterns import Arguments

_KEEPS = re.compile(
    r"^(os\.path\.\w+|pathlib\.[\w.()]+|str|bytes|repr|int|float|sqlalchemy(\.sql)?(\.expression)?\.text|io\.(StringIO|BytesIO)|shlex\.\w+"
    r"|textwrap\.dedent|str\(\)\.\w+|json\.dumps|tuple|list|sorted|inspect\.cleandoc)$"
)
"""Calls that give back nothing but what they get."""
ANYWHERE = frozenset({"sql", "command", "code", "template", "xpath", "ldap", "nosql", "deserialise", "xml"})
"""Kinds of sinks where a constant is worth a word wherever it stands in a program."""
WITH_SOURCES = frozenset(
    {"path", "redirect", "ssrf", "html", "header", "reflection", "regex", "log", "session"}
)
"""Kinds where it is worth one only in a function that foreign data enters: opening a file of one's own is no question."""


def keeps_fixed(name: str, arguments: Arguments) -> bool:
    """Whether a call of constants gives something that is fixed as well."""
    given = [value for _, value in arguments.all()]
    if arguments.open or not _KEEPS.match(name):
        return False
    if arguments.receiver_node is not None and (
        arguments.receiver.name[-2:] == "()" or arguments.receiver.is_const
    ):
        given.append(arguments.receiver)
    return bool(given) and all(value.is_fixed for value in given)


def nothing_comes_in(
    run: Any, entry: dict[str, Any], arguments: Arguments, node: ast.Call, what: str
) -> bool:
    """Report a sink that only constants of the program reach as refuted.

    Args:
        run: the function's interpreter. entry: the sink's row. what: the sink as a reader names it.

    Returns:
        Whether that is so.
    """
    specs = entry.get("args", ["0"])
    if specs == ["*"] or arguments.spread:
        found = arguments.all()
    else:
        found = [pair for spec in specs if (pair := arguments.get(spec)) is not None]
    if not found or arguments.open or not all(value.is_fixed for _, value in found):
        return False
    told(run, entry["rule"], node, what, entry.get("safe", ""))
    return True


def told(run: Any, rule: str, node: ast.AST, what: str, safe: str = "") -> None:
    """Report a sink as refuted because the program itself fixes what reaches it, where that is worth a word."""
    kind = run.unit.rules[rule].kind
    entered = bool(run.facts.sources) or run.facts.entry_strength > 1
    if run.unit.source.library or not (kind in ANYWHERE or (kind in WITH_SOURCES and entered)):
        return
    why = safe or "what reaches it is fixed in the program; nothing from outside does"
    run.unit.report(rule, node, what=what, safe=why, facts=(("source", "A constant of the program"),))
