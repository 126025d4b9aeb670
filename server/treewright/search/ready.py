"""Which tasks can be performed now: a function of the state, so that an interrupted search finds them again."""

from __future__ import annotations

from treewright.search.framings import (
    answer_start,
    answer_stops,
    draft_framing,
    draft_messages,
    revise_messages,
    revision_framing,
)
from treewright.search.frontier import next_to_revise
from treewright.search.selection import choose
from treewright.search.state import Branch, SearchState
from treewright.search.task import held_out, visible
from treewright.search.tasks import DraftTask, ExecuteTask, HoldoutTask, MutateTask, ReviseTask, Task

START_CHECK_S = 3.0
"""Most seconds of one check of the starting program: one that hangs must not use up the time for its repair."""


def ready_tasks(state: SearchState) -> list[Task]:
    """Every task that can be performed now.

    Args:
        state: the folded search.

    Returns:
        Executions first, then what costs only time, then what costs money (a staged search asks for that only
        when what costs nothing did not do). Empty when the search is concluded
        or waits for results of tasks that were handed out before (a caller that lost them asks again).
    """
    if state.concluded is not None or not state.run:
        return []
    unexecuted = [
        branch
        for branch in state.branches.values()
        if branch.trace is None and branch.proposed.duplicate_of is None
    ]
    if state.verified and not state.settings.exhaustive:
        return _holdout(state)
    executions: list[Task] = [_execute(state, branch) for branch in unexecuted]
    if state.halted is not None:
        return executions if state.halted not in ("timeout", "cancelled") else []
    mutations = _mutations(state)
    found = executions + mutations
    if not (mutations and state.settings.staged):
        found += _model_tasks(state)
    return found or _holdout(state)


def _execute(state: SearchState, branch: Branch) -> ExecuteTask:
    plan = visible(state.plan)
    if branch.proposed.generator == "start":
        plan = plan.model_copy(update={"trace_lines": True, "per_check_timeout_s": START_CHECK_S})
    return ExecuteTask(id=f"execute:{branch.id}", branch_id=branch.id, program=branch.code, plan=plan)


def _holdout(state: SearchState) -> list[Task]:
    plan = held_out(state.plan)
    if plan is None or state.holdout is not None:
        return []
    choice = choose(
        state.distinct(), state.task.program, visible(state.plan).checks, efficiency=state.settings.efficiency
    )
    if choice is None:
        return []
    return [
        HoldoutTask(
            id=f"holdout:{choice.branch.id}",
            branch_id=choice.branch.id,
            program=choice.branch.code,
            plan=plan,
        )
    ]


NEAR_MISSES = 2
"""How many of a model's programs are edited, one after the other, when none of them passes."""


def _mutations(state: SearchState) -> list[Task]:
    """Mutate the starting program once it is known to fail; without one, what a model has come nearest with."""
    if "mutate" not in state.settings.generators:
        return []
    start = next((one for one in state.branches.values() if one.proposed.generator == "start"), None)
    chosen: list[Branch] = []
    if start is not None and start.trace is not None and not start.complete:
        chosen.append(start)
    elif start is None and not state.verified:
        chosen.extend(_near_misses(state))
    missing = [branch for branch in chosen if f"mutate:{branch.id}" not in state.finished]
    return [_mutate(state, branch) for branch in missing[:1]]


def _near_misses(state: SearchState) -> list[Branch]:
    """The programs that pass most checks, when every draft and revision is in and executed, and none passes.

    They come last because an edit that passes a few examples is right less often than a draft that does.
    """
    if _model_tasks(state) or any(
        one.trace is None and one.proposed.duplicate_of is None for one in state.branches.values()
    ):
        return []
    found = [one for one in state.distinct() if one.proposed.generator in ("model", "given", "revise")]
    return sorted(found, key=lambda one: (-one.passed, one.order))[:NEAR_MISSES]


def _mutate(state: SearchState, branch: Branch) -> MutateTask:
    return MutateTask(
        id=f"mutate:{branch.id}",
        branch_id=branch.id,
        program=branch.code,
        plan=visible(state.plan),
        seconds=state.settings.mutate_seconds,
        screened=state.settings.max_mutants,
    )


def _model_tasks(state: SearchState) -> list[Task]:
    settings = state.settings
    drafts = [index for index in range(settings.draft_count) if f"draft:{index}" not in state.finished]
    start = state.branches.get("b0")
    if start is not None and start.proposed.generator == "start" and start.trace is None:
        return []
    if settings.staged and drafts and drafts[0] == 0:
        return [_draft(state, 0)]
    if settings.staged and any(
        one.trace is None and one.proposed.task_id == "draft:0" for one in state.branches.values()
    ):
        return []
    if drafts:
        return [_draft(state, index) for index in drafts]
    return _revisions(state)


def _draft(state: SearchState, index: int) -> DraftTask:
    framing = draft_framing(index, bool(state.task.program), state.settings.varied)
    return DraftTask(
        id=f"draft:{index}",
        framing=framing.name,
        temperature=framing.temperature,
        seed=index,
        messages=draft_messages(state.task, state.plan, framing),
        estimate_usd=state.settings.estimate_usd,
        begin=answer_start(state.task),
        stop=answer_stops(state.task),
    )


def _revisions(state: SearchState) -> list[Task]:
    """One revision at a time: the next choice depends on what the last one brought."""
    settings = state.settings
    spent = sum(1 for task_id in state.finished if task_id.partition(":")[0] in ("draft", "revise"))
    unexecuted = any(
        one.trace is None and one.proposed.duplicate_of is None for one in state.branches.values()
    )
    if (
        "revise" not in settings.generators
        or spent >= settings.max_candidates
        or unexecuted
        or state.verified
    ):
        return []
    branch = next_to_revise(state.distinct(), settings.frontier, settings.revise_depth)
    if branch is None:
        return []
    framing = revision_framing()
    turn = sum(1 for task_id in state.finished if task_id.startswith(f"revise:{branch.id}:"))
    return [
        ReviseTask(
            id=f"revise:{branch.id}:{turn}",
            branch_id=branch.id,
            framing=framing.name,
            temperature=framing.temperature,
            seed=1000 + spent,
            messages=revise_messages(state.task, state.plan, branch.code, branch.verdicts, framing),
            estimate_usd=settings.estimate_usd,
            begin=answer_start(state.task),
            stop=answer_stops(state.task),
        )
    ]
