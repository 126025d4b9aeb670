"""Orders the mutants that pass every check: overfitting is kept down by preferring what changes least.

Where checks are few, many programs pass them. They are told apart on inputs made from the checks' own (see
`probes`): programs that agree on all of them form a group. A program's cost in bits says how unlikely it is: such an
edit, so much changed, names left unread, faults that were not there. The group that is likeliest as a whole comes
first, since many small edits that come to the same are many ways in which the same program can have been broken;
inside a group the cheapest program.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

from treewright.search.candidates import change_size
from treewright.search.checks import Observation, ObservedStatus, Plan
from treewright.search.mutate.usage import degenerate, unread_names
from treewright.search.plain import Drained, Opaque, Subclassed, decode
from treewright.search.ports import Screener, Trace
from treewright.search.probes import probe_plan
from treewright.search.repair import Mutant, Screened


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passing mutant and what speaks for it.

    Attributes:
        mutant: the program.
        size: how much of the syntax tree it changes.
        score: bits; the lowest of a group is its first.
        group: number of the group that behaves alike, 0 for the chosen one's.
        note: the parts of the score, for the report.
    """

    mutant: Mutant
    size: int
    score: float
    group: int
    note: str


SIZE_BITS = 0.35
"""Bits for each changed node of the syntax tree."""

EDIT_BITS = 1.0
"""Bits for each edit after the first, beside what the search for them counts."""

FAULT_BITS = 3.0
"""Bits for raising or hanging on every generated input where the starting program did not."""

UNREAD_BITS = 1.5
"""Bits for each name that the change leaves unread; gained for each that it takes into use."""

KIND_BITS = 4.0
"""Bits for answering every generated input with a value of a kind that no check expects."""

DEGENERATE_BITS = 3.0
"""Bits for each expression such as `x - x`."""


def rank(
    program: str, plan: Plan, passing: Sequence[Screened], screener: Screener
) -> tuple[tuple[Ranked, ...], int]:
    """Order passing mutants, best first.

    Args:
        program: the starting program.
        plan: the visible checks, whose calls the generated inputs are made from.
        passing: mutants that pass every check.
        screener: executes them on the generated inputs.

    Returns:
        The ranked mutants, and how many groups of them behave differently.
    """
    if not passing:
        return (), 0
    seen = _shown_on_probes(program, plan, passing, screener)
    behaviours = [one.behaviour for one in seen]
    costs = [_cost(program, one, shown) for one, shown in zip(passing, seen, strict=True)]
    shares = _shares([cost.bits for cost in costs], behaviours)
    order = sorted(
        range(len(passing)), key=lambda index: (-shares[behaviours[index]], costs[index].bits, index)
    )
    numbers: dict[tuple[object, ...], int] = {}
    ordered = []
    for index in order:
        cost, behaviour = costs[index], behaviours[index]
        group = numbers.setdefault(behaviour, len(numbers))
        note = f"{cost.note} group {shares[behaviour]:.2f} same {seen[index].same:.2f}"
        ordered.append(Ranked(passing[index].mutant, cost.size, cost.bits, group, note))
    return tuple(ordered), len(numbers)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What one program shows on generated inputs.

    Attributes:
        behaviour: what it answers, one item an input.
        same: share of the inputs where it does as the starting program does.
        fault: share where it raises or hangs, beyond that of the starting program.
        odd: share of answers of a kind that no check expects.
    """

    behaviour: tuple[object, ...] = ()
    same: float = 0.0
    fault: float = 0.0
    odd: float = 0.0


def _shown_on_probes(
    program: str, plan: Plan, passing: Sequence[Screened], screener: Screener
) -> list[_Shown]:
    """Run passing programs on generated inputs; one alone has no rival and is not run."""
    probes = probe_plan(plan)
    if len(passing) < 2 or not probes.checks:
        return [_Shown() for _ in passing]
    first, *traces = screener.screen([program, *(one.mutant.source for one in passing)], probes)
    start, before = _behaviour(first, probes), _fault_share(first, probes)
    found = []
    for trace in traces:
        behaviour = _behaviour(trace, probes)
        same = sum(map(eq, start, behaviour)) / len(start)
        fault = max(0.0, _fault_share(trace, probes) - before)
        found.append(_Shown(behaviour, same, fault, _odd_kinds(trace, plan)))
    return found


@dataclass(frozen=True, slots=True)
class _Cost:
    """How unlikely one passing mutant is, and why."""

    bits: float
    size: int
    note: str


def _cost(program: str, one: Screened, shown: _Shown) -> _Cost:
    size, odd = change_size(program, one.mutant.source), _oddity(program, one.mutant.source)
    more = EDIT_BITS * (len(one.mutant.edits) - 1)
    bits = one.mutant.cost + SIZE_BITS * size + odd + FAULT_BITS * shown.fault + KIND_BITS * shown.odd + more
    note = f"bits {bits:.2f} size {size} odd {odd:.1f} fault {shown.fault:.2f} kind {shown.odd:.2f}"
    return _Cost(bits, size, note)


def _oddity(before: str, after: str) -> float:
    """Bits for names that nothing reads any more and expressions that say nothing; negative when a program
    reads a name that nothing read before."""
    old, new = ast.parse(before), ast.parse(after)
    unread = len(unread_names(new)) - len(unread_names(old))
    empty = max(0, degenerate(new) - degenerate(old))
    return UNREAD_BITS * unread + DEGENERATE_BITS * empty


def _shares(
    costs: Sequence[float], behaviours: Sequence[tuple[object, ...]]
) -> dict[tuple[object, ...], float]:
    """The likelihood mass of each group, as a share of all."""
    least = min(costs)
    mass: dict[tuple[object, ...], float] = {}
    for cost, behaviour in zip(costs, behaviours, strict=True):
        mass[behaviour] = mass.get(behaviour, 0.0) + 2.0 ** (least - cost)
    total = sum(mass.values())
    return {behaviour: value / total for behaviour, value in mass.items()}


def _behaviour(trace: Trace, plan: Plan) -> tuple[object, ...]:
    by_id = {one.check_id: one for one in trace.observations}
    return tuple(_shown(by_id.get(check.id)) for check in plan.checks)


def _shown(observed: Observation | None) -> object:
    if observed is None:
        return "absent"
    return (observed.status.value, repr(observed.value), observed.error)


def _odd_kinds(trace: Trace, plan: Plan) -> float:
    """Share of the answers that are of a kind which none of the checks expects."""
    expected = {type(check.expected) for check in plan.checks if check.operator in _EQUAL}
    if not expected or any(check.operator not in _EQUAL for check in plan.checks):
        return 0.0
    if expected & {int, float, bool}:
        expected |= {int, float} | ({bool} if bool in expected else set())
    shown = [_kind(one) for one in trace.observations if one.status is ObservedStatus.VALUE]
    return sum(kind is not None and kind not in expected for kind in shown) / max(len(shown), 1)


_EQUAL = ("==", "close")


def _kind(observed: Observation) -> type | None:
    """The type of an answer; None where it cannot be told."""
    try:
        value = decode(observed.value)
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return None
    return None if isinstance(value, (Opaque, Subclassed, Drained)) else type(value)


def _fault_share(trace: Trace, plan: Plan) -> float:
    by_id = {one.check_id: one for one in trace.observations}
    bad = sum(1 for check in plan.checks if check.id not in by_id or by_id[check.id].status.value != "value")
    return bad / max(len(plan.checks), 1)
