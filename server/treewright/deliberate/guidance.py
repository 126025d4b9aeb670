"""What to call next, for every state of a session (contract: deliberation, 4).

The situation is computed from what the engines act on; the tool and the line for it are one table,
`data/deliberate/guidance.toml`.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Literal

from treewright.data import data_path
from treewright.deliberate.phase import serial_step, subagent_step
from treewright.deliberate.session import Session
from treewright.deliberate.settings import DeliberationSettings

Situation = Literal[
    "awaiting_mode",
    "archived",
    "finalized",
    "finished",
    "stage_done",
    "last_stage_done",
    "serial_begin",
    "serial_critique",
    "serial_submit",
    "serial_refine",
    "serial_score",
    "serial_next_lens",
    "serial_converged",
    "subagent_begin",
    "subagent_candidate",
    "subagent_round",
    "subagent_again",
    "subagent_settled",
]


@dataclass(frozen=True, slots=True)
class Guidance:
    """The next step."""

    situation: Situation
    tool: str
    line: str
    arguments: tuple[str, ...]


@cache
def _table() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    raw = tomllib.loads(data_path("deliberate", "guidance.toml").read_text(encoding="utf-8"))
    return {name: (entry["tool"], entry["line"], tuple(entry["arguments"])) for name, entry in raw.items()}


def played_by_hand(settings: DeliberationSettings) -> bool:
    """Return whether the caller plays the specialists: by choice, or because no endpoint is configured."""
    return settings.subagent.engine == "manual" or not settings.subagent.urls


def decided_where(session: Session) -> bool:
    """Return whether it was decided, after finalising, where the session's file is to be."""
    if session.finalized_at is None:
        return False
    moments = [decision.timestamp for decision in session.decisions if decision.action == "keep_here"]
    moments += [move.timestamp for move in session.move_history]
    return any(moment >= session.finalized_at for moment in moments)


def situation_of(session: Session, settings: DeliberationSettings, *, faulted: bool = False) -> Situation:
    """Name the state that a session is in.

    Args:
        session: the session.
        settings: its settings.
        faulted: the session's engine just failed at the open thought, so that the caller goes on by hand.
    """
    if session.status == "archived":
        return "archived"
    if session.status == "finalized":
        return "finished" if decided_where(session) else "finalized"
    if session.mode is None:
        return "awaiting_mode"
    thought = session.current_thought
    if thought is None:
        if not session.committed_in(session.current_stage):
            return "serial_begin" if session.mode == "serial" else "subagent_begin"
        return "last_stage_done" if session.at_last_stage else "stage_done"
    if session.mode == "serial":
        return _SERIAL[serial_step(thought, settings.serial)]
    by_hand = faulted or played_by_hand(settings)
    return _SUBAGENT[subagent_step(thought, settings.subagent, played_by_hand=by_hand)]


_SERIAL: dict[str, Situation] = {
    "critique": "serial_critique",
    "submit": "serial_submit",
    "refine": "serial_refine",
    "score": "serial_score",
    "next_lens": "serial_next_lens",
    "converged": "serial_converged",
}
_SUBAGENT: dict[str, Situation] = {
    "candidate": "subagent_candidate",
    "round": "subagent_round",
    "again": "subagent_again",
    "settled": "subagent_settled",
}


def guide(session: Session, settings: DeliberationSettings, *, faulted: bool = False) -> Guidance:
    """Return the exact next tool for a session; an empty one when nothing is left to do. See `situation_of`."""
    situation = situation_of(session, settings, faulted=faulted)
    tool, line, arguments = _table()[situation]
    return Guidance(situation, tool, line.format(stage=session.current_stage), arguments)
