"""Fields of a class that are one thing everywhere: set once, to a constant text or to what a known call makes."""

import ast
from typing import TYPE_CHECKING

from treewright.performers.static.python.source import BUILTINS, Source
from treewright.performers.static.python.value import Value, named

if TYPE_CHECKING:
    from treewright.performers.static.python.flow import FunctionRun


def fields_of(source: Source, run: "FunctionRun", node: ast.ClassDef, name: str) -> dict[str, Value]:
    """`Class.field` and `Class().field` to the value that the field has wherever it is read.

    Args:
        run: evaluates constants. name: the class's qualified name.
    """
    found: dict[str, Value] = {}
    handed = _requests(source, node)
    for attribute, values in _written(node).items():
        value = values[0]
        if len(values) != 1 or value is None:
            continue
        known = (
            named("~request")
            if isinstance(value, ast.Name) and value.id in handed
            else _value(source, run, value)
        )
        if known is not None:
            found[f"{name}.{attribute}"] = found[f"{name}().{attribute}"] = known
    return found


def _requests(source: Source, node: ast.ClassDef) -> set[str]:
    """The parameters of `__init__` that are declared as a web framework's request."""
    found = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            for argument in part.args.args:
                note = source.dotted(argument.annotation) if argument.annotation is not None else ""
                if note.rpartition(".")[2].lstrip("~") in {"Request", "HttpRequest"}:
                    found.add(argument.arg)
    return found


def _written(node: ast.ClassDef) -> dict[str, list[ast.expr | None]]:
    """Every `self.field = value` of a class; None where the value changes what was there."""
    written: dict[str, list[ast.expr | None]] = {}
    for part in ast.walk(node):
        targets: list[ast.expr] = []
        if isinstance(part, ast.Assign):
            targets = part.targets
        elif isinstance(part, (ast.AugAssign, ast.AnnAssign)):
            targets = [part.target]
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
            ):
                value = part.value if isinstance(part, (ast.Assign, ast.AnnAssign)) else None
                written.setdefault(target.attr, []).append(value)
    return written


def _value(source: Source, run: "FunctionRun", node: ast.expr) -> Value | None:
    if isinstance(node, ast.Call):
        made = source.dotted(node.func)
        return named(f"{made}()") if made and made[0] != "~" and made not in BUILTINS else None
    if isinstance(node, (ast.Constant, ast.BinOp)):
        value = run.quiet(node)
        return value if isinstance(value.const, (str, bytes)) and value.const else None
    return None
