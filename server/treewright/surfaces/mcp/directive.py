"""What a tool answers: short, flat, and which tool to call next; a refusal says exactly what would be right."""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from treewright.data import data_path
from treewright.errors import TreewrightError

Reply = dict[str, Any]
"""Always holds `ok`, `message` and `next_tool`; a refusal also `error` (its kind) and `code`."""

BODY = "text"
"""The entry of a reply that is a document of its own: handed over as plain text, not inside JSON."""
CARD = "card"
_BODIES = (BODY, CARD)


class Correction(Exception):  # noqa: N818 - it is a question to the caller, not an error
    """Arguments that cannot be read, and what would be right.

    Args:
        parameter: which one; empty when it is about all of them.
        problem: one clause that says what is wrong.
        shape: what is expected.
        example: a value that would be read.
    """

    def __init__(self, parameter: str, problem: str, shape: str, example: str = "") -> None:
        super().__init__(problem)
        self.parameter = parameter
        self.problem = problem
        self.shape = shape
        self.example = example

    def reply(self, tool: str) -> Reply:
        """Return the reply that asks again."""
        where = f"`{self.parameter}`" if self.parameter else "the arguments"
        example = f" Example: {self.example}" if self.example else ""
        return {
            "ok": False,
            "error": "retry_with_clarification",
            "code": "retry_with_clarification",
            "message": f"{tool}: {where} cannot be used: {self.problem}. Expected: {self.shape}.{example} Call {tool} again.",
            "next_tool": tool,
            "parameter": self.parameter,
            "shape": self.shape,
            "example": self.example,
        }


def done(message: str, next_tool: str = "", **facts: Any) -> Reply:
    """Return the reply to a call that did what was asked."""
    return {"ok": True, "message": message, "next_tool": next_tool, **facts}


def refused(code: str, message: str, next_tool: str = "", *, kind: str = "refused", **facts: Any) -> Reply:
    """Return the reply to a call that cannot be done as things stand."""
    return {"ok": False, "error": kind, "code": code, "message": message, "next_tool": next_tool, **facts}


@dataclass(frozen=True, slots=True)
class Advice:
    """What a caller over this protocol can do about an error: words, and the tool to call."""

    hint: str = ""
    next_tool: str = ""


@cache
def _advice() -> dict[str, Advice]:
    raw = tomllib.loads(data_path("mcp", "advice.toml").read_text(encoding="utf-8"))
    return {code: Advice(**entry) for code, entry in raw.items()}


def failure(fault: TreewrightError, next_tool: str = "") -> Reply:
    """Return the reply to an anticipated failure; hints that speak of the terminal are put in words of this protocol."""
    advice = _advice().get(fault.code, Advice())
    told = " ".join(part for part in (fault.message, advice.hint or fault.hint) if part)
    return refused(fault.code, told, advice.next_tool or next_tool, kind="failed")


def as_text(reply: Reply) -> list[str]:
    """Return a reply as texts: its facts as one JSON object, then its document, if it has one, as it is."""
    facts = {key: value for key, value in reply.items() if key not in _BODIES}
    texts = [json.dumps(facts, ensure_ascii=False, default=str)]
    return texts + [str(reply[key]) for key in _BODIES if reply.get(key)]


def sendable(value: Any) -> Any:
    """Return a value without half characters, infinities and NaN: what strict JSON in UTF-8 can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if not value.isascii() else value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {sendable(str(key)): sendable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [sendable(entry) for entry in value]
    if value is None or isinstance(value, bool | int):
        return value
    return sendable(str(value))
