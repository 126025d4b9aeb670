"""The framings of model drafts, and the messages that are made of them (`data/search/framings.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.data import data_path
from treewright.search.checks import Check, CheckKind, ObservedStatus, Plan, Verdict
from treewright.search.functions import stub_body
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


def draft_framing(index: int, has_start: bool, varied: bool = True) -> Framing:
    """The framing of the draft with this index (0 is the greedy one); they repeat when more are asked for.

    Args:
        index: from 0.
        has_start: whether there is a program to change, not only one to write.
        varied: false has every draft but the greedy one ask the same.
    """
    usable = [one for one in framings() if not one.revision and (has_start or not one.needs_start)]
    further = usable[1:] if varied else usable[1:2]
    return usable[0] if index == 0 else further[(index - 1) % len(further)]


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


_STUB_STOPS = ("\n```", "\nif __name__", "\nprint(", "\nassert ", "\n# Test", "\n# Example")
"""Where an answer that completes a function has said all that is used of it."""


def answer_start(task: SearchTask) -> str:
    """How an answer begins, for performers that can have a model go on from there: of a stub, all that is given.

    A model that goes on writes neither prose nor the docstring once more: less to pay for, less to go wrong.
    """
    given = task.start.split("\n")[: stub_body(task.start, task.entry_point) - 1] if task.stub else []
    return "```python\n" + "".join(f"{line.rstrip()}\n" for line in given)


def answer_stops(task: SearchTask) -> tuple[str, ...]:
    """Strings at which an answer that begins with `answer_start` is over."""
    return _STUB_STOPS if task.stub else _STUB_STOPS[:1]


def _task_parts(task: SearchTask, plan: Plan, start: bool = True) -> list[str]:
    parts = []
    if task.statement.strip():
        parts.append(task.statement.strip())
    if task.start.strip() and (start or task.stub):
        what = "function to complete" if task.stub else "program to start from"
        parts.append(f"The {what}:\n\n```python\n{task.start.rstrip()}\n```")
    if task.entry_point:
        parts.append(f"The function under test is `{task.entry_point}`.")
    seen = [check for check in plan.checks if not check.holdout]
    told = [check_text(check) for check in seen if not (task.stub and check.source in task.start)]
    if told:
        parts.append("It must pass:\n" + "\n".join(f"- {text}" for text in told[:_SHOWN_CHECKS]))
    return parts


def check_text(check: Check) -> str:
    """A check in one line for a prompt; an example of a doctest with what it must give."""
    text = check.source
    if check.kind in (CheckKind.VALUE, CheckKind.TEXT) and text.startswith(">>> ") and check.right is None:
        wanted = check.expected.strip() if check.kind is CheckKind.TEXT else repr(check.expected)
        text = f"{text}  must give  {wanted}" if check.operator == "==" else text
    return text[:_SHOWN_CHARS]


def trace_report(checks: Sequence[Check], verdicts: Sequence[Verdict]) -> str:
    """The verdicts as lines for a prompt or a person: passed ones by count, failed ones with their values."""
    by_id = {verdict.check_id: verdict for verdict in verdicts}
    shown = [(check, by_id[check.id]) for check in checks if not check.holdout and check.id in by_id]
    failing = [(check, verdict) for check, verdict in shown if not verdict.passed]
    lines = [f"- {len(shown) - len(failing)} of {len(shown)} checks pass."]
    lines += [
        f"- FAILS: {check_text(check)}\n  {_why(verdict)}" for check, verdict in failing[:_SHOWN_CHECKS]
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
