"""Text changes and the places they are made at."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from treewright.performers.static.python.source import Source

RawEdit = tuple[int, int, int, int, str]
"""start line, start column, end line, end column, new text: lines from 1, columns in characters."""


@dataclass(slots=True)
class Change:
    """Edits that belong together, and the imports they need."""

    edits: list[RawEdit] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)


Recipe = Callable[[Source, ast.AST], "Change | None"]
RECIPES: dict[str, list[Recipe]] = {}


def recipe(*rules: str) -> Callable[[Recipe], Recipe]:
    """Register a recipe for rules; the first that gives a change is tried first."""

    def register(function: Recipe) -> Recipe:
        for rule in rules:
            RECIPES.setdefault(rule, []).append(function)
        return function

    return register


def replace(source: Source, node: ast.AST, new: str, *imports: str) -> Change:
    """Put a text in a node's place."""
    place = source.place(node)
    return Change([(place.line, place.column, place.end, place.end_column, new)], list(imports))


def insert_before(source: Source, statement: ast.stmt, lines: list[str], *imports: str) -> Change:
    """Put lines in front of a statement, indented like it."""
    indent = source.lines[statement.lineno - 1][: statement.col_offset]
    text = "".join(f"{indent}{line}\n" for line in lines)
    return Change([(statement.lineno, 0, statement.lineno, 0, text)], list(imports))


def set_keyword(source: Source, call: ast.Call, name: str, value: str) -> Change:
    """Give a call's keyword a value, adding it when it is not there."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return replace(source, keyword.value, value)
    place = source.place(call)
    before = source.lines[place.end - 1][: place.end_column - 1]
    comma = "" if not (call.args or call.keywords) or before.rstrip().endswith(",") else ", "
    at = (place.end, len(before.rstrip()) if before.strip() else place.end_column - 1)
    return Change([(*at, *at, f"{comma}{name}={value}")])


def assigned(source: Source, name: str, before: ast.AST) -> ast.Assign | None:
    """The one assignment of a local name in the function around a node, or None when there are several."""
    scope: ast.AST = source.function_of(before) or source.tree
    found = [
        node
        for node in ast.walk(scope)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Assign) else None


def apply(text: str, change: Change) -> str:
    """The text after a change; imports go behind the module's docstring and `__future__` imports."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    for start, column, end, end_column, new in sorted(change.edits, reverse=True):
        joined = lines[start - 1][:column] + new.replace("\n", newline) + lines[end - 1][end_column:]
        lines[start - 1 : end] = joined.split(newline)
    return newline.join(lines)


def import_edits(source: Source, imports: list[str]) -> list[RawEdit]:
    """Edits that add the imports that the file does not have yet."""
    missing = [entry for entry in dict.fromkeys(imports) if not _has(source, entry)]
    if not missing:
        return []
    line = _import_line(source)
    return [(line, 0, line, 0, "".join(f"{entry}\n" for entry in missing))]


def _has(source: Source, statement: str) -> bool:
    words = statement.split()
    if words[0] == "import":
        name = words[1]
        return any(v == name.partition(".")[0] and k == v for k, v in source.imports.items()) and (
            "." not in name or f"import {name}" in source.text
        )
    return source.imports.get(words[3]) == f"{words[1]}.{words[3]}"


def _import_line(source: Source) -> int:
    """The line of the first import, else the one behind docstring and `__future__`."""
    last = 0
    for node in source.tree.body:
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            last = node.end_lineno or node.lineno
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            return node.lineno
        else:
            break
    if last:
        return last + 1
    return source.tree.body[0].lineno if source.tree.body else 1
