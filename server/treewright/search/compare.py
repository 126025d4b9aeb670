"""Compares what a branch evaluated with what a check expects, in our own process.

Only plain values are compared (see `plain`), so no code of a candidate ever runs here. The rules are those of
Python's own operators, plus: a NaN that was expected equals a NaN, floats may be compared within a
tolerance, and values that came from JSON treat tuples, lists and drained iterators alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from treewright.search.plain import Drained, Opaque, Subclassed

_NUMBERS = (bool, int, float, complex)


def equal(actual: Any, expected: Any, *, rel: float = 0.0, absolute: float = 0.0, json: bool = False) -> bool:
    """Tell whether a plain value equals the expected one.

    Args:
        actual: what the branch evaluated to.
        expected: a plain value from the checks.
        rel: relative tolerance for numbers; 0 compares exactly.
        absolute: absolute tolerance for numbers; 0 compares exactly.
        json: treat tuples, lists and iterators alike and let JSON's string keys stand for numbers.
    """
    if isinstance(actual, Subclassed):
        actual = actual.value
    if json and isinstance(actual, Drained):
        actual = list(actual.items) if actual.complete else actual
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return _numbers_equal(actual, expected, rel, absolute)
    if isinstance(expected, (list, tuple)):
        return _sequences_equal(actual, expected, rel, absolute, json)
    if isinstance(expected, dict):
        return _dicts_equal(actual, expected, rel, absolute, json)
    if isinstance(expected, (set, frozenset)):
        return isinstance(actual, (set, frozenset)) and bool(actual == expected)
    if isinstance(expected, (Opaque, Drained)) or isinstance(actual, (Opaque, Drained)):
        return type(actual) is type(expected) and bool(actual == expected)
    return type(actual) is type(expected) and bool(actual == expected)


def _numbers_equal(actual: Any, expected: Any, rel: float, absolute: float) -> bool:
    if _is_nan(actual) or _is_nan(expected):
        return _is_nan(actual) and _is_nan(expected)
    if actual == expected:
        return True
    if not (rel or absolute) or isinstance(actual, complex) or isinstance(expected, complex):
        return False
    try:
        return bool(abs(actual - expected) <= max(absolute, rel * abs(expected)))
    except OverflowError:
        return False


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _sequences_equal(actual: Any, expected: Sequence[Any], rel: float, absolute: float, json: bool) -> bool:
    if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
        return False
    if not json and type(actual) is not type(expected):
        return False
    return all(
        equal(left, right, rel=rel, absolute=absolute, json=json)
        for left, right in zip(actual, expected, strict=True)
    )


def _dicts_equal(actual: Any, expected: dict[Any, Any], rel: float, absolute: float, json: bool) -> bool:
    if not isinstance(actual, dict) or len(actual) != len(expected):
        return False
    if json and any(key not in actual for key in expected):
        actual = {_json_key(key): value for key, value in actual.items()}
    return all(
        key in actual and equal(actual[key], value, rel=rel, absolute=absolute, json=json)
        for key, value in expected.items()
    )


def _json_key(key: Any) -> Any:
    return str(key).lower() if isinstance(key, bool) or key is None else str(key)


def holds(
    operator: str, actual: Any, expected: Any, *, rel: float = 0.0, absolute: float = 0.0, json: bool = False
) -> bool:
    """Tell whether `actual operator expected` holds for plain values.

    Args:
        operator: one of `== != < <= > >= in not in is is not truth falsity close`.
        actual: what the branch evaluated to.
        expected: a plain value from the checks; ignored by `truth` and `falsity`.
        rel: relative tolerance of `==` and `close`.
        absolute: absolute tolerance of `==` and `close`.
        json: see `equal`.

    Returns:
        False, never an exception, when the two cannot be compared.
    """
    if isinstance(actual, Subclassed):
        actual = actual.value
    if operator in ("==", "close"):
        return equal(actual, expected, rel=rel, absolute=absolute, json=json)
    if operator == "!=":
        return not isinstance(actual, Opaque) and not equal(
            actual, expected, rel=rel, absolute=absolute, json=json
        )
    if operator in ("is", "is not"):
        same = type(actual) is type(expected) and bool(actual == expected)
        return same if operator == "is" else not same
    if operator in ("truth", "falsity"):
        return _truthy(actual) is (operator == "truth")
    return _ordered(operator, actual, expected)


def _truthy(value: Any) -> bool:
    return bool(value.items) if isinstance(value, Drained) and value.type_name == "range" else bool(value)


def _ordered(operator: str, actual: Any, expected: Any) -> bool:
    if isinstance(actual, (Opaque, Drained)):
        return False
    try:
        match operator:
            case "<":
                return bool(actual < expected)
            case "<=":
                return bool(actual <= expected)
            case ">":
                return bool(actual > expected)
            case ">=":
                return bool(actual >= expected)
            case "in":
                return any(equal(actual, item) for item in expected) or (
                    isinstance(actual, str) and isinstance(expected, str) and actual in expected
                )
            case "not in":
                return not _ordered("in", actual, expected)
            case _:
                return False
    except TypeError:
        return False


def distance(actual: Any, expected: Any) -> float:
    """Say how far a wrong value is from the expected one, for ranking near misses.

    Returns:
        0.0 for equal up to 1.0 for unrelated. Only the order of two distances means anything.
    """
    if isinstance(actual, Subclassed):
        actual = actual.value
    if isinstance(actual, Drained):
        actual = list(actual.items)
    if equal(actual, expected, json=True):
        return 0.0
    if isinstance(actual, bool) or isinstance(expected, bool):
        return 0.6 if isinstance(actual, bool) and isinstance(expected, bool) else 0.95
    if isinstance(actual, (int, float)) and isinstance(expected, (int, float)):
        return _number_distance(actual, expected)
    if isinstance(actual, str) and isinstance(expected, str):
        return 0.05 + 0.8 * _sequence_distance(actual, expected)
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        wrong_type = 0.05 if type(actual) is not type(expected) else 0.0
        return min(0.9, wrong_type + 0.05 + 0.8 * _sequence_distance(actual, expected))
    if isinstance(actual, (set, frozenset)) and isinstance(expected, (set, frozenset)):
        return 0.05 + 0.8 * len(actual ^ expected) / (len(actual | expected) or 1)
    if isinstance(actual, dict) and isinstance(expected, dict):
        keys = set(actual) | set(expected)
        right = sum(
            1 for key in keys if key in actual and key in expected and equal(actual[key], expected[key])
        )
        return 0.05 + 0.8 * (1 - right / (len(keys) or 1))
    return 0.95


def _number_distance(actual: float, expected: float) -> float:
    try:
        gap = float(abs(actual - expected))
    except OverflowError:
        return 0.9
    return 0.05 + 0.8 * (gap / (1 + gap)) if gap < _FAR else 0.9


_FAR = 1e12
_LONG = 200


def _sequence_distance(actual: Sequence[Any], expected: Sequence[Any]) -> float:
    """Share of positions, counted from both ends, that do not agree."""
    longest = max(len(actual), len(expected), 1)
    left, right = actual[:_LONG], expected[:_LONG]
    front = _agreeing(left, right)
    back = _agreeing(list(reversed(left)), list(reversed(right)))
    shared = _multiset_overlap(left, right)
    return 1 - (0.7 * max(front, back) + 0.3 * shared) / min(longest, _LONG)


def _agreeing(left: Iterable[Any], right: Iterable[Any]) -> int:
    return sum(1 for one, other in zip(left, right, strict=False) if equal(one, other, json=True))


def _multiset_overlap(left: Sequence[Any], right: Sequence[Any]) -> int:
    rest = [as_text(item) for item in right]
    count = 0
    for item in left:
        text = as_text(item)
        if text in rest:
            rest.remove(text)
            count += 1
    return count


def as_text(value: Any) -> str:
    """A value as text; a number of thousands of digits, which Python refuses to write, by its size."""
    try:
        return repr(value)
    except ValueError:
        return f"<{type(value).__name__} too long to write>"
