"""Takes the code out of what a model answers: fences, prose, think tags, a body alone, a cut-off tail."""

from __future__ import annotations

import ast
import re
import textwrap

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_OTHER = {"bash", "sh", "shell", "console", "text", "json", "output", "diff", "toml", "yaml"}


def code_of(answer: str, start: str = "", entry_point: str | None = None) -> str | None:
    """Find the program in a model's answer.

    Args:
        answer: the text as it came.
        start: the starting program; its header is put before an answer that is only a function's body, and its
            other definitions are kept when the answer holds only the function.
        entry_point: the function that the program must define.

    Returns:
        A program that parses and defines the entry point (when one is named), or None.
    """
    text = _THINK.sub("", answer).replace("\r\n", "\n")
    blocks = [(kind.lower(), body) for _, kind, body in _FENCE.findall(text)]
    options = [body for kind, body in blocks if kind in ("python", "py", "python3")]
    options += [
        body for kind, body in blocks if kind not in ("python", "py", "python3") and kind not in _OTHER
    ]
    if len(options) > 1:
        options.insert(0, "\n\n".join(options))
    options.append(text)
    for option in options:
        for candidate in _readings(option, start, entry_point):
            if _usable(candidate, entry_point):
                return completed(candidate, start, entry_point)
    return None


def _readings(option: str, start: str, entry_point: str | None) -> list[str]:
    code = textwrap.dedent(option.strip("\n")).rstrip() + "\n"
    found = [code, _from_first_definition(code)]
    found += [_without_tail(one) for one in list(found)]
    header = _header(start, entry_point)
    if header:
        body = textwrap.indent(textwrap.dedent(option.strip("\n")), "    ").rstrip() + "\n"
        found += [header + body, header + _without_tail_of_body(header, body)]
    return [one for one in found if one.strip()]


def _from_first_definition(code: str) -> str:
    lines = code.split("\n")
    for index, line in enumerate(lines):
        if re.match(r"(def|class|import|from|async def|@)\b", line):
            return "\n".join(lines[index:])
    return ""


def _without_tail(code: str) -> str:
    """The longest run of lines from the start that parses: prose or a cut-off statement at the end is left out."""
    lines = code.split("\n")
    for end in range(len(lines), 0, -1):
        text = "\n".join(lines[:end])
        if text.strip() and _parses(text):
            return text.rstrip() + "\n"
    return ""


def _without_tail_of_body(header: str, body: str) -> str:
    lines = body.split("\n")
    for end in range(len(lines), 0, -1):
        text = "\n".join(lines[:end])
        if text.strip() and _parses(header + text):
            return text.rstrip() + "\n"
    return body


def _header(start: str, entry_point: str | None) -> str:
    """Everything of the starting program up to and including the header of the function under test."""
    try:
        tree = ast.parse(start)
    except SyntaxError:
        return ""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if entry_point is None or node.name == entry_point:
            first = node.body[0]
            return (
                "\n".join(start.split("\n")[: first.lineno - 1]) + "\n" if first.lineno > node.lineno else ""
            )
    return ""


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _usable(code: str, entry_point: str | None) -> bool:
    if not _parses(code):
        return False
    tree = ast.parse(code)
    if entry_point is None:
        return any(not isinstance(node, ast.Expr) for node in tree.body)
    return entry_point.split(".")[0] in _defined(tree)


def _defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return names


def completed(code: str, start: str, entry_point: str | None) -> str:
    """The program with what the starting program defines and the answer left out: imports and other functions."""
    if not start.strip() or not _parses(start):
        return code
    known = _defined(ast.parse(code))
    lines = start.split("\n")
    kept = []
    for node in ast.parse(start).body:
        names = _defined(ast.Module([node], []))
        if names and not names & known and names != {entry_point}:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
            kept.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n".join([*kept, "", code]) if kept else code
