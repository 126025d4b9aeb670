"""Takes the code out of what a model answers: fences, prose, think tags, a body alone, a cut-off tail."""

from __future__ import annotations

import ast
import re
import textwrap

from treewright.parsing import parse_program

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_BLOCKS_TRIED_MOST = 32
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
    options = list(dict.fromkeys(options))[:_BLOCKS_TRIED_MOST]
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
    return _longest_that_parses("", code) or ""


def _without_tail_of_body(header: str, body: str) -> str:
    return _longest_that_parses(header, body) or body


def _longest_that_parses(header: str, code: str) -> str | None:
    """Return the most lines of the code that parse after the header.

    No run that holds the line of a syntax error parses either, so each try ends before that line.
    """
    lines, above = code.split("\n"), header.count("\n")
    end = len(lines)
    while end > 0:
        text = "\n".join(lines[:end])
        if not text.strip():
            return None
        try:
            parse_program(header + text)
        except SyntaxError as fault:
            end = min(end - 1, max((fault.lineno or end) - above - 1, 0))
        except (
            ValueError,
            RecursionError,
            MemoryError,
        ):  # nested without end: anywhere, so half of it is tried
            end //= 2
        else:
            return text.rstrip() + "\n"
        while end and lines[end - 1].lstrip()[:1] in {
            "",
            "#",
        }:  # whether one of these is there changes nothing
            end -= 1
    return None


def _header(start: str, entry_point: str | None) -> str:
    """Everything of the starting program up to and including the header of the function under test."""
    try:
        tree = parse_program(start)
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
        parse_program(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _usable(code: str, entry_point: str | None) -> bool:
    if not _parses(code):
        return False
    tree = parse_program(code)
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
    """The answer as a change of the starting program: what it does not define anew stays as it stands, comments too.

    Args:
        code: a program that parses.
        start: the starting program; may be empty.
        entry_point: the function under test.
    """
    if not start.strip() or not _parses(start):
        return code
    if spliced := _spliced(code, start):
        return spliced
    known = _defined(parse_program(code))
    lines = start.split("\n")
    kept = []
    for node in parse_program(start).body:
        names = _defined(ast.Module([node], []))
        if names and not names & known and names != {entry_point}:
            kept.append(_segment(lines, node))
    return "\n".join([*kept, "", code]) if kept else code


def _spliced(code: str, start: str) -> str:
    """The starting program with each function, class and constant that the answer defines in its place, and what is
    new before the first of them; empty when nothing of the start is defined anew."""
    there: dict[str, ast.stmt] = {}
    for node in parse_program(start).body:
        if name := _name(node):
            there[name] = node
    lines, own = code.split("\n"), start.split("\n")
    told = {ast.unparse(node) for node in parse_program(start).body}
    places: dict[int, tuple[int, str]] = {}
    new: list[str] = []
    for node in parse_program(code).body:
        old = there.get(_name(node))
        if ast.unparse(node) in told or not (_name(node) or isinstance(node, _SETTING_UP)):
            continue
        if old is None:
            new.append(_segment(lines, node))
        else:
            places[_first(old)] = (old.end_lineno or old.lineno, _segment(lines, node))
    if not places:
        return ""
    before = min(places)
    for first, (last, text) in sorted(places.items(), reverse=True):
        added = [*(line for part in new for line in (part, "", ""))] if first == before else []
        own[first - 1 : last] = [*added, text]
    spliced = "\n".join(own)
    return spliced if _parses(spliced) else ""


_SETTING_UP = (ast.Import, ast.ImportFrom, ast.Try)


def _name(node: ast.stmt) -> str:
    """The name that a top-level statement defines; empty for none or several."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _segment(lines: list[str], node: ast.stmt) -> str:
    """The lines of a statement, its decorators too."""
    return "\n".join(lines[_first(node) - 1 : node.end_lineno])
