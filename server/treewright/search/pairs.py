"""Reads (call, expected) pairs, written in Python or JSON.

Accepted items: `["f(1, 2)", 3]`; `[[1, 2], 3]` (arguments of the entry point); `{"call": ..., "expected": ...}`;
`{"args": [...], "kwargs": {...}, "expected": ...}`; `{"input": ..., "output": ...}`. A text holds a list of
items, or one item a line. Values from JSON are compared as JSON compares: tuples, lists and iterators alike.
"""

from __future__ import annotations

import ast
from typing import Any

from treewright.parsing import load_json, parse_expression
from treewright.search.checks import Check, CheckKind

_EXPECTED = ("expected", "output", "result", "returns")


def read_pairs(text: str, entry_point: str | None) -> list[Check]:
    """Read every pair of a text.

    Args:
        text: JSON, JSON lines, or a Python literal.
        entry_point: the function that bare arguments are for.

    Raises:
        ValueError: a pair cannot be read, or needs an entry point and there is none.
    """
    items, from_json = _items(text)
    return [_pair(item, entry_point, from_json) for item in items]


def _items(text: str) -> tuple[list[Any], bool]:
    try:
        data = load_json(text)
    except ValueError:
        return _lines_or_python(text)
    if isinstance(data, dict) and not any(name in data for name in _EXPECTED):
        data = data.get("tests", data.get("pairs", data.get("cases")))
    if isinstance(data, dict):
        return [data], True
    if not isinstance(data, list):
        raise ValueError("pairs are a list of [call, expected]")  # noqa: TRY004  the text is at fault, not a caller
    single = len(data) == 2 and (isinstance(data[0], str) or not _is_pair(data[0]))
    return ([data] if single else data), True


def _is_pair(item: Any) -> bool:
    return isinstance(item, dict) or (isinstance(item, (list, tuple)) and len(item) == 2)


def _lines_or_python(text: str) -> tuple[list[Any], bool]:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [load_json(line) for line in lines], True
    except ValueError:
        pass
    try:
        data = ast.literal_eval(parse_expression(text.strip()))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"neither JSON nor a Python literal: {error}") from error
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], str):
        data = [data]
    if not isinstance(data, (list, tuple)):
        raise ValueError("pairs are a list of (call, expected)")  # noqa: TRY004  the text is at fault, not a caller
    return list(data), False


def _pair(item: Any, entry_point: str | None, from_json: bool) -> Check:
    if isinstance(item, dict):
        return _named(item, entry_point, from_json)
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        raise ValueError(f"not a (call, expected) pair: {item!r:.80}")
    call, expected = item
    if isinstance(call, str) and _is_call(call):
        return _check(call, expected, from_json)
    arguments = call if isinstance(call, (list, tuple)) else [call]
    return _check(_call(entry_point, arguments, {}), expected, from_json)


def _named(item: dict[str, Any], entry_point: str | None, from_json: bool) -> Check:
    expected = next((item[name] for name in _EXPECTED if name in item), _EXPECTED)
    if expected is _EXPECTED:
        raise ValueError(f"a pair without what is expected: {item!r:.80}")
    if "call" in item:
        return _check(str(item["call"]), expected, from_json)
    arguments = item.get("args", item.get("input", []))
    if not isinstance(arguments, (list, tuple)):
        arguments = [arguments]
    return _check(_call(entry_point, arguments, item.get("kwargs", {})), expected, from_json)


def _is_call(text: str) -> bool:
    try:
        tree = parse_expression(text.strip())
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))


def _call(entry_point: str | None, arguments: Any, named: dict[str, Any]) -> str:
    if not entry_point:
        raise ValueError("pairs of arguments need an entry point")
    parts = [_literal(value) for value in arguments] + [
        f"{name}={_literal(value)}" for name, value in named.items()
    ]
    return f"{entry_point}({', '.join(parts)})"


def _literal(value: Any) -> str:
    text = repr(value)
    return (
        text.replace("nan", "float('nan')").replace("inf", "float('inf')")
        if isinstance(value, float)
        else text
    )


def _check(call: str, expected: Any, from_json: bool) -> Check:
    parse_expression(call.strip())
    return Check(
        id="c0",
        kind=CheckKind.VALUE,
        source=f"{call.strip()} == {expected!r}",
        evaluate=call.strip(),
        expected=expected,
        json_values=from_json,
        rel=1e-9 if from_json and _holds_float(expected) else 0.0,
    )


def _holds_float(value: Any) -> bool:
    if isinstance(value, float):
        return True
    if isinstance(value, dict):
        return any(_holds_float(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_holds_float(item) for item in value)
