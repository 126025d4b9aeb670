"""Taking in session documents from elsewhere: our own exports, and sessions of deep-think-mcp
(contract: deliberation, 4 and 7).

deep-think-mcp's documents hold the same parts. They differ in this: `overrides` and `finalized_at` are
absent, an unscored round's `delta_score` is -2 and a first round's is 0, timestamps may lack a zone,
`final_utility_scores` may be an empty object, and a candidate may lack its rating.
"""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from treewright.deliberate.encoding import damaged
from treewright.deliberate.reading import Unclear, structured
from treewright.deliberate.reply import Refusal
from treewright.deliberate.session import Session
from treewright.deliberate.settings import NOT_IMPORTED, checked_overrides
from treewright.errors import RequestError

_SHAPE = "the JSON of a session, as export_session answers it"
_EXAMPLE = (
    '{"id": "...", "question": "...", "expected_stages": ["Analysis"], "current_stage": "Analysis", ...}'
)


def read_document(value: object) -> tuple[Session, list[str]]:
    """Read a session document from elsewhere.

    Args:
        value: JSON text, or the parsed object.

    Returns:
        The session, its path cleared, and the names of the overrides that were left out for safety.

    Raises:
        Unclear: it is not JSON.
        Refusal: `bad_import`, with the faults.
    """
    document = _object(value)
    try:
        dropped = _adapt(document)
        session = Session.model_validate(document)
        session.overrides = checked_overrides(session.overrides)
        b"".join(thought.model_dump_json().encode("utf-8") for thought in session.thoughts)
    except ValidationError as error:
        raise Refusal("bad_import", fault="; ".join(damaged(error).details["faults"][:3])) from error
    except RequestError as error:
        raise Refusal("bad_import", fault=error.message) from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise Refusal("bad_import", fault=f"a part has the wrong shape ({error})") from error
    return session, dropped


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            value = structured(value)
        except ValueError as error:
            raise Unclear("session_json", str(error), _SHAPE, _EXAMPLE) from error
    if isinstance(value, Mapping) and isinstance(value.get("session_json"), str):
        return _object(value["session_json"])
    if not isinstance(value, Mapping):
        raise Unclear("session_json", "it is not a JSON object", _SHAPE, _EXAMPLE)
    try:
        copied: dict[str, Any] = json.loads(json.dumps(value))
        json.dumps(copied, ensure_ascii=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise Unclear("session_json", "it holds values that JSON cannot hold", _SHAPE, _EXAMPLE) from error
    return copied


def _adapt(document: dict[str, Any]) -> list[str]:
    """Bring another tool's document into our shape, in place; return the overrides left out."""
    if isinstance(document.get("id"), str):
        document["id"] = document["id"].replace("-", "").lower()
    document["save_path"] = ""
    dropped = _safe_overrides(document)
    if document.get("status") == "finalized" and not document.get("finalized_at"):
        document["finalized_at"] = document.get("created_at")
    for thought in document.get("thoughts") or []:
        _adapt_thought(thought)
    if document.get("current_thought_id"):
        open_ids = [one.get("id") for one in document.get("thoughts") or [] if not one.get("committed")]
        if document["current_thought_id"] not in open_ids:
            document["current_thought_id"] = None
    return dropped


def _safe_overrides(document: dict[str, Any]) -> list[str]:
    overrides = document.get("overrides")
    if not isinstance(overrides, dict):
        document.pop("overrides", None)
        return []
    dropped = []
    for table, keys in NOT_IMPORTED.items():
        for key in keys:
            if isinstance(overrides.get(table), dict) and key in overrides[table]:
                del overrides[table][key]
                dropped.append(f"{table}.{key}")
    return dropped


def _adapt_thought(thought: dict[str, Any]) -> None:
    if thought.get("final_utility_scores") == {}:
        thought["final_utility_scores"] = None
    if isinstance(thought.get("position"), int):
        thought["position"] = max(1, thought["position"])
    for number, one in enumerate(thought.get("critique_rounds") or []):
        delta = one.get("delta_score")
        if isinstance(delta, int | float) and (number == 0 or not -1 <= delta <= 1):
            one["delta_score"] = None
    states = {"in_equilibrium": "necort_equilibrium", "off_equilibrium": "necort_off"}
    rounds = thought.get("specialist_rounds") or []
    neutral = all(_is_blended(one.get("utility_vector")) for one in rounds)
    for one in rounds:
        state = one.get("equilibrium_state")
        if state in states and "draft" not in thought:
            by_hand = "best_mean" if state == "in_equilibrium" else "outranked"
            one["equilibrium_state"] = states[state] if neutral else by_hand


def _is_blended(vector: object) -> bool:
    """Return whether four dimensions of a rating are neutral, as in a round of deep-think-mcp's necort engine."""
    names = ("evidence", "novelty", "bias_resistance", "actionability")
    return isinstance(vector, dict) and all(vector.get(name) == 0.5 for name in names)
