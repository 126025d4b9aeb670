"""Calls that reach a function by another way than its own name: by text, or as an argument of something that calls it."""

import ast

from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value, named

_TAKES = {
    "run_in_executor": 1, "submit": 0, "to_thread": 0, "partial": 0, "apply_async": 0, "call_soon": 0, "run_sync": 0,
    "start_new_thread": 0, "call_soon_threadsafe": 0, "run_in_threadpool": 0, "deferToThread": 0,
}  # fmt: skip
"""Functions that call the function at this place of their arguments with the arguments behind it."""


def named_by_text(name: str, arguments: Arguments) -> Value | None:
    """What `getattr(os, "system")` and `__import__("os")` stand for; None for every other call."""
    given = arguments.positional
    if name == "getattr" and len(given) == 2 and given[0][1].name and isinstance(given[1][1].const, str):
        return named(f"{given[0][1].name}.{given[1][1].const}")
    if (
        name in {"__import__", "importlib.import_module"}
        and len(given) == 1
        and isinstance(given[0][1].const, str)
    ):
        return named(given[0][1].const)
    return None


def handed_on(name: str, node: ast.Call, arguments: Arguments) -> tuple[str, Arguments] | None:
    """The function that a call like `loop.run_in_executor(None, exec, code)` calls, with what it gets; None for others."""
    at = _TAKES.get(name.rpartition(".")[2])
    if at is not None and len(arguments.positional) > at + 1:
        called = arguments.positional[at][1].name
        inner = Arguments(node, positional=arguments.positional[at + 1 :], keywords=arguments.keywords)
        return (called, inner) if called else None
    if name.rpartition(".")[2] in {"Thread", "Process", "Timer"} and "target" in arguments.keywords:
        passed = arguments.keywords.get("args")
        called = arguments.keywords["target"][1].name
        if passed is not None and passed[1].items and called:
            return called, Arguments(node, positional=[(passed[0], item) for item in passed[1].items])
    return None
