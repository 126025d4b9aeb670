"""JSON, TOML and Python that somebody else wrote: whatever is wrong with them is a `ValueError` or a `SyntaxError`.

The library's own readers answer a text of ten thousand brackets with a `RecursionError` or a `MemoryError`, so that a file
planted in a repository or an answer of a model would end whoever only expects texts that are no JSON or no program.
"""

import ast
import json
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)
TOO_DEEP = "it is nested too deeply"
DEEPEST = 150
"""levels of expressions in a program; the library's visitors use up to five frames a level, of a thousand"""


def load_json(text: str | bytes | bytearray, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text; see `json.loads`.

    Raises:
        ValueError: it is none that can be read.
    """
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError as fault:
        raise ValueError(TOO_DEEP) from fault


def load_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; see `tomllib.loads`.

    Raises:
        ValueError: it is none that can be read.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as fault:
        raise ValueError(TOO_DEEP) from fault


def parse_program(source: str) -> ast.Module:
    """Return a program's tree; see `ast.parse`.

    Raises:
        SyntaxError: it is none that can be read.
    """
    return _parsed(source, "exec", ast.Module)


def parse_expression(source: str) -> ast.Expression:
    """Return an expression's tree; see `ast.parse`.

    Raises:
        SyntaxError: it is none that can be read.
    """
    return _parsed(source, "eval", ast.Expression)


def _parsed(source: str, mode: str, kind: type[Tree]) -> Tree:
    """What Python's own parser calls a lack of memory is a program nested too deeply, or a NUL in it."""
    try:
        tree = compile(source, "<unknown>", mode, ast.PyCF_ONLY_AST)
    except (RecursionError, MemoryError) as fault:
        raise SyntaxError(TOO_DEEP) from fault
    except ValueError as fault:
        raise SyntaxError(str(fault)) from fault
    assert isinstance(tree, kind)
    if len(source) > DEEPEST and _is_deep(tree):
        raise SyntaxError(TOO_DEEP)
    return tree


def _is_deep(tree: ast.AST) -> bool:
    """Say whether expressions stand in one another deeper than what visits and writes them can follow."""
    todo: list[tuple[ast.AST, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > DEEPEST:
            return True
        children = ast.iter_child_nodes(node)
        todo.extend((child, depth + isinstance(child, ast.expr)) for child in children)
    return False
