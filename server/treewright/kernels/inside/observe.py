# ruff: noqa: PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""How a candidate is looked at without trusting it: comparisons, errors, executed lines, limits.

Second of the three files that make up the guard's namespace: `streams`, `observe`, `guard`.
"""

from __future__ import annotations

import ast
import os
import sys
import types
from collections.abc import Callable
from typing import Any

# Loaded now so that their classes are known to be the library's own (see `_is_ours`).
_LOADED = [__import__(name) for name in ("collections", "datetime", "decimal", "fractions")]

_TEXT_LIMIT = 2000
_FRAME_LIMIT = 30
_TPFLAGS_HEAPTYPE = 1 << 9

_settrace = sys.settrace
_mro = vars(type)["__mro__"].__get__
_vars = vars(type)["__dict__"].__get__
_flags = vars(type)["__flags__"].__get__
_name = vars(type)["__name__"].__get__
_known = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)}
_function_globals = vars(types.FunctionType)["__globals__"].__get__


# --- comparisons inside checks ------------------------------------------------------------------------------


def _is_ours(function: Any) -> bool:
    """Whether a method is written in C or belongs to a module that was there before the candidate."""
    if type(function) is not types.FunctionType:
        return True
    return id(_function_globals(function)) in _known


def is_foreign(value: Any) -> bool:
    """Whether an object brings comparison code of the candidate's with it."""
    kind = type(value)
    if not _flags(kind) & _TPFLAGS_HEAPTYPE:
        return False
    for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"):
        for base in _mro(kind):
            found = _vars(base).get(name)
            if found is not None:
                if not _is_ours(found):
                    return True
                break
    return False


class Guarding(ast.NodeTransformer):
    """Has both sides of every comparison in a check looked at before they are compared."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Wrap what is compared."""
        self.generic_visit(node)
        if len(node.ops) != 1 or isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        pair = ast.Call(
            ast.Name("__pair__", ast.Load()),
            [node.left, node.comparators[0], ast.Constant(_OPS[type(node.ops[0])])],
            [],
        )
        return ast.copy_location(pair, node)


_OPS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


class ForeignComparisonError(Exception):
    """A plain value was compared with an object that brings its own idea of equality."""


def compare_pair(left: Any, right: Any, operator: str) -> Any:
    """Compare, unless a candidate's object would decide about a plain value.

    Two objects of one class of the candidate's may compare themselves: the task asked for that class.
    """
    if is_foreign(left) != is_foreign(right) and operator not in ("in", "not in"):
        raise ForeignComparisonError(
            "an object with comparison methods of its own was compared with a plain value"
        )
    if operator in ("in", "not in") and is_foreign(left):
        raise ForeignComparisonError("an object with comparison methods of its own was looked up")
    return _COMPARE[operator](left, right)


# --- errors as data -----------------------------------------------------------------------------------------


def _text_of(value: Any) -> str:
    """`str(value)` of an object that may do anything."""
    try:
        text = str(value)
        return text[:_TEXT_LIMIT] if type(text) is str else ""
    except BaseException:  # noqa: BLE001  a candidate's __str__ may raise anything
        return "<no text: its __str__ raised>"


def describe(error: BaseException, path: str) -> dict[str, Any]:
    """Class name, text, traceback and the last line of the candidate's file, without the `traceback` module."""
    frames: list[list[Any]] = []
    line = None
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == path:
            line = step.tb_lineno
        if not code.co_filename.startswith("<treewright"):
            frames.append([code.co_filename, step.tb_lineno, code.co_name])
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename == path and isinstance(error.lineno, int):
        line = error.lineno
    names = [_name(base) for base in _mro(type(error))]
    return {
        "error": names[0],
        "bases": names[1:-1],
        "message": _text_of(error),
        "error_line": line,
        "frames": frames[-_FRAME_LIMIT:],
    }


# --- lines --------------------------------------------------------------------------------------------------


class Lines:
    """Notes which lines of the candidate's file run."""

    def __init__(self, path: str, wanted: bool) -> None:
        self._path = path
        self._wanted = wanted
        self._seen: set[int] = set()

    def __enter__(self) -> Lines:  # noqa: PYI034  Self is newer than 3.10
        if self._wanted:
            self._seen.clear()
            _settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            _settrace(None)

    def _call(self, frame: types.FrameType, _event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename == self._path else None

    def _line(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._seen.add(frame.f_lineno)
        return self._line

    def taken(self) -> list[int]:
        """The lines, in order."""
        return sorted(self._seen)


# --- limits -------------------------------------------------------------------------------------------------


def limit_process(limits: dict[str, Any]) -> None:
    """Set the limits of address space and CPU, counted from what this process has used already.

    Args:
        limits: `memory_bytes` beyond what is mapped now, `cpu_s` beyond what was used, `file_bytes`; absent or
            None leaves a limit as it is.
    """
    try:
        import resource
    except ImportError:
        return
    if limits.get("memory_bytes"):
        value = _mapped() + int(limits["memory_bytes"])
        _lower(resource, resource.RLIMIT_AS, value, value)
    if limits.get("cpu_s"):
        used = resource.getrusage(resource.RUSAGE_SELF)
        value = int(used.ru_utime + used.ru_stime + float(limits["cpu_s"])) + 1
        _lower(resource, resource.RLIMIT_CPU, value, value + 1)
    if limits.get("file_bytes"):
        _lower(resource, resource.RLIMIT_FSIZE, int(limits["file_bytes"]), int(limits["file_bytes"]))


def _lower(resource: Any, which: int, soft: int, hard: int) -> None:
    _, now = resource.getrlimit(which)
    if now != resource.RLIM_INFINITY:
        soft, hard = min(soft, now), min(hard, now)
    try:
        resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError):
        return


def _mapped() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 31
