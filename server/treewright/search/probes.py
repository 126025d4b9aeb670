"""Inputs made from the checks' own, to tell passing programs apart.

Each literal argument of a checked call is varied a little (a number more or less, a sequence shorter, longer,
reversed, with an item twice). What the program should answer is not known, so a probe expects nothing: only
whether two programs agree on it is of interest.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any

from treewright.parsing import parse_expression
from treewright.search.checks import Check, CheckKind, Plan
from treewright.search.literal import NotReadable, read_value

MOST_PROBES = 48
_SMALL = 60
_MOST_CROSSED = 6


def probe_plan(plan: Plan) -> Plan:
    """A plan of calls with varied arguments; it has no checks when no call's arguments can be read.

    Args:
        plan: the visible checks.
    """
    per_check = [list(_varied(check)) for check in plan.checks if check.kind is CheckKind.VALUE]
    per_check.append(list(_crossed(plan)))
    chosen: dict[tuple[str, str], None] = {}
    for turn in range(max(map(len, per_check), default=0)):
        for variants in per_check:
            if turn < len(variants) and len(chosen) < MOST_PROBES:
                chosen[variants[turn]] = None
    known = {check.evaluate for check in plan.checks}
    checks = tuple(
        Check(id=f"p{number}", kind=CheckKind.VALUE, source=text, context=context, evaluate=text)
        for number, (context, text) in enumerate(chosen, 1)
        if text not in known
    )
    return plan.model_copy(update={"checks": checks, "trace_lines": False})


def _varied(check: Check) -> Iterator[tuple[str, str]]:
    try:
        tree = parse_expression(check.evaluate).body
    except SyntaxError:
        return
    call = _innermost_call(tree)
    if call is None:
        return
    readable = []
    for index, arg in enumerate(_arguments(call)):
        try:
            readable.append((index, read_value(arg)))
        except NotReadable:
            continue
    streams = [[(index, value) for value in _variants(value)] for index, value in readable]
    for turn in range(max(map(len, streams), default=0)):
        for stream in streams:
            if turn < len(stream):
                index, value = stream[turn]
                yield check.context, _with_argument(call, index, repr(value))


def _crossed(plan: Plan) -> Iterator[tuple[str, str]]:
    """Calls of one check with an argument of another: both are of the right kind."""
    calls: list[tuple[str, ast.Call]] = []
    for check in plan.checks[:_MOST_CROSSED]:
        with contextlib.suppress(SyntaxError):
            call = _innermost_call(parse_expression(check.evaluate).body)
            if call is not None and check.kind is CheckKind.VALUE:
                calls.append((check.context, call))
    for context, call in calls:
        count = len(_arguments(call))
        for _, other in calls:
            if other is call or count < 2 or len(_arguments(other)) != count:
                continue
            for index, arg in enumerate(_arguments(other)):
                yield context, _with_argument(call, index, ast.unparse(arg))


def _arguments(call: ast.Call) -> list[ast.expr]:
    """Arguments by position, then those by keyword."""
    return [*call.args, *(one.value for one in call.keywords)]


def _with_argument(call: ast.Call, index: int, text: str) -> str:
    """The text of a call with one argument replaced."""
    args = [ast.unparse(arg) for arg in _arguments(call)]
    args[index] = text
    for number, one in enumerate(call.keywords, len(call.args)):
        args[number] = f"{one.arg}={args[number]}" if one.arg else f"**{args[number]}"
    return f"{ast.unparse(call.func)}({', '.join(args)})"


def _innermost_call(tree: ast.expr) -> ast.Call | None:
    """The first call with arguments that can be read, outside in."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and _arguments(node)
            and isinstance(node.func, (ast.Name, ast.Attribute))
        ):
            if isinstance(node.func, ast.Name) and node.func.id in (
                "list",
                "sorted",
                "tuple",
                "set",
                "abs",
                "round",
                "len",
                "str",
            ):
                continue
            return node
    return None


def _variants(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (
            other
            for other in (value + 1, value - 1, value + 2, value * 2, value // 2, value + 5)
            if abs(other) < 10**6
        )
    elif isinstance(value, float):
        yield from (value + 1.0, value / 2, -value, value * 3.7)
    elif isinstance(value, str):
        yield from _strings(value)
    elif isinstance(value, (list, tuple)):
        yield from (type(value)(items) for items in _sequences(list(value)))
    elif isinstance(value, dict) and value:
        first = next(iter(value))
        yield {key: item for key, item in value.items() if key != first}


def _strings(value: str) -> Iterator[str]:
    if len(value) > _SMALL * 4:
        return
    if value:
        yield value[1:]
        yield value[:-1]
        yield value[::-1]
        yield value + value[0]
        yield value.swapcase()
        half = len(value) // 2
        yield value[half:] + value[:half]
    else:
        yield from ("a", "ab")


def _sequences(items: list[Any]) -> Iterator[list[Any]]:
    if len(items) > _SMALL:
        return
    if not items:
        yield from ([1], [2, 1])
        return
    yield items[1:]
    yield items[:-1]
    yield items[::-1]
    yield [*items, items[0]]
    for index in (0, len(items) // 2, len(items) - 1):
        for changed in list(_variants(items[index]))[:3]:
            yield [*items[:index], changed, *items[index + 1 :]]
    yield sorted(items, key=repr)
    yield items + items
