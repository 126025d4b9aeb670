"""Runs a wired plan in any ipykernel, spoken to only by Jupyter messages."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any, Protocol

from treewright.kernels.branch import Watched
from treewright.kernels.limits import Limits
from treewright.kernels.warm import INSIDE, plain_source
from treewright.kernels.wire import Records, Wired

MIME = "application/vnd.treewright.record"
_LOOK_S = 0.05
_AFTER_S = 1.0


class MessageKernel(Protocol):
    """A kernel that answers with Jupyter messages, wherever it runs."""

    def execute(self, code: str, *, silent: bool = False) -> str:
        """Send an execute request; returns its id."""
        ...

    def message(self, seconds: float) -> tuple[str, dict[str, Any]] | None:
        """The next message as `(channel, message)`, or None when none came in time."""
        ...

    def ended(self) -> tuple[bool, int | None]:
        """Whether the kernel is gone, and its exit code where anybody knows it."""
        ...


@cache
def _texts() -> dict[str, list[str]]:
    parts = {"guard": ("streams", "observe", "guard"), "pytests": ("pytests",), "boot": ("boot",)}
    return {
        name: [(INSIDE / f"{one}.py").read_text(encoding="utf-8") for one in names]
        for name, names in parts.items()
    }


def cell_of(wired: Wired, path: list[str], files: dict[str, dict[str, str]]) -> str:
    """The cell that runs a plan.

    Args:
        wired: the plan.
        path: folders put first on `sys.path`.
        files: text by name by folder, written before the candidate runs; for kernels whose files are not ours.
    """
    texts = _texts()
    request = {
        "plan": wired.message,
        "plain": plain_source(),
        "guard": texts["guard"],
        "pytests": texts["pytests"],
        "path": path,
        "files": files,
    }
    return f"exec(compile({texts['boot'][0]!r}, '<treewright boot>', 'exec'), {{'request': {json.dumps(request)!r}}})"


def run_by_messages(kernel: MessageKernel, wired: Wired, cell: str, wall_s: float, limits: Limits) -> Watched:
    """Execute a plan's cell and follow it until its last record, its death, a flood or the wall clock.

    Args:
        kernel: fresh and ready.
        wired: the plan.
        cell: see `cell_of`.
        wall_s: wall clock of the branch.
        limits: of the branch.
    """
    seen = Watched(Records(wired.secret))
    started = time.monotonic()
    request = kernel.execute(cell, silent=False)
    deadline = started + wall_s
    idle = False
    while not (seen.flooded or (seen.records.ended and idle)):
        now = time.monotonic()
        if seen.records.ended:
            deadline = min(deadline, now + _AFTER_S)
        if now >= deadline:
            seen.timed_out = not seen.records.ended
            break
        found = kernel.message(min(_LOOK_S, deadline - now))
        if found is None:
            gone, code = kernel.ended()
            if gone:
                seen.end = {"why": "", "code": code, "cpu_s": None, "peak": None}
                break
            continue
        idle = _take(found[1], request, seen, limits) or idle
        if seen.reply is not None and idle and not seen.records.ended:
            break
    seen.wall_s = time.monotonic() - started
    if seen.end is None:
        seen.end = {"why": "done", "code": None, "cpu_s": None, "peak": None}
    return seen


def _take(message: dict[str, Any], request: str, seen: Watched, limits: Limits) -> bool:
    """Take one message in; whether it said that the kernel is idle again."""
    if (message.get("parent_header") or {}).get("msg_id") != request:
        return False
    content = message.get("content") or {}
    kind = message.get("msg_type") or (message.get("header") or {}).get("msg_type")
    if kind == "display_data":
        text = (content.get("data") or {}).get(MIME)
        if isinstance(text, str):
            seen.records.feed(text.encode("utf-8"))
    elif kind == "stream":
        kept = seen.out["stderr" if content.get("name") == "stderr" else "stdout"]
        data = str(content.get("text", "")).encode("utf-8", "replace")
        room = limits.output_bytes - len(kept)
        kept += data[: max(0, room)]
        seen.flooded = seen.flooded or len(data) > room
    elif kind == "execute_reply":
        seen.reply = message
    return bool(kind == "status" and content.get("execution_state") == "idle")
