"""Looks functions up in a program's text."""

import ast
import inspect
from functools import lru_cache

from treewright.parsing import parse_program


def defines(program: str, name: str) -> bool:
    """Tell whether a program defines a function or, with dots, a method or nested class.

    Args:
        program: source text that parses.
        name: `function` or `Class.method`; a name that is assigned (a lambda, an alias) counts too.
    """
    body: list[ast.stmt] = parse_program(program).body
    parts = name.split(".")
    for number, part in enumerate(parts):
        found = next((one for one in _within(body) if _names(one, part)), None)
        if found is None:
            return False
        if number < len(parts) - 1:
            if not isinstance(found, ast.ClassDef):
                return False
            body = found.body
    return True


@lru_cache(maxsize=64)
def stub_body(program: str, name: str | None) -> int:
    """Tell where the body of a function that is still to be written begins.

    Args:
        program: source text.
        name: the function at the top of the program; None takes its only one.

    Returns:
        The line, from 1, after its header and docstring; 0 when there is no such function, or something was written:
        anything but a docstring, `pass`, `...` and `raise NotImplementedError`.
    """
    try:
        body = parse_program(program).body
    except (SyntaxError, ValueError):
        return 0
    functions = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = next((one for one in functions if one.name == name), None)
    if name is None and len(functions) == 1:
        found = functions[0]
    if found is None or not all(_says_nothing(one) for one in found.body):
        return 0
    told = [one for one in found.body if isinstance(one, ast.Import | ast.ImportFrom) or _is_text(one)]
    return (told[-1].end_lineno or told[-1].lineno) + 1 if told else found.body[0].lineno


def told_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the docstring of a function, also one that stands after imports; empty for none."""
    for node in function.body:
        if isinstance(node, ast.Expr) and _is_text(node) and isinstance(node.value, ast.Constant):
            return inspect.cleandoc(str(node.value.value))
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
    return ""


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _says_nothing(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ... or isinstance(value, str)
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case _:
            return False


def _within(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, and those of the blocks of its conditions: a function may be defined by version."""
    found = list(body)
    for one in body:
        if isinstance(one, ast.If | ast.Try | ast.With):
            found += _within(one.body)
            found += _within(getattr(one, "orelse", []))
    return found


def _names(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name == name
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def function_at(program: str, line: int) -> str:
    """Return the dotted name of the outermost function or method around a line; empty when there is none.

    Args:
        program: source text that parses.
        line: from 1.
    """
    return _function_at(parse_program(program).body, line, ())


def _function_at(body: list[ast.stmt], line: int, outer: tuple[str, ...]) -> str:
    for node in _within(body):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or line not in _lines(
            node
        ):
            continue
        name = (*outer, node.name)
        return _function_at(node.body, line, name) if isinstance(node, ast.ClassDef) else ".".join(name)
    return ""


def lines_of(program: str, name: str) -> range | None:
    """Return the lines of a function's or method's body, from 1, or None when the program does not define it.

    Args:
        program: source text that parses.
        name: `function` or `Class.method`.
    """
    body: list[ast.stmt] = parse_program(program).body
    parts = name.split(".")
    for number, part in enumerate(parts):
        found = next((one for one in _within(body) if getattr(one, "name", "") == part), None)
        if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        if number == len(parts) - 1:
            return range(found.body[0].lineno, (found.end_lineno or found.lineno) + 1)
        body = found.body
    return None


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> range:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)
