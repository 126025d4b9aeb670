"""Reads doctest examples, in a text file or in the docstrings of the starting program, as single checks."""

from __future__ import annotations

import ast
import doctest

from treewright.parsing import parse_expression, parse_program
from treewright.search.checks import Check, CheckKind
from treewright.search.literal import NotReadable, read_value
from treewright.search.splitting import names_read, value_check


def split_doctest(text: str) -> list[Check]:
    """Read every example of a text; statements before an example are its context.

    Args:
        text: a docstring or a text file with `>>>` examples.

    Raises:
        ValueError: an example is badly formed (doctest's own message).
    """
    checks: list[Check] = []
    context: list[str] = []
    bound: set[str] = set()
    for example in doctest.DocTestParser().get_examples(text):
        source = example.source.strip()
        check = _example_check(example, "\n".join(context))
        if check is not None:
            checks.append(check)
        try:
            tree = parse_program(source)
        except SyntaxError:
            continue
        stores = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if not example.want or stores or bound & names_read(tree):
            context.append(source)
        bound |= stores
    return checks


def docstring_checks(tree: ast.Module, entry_point: str | None) -> list[Check]:
    """Read the examples in the docstrings of the entry point, or of the whole module when none is named."""
    checks: list[Check] = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            continue
        if entry_point and getattr(node, "name", None) != entry_point.rpartition(".")[2]:
            continue
        try:
            checks.extend(split_doctest(ast.get_docstring(node) or ""))
        except ValueError:
            continue
    return checks


def _example_check(example: doctest.Example, context: str) -> Check | None:
    source = example.source.strip()
    shown = f">>> {source}"
    if example.exc_msg is not None:
        name = example.exc_msg.split(":", 1)[0].strip().rpartition(".")[2]
        return Check(
            id="c0", kind=CheckKind.RAISES, source=shown, context=context, evaluate=source, expected=name
        )
    if not example.want:
        return None
    try:
        expression = parse_expression(source).body
    except SyntaxError:
        return Check(
            id="c0",
            kind=CheckKind.STDOUT,
            source=shown,
            context=context,
            evaluate=source,
            expected=example.want,
        )
    flags = sum(flag for flag, on in example.options.items() if on)
    try:
        wanted = read_value(parse_expression(example.want.strip()).body)
        if not flags and not _prints(expression):
            return value_check(expression, "==", wanted, context=context, source=shown)
    except (SyntaxError, NotReadable):
        pass
    return Check(
        id="c0",
        kind=CheckKind.TEXT,
        source=shown,
        context=context,
        evaluate=source,
        expected=example.want,
        flags=flags,
    )


def _prints(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Name)
        and expression.func.id == "print"
    )
