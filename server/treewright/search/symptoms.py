"""What the failing checks look like: named symptoms that speak for some edits (`data/search/hints.toml`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Verdict
from treewright.search.compare import as_text
from treewright.search.mutate.priors import operator_hints
from treewright.search.plain import Drained, Opaque, Subclassed, decode


def discounts(
    checks: Sequence[Check], verdicts: Sequence[Verdict], observed: Sequence[Observation]
) -> dict[str, float]:
    """Bits to take off each operator for what the failing checks show.

    Args:
        checks: the visible checks.
        verdicts: one a check, in the same order.
        observed: what the starting program showed.
    """
    by_id = {one.check_id: one for one in observed}
    found: Counter[str] = Counter()
    failing = 0
    for check, verdict in zip(checks, verdicts, strict=True):
        if verdict.passed:
            continue
        failing += 1
        found.update(set(_symptoms(check, verdict, by_id.get(check.id))))
    totals: dict[str, float] = {}
    for symptom, count in found.items():
        share = count / max(failing, 1)
        for operator, bits in operator_hints().get(symptom, ()):
            totals[operator] = totals.get(operator, 0.0) + bits * share
    return totals


def _symptoms(check: Check, verdict: Verdict, observed: Observation | None) -> list[str]:
    if verdict.status is ObservedStatus.TIMEOUT:
        return ["timeout"]
    if verdict.error:
        of_none = verdict.error in ("AttributeError", "TypeError") and "NoneType" in verdict.message
        return [verdict.error, *(["none_used"] if of_none else [])]
    if (
        observed is None
        or check.kind is not CheckKind.VALUE
        or check.operator not in ("==", "close", "truth", "falsity", "is")
    ):
        return []
    try:
        actual = decode(observed.value)
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return []
    expected = {"truth": True, "falsity": False}.get(check.operator, check.expected)
    return relation(actual, expected)


def relation(actual: object, expected: object) -> list[str]:
    """How a wrong value relates to the expected one, as names of symptoms."""
    if isinstance(actual, Subclassed):
        actual = actual.value
    if isinstance(actual, Drained):
        actual = list(actual.items)
    if actual is None and expected is not None:
        return ["none_returned"]
    if isinstance(actual, bool) and isinstance(expected, bool):
        return ["flag_inverted"]
    if isinstance(actual, (int, float)) and isinstance(expected, (int, float)):
        found = ["off_by_one"] if abs(actual - expected) == 1 else []
        return [*found, "negated"] if actual == -expected else found
    if isinstance(actual, Opaque) or type(actual) is not type(expected):
        return ["wrong_type"]
    if isinstance(actual, (list, tuple, str)) and isinstance(expected, (list, tuple, str)):
        return _sequence_relation(actual, expected)
    if isinstance(actual, (set, dict)) and isinstance(expected, (set, dict)):
        return (
            ["shorter"] if len(actual) < len(expected) else ["longer"] if len(actual) > len(expected) else []
        )
    return []


def _sequence_relation(
    actual: list[object] | tuple[object, ...] | str, expected: list[object] | tuple[object, ...] | str
) -> list[str]:
    if len(actual) < len(expected):
        return ["shorter"]
    if len(actual) > len(expected):
        return ["longer"]
    if Counter(map(as_text, actual)) == Counter(map(as_text, expected)):
        return ["reordered"]
    return []
