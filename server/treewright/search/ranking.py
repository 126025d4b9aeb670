"""Orders the mutants that pass every check: overfitting is kept down by preferring what changes least.

Where checks are few, many programs pass them. They are told apart on inputs made from the checks' own (see
`probes`): programs that agree on all of them form a group. The rank of a program is its cost in bits (how
likely such an edit is, how much it changes), less what the agreement of independent programs is worth.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from treewright.search.candidates import change_size
from treewright.search.checks import Observation, Plan
from treewright.search.mutate.usage import degenerate, unread_names
from treewright.search.ports import Screener, Trace
from treewright.search.probes import probe_plan
from treewright.search.repair import Mutant, Screened


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passing mutant and what speaks for it.

    Attributes:
        mutant: the program.
        size: how much of the syntax tree it changes.
        score: bits; the lowest is chosen.
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

AGREEMENT_BITS = 1.5
"""Bits for a whole group's agreement: the share of all passing programs' likelihood that behaves alike."""

FAULT_BITS = 3.0
"""Bits for raising or hanging on every generated input where the starting program did not."""

UNREAD_BITS = 1.5
"""Bits for each name that the change leaves unread; gained for each that it takes into use."""

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
    probes = probe_plan(plan)
    behaviours: list[tuple[object, ...]] = [() for _ in passing]
    faults = [0.0 for _ in passing]
    if len(passing) > 1 and probes.checks:
        traces = screener.screen([program, *(one.mutant.source for one in passing)], probes)
        behaviours = [_behaviour(trace, probes) for trace in traces[1:]]
        before = _fault_share(traces[0], probes)
        faults = [max(0.0, _fault_share(trace, probes) - before) for trace in traces[1:]]
    sizes = [change_size(program, one.mutant.source) for one in passing]
    odd = [_oddity(program, one.mutant.source) for one in passing]
    base = [
        one.mutant.cost + SIZE_BITS * size + bits for one, size, bits in zip(passing, sizes, odd, strict=True)
    ]
    shares = _shares(base, behaviours)
    found = []
    for index, one in enumerate(passing):
        agreement = AGREEMENT_BITS * shares[behaviours[index]]
        fault = FAULT_BITS * faults[index]
        score = base[index] - agreement + fault
        note = f"size {sizes[index]} odd {odd[index]:.1f} agree {shares[behaviours[index]]:.2f} fault {faults[index]:.2f} score {score:.2f}"
        found.append((score, index, Ranked(one.mutant, sizes[index], score, 0, note)))
    found.sort(key=lambda item: item[:2])
    numbers: dict[tuple[object, ...], int] = {}
    ordered = []
    for _, index, item in found:
        group = numbers.setdefault(behaviours[index], len(numbers))
        ordered.append(Ranked(item.mutant, item.size, item.score, group, item.note))
    return tuple(ordered), len(numbers)


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


def _fault_share(trace: Trace, plan: Plan) -> float:
    by_id = {one.check_id: one for one in trace.observations}
    bad = sum(1 for check in plan.checks if check.id not in by_id or by_id[check.id].status.value != "value")
    return bad / max(len(plan.checks), 1)
