"""Programs as candidates: normalised for comparing, measured for tie-breaks, shown as a diff."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
from functools import lru_cache

from treewright.parsing import parse_program
from treewright.search.mutate.digest import program_digest

__all__ = ["change_size", "lines_of_code", "program_digest", "token_count", "unified_diff"]


def change_size(start: str, program: str) -> int:
    """How much of the syntax tree differs: nodes and values taken out plus nodes and values put in.

    Args:
        start: the starting program.
        program: the candidate.

    Returns:
        0 when only formatting, comments or docstrings differ. A program that does not parse counts as all new.
    """
    before, after = _labels(start), _labels(program)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(
        max(i2 - i1, j2 - j1) if tag == "replace" else (i2 - i1) + (j2 - j1)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


@lru_cache(maxsize=64)
def _labels(program: str) -> tuple[str, ...]:
    """The syntax tree in source order, one label a node or value."""
    try:
        tree = parse_program(program)
    except (SyntaxError, ValueError, RecursionError):
        return tuple(program.split())
    found: list[str] = []
    _collect(tree, found)
    return tuple(found)


def _collect(node: ast.AST, found: list[str]) -> None:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return
    if isinstance(node, ast.Name):
        found.append(f"name {node.id}")
        return
    if isinstance(node, ast.Constant):
        found.append(f"value {node.value!r}")
        return
    found.append(type(node).__name__)
    for name, value in ast.iter_fields(node):
        if name in ("ctx", "type_comment", "kind"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                _collect(item, found)
            elif item is not None:
                found.append(f"{name} {item!r}")
    if isinstance(node, (ast.For, ast.While, ast.If, ast.FunctionDef, ast.With, ast.Try)):
        found.append(f"end {type(node).__name__}")


def lines_of_code(program: str) -> int:
    """Lines that hold code: blank lines, comments and docstrings do not count."""
    try:
        tree = parse_program(program)
    except (SyntaxError, ValueError, RecursionError):
        return sum(1 for line in program.splitlines() if line.strip())
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    held: set[int] = set()
    for token in _tokens(program):
        held.update(range(token.start[0], token.end[0] + 1))
    return len(held - docstrings)


def token_count(program: str) -> int:
    """Python tokens, less comments and layout."""
    return len(_tokens(program))


_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def _tokens(program: str) -> list[tokenize.TokenInfo]:
    try:
        found = list(tokenize.generate_tokens(io.StringIO(program).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [token for token in found if token.type not in _LAYOUT]


def unified_diff(start: str, program: str, path: str = "program.py") -> str:
    """The change as a unified diff, empty when nothing changed.

    Args:
        start: the starting program; empty when there was none.
        program: the candidate.
        path: the file's name, for the header.
    """
    lines = difflib.unified_diff(
        start.splitlines(keepends=True), program.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
