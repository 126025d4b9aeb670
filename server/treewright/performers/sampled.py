"""One task by one round of MCP sampling: the request that the client's own model is sent, and what its answer stands for.

Pure: the surface sends the request. A round that brings nothing usable is asked again once more with the exact fault, by the next call;
after that the task counts as failed and the engine goes another way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from treewright.explore.tasks import Brief, Result, TaskKind
from treewright.performers.guided import Fault, parse_answer
from treewright.performers.model.prompts import prompt

TRIES = 3
"""Rounds after which a task counts as failed."""
SYSTEM = prompt("system")
_ROOM = {TaskKind.PROPOSE: 3000, TaskKind.DERIVE: 4000, TaskKind.REVISE: 4000, TaskKind.GROUND: 3000}
_ROOM_OTHERWISE = 1500


def room_for(brief: Brief) -> int:
    """Return the most tokens that an answer to a task may take."""
    return _ROOM.get(brief.task.kind, _ROOM_OTHERWISE)


def request_text(card: Mapping[str, Any], faults: Sequence[str]) -> str:
    """Return what the model is asked: the card, the shape, and what was wrong with its last answer; the same each time.

    Args:
        card: see `guided.task_card`.
        faults: of former answers to this task; only the last is told, so that the request does not grow.
    """
    parts = [
        str(card["instructions"]),
        f"Return only JSON of this shape:\n{card['shape']}",
        str(card.get("optional", "")),
    ]
    if faults:
        parts.append(
            f"Your last answer could not be read:\n{faults[-1]}\nSend the whole answer again, put right."
        )
    return "\n\n".join(part for part in parts if part)


def answer_of(brief: Brief, answered: Any) -> Result | Fault:
    """Return the result that a sampled message stands for, or what is wrong with it; an answer that was cut off is never taken.

    Args:
        brief: of the task.
        answered: the sampling result: `content` (one block or several with `text`) and `stop_reason`.
    """
    blocks = answered.content if isinstance(answered.content, list) else [answered.content]
    text = "\n".join(str(block.text) for block in blocks if getattr(block, "text", None))
    if not text.strip():
        return Fault("The answer is empty.", "")
    if answered.stop_reason == "maxTokens":
        return Fault("The answer was cut off before its end. Be shorter.", "")
    return parse_answer(brief, text)
