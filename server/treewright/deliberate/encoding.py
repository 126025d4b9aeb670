"""Sessions to and from bytes, at a cost that does not grow with what is already committed.

A committed thought never changes, so its bytes are made once and kept with it. Writing a session of
1,000 thoughts then encodes the one thought at work; the store joins the parts.
"""

import json
from typing import Any

from pydantic import ValidationError

from treewright.deliberate.session import Session, Thought
from treewright.errors import StoreError


def encode(session: Session) -> list[bytes]:
    """Return the session's JSON document as parts whose concatenation is the file.

    Args:
        session: any session; committed thoughts are not changed after their first encoding.
    """
    header = session.model_dump_json(exclude={"thoughts"}).encode("utf-8")
    parts = [header[:-1], b',"thoughts":[']
    for number, thought in enumerate(session.thoughts):
        parts.append(b",\n" if number else b"\n")
        parts.append(_encode_thought(thought))
    parts.append(b"\n]}\n")
    return parts


def _encode_thought(thought: Thought) -> bytes:
    if thought._encoded is not None and thought.committed:
        return thought._encoded
    encoded = thought.model_dump_json().encode("utf-8")
    if thought.committed:
        thought._encoded = encoded
    return encoded


def decode(content: bytes) -> Session:
    """Read a session document.

    Raises:
        StoreError: `session_damaged` when it is not JSON or not a session; the file is left alone.
    """
    try:
        return Session.model_validate_json(content)
    except ValidationError as error:
        raise damaged(error) from error


def damaged(error: ValidationError) -> StoreError:
    """Tell what is wrong with a document that is not a session, field by field (three at most)."""
    faults = [
        f"{'.'.join(str(step) for step in fault['loc']) or 'document'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False)
    ]
    shown = "; ".join(faults[:3]) + ("; ..." if len(faults) > 3 else "")
    return StoreError(
        "session_damaged",
        f"The session document does not read as a session ({shown}).",
        "Restore it from a copy; the file was left as it is.",
        {"faults": faults[:20]},
    )


def as_json(session: Session) -> dict[str, Any]:
    """Return the session as plain JSON values, as it stands in the file."""
    value: dict[str, Any] = json.loads(b"".join(encode(session)))
    return value
