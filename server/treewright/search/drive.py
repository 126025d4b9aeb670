"""Performs a search to its end over the ports, one task at a time: for a terminal, for tests, for measuring.

The application's runner performs the same tasks concurrently; `perform_mutation` and `repair_program` serve both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from treewright.search.candidates import unified_diff
from treewright.search.checks import Plan
from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.ports import KernelHost, Refused, Screener, Settled, SpendCap
from treewright.search.ranking import Ranked, rank
from treewright.search.repair import Limits, Mutant, Repair, Screened
from treewright.search.screening import measure_start, screen_mutants, with_timeout
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
    with warnings.catch_warnings():
        # Edits make odd programs (`0or x`); what the compiler thinks of them is no news for anybody.
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return _repaired(program, plan, host, screener, clock, clock() + seconds, limits, stopped)


def _repaired(
    program: str,
    plan: Plan,
    host: KernelHost,
    screener: Screener,
    clock: Callable[[], float],
    stop: float,
    limits: Limits | None,
    stopped: Callable[[], bool],
) -> RepairOutcome:
    baseline, quick_s, screener = measure_start(program, plan, host, screener)
    repair = Repair(program, plan, baseline, limits)
    screen_mutants(repair, plan, screener, quick_s, lambda: clock() < stop and not stopped())
    ranked, distinct = rank(program, with_timeout(plan, quick_s), repair.passing, screener)
    chosen = ranked[0].mutant if ranked else None
    diff = unified_diff(program, chosen.source) if chosen else ""
    return RepairOutcome(chosen, ranked, repair.best, distinct, repair.told, diff, repair.exhausted)


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
