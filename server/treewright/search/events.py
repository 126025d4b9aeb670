"""What happened in a search, as frozen events: the journal holds them, the state and the audit log are folds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.search.checks import Plan, Verdict
from treewright.search.ports import Trace
from treewright.search.settings import SearchSettings
from treewright.search.task import SearchTask

Generator = Literal["start", "model", "revise", "mutate", "given"]
HaltReason = Literal["spend_cap", "candidate_limit", "timeout", "disabled", "cancelled"]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchStarted(_Event):
    """The first event of a run: everything that decides what comes next."""

    kind: Literal["search_started"] = "search_started"
    run: str
    task: SearchTask
    plan: Plan
    settings: SearchSettings
    given: tuple[str, ...] = ()


class ReservationMade(_Event):
    """The cap admitted a task that costs money."""

    kind: Literal["reservation_made"] = "reservation_made"
    task_id: str
    reservation_id: str
    estimate_usd: float
    remaining_usd: float


class ReservationSettled(_Event):
    """What an admitted task cost."""

    kind: Literal["reservation_settled"] = "reservation_settled"
    task_id: str
    reservation_id: str
    charged_usd: float
    failed: bool


class SearchHalted(_Event):
    """Nothing more is started; what runs already may still count."""

    kind: Literal["search_halted"] = "search_halted"
    reason: HaltReason
    message: str = ""


class CandidateProposed(_Event):
    """A program entered the search.

    Attributes:
        branch_id: `b0` is the starting program.
        parent: the branch that it revises or mutates.
        task_id: the task that it came from.
        generator: who proposed it.
        framing: the framing's name, or the operators of a mutant.
        code: the program.
        spend_usd: what proposing it cost.
        duplicate_of: a branch with the same normalised syntax tree, whose trace counts for this one too.
        rank: place among the passing mutants of its task, 0 the best; 0 for all others.
    """

    kind: Literal["candidate_proposed"] = "candidate_proposed"
    branch_id: str
    parent: str | None = None
    task_id: str = ""
    generator: Generator
    framing: str = ""
    code: str
    spend_usd: float = 0.0
    duplicate_of: str | None = None
    rank: int = 0


class TaskFinished(_Event):
    """A generating task is done; later results for it change nothing.

    Attributes:
        task_id: the task.
        failed: it gave no program.
        message: why, or what else there is to say.
        screened: mutants executed, for `mutate`.
        passing: of which passed every check.
        distinct: groups of those that behave differently on generated inputs.
    """

    kind: Literal["task_finished"] = "task_finished"
    task_id: str
    failed: bool = False
    message: str = ""
    screened: int = 0
    passing: int = 0
    distinct: int = 0


class BranchExecuted(_Event):
    """A branch was executed in a fresh kernel, and its checks were judged here."""

    kind: Literal["branch_executed"] = "branch_executed"
    branch_id: str
    trace: Trace
    verdicts: tuple[Verdict, ...]


class HoldoutMeasured(_Event):
    """The chosen branch met the checks that were held out."""

    kind: Literal["holdout_measured"] = "holdout_measured"
    branch_id: str
    verdicts: tuple[Verdict, ...]


class SearchConcluded(_Event):
    """The choice.

    Attributes:
        chosen: the branch, or None when none was executed.
        verified: it passes every visible check.
        tie_break: what decided between equals, see `selection.TieBreak`; empty when nothing had to.
        tied: branches that passed as many checks as the chosen one.
        discriminating: whether any check told two distinct branches apart; None with fewer than two.
        same_for_all: checks that every branch passed, or every branch failed.
        advice: what to tell the user, when there is something to tell.
    """

    kind: Literal["search_concluded"] = "search_concluded"
    chosen: str | None
    verified: bool
    tie_break: str = ""
    tied: tuple[str, ...] = ()
    discriminating: bool | None = None
    same_for_all: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class SearchReopened(_Event):
    """A search that had halted, or ended without a verified program, goes on: with another cap, or more candidates.

    Attributes:
        settings: the bounds that hold from here on.
    """

    kind: Literal["search_reopened"] = "search_reopened"
    settings: SearchSettings


SearchEvent = Annotated[
    SearchStarted
    | ReservationMade
    | ReservationSettled
    | SearchHalted
    | CandidateProposed
    | TaskFinished
    | BranchExecuted
    | HoldoutMeasured
    | SearchConcluded
    | SearchReopened,
    Field(discriminator="kind"),
]
