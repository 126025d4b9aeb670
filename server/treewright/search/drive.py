"""Runs a repair to its end over the ports, synchronously: for a terminal, for tests and for measuring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treewright.search.candidates import unified_diff
from treewright.search.checks import ObservedStatus, Plan
from treewright.search.ports import BranchOutcome, KernelHost, Screener, Trace
from treewright.search.ranking import Ranked, rank
from treewright.search.repair import Limits, Mutant, Repair, Screened

_BATCH = 48


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """What a repair found.

    Attributes:
        chosen: the mutant that passes every check and changes least, or None.
        ranked: every passing mutant, best first.
        best: the mutant that came nearest, for when nothing passes.
        distinct: groups of passing mutants that behave differently on generated inputs.
        screened: mutants executed.
        diff: the change that `chosen` makes.
    """

    chosen: Mutant | None
    ranked: tuple[Ranked, ...]
    best: Screened
    distinct: int
    screened: int
    diff: str


def repair_program(
    program: str,
    plan: Plan,
    host: KernelHost,
    screener: Screener,
    *,
    clock: Callable[[], float],
    seconds: float = 60.0,
    limits: Limits | None = None,
) -> RepairOutcome:
    """Repair one program.

    Args:
        program: the starting program.
        plan: the visible checks.
        host: executes the starting program once, with executed lines.
        screener: executes the mutants.
        clock: seconds that only go forward.
        seconds: when to stop.
        limits: bounds of the queue.
    """
    stop = clock() + seconds
    baseline = host.run_branch(program, plan.model_copy(update={"trace_lines": True}))
    repair = Repair(program, plan, baseline, limits)
    plan = plan.model_copy(update={"per_check_timeout_s": screen_timeout(baseline, plan)})
    while clock() < stop:
        mutants = repair.ask(_BATCH)
        if not mutants:
            break
        traces = screener.screen([mutant.source for mutant in mutants], plan)
        for mutant, trace in zip(mutants, traces, strict=True):
            repair.tell(mutant.id, trace)
    ranked, distinct = rank(program, plan, repair.passing, screener)
    chosen = ranked[0].mutant if ranked else None
    diff = unified_diff(program, chosen.source) if chosen else ""
    return RepairOutcome(chosen, ranked, repair.best, distinct, repair.told, diff)


LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.06, 2.0


def screen_timeout(baseline: Trace, plan: Plan) -> float:
    """CPU seconds that a mutant may take for one check: far more than the starting program took, but not long.

    Most mutants that take longer never end; a correct program is seldom ten times slower than a wrong one.
    """
    if baseline.cpu_s and baseline.outcome is BranchOutcome.FINISHED and not _hung(baseline):
        return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, 10 * baseline.cpu_s))
    return LEAST_TIMEOUT_S


def _hung(baseline: Trace) -> bool:
    return any(one.status is ObservedStatus.TIMEOUT for one in baseline.observations)
