"""Performs a search to its end over the ports, one task at a time: for a terminal, for tests, for measuring.

The application's runner performs the same tasks concurrently; `perform_mutation` and `repair_program` serve both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from treewright.search.candidates import unified_diff
from treewright.search.checks import ObservedStatus, Plan
from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.ports import BranchOutcome, KernelHost, Refused, Screener, Settled, SpendCap, Trace
from treewright.search.ranking import Ranked, rank
from treewright.search.repair import Limits, Mutant, Repair, Screened
from treewright.search.tasks import (
    DraftTask,
    Executed,
    ExecuteTask,
    Generated,
    HoldoutTask,
    Mutated,
    MutateTask,
    ProposedMutant,
    ReviseTask,
)

BATCH = 48
"""Mutants screened between two looks at the clock."""

LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.02, 1.0
_SLOW_BATCH = 8
_TRACED_HUNG_S = 0.3
"""A starting program that hangs shows the lines of its loop in this time, for each check."""


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """What a repair found.

    Attributes:
        chosen: the mutant that passes every check and is likeliest right, or None.
        ranked: every passing mutant, best first.
        best: the mutant that came nearest, for when nothing passes.
        distinct: groups of passing mutants that behave differently on generated inputs.
        screened: mutants executed.
        diff: the change that `chosen` makes.
        exhausted: whether it ended because nothing was left to try, not because time ran out.
    """

    chosen: Mutant | None
    ranked: tuple[Ranked, ...]
    best: Screened
    distinct: int
    screened: int
    diff: str
    exhausted: bool


def repair_program(
    program: str,
    plan: Plan,
    host: KernelHost,
    screener: Screener,
    *,
    clock: Callable[[], float],
    seconds: float = 60.0,
    limits: Limits | None = None,
    stopped: Callable[[], bool] = lambda: False,
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
        stopped: asked between batches whether to stop early.
    """
    stop = clock() + seconds
    timed = screener.screen([program], _with_timeout(plan, MOST_TIMEOUT_S))[0]
    each = _TRACED_HUNG_S if hung(timed) else 2.0 + 20 * timed.cpu_s
    traced = _with_timeout(plan, each).model_copy(update={"trace_lines": True})
    baseline = host.run_branch(program, traced)
    repair = Repair(program, plan, baseline, limits)
    quick = _with_timeout(plan, screen_timeout(timed, baseline))
    slow: list[Mutant] = []
    while clock() < stop and not stopped():
        mutants = repair.ask(BATCH)
        if not mutants:
            break
        traces = screener.screen([mutant.source for mutant in mutants], quick)
        for mutant, trace in zip(mutants, traces, strict=True):
            if hung(trace):
                slow.append(mutant)
            else:
                repair.tell(mutant.id, trace)
    if not repair.passing:
        _try_slow(
            repair,
            slow,
            _with_timeout(plan, MOST_TIMEOUT_S),
            screener,
            lambda: clock() < stop and not stopped(),
        )
    ranked, distinct = rank(program, quick, repair.passing, screener)
    chosen = ranked[0].mutant if ranked else None
    diff = unified_diff(program, chosen.source) if chosen else ""
    return RepairOutcome(chosen, ranked, repair.best, distinct, repair.told, diff, repair.exhausted)


def _with_timeout(plan: Plan, seconds: float) -> Plan:
    """The plan for screening: no line traces, a short time a check, and no more than all of them need."""
    whole = min(plan.per_branch_timeout_s, 1.0 + 2 * seconds * len(plan.checks))
    return plan.model_copy(
        update={"per_check_timeout_s": seconds, "per_branch_timeout_s": whole, "trace_lines": False}
    )


def _try_slow(
    repair: Repair, slow: list[Mutant], plan: Plan, screener: Screener, going_on: Callable[[], bool]
) -> None:
    """Nothing passed in a short time: give the mutants that took too long more of it, likeliest first."""
    for start in range(0, len(slow), _SLOW_BATCH):
        if repair.passing or not going_on():
            return
        batch = slow[start : start + _SLOW_BATCH]
        for mutant, trace in zip(batch, screener.screen([one.source for one in batch], plan), strict=True):
            repair.tell(mutant.id, trace)


def screen_timeout(timed: Trace, baseline: Trace) -> float:
    """CPU seconds that a mutant may take for one check: far more than the starting program took, but not long.

    Most mutants that take longer never end; a correct program is seldom ten times slower than a wrong one.

    Args:
        timed: the starting program, screened.
        baseline: the starting program's branch.
    """
    if timed.cpu_s and timed.outcome is BranchOutcome.FINISHED and not hung(timed) and not hung(baseline):
        return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, 10 * timed.cpu_s))
    return LEAST_TIMEOUT_S


def hung(trace: Trace) -> bool:
    """Whether a check, or the whole branch, did not end in time."""
    return trace.outcome is BranchOutcome.TIMEOUT or any(
        one.status is ObservedStatus.TIMEOUT for one in trace.observations
    )


def perform_mutation(
    task: MutateTask,
    host: KernelHost,
    screener: Screener,
    clock: Callable[[], float],
    stopped: Callable[[], bool] = lambda: False,
) -> Mutated:
    """Perform a mutate task: the passing mutants, one of each behaviour first, or the nearest miss."""
    outcome = repair_program(
        task.program,
        task.plan,
        host,
        screener,
        clock=clock,
        seconds=task.seconds,
        limits=Limits(screened=task.screened),
        stopped=stopped,
    )
    by_group: dict[int, Ranked] = {}
    for one in outcome.ranked:
        by_group.setdefault(one.group, one)
    ordered = [*by_group.values(), *(one for one in outcome.ranked if one is not by_group[one.group])]
    nearest = outcome.best.mutant if not outcome.ranked and outcome.best.mutant.edits else None
    return Mutated(
        task_id=task.id,
        passing=tuple(
            ProposedMutant(code=one.mutant.source, edits=one.mutant.edits, group=one.group) for one in ordered
        ),
        nearest=ProposedMutant(code=nearest.source, edits=nearest.edits) if nearest else None,
        screened=outcome.screened,
        distinct=outcome.distinct,
        passing_count=len(outcome.ranked),
        message="" if outcome.ranked else ("nothing left to try" if outcome.exhausted else "time ran out"),
    )


class Model(Protocol):
    """Whoever answers draft and revise tasks."""

    def complete(self, task: DraftTask | ReviseTask) -> Generated:
        """Answer; a failure is a result with `failed`, not an exception."""
        ...


def run_search(
    engine: SearchEngine,
    host: KernelHost,
    screener: Screener,
    *,
    clock: Callable[[], float],
    model: Model | None = None,
    cap: SpendCap | None = None,
    time_limit_s: float | None = None,
    on_event: Callable[[SearchEvent], None] = lambda _: None,
) -> SearchEngine:
    """Perform every ready task until the search is concluded.

    Args:
        engine: a started or resumed search.
        host: executes branches.
        screener: executes mutants.
        clock: seconds that only go forward.
        model: answers draft and revise tasks.
        cap: reserves before each of these and settles after; without one they are free.
        time_limit_s: seconds after which the search is halted with reason `timeout`.
        on_event: called with each event, in order; journal it there.
    """
    for event in engine.events:
        on_event(event)
    stop = clock() + time_limit_s if time_limit_s is not None else None
    while not engine.done:
        if stop is not None and clock() >= stop:
            _tell(on_event, engine.halt("timeout", "the time limit was reached"))
            break
        tasks = engine.ready()
        if not tasks:
            break
        task = tasks[0]
        if isinstance(task, (DraftTask, ReviseTask)):
            _ask_model(task, engine, model, cap, on_event)
            continue
        result: Executed | Mutated
        if isinstance(task, (ExecuteTask, HoldoutTask)):
            result = Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan))
        else:
            result = perform_mutation(task, host, screener, clock)
        _tell(on_event, engine.submit(result))
    return engine


def _tell(on_event: Callable[[SearchEvent], None], events: tuple[SearchEvent, ...]) -> None:
    for event in events:
        on_event(event)


def _ask_model(
    task: DraftTask | ReviseTask,
    engine: SearchEngine,
    model: Model | None,
    cap: SpendCap | None,
    on_event: Callable[[SearchEvent], None],
) -> None:
    """Reserve, ask, settle, submit; a refusal halts the search."""
    if model is None:
        _tell(
            on_event, engine.submit(Generated(task_id=task.id, failed=True, message="no model is configured"))
        )
        return
    reservation_id = None
    if cap is not None:
        answer = cap.reserve(engine.state.run, task.estimate_usd)
        _tell(on_event, engine.reserved(task.id, answer))
        if isinstance(answer, Refused):
            return
        reservation_id = answer.reservation_id
    result = model.complete(task)
    if cap is not None and reservation_id is not None:
        settled = cap.settle(engine.state.run, reservation_id, result.spend_usd, failed=result.failed)
        charged = settled.charged_usd if isinstance(settled, Settled) else result.spend_usd
        _tell(on_event, engine.settled(task.id, charged, failed=result.failed))
    _tell(on_event, engine.submit(result))
