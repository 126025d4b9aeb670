"""Evaluates numbers that a text claims, in a kernel with every limit on, and compares them here."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from treewright.kernels.host import BranchHost
from treewright.kernels.trace import BranchTrace, Ending
from treewright.search.checks import Check, CheckKind, ObservedStatus, Plan
from treewright.search.plain import decode

# What a claim's expression may use without saying where it comes from; what is not installed is left out.
_NAMES = """
import math
from math import *
from fractions import Fraction
from decimal import Decimal
import statistics
try:
    import numpy
    np = numpy
except ImportError:
    pass
try:
    import sympy
    from sympy import Rational, Symbol, binomial, diff, integrate, limit, oo, simplify, solve, symbols
except ImportError:
    pass
"""
# A value that is neither a number nor a list of numbers becomes one where it can: sympy numbers, fractions.
_PLAIN = """
def _treewright_number(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_treewright_number(one) for one in value]
    number = complex(value)
    return number.real if number.imag == 0 else number
"""
_WALL_S = 10.0


class NumericStatus(StrEnum):
    """Whether a claimed number holds."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_EVALUATED = "not_evaluated"


class NumericOutcome(BaseModel):
    """What became of one numeric check.

    Attributes:
        status: whether the claimed number holds.
        value: what the expression evaluates to, as text; empty when it could not be evaluated.
        expected: what was claimed, as text.
        difference: absolute difference of two numbers.
        reason: why it was not evaluated.
    """

    model_config = ConfigDict(frozen=True)

    status: NumericStatus
    value: str = ""
    expected: str = ""
    difference: float | None = None
    reason: str = ""


def evaluate_numeric(
    host: BranchHost,
    expression: str,
    expected: str | float | bool | complex,  # noqa: PYI041  says what is taken
    *,
    rel: float = 1e-9,
    absolute: float = 0.0,
    wall_s: float = _WALL_S,
) -> NumericOutcome:
    """Evaluate a Python expression in a fresh kernel and compare it with what was claimed.

    Args:
        host: where it is evaluated; no network, and the host's limits.
        expression: names of `math`, and `statistics`, `Fraction`, `Decimal`, `numpy`, `sympy` where installed.
        expected: a number, or an expression that is evaluated in the same way.
        rel: relative tolerance.
        absolute: absolute tolerance.
        wall_s: wall clock.

    Returns:
        An outcome, never an error, for whatever the expression does.

    Raises:
        KernelError: E052, kernels are not to be had.
    """
    right = expected if isinstance(expected, str) else repr(expected)
    check = Check(
        id="n1",
        kind=CheckKind.VALUE,
        source=expression,
        evaluate=f"_treewright_number({expression.strip()})",
        right=f"_treewright_number({right.strip()})",
        operator="close",
    )
    plan = Plan(checks=(check,), setup=_NAMES + _PLAIN, per_branch_timeout_s=wall_s)
    trace = host.run_branch("", plan)
    return _read(trace, right, rel, absolute)


def _read(trace: BranchTrace, right: str, rel: float, absolute: float) -> NumericOutcome:
    seen = next((one for one in trace.observations if one.check_id == "n1"), None)
    if seen is None or seen.status is not ObservedStatus.VALUE:
        why = f"{seen.error}: {seen.message}" if seen is not None and seen.error else trace.message
        ended = "" if trace.ending is Ending.COMPLETED else trace.ending.value
        return NumericOutcome(status=NumericStatus.NOT_EVALUATED, expected=right, reason=why or ended)
    try:
        value, claimed = decode(seen.value), decode(seen.right)
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return NumericOutcome(
            status=NumericStatus.NOT_EVALUATED, expected=right, reason="no plain value came back"
        )
    return _compared(value, claimed, rel, absolute)


def _compared(value: Any, claimed: Any, rel: float, absolute: float) -> NumericOutcome:
    holds = _close(value, claimed, rel, absolute)
    difference = None
    if isinstance(value, (int, float)) and isinstance(claimed, (int, float)):
        try:
            difference = abs(float(value) - float(claimed))
        except OverflowError:
            difference = math.inf
    return NumericOutcome(
        status=NumericStatus.HOLDS if holds else NumericStatus.DIFFERS,
        value=_shown(value),
        expected=_shown(claimed),
        difference=difference if difference is None or math.isfinite(difference) else None,
    )


def _shown(value: Any) -> str:
    try:
        return repr(value)[:400]
    except ValueError:
        return "a number of thousands of digits"


def _close(value: Any, claimed: Any, rel: float, absolute: float) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(claimed, (list, tuple)):
        return len(value) == len(claimed) and all(
            _close(one, other, rel, absolute) for one, other in zip(value, claimed, strict=True)
        )
    if (
        isinstance(value, bool)
        or isinstance(claimed, bool)
        or isinstance(value, str)
        or isinstance(claimed, str)
    ):
        return type(value) is type(claimed) and bool(value == claimed)
    if isinstance(value, int) and isinstance(claimed, int):
        return abs(value - claimed) <= absolute or value == claimed
    if isinstance(value, (int, float, complex)) and isinstance(claimed, (int, float, complex)):
        try:
            if isinstance(value, complex) or isinstance(claimed, complex):
                return abs(value - claimed) <= max(absolute, rel * max(abs(value), abs(claimed)))
            return math.isclose(value, claimed, rel_tol=rel, abs_tol=absolute)
        except OverflowError:
            return False
    return False
