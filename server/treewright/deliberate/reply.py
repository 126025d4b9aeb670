"""What a tool answers: a short, flat directive with the next tool to call (contract: deliberation, 4).

Wording is data: `data/deliberate/replies.toml`.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from treewright.data import data_path
from treewright.deliberate.reading import Unclear
from treewright.errors import TreewrightError

Reply = dict[str, Any]
"""Always holds `ok`, `message` and `next_tool`; a refusal also `error` (its kind) and `code`."""


class Refusal(Exception):  # noqa: N818 - an expected answer of the protocol, not an error
    """A tool cannot do what was asked in this state.

    Args:
        code: a key of `[refusals]` in the reply templates.
        next_tool: overrides the template's; the template's may be empty, then guidance fills it in.
        facts: entries added to the reply.
        fields: values for the message.
    """

    def __init__(
        self, code: str, *, next_tool: str = "", facts: dict[str, Any] | None = None, **fields: object
    ) -> None:
        super().__init__(code)
        self.code = code
        self.next_tool = next_tool
        self.facts = facts or {}
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Template:
    """The wording of one reply."""

    message: str
    next_tool: str = ""
    kind: str = "refused"


@cache
def templates(group: str) -> dict[str, Template]:
    """Return the packaged templates of a group: `answers` or `refusals`."""
    raw = tomllib.loads(data_path("deliberate", "replies.toml").read_text(encoding="utf-8"))
    return {
        name: Template(entry["message"], entry.get("next_tool", ""), entry.get("kind", "refused"))
        for name, entry in raw[group].items()
    }


def answer(name: str, facts: dict[str, Any] | None = None, **fields: object) -> Reply:
    """Make the reply to a call that did what was asked.

    Args:
        name: a key of `[answers]` in the templates.
        facts: entries of the reply; `next_tool` among them overrides the template's.
        fields: values for the message.
    """
    template = templates("answers")[name]
    return {
        "ok": True,
        "message": template.message.format(**fields),
        "next_tool": template.next_tool,
        **(facts or {}),
    }


def refusal(refused: Refusal) -> Reply:
    """Make the reply to a call that is refused in this state."""
    template = templates("refusals")[refused.code]
    return {
        "ok": False,
        "error": template.kind,
        "code": refused.code,
        "message": template.message.format(**refused.fields),
        "next_tool": refused.next_tool or template.next_tool,
        **refused.facts,
    }


def clarification(tool: str, unclear: Unclear) -> Reply:
    """Ask for one parameter again, with its shape and an example."""
    template = templates("refusals")["retry_with_clarification"]
    return {
        "ok": False,
        "error": template.kind,
        "code": "retry_with_clarification",
        "message": template.message.format(
            tool=tool, parameter=unclear.parameter, problem=unclear.problem, shape=unclear.shape
        ),
        "next_tool": tool,
        "parameter": unclear.parameter,
        "shape": unclear.shape,
        "example": unclear.example,
    }


def failure(error: TreewrightError, next_tool: str) -> Reply:
    """Tell an anticipated failure of the store or a model, without its details."""
    kind = templates("refusals").get(error.code)
    return {
        "ok": False,
        "error": kind.kind if kind else "failed",
        "code": error.code,
        "message": " ".join(part for part in (error.message, error.hint) if part),
        "next_tool": (kind.next_tool if kind else "") or next_tool,
    }
