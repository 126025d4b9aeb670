"""The framings of model drafts, and the messages that are made of them (`data/search/framings.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.data import data_path
from treewright.search.checks import Check, ObservedStatus, Plan, Verdict
from treewright.search.task import SearchTask


class Framing(BaseModel):
    """One way to ask for a program.

    Attributes:
        name: stable identifier.
        title: for people.
        temperature: sampling temperature, 0 to 2.
        instruction: what is asked.
        needs_start: only of use with a starting program.
        revision: goes with an earlier attempt and its trace.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    temperature: float = Field(ge=0.0, le=2.0)
    instruction: str
    needs_start: bool = False
    revision: bool = False


class Message(BaseModel):
    """One message of a prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user"]
    content: str


@cache
def framings() -> tuple[Framing, ...]:
    """Every framing, in the order of the data file; the first is the greedy one."""
    data = tomllib.loads(data_path("search", "framings.toml").read_text(encoding="utf-8"))
    return tuple(Framing(name=name, **entry) for name, entry in data.items())


def draft_framing(index: int, has_start: bool) -> Framing:
    """The framing of the draft with this index (0 is the greedy one); they repeat when more are asked for."""
    usable = [one for one in framings() if not one.revision and (has_start or not one.needs_start)]
    return usable[0] if index == 0 else usable[1 + (index - 1) % (len(usable) - 1)]


def revision_framing() -> Framing:
    """The framing of revisions."""
    return next(one for one in framings() if one.revision)


_SHOWN_CHECKS = 20
_SHOWN_CHARS = 600
_SYSTEM = "You write correct Python programs."


def draft_messages(task: SearchTask, plan: Plan, framing: Framing) -> tuple[Message, ...]:
    """The prompt of a draft: task, starting program, visible checks, instruction.

    Args:
        task: what is asked.
        plan: only its checks that are not held out are shown.
        framing: how to ask.
    """
    parts = [*_task_parts(task, plan), framing.instruction]
    return (Message(role="system", content=_SYSTEM), Message(role="user", content="\n\n".join(parts)))


def revise_messages(
    task: SearchTask, plan: Plan, code: str, verdicts: Sequence[Verdict], framing: Framing
) -> tuple[Message, ...]:
    """The prompt of a revision: the same, with an attempt and what its execution showed.

    Args:
        task: what is asked.
        plan: only its checks that are not held out are shown.
        code: the attempt.
        verdicts: the attempt's verdicts; those of held-out checks are never shown.
        framing: how to ask.
    """
    parts = [*_task_parts(task, plan, start=False), f"The attempt:\n\n```python\n{code.rstrip()}\n```"]
    parts.append("What its execution showed:\n" + trace_report(plan.checks, verdicts))
    parts.append(framing.instruction)
    return (Message(role="system", content=_SYSTEM), Message(role="user", content="\n\n".join(parts)))


def _task_parts(task: SearchTask, plan: Plan, start: bool = True) -> list[str]:
    parts = []
    if task.statement.strip():
        parts.append(task.statement.strip())
    if start and task.start.strip():
        parts.append(f"The program to start from:\n\n```python\n{task.start.rstrip()}\n```")
    if task.entry_point:
        parts.append(f"The function under test is `{task.entry_point}`.")
    shown = [check.source for check in plan.checks if not check.holdout][:_SHOWN_CHECKS]
    parts.append("It must pass:\n" + "\n".join(f"- {text[:_SHOWN_CHARS]}" for text in shown))
    return parts


def trace_report(checks: Sequence[Check], verdicts: Sequence[Verdict]) -> str:
    """The verdicts as lines for a prompt or a person: passed ones by count, failed ones with their values."""
    by_id = {verdict.check_id: verdict for verdict in verdicts}
    shown = [(check, by_id[check.id]) for check in checks if not check.holdout and check.id in by_id]
    failing = [(check, verdict) for check, verdict in shown if not verdict.passed]
    lines = [f"- {len(shown) - len(failing)} of {len(shown)} checks pass."]
    lines += [
        f"- FAILS: {check.source[:_SHOWN_CHARS]}\n  {_why(verdict)}"
        for check, verdict in failing[:_SHOWN_CHECKS]
    ]
    return "\n".join(lines)


def _why(verdict: Verdict) -> str:
    if verdict.status is ObservedStatus.TIMEOUT:
        return "it did not end in time"
    if verdict.error:
        where = f" in line {verdict.error_line}" if verdict.error_line else ""
        return f"it raised {verdict.error}: {verdict.message[:_SHOWN_CHARS]}{where}"
    if verdict.status is not ObservedStatus.VALUE:
        return "it reported nothing"
    return f"it gave {verdict.actual}"
