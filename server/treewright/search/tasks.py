"""What the search asks for, and what may be answered. Whoever performs a task is interchangeable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.search.checks import Plan
from treewright.search.framings import Message
from treewright.search.ports import Trace


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DraftTask(_Frozen):
    """Ask a model for a program; must be reserved before it is performed.

    Attributes:
        id: deterministic: `draft:0` is the greedy one.
        framing: the framing's name.
        temperature: sampling temperature.
        seed: sampling seed.
        messages: the prompt.
        estimate_usd: worst case, for the reservation.
        begin: how the answer begins, for a performer that can have it continued; it is part of the answer then.
        stop: strings at which such an answer is over.
    """

    kind: Literal["draft"] = "draft"
    id: str
    framing: str
    temperature: float
    seed: int
    messages: tuple[Message, ...]
    estimate_usd: float
    begin: str = ""
    stop: tuple[str, ...] = ()


class ReviseTask(_Frozen):
    """Ask a model to revise a branch with its trace; must be reserved before it is performed."""

    kind: Literal["revise"] = "revise"
    id: str
    branch_id: str
    framing: str
    temperature: float
    seed: int
    messages: tuple[Message, ...]
    estimate_usd: float
    begin: str = ""
    stop: tuple[str, ...] = ()


class MutateTask(_Frozen):
    """Repair a program by edits (`drive.repair_program`); costs time, not money.

    Attributes:
        id: `mutate:<branch>`.
        branch_id: the branch to start from.
        program: its code.
        plan: the visible checks.
        seconds: most seconds.
        screened: most mutants.
    """

    kind: Literal["mutate"] = "mutate"
    id: str
    branch_id: str
    program: str
    plan: Plan
    seconds: float
    screened: int


class ExecuteTask(_Frozen):
    """Execute a branch in a fresh kernel."""

    kind: Literal["execute"] = "execute"
    id: str
    branch_id: str
    program: str
    plan: Plan


class HoldoutTask(_Frozen):
    """Execute the chosen branch against the held-out checks, in another fresh kernel."""

    kind: Literal["holdout"] = "holdout"
    id: str
    branch_id: str
    program: str
    plan: Plan


def asked_alike(tasks: Iterable[DraftTask | ReviseTask]) -> list[list[DraftTask | ReviseTask]]:
    """Group tasks that differ in nothing but their seed: one request can answer all of a group.

    Args:
        tasks: in order.

    Returns:
        The groups, in the order of their first tasks.
    """
    groups: dict[object, list[DraftTask | ReviseTask]] = {}
    for task in tasks:
        groups.setdefault((task.kind, task.messages, task.temperature, task.begin), []).append(task)
    return list(groups.values())


Task = DraftTask | ReviseTask | MutateTask | ExecuteTask | HoldoutTask


class Generated(_Frozen):
    """What a model answered to a draft or revise task.

    Attributes:
        task_id: the task.
        answers: texts as they came; several when one request was asked for several samples.
        spend_usd: what it cost.
        failed: no answer; `message` says why.
        message: the fault.
    """

    kind: Literal["generated"] = "generated"
    task_id: str
    answers: tuple[str, ...] = ()
    spend_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    failed: bool = False
    message: str = ""


class ProposedMutant(_Frozen):
    """A mutant that passed screening.

    Attributes:
        code: the program.
        edits: operator ids.
        group: mutants of one group behave alike on generated inputs.
    """

    code: str
    edits: tuple[str, ...]
    group: int = 0


class Mutated(_Frozen):
    """What a mutate task found, best first; `nearest` is the best near miss when nothing passed."""

    kind: Literal["mutated"] = "mutated"
    task_id: str
    passing: tuple[ProposedMutant, ...] = ()
    nearest: ProposedMutant | None = None
    screened: int = 0
    distinct: int = 0
    passing_count: int = 0
    message: str = ""


class Executed(_Frozen):
    """A branch's trace, for an execute or a holdout task."""

    kind: Literal["executed"] = "executed"
    task_id: str
    trace: Trace


Result = Generated | Mutated | Executed
