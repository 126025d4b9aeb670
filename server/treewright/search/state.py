"""The state of a search: a fold of its events. The same events in any run give the same state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from treewright.search.checks import Plan, Verdict
from treewright.search.events import (
    BranchExecuted,
    CandidateProposed,
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
from treewright.search.ports import Trace
from treewright.search.settings import SearchSettings
from treewright.search.task import SearchTask


@dataclass(slots=True)
class Branch:
    """A candidate and, once executed, its trace.

    Attributes:
        proposed: the event that brought it in.
        order: place in the order of generation.
        depth: revisions between it and its draft.
        trace: what its execution showed; None before.
        verdicts: one a check of the visible plan.
        revised: how often it was revised.
    """

    proposed: CandidateProposed
    order: int
    depth: int = 0
    trace: Trace | None = None
    verdicts: tuple[Verdict, ...] = ()
    revised: int = 0

    @property
    def id(self) -> str:
        """The branch's id."""
        return self.proposed.branch_id

    @property
    def code(self) -> str:
        """The program."""
        return self.proposed.code

    @property
    def passed(self) -> int:
        """Checks passed; 0 for a branch that was disqualified."""
        return sum(1 for verdict in self.verdicts if verdict.passed)

    @property
    def complete(self) -> bool:
        """Whether it was executed and passed every visible check."""
        return (
            self.trace is not None
            and bool(self.verdicts)
            and all(verdict.passed for verdict in self.verdicts)
        )


@dataclass(slots=True)
class SearchState:
    """Everything known about a search.

    Attributes:
        run: the run's id.
        task: what is asked.
        plan: all checks, held-out ones marked.
        settings: bounds.
        given: programs handed in.
        branches: by id, in order of generation.
        reservations: open reservation ids by task.
        finished: finished generating tasks.
        spend_usd: charged so far.
        halted: why nothing more is started, or None.
        concluded: the choice, or None.
        holdout: verdicts of the chosen branch on held-out checks.
    """

    run: str = ""
    task: SearchTask = field(default_factory=SearchTask)
    plan: Plan = field(default_factory=lambda: Plan(checks=()))
    settings: SearchSettings = field(default_factory=SearchSettings)
    given: tuple[str, ...] = ()
    branches: dict[str, Branch] = field(default_factory=dict)
    reservations: dict[str, ReservationMade] = field(default_factory=dict)
    finished: dict[str, TaskFinished] = field(default_factory=dict)
    spend_usd: float = 0.0
    halted: HaltReason | None = None
    halt_message: str = ""
    concluded: SearchConcluded | None = None
    holdout: HoldoutMeasured | None = None

    def fold(self, event: SearchEvent) -> None:
        """Take one event in."""
        match event:
            case SearchStarted():
                self.run, self.task, self.plan = event.run, event.task, event.plan
                self.settings, self.given = event.settings, event.given
            case ReservationMade():
                self.reservations[event.task_id] = event
            case ReservationSettled():
                self.reservations.pop(event.task_id, None)
                self.spend_usd += event.charged_usd
            case SearchHalted():
                if self.halted is None:
                    self.halted, self.halt_message = event.reason, event.message
            case CandidateProposed():
                self._propose(event)
            case TaskFinished():
                self.finished[event.task_id] = event
            case BranchExecuted():
                self._execute(event)
            case HoldoutMeasured():
                self.holdout = event
            case SearchConcluded():
                self.concluded = event
            case SearchReopened():
                self.settings = event.settings
                self.halted, self.halt_message = None, ""
                self.concluded, self.holdout = None, None

    def _propose(self, event: CandidateProposed) -> None:
        parent = self.branches.get(event.parent or "")
        depth = 0
        if event.generator == "revise" and parent is not None:
            depth = parent.depth + 1
            parent.revised += 1
        branch = Branch(event, len(self.branches), depth)
        twin = self.branches.get(event.duplicate_of or "")
        if twin is not None:
            branch.trace, branch.verdicts = twin.trace, twin.verdicts
        self.branches[event.branch_id] = branch

    def _execute(self, event: BranchExecuted) -> None:
        for branch in self.branches.values():
            if event.branch_id in (branch.id, branch.proposed.duplicate_of):
                branch.trace, branch.verdicts = event.trace, event.verdicts

    def distinct(self) -> list[Branch]:
        """Executed branches, duplicates left out, in order of generation."""
        return [
            one
            for one in self.branches.values()
            if one.trace is not None and one.proposed.duplicate_of is None
        ]

    @property
    def verified(self) -> bool:
        """Whether any branch passes every visible check."""
        return any(branch.complete for branch in self.branches.values())


def fold_all(events: Iterable[SearchEvent]) -> SearchState:
    """The state that a run's events lead to."""
    state = SearchState()
    for event in events:
        state.fold(event)
    return state
