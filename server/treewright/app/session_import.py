"""Taking in everything that deep-think-mcp has kept in its home (contract: deliberation, 7)."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.reply import Reply
from treewright.errors import StoreError
from treewright.regular import read_regular_text

HOME_VARIABLE = "DEEP_THINK_HOME"


def foreign_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return where deep-think-mcp keeps its sessions: `DEEP_THINK_HOME`, else `~/deep-think-mcp`."""
    named = (os.environ if environ is None else environ).get(HOME_VARIABLE, "").strip()
    return Path(named).expanduser() if named else Path.home() / "deep-think-mcp"


def foreign_sessions(home: Path) -> list[Path]:
    """Return the session files of such a home: those in `sessions/`, and those that its index knows elsewhere.

    Raises:
        StoreError: `document_missing` when there is no such folder.
    """
    if not home.is_dir():
        raise StoreError(
            "document_missing",
            f"There is no folder {home.name}.",
            f"Set {HOME_VARIABLE} to the other tool's home.",
        )
    found = sorted((home / "sessions").glob("*.json"))
    try:
        index: Any = json.loads(read_regular_text(home / "index.json"))
    except (OSError, ValueError, RecursionError):
        index = {}
    entries = index.values() if isinstance(index, dict) else []
    named = [
        Path(entry["path"])
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("path"), str)
    ]
    return list(dict.fromkeys(path.resolve() for path in [*found, *named] if path.is_file()))


def import_home(tools: Deliberation, home: Path | None = None) -> list[Reply]:
    """Import every session of a deep-think-mcp home; the originals stay as they are.

    Args:
        tools: where to import to.
        home: the folder; None for `foreign_home()`.

    Returns:
        The reply for each file, with its `source`; one whose id is here already is not imported again and has
        `skipped`.

    Raises:
        StoreError: as `foreign_sessions`.
    """
    known = {str(one["session_id"]) for one in tools.list_sessions().get("sessions", [])}
    return [_imported(tools, path, known) for path in foreign_sessions(home or foreign_home())]


def _imported(tools: Deliberation, path: Path, known: set[str]) -> Reply:
    try:
        text = read_regular_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = f"The file cannot be read ({type(error).__name__})."
        return {"ok": False, "error": "failed", "code": "document_damaged", "message": reason, "next_tool": "list_sessions", "source": str(path)}  # fmt: skip
    session_id = _id_of(text)
    if session_id in known:
        skipped = {"ok": True, "message": "This session is here already.", "next_tool": "resume_session"}
        return {**skipped, "session_id": session_id, "skipped": True, "source": str(path)}
    reply = tools.import_session(text)
    if reply["ok"]:
        known.add(str(reply["session_id"]))
    return {**reply, "source": str(path)}


def _id_of(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    found = value.get("id") if isinstance(value, dict) else None
    return found.replace("-", "").lower() if isinstance(found, str) else ""
