"""Learning from a refusal how an endpoint wants to be asked.

A compatible endpoint accepts most of the same request, never all of it. What it turns down is changed one thing at
a time, asked again at once, and remembered, so that the refusal happens once.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from treewright.models.faults import ServerFault
from treewright.models.memory import Dialect

OPTIONAL = (
    "stream_options",
    "seed",
    "reasoning_effort",
    "top_p",
    "temperature",
    "stop",
    "stop_sequences",
    "n",
)

_TURNED_DOWN = re.compile(
    r"unsupported|not supported|does not support|doesn't support|unknown|unrecognized|unrecognised|unexpected|"
    r"not permitted|not allowed|extra (?:fields|inputs)|deprecated|invalid|only the default|must be|cannot be|not available",
    re.IGNORECASE,
)
_ABOUT_SCHEMA = re.compile(
    r"response_format|json_schema|json_object|output_config|structured output|json mode|grammar|schema|tool_choice|"
    r"guided|output_format",
    re.IGNORECASE,
)

_ABOUT_STRICT = re.compile(r"invalid schema for|\bstrict\b", re.IGNORECASE)


def adapt(dialect: Dialect, payload: Mapping[str, Any], fault: ServerFault) -> Dialect | None:
    """Return the dialect to try next after a refusal, None when the refusal is about something else.

    Args:
        dialect: as used for the refused request.
        payload: the request that was refused.
        fault: what the server said.
    """
    if fault.status not in {400, 404, 405, 422, 500, 501}:
        return None
    said = fault.message
    if "max_tokens" in payload and "max_completion_tokens" in said:
        return replace(dialect, renamed_max=True)
    if _is_strict(payload) and _ABOUT_STRICT.search(said):
        return replace(dialect, dropped=dialect.dropped | {"strict"})
    named = _named_parameter(payload, fault)
    if named == "n":
        return replace(dialect, one_sample=True)
    if named:
        return replace(dialect, dropped=dialect.dropped | {named})
    imposes = bool({"response_format", "output_config", "tool_choice"} & set(payload))
    if imposes and (_ABOUT_SCHEMA.search(said) or _ABOUT_SCHEMA.search(fault.parameter)):
        return replace(dialect, refused=dialect.refused | {dialect.structured})
    return None


def _is_strict(payload: Mapping[str, Any]) -> bool:
    named = payload.get("response_format", {}).get("json_schema", {})
    return bool(named.get("strict"))


def _named_parameter(payload: Mapping[str, Any], fault: ServerFault) -> str | None:
    """Return the optional parameter that the fault names, by its own field first, by its words else."""
    head = re.split(r"[.\[]", fault.parameter)[0]
    sent = [name for name in OPTIONAL if name in payload]
    if head in sent:
        return head
    if not _TURNED_DOWN.search(fault.message):
        return None
    for name in sent:
        quoted = re.search(rf"[`'\"]{re.escape(name)}[`'\":.]|\b{re.escape(name)}\b", fault.message)
        if quoted and len(name) > 1:
            return name
        if len(name) == 1 and re.search(rf"[`'\"]{name}[`'\"]|\b{name} ?(?:>|must|=)", fault.message):
            return name
    return None
