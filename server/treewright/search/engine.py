"""The search as a state machine: it emits tasks, accepts results, and answers with events.

What is ready is a function of the folded state, so a search that was interrupted goes on with the same tasks.
Results may come in any order; one for a task that is done, or that the search no longer waits for, changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from treewright.search.answers import code_of
from treewright.search.checks import Plan
from treewright.search.events import (
    BranchExecuted,
    CandidateProposed,
    Generator,
    HaltReason,
    HoldoutMeasured,
    ReservationMade,
    ReservationSettled,
    SearchConcluded,
    SearchEvent,
    SearchHalted,
    SearchReopened,
    SearchStarted,
    TaskFinished,
)
from treewright.search.mutate.digest import program_digest
from treewright.search.ports import Refused, Reserved
from treewright.search.ready import ready_tasks
from treewright.search.repair import verdicts_of
from treewright.search.selection import choose, discriminating, same_for_all
from treewright.search.settings import SearchSettings
from treewright.search.state import SearchState
from treewright.search.task import SearchTask, held_out, plan_of, visible
from treewright.search.tasks import Executed, Generated, Mutated, ProposedMutant, Result, Task

_HALTS: dict[str, HaltReason] = {
    "spend_cap_exceeded": "spend_cap",
    "candidate_limit_exceeded": "candidate_limit",
    "branch_timeout": "timeout",
    "capability_disabled": "disabled",
}


class SearchEngine:
    """One search.

    Args:
        events: the run's events so far; begin a new run with `start`.
    """

    def __init__(self, events: Iterable[SearchEvent] = ()) -> None:
        self.state = SearchState()
        self.events: list[SearchEvent] = []
        for event in events:
            self._take(event)

    @classmethod
    def start(
        cls,
        run: str,
        task: SearchTask,
        settings: SearchSettings,
        given: tuple[str, ...] = (),
        plan: Plan | None = None,
    ) -> SearchEngine:
        """Begin a search.

        Args:
            run: the run's id.
            task: what is asked.
            settings: bounds; `generators` must name at least one.
            given: programs handed in, for the `given` generator.
            plan: the checks, when they are not just those of the task's sources.

        Raises:
            RequestError: see `task.plan_of`.
        """
        engine = cls()
        checks = plan_of(task) if plan is None else plan
        engine._take(SearchStarted(run=run, task=task, plan=checks, settings=settings, given=given))
        if task.program:
            engine._propose(task.start, "start", task_id="start")
        for index, code in enumerate(given):
            engine._propose(code, "given", task_id=f"given:{index}")
        engine._conclude_when_done()
        return engine

    # What is wanted

    def ready(self) -> list[Task]:
        """Every task that can be performed now, in the order of its worth; empty when the search is concluded
        or waits for results."""
        return ready_tasks(self.state)

    @property
    def done(self) -> bool:
        """Whether the search is concluded."""
        return self.state.concluded is not None

    # What happened

    def reserved(self, task_id: str, answer: Reserved | Refused) -> tuple[SearchEvent, ...]:
        """Take the spend cap's answer to a draft or revise task; a refusal halts what was not started."""
        before = len(self.events)
        if isinstance(answer, Reserved):
            if task_id not in self.state.reservations:
                self._take(
                    ReservationMade(
                        task_id=task_id,
                        reservation_id=answer.reservation_id,
                        estimate_usd=answer.estimate_usd,
                        remaining_usd=answer.remaining_usd,
                    )
                )
        else:
            self._halt(_HALTS.get(answer.error, "spend_cap"), answer.message)
        return self._since(before)

    def settled(self, task_id: str, charged_usd: float, *, failed: bool) -> tuple[SearchEvent, ...]:
        """Take the settlement of a reservation; a second one for the same task changes nothing."""
        before = len(self.events)
        reservation = self.state.reservations.get(task_id)
        if reservation is not None:
            self._take(
                ReservationSettled(
                    task_id=task_id,
                    reservation_id=reservation.reservation_id,
                    charged_usd=charged_usd,
                    failed=failed,
                )
            )
        return self._since(before)

    def halt(self, reason: HaltReason, message: str = "") -> tuple[SearchEvent, ...]:
        """Start nothing more, and conclude with what is there (time limit, cancelled)."""
        before = len(self.events)
        self._halt(reason, message)
        return self._since(before)

    def offer(self, code: str) -> tuple[SearchEvent, ...]:
        """Take a program that somebody hands in while the search goes on, or after it ended without a verified one."""
        before = len(self.events)
        if not self.state.verified:
            if self.done:
                self._take(SearchReopened(settings=self.state.settings))
            number = sum(1 for one in self.state.branches.values() if one.proposed.generator == "given")
            self._propose(code, "given", task_id=f"given:{number}")
            self._conclude_when_done()
        return self._since(before)

    def conclude(self) -> tuple[SearchEvent, ...]:
        """End a search that was halted, with what is there, although results are still out: they will not come."""
        before = len(self.events)
        if not self.done and self.state.halted is not None:
            self._conclude()
        return self._since(before)

    def reopen(self, settings: SearchSettings) -> tuple[SearchEvent, ...]:
        """Go on with a search that halted or found nothing, under other bounds; one that is verified stays as it is."""
        before = len(self.events)
        if not self.state.verified and (self.done or settings != self.state.settings):
            self._take(SearchReopened(settings=settings))
            self._conclude_when_done()
        return self._since(before)

    def submit(self, result: Result) -> tuple[SearchEvent, ...]:
        """Accept a result.

        Returns:
            The events that it led to; empty when the task is done already, unknown, or no longer waited for.
        """
        before = len(self.events)
        if not self.done:
            match result:
                case Generated():
                    self._generated(result)
                case Mutated():
                    self._mutated(result)
                case Executed():
                    self._executed(result)
            self._conclude_when_done()
        return self._since(before)

    def _since(self, before: int) -> tuple[SearchEvent, ...]:
        return tuple(self.events[before:])

    def _take(self, event: SearchEvent) -> None:
        self.state.fold(event)
        self.events.append(event)

    # Results

    def _generated(self, result: Generated) -> None:
        if result.task_id in self.state.finished:
            return
        framing, parent = self._asked(result.task_id)
        if framing is None:
            return
        generator: Generator = "model" if result.task_id.startswith("draft:") else "revise"
        codes = [code_of(text, self.state.task.start, self.state.task.entry_point) for text in result.answers]
        found = [code for code in codes if code is not None]
        for code in found:
            spend = result.spend_usd / len(found)
            self._propose(
                code, generator, task_id=result.task_id, framing=framing, parent=parent, spend_usd=spend
            )
        message = result.message or ("" if found else "no program in the answer")
        self._take(TaskFinished(task_id=result.task_id, failed=not found, message=message))

    def _asked(self, task_id: str) -> tuple[str | None, str | None]:
        """Framing and parent of a task that the search can have asked for; (None, None) for any other."""
        from treewright.search.framings import draft_framing, revision_framing

        kind, _, rest = task_id.partition(":")
        if kind == "draft" and rest.isdigit() and int(rest) < self.state.settings.draft_count:
            return draft_framing(
                int(rest), bool(self.state.task.program), self.state.settings.varied
            ).name, None
        branch_id, _, turn = rest.partition(":")
        if kind == "revise" and branch_id in self.state.branches and turn.isdigit():
            return revision_framing().name, branch_id
        return None, None

    def _mutated(self, result: Mutated) -> None:
        branch_id = result.task_id.partition(":")[2]
        if not result.task_id.startswith("mutate:") or branch_id not in self.state.branches:
            return
        if result.task_id in self.state.finished:
            return
        for rank, mutant in enumerate(result.passing[: self.state.settings.admitted_mutants]):
            self._propose_mutant(mutant, result.task_id, branch_id, rank)
        if not result.passing and result.nearest is not None:
            self._propose_mutant(result.nearest, result.task_id, branch_id, 0)
        self._take(
            TaskFinished(
                task_id=result.task_id,
                failed=not result.passing,
                message=result.message,
                screened=result.screened,
                passing=result.passing_count or len(result.passing),
                distinct=result.distinct,
            )
        )

    def _propose_mutant(self, mutant: ProposedMutant, task_id: str, parent: str, rank: int) -> None:
        self._propose(
            mutant.code, "mutate", task_id=task_id, framing=" ".join(mutant.edits), parent=parent, rank=rank
        )

    def _executed(self, result: Executed) -> None:
        kind, _, branch_id = result.task_id.partition(":")
        branch = self.state.branches.get(branch_id)
        if branch is None:
            return
        if kind == "holdout" and self.state.holdout is None:
            plan = held_out(self.state.plan)
            if plan is not None:
                verdicts, _ = verdicts_of(plan.checks, result.trace)
                self._take(HoldoutMeasured(branch_id=branch_id, verdicts=verdicts))
        elif kind == "execute" and branch.trace is None:
            verdicts, _ = verdicts_of(visible(self.state.plan).checks, result.trace)
            self._take(BranchExecuted(branch_id=branch_id, trace=result.trace, verdicts=verdicts))

    def _propose(
        self,
        code: str,
        generator: Generator,
        *,
        task_id: str,
        framing: str = "",
        parent: str | None = None,
        spend_usd: float = 0.0,
        rank: int = 0,
    ) -> None:
        digest = program_digest(code)
        twin = None
        if digest is not None:
            twin = next(
                (
                    branch.id
                    for branch in self.state.branches.values()
                    if branch.proposed.duplicate_of is None and program_digest(branch.code) == digest
                ),
                None,
            )
        self._take(
            CandidateProposed(
                branch_id=f"b{len(self.state.branches)}",
                parent=parent,
                task_id=task_id,
                generator=generator,
                framing=framing,
                code=code,
                spend_usd=spend_usd,
                duplicate_of=twin,
                rank=rank,
            )
        )

    # The end

    def _halt(self, reason: HaltReason, message: str) -> None:
        if not self.done and self.state.halted is None:
            self._take(SearchHalted(reason=reason, message=message))
            self._conclude_when_done()

    def _conclude_when_done(self) -> None:
        if self.done or not self.events or self.ready() or self._waiting():
            return
        self._conclude()

    def _conclude(self) -> None:
        state = self.state
        checks = visible(state.plan).checks
        branches = state.distinct()
        choice = choose(branches, state.task.program, checks, efficiency=state.settings.efficiency)
        telling = discriminating(branches, checks)
        self._take(
            SearchConcluded(
                chosen=choice.branch.id if choice else None,
                verified=bool(choice and choice.branch.complete),
                tie_break=str(choice.tie_break) if choice else "",
                tied=choice.tied if choice and len(choice.tied) > 1 else (),
                discriminating=telling,
                same_for_all=same_for_all(branches, checks) if len(branches) > 1 else (),
                advice=tuple(self._advice(telling)),
            )
        )

    def _waiting(self) -> bool:
        """Whether an admitted model call is still out; after a halt its answer may still count."""
        return any(task_id not in self.state.finished for task_id in self.state.reservations)

    def _advice(self, telling: bool | None) -> Iterable[str]:
        if telling is False:
            yield "all_tied"
        if any(one.distinct > 1 for one in self.state.finished.values()):
            yield "several_behaviours"
        start = self.state.branches.get("b0")
        if start is not None and start.proposed.generator == "start" and start.complete:
            yield "start_passes"
