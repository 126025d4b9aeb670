"""Where a guided run stands, and what became of an answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.app.request import Notice
from treewright.explore.engine import Explorer
from treewright.explore.tasks import Brief, Task, TaskKind
from treewright.tree.run import Status

READY_LOOKED_AT = 256
"""Ready tasks that are looked at together."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a guided run stands.

    Attributes:
        run, folder: which run.
        status, reason: where it stands.
        performer: `caller` or `sampling`, or who drives it.
        nodes: below the root.
        advancing: of these, those whose verdict advances.
        ready: tasks that can be filled in now, at most 256.
        rounds: closed rounds.
        notices: what the user should know.
    """

    run: str
    folder: Path
    status: Status
    reason: str
    performer: str
    nodes: int
    advancing: int
    ready: int
    rounds: int
    notices: tuple[Notice, ...] = ()

    @property
    def growing(self) -> bool:
        """Whether there is more to do."""
        return self.status is Status.GROWING


@dataclass(frozen=True, slots=True)
class Due:
    """A task to be filled in, and where the run stands."""

    task: Task
    brief: Brief
    standing: Standing


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an answer.

    Attributes:
        accepted: False when the task was done already, or is not due.
        faults: what checking found in it, one line each; the engine will ask for it to be put right.
        standing: where the run stands now.
        value: what `read` returned when it was no result; nothing was written then.
    """

    accepted: bool
    faults: tuple[str, ...]
    standing: Standing
    value: Any = None


def standing_of(folder: Path, explorer: Explorer, notices: tuple[Notice, ...] = ()) -> Standing:
    """Return where a run stands."""
    tree = explorer.tree
    advancing = sum(
        1 for node in tree.descendants() if node.role is not None and node.role.value == "advances"
    )
    ready = 0
    if tree.status is Status.GROWING:
        ready = sum(1 for task in explorer.ready(READY_LOOKED_AT) if task.kind is not TaskKind.VERIFY)
    return Standing(
        run=tree.started.run if tree.started else "",
        folder=folder,
        status=tree.status,
        reason=tree.reason,
        performer=str(tree.option("model", "")) or (tree.started.performer if tree.started else ""),
        nodes=len(tree.nodes) - 1,
        advancing=advancing,
        ready=ready,
        rounds=len(tree.rounds),
        notices=notices,
    )


def faults_against(explorer: Explorer, task: Task) -> list[str]:
    """Return what stands against the answer of a task now: the violations that the engine asks to be mended."""
    follow = [
        each
        for each in explorer.ready(READY_LOOKED_AT)
        if each.node == task.node
        and each.framing == task.framing
        and each.kind in (task.kind, TaskKind.REVISE)
    ]
    for each in follow:
        if each.id != task.id:
            return [_line(violation) for violation in explorer.brief(each).violations]
    return []


def _line(violation: Any) -> str:
    quoted = f" (“{violation.quote}”)" if violation.quote else ""
    where = f"{violation.field}: " if violation.field else ""
    return f"{violation.rule}: {where}{violation.message}{quoted}"
