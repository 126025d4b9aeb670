"""Starting, going on with and stopping runs."""

import asyncio
from pathlib import Path

from treewright.app import request as app_request
from treewright.app.explorations import Growing
from treewright.surfaces.lsp.messages.runs import (
    GrowingResult,
    NoticeRow,
    ResumeRequest,
    StartRequest,
    StopRequest,
    StopResult,
)
from treewright.surfaces.lsp.places import as_path, base_of
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import as_spelled_on_disk, scheme_of

_LONGEST_PATH = 1024
_SHARED = (
    "width",
    "depth",
    "rounds",
    "max_branches",
    "spend_cap_usd",
    "min_novelty_ratio",
    "concurrency",
    "lang",
)


async def start(session: Session, request: StartRequest) -> GrowingResult:
    """Begin a new exploration."""
    base = base_of(session, request.base, request.root)
    root = await asyncio.to_thread(_root, base, request.root)
    settings = session.settings
    asked = app_request.ExplorationRequest(
        preset=request.preset,
        root=root,
        base=str(base),
        out=_text(as_path(request.out)),
        field=request.field,
        seed_from=_text(as_path(request.seed_from)),
        glossary=_text(as_path(request.glossary)),
        no_grill=request.no_grill,
        online=request.online if settings.trusted else False,
        focus=request.focus,
        changed_since=request.changed_since,
        mode=request.mode,
        model=request.model or settings.model,
        python=request.python if settings.trusted else "",
        trusted=settings.trusted,
        **{name: getattr(request, name) for name in _SHARED},
    )
    growing = await asyncio.to_thread(session.app.start, asked)
    return _drive(session, growing, request.work_done_token)


async def resume(session: Session, request: ResumeRequest) -> GrowingResult:
    """Go on with a run."""
    asked = app_request.ResumeRequest(
        run=request.run,
        model=request.model,
        trusted=session.settings.trusted,
        **{name: getattr(request, name) for name in _SHARED},
    )
    growing = await asyncio.to_thread(session.app.resume, asked)
    return _drive(session, growing, request.work_done_token)


async def stop(session: Session, request: StopRequest) -> StopResult:
    """Stop a run, whoever drives it."""
    if session.room.jobs.stop(request.run):
        return StopResult(holder="this editor")
    return StopResult(holder=await asyncio.to_thread(session.app.stop, request.run, request.reason))


def _root(base: Path, text: str) -> str:
    """Return a root as it is spelled on the disk, when it is a path that is spelled otherwise; else as it was typed."""
    if scheme_of(text) == "file":
        return _text(as_path(text))
    if text.isascii() or "\n" in text or len(text) > _LONGEST_PATH:
        return text
    typed = base / text
    spelled = as_spelled_on_disk(typed)
    return str(spelled) if spelled != typed else text


def _drive(session: Session, growing: Growing, token: str | int | None) -> GrowingResult:
    picked = growing.picked_up()
    notices = [NoticeRow(code=n.code, message=n.message, severity=n.severity) for n in growing.notices]
    preset = growing.loaded.materials.preset
    job = session.room.jobs.drive(growing, f"Treewright: {preset.name}", token)
    return GrowingResult(
        run=job.run,
        folder=str(growing.folder),
        kept=picked.kept,
        redone=picked.redone,
        to_do=picked.to_do,
        notices=notices,
    )


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)
