"""Runs and their figures."""

import asyncio
from pathlib import Path

from treewright.app.views import TreeView
from treewright.store.index import IndexEntry
from treewright.surfaces.lsp.messages.runs import (
    Condition,
    RunRequest,
    RunResult,
    RunsRequest,
    RunsResult,
    Verdict,
)
from treewright.surfaces.lsp.places import as_path
from treewright.surfaces.lsp.rows import run_row
from treewright.surfaces.lsp.session import Session
from treewright.tree.run import Role

EVERYWHERE = "*"


async def runs(session: Session, request: RunsRequest) -> RunsResult:
    """List runs and sessions, the latest first."""
    entries = await asyncio.to_thread(_entries, session, request.workspace)
    part = entries[request.offset : request.offset + request.limit]
    jobs = session.room.jobs
    rows = await asyncio.to_thread(lambda: [run_row(entry, jobs.drives(entry.id)) for entry in part])
    return RunsResult(runs=rows, total=len(entries))


def _entries(session: Session, workspace: str) -> list[IndexEntry]:
    if workspace == EVERYWHERE:
        return session.app.runs()
    named = as_path(workspace)
    folders = [named] if named else list(session.folders.values())
    if not folders:
        return session.app.runs()
    found: dict[str, IndexEntry] = {}
    for folder in folders:
        found.update({entry.id: entry for entry in session.app.runs(folder)})
    for entry in session.app.runs():  # sessions have no workspace; runs may be of a folder below or above
        if entry.kind == "deliberation" or any(_concerns(entry, folder) for folder in folders):
            found.setdefault(entry.id, entry)
    return sorted(found.values(), key=lambda entry: entry.updated, reverse=True)


def _concerns(entry: IndexEntry, folder: Path) -> bool:
    if not entry.workspace:
        return False
    own = Path(entry.workspace)
    return own.is_relative_to(folder) or folder.is_relative_to(own)


async def run(session: Session, request: RunRequest) -> RunResult:
    """Return a run's figures."""
    view = await session.room.views.get(request.run)
    entry = session.room.changes.entries.get(view.run)
    driven = session.room.jobs.drives(view.run)
    return await asyncio.to_thread(_figures, view, entry, driven)


def _figures(view: TreeView, known: IndexEntry | None, driven: bool) -> RunResult:
    figures, fresh, damaged, revision = view.figures()
    if known:
        fresh = fresh.model_copy(update={"updated": known.updated})
    counted = figures["verdicts"]
    roles = {role: view.preset.label(role) for role in Role}
    return RunResult(
        row=run_row(fresh, driven),
        reason=figures["reason"],
        performer=figures["performer"],
        language=figures["language"].get("output", "en"),
        subject=view.preset.subject_label,
        nodes=figures["nodes"],
        terminal=figures["terminal"],
        frontier=figures["frontier"],
        verdicts=[
            Verdict(role=role.value, label=label, count=counted[label]) for role, label in roles.items()
        ],
        merged=figures["merged"],
        superseded=figures["superseded"],
        unresolved=figures["unresolved"],
        rounds=len(figures["rounds"]),
        conditions=[
            Condition(number=c["number"], name=c["name"], met=c["met"], figures=c.get("figures", {}))
            for c in figures["conditions"]
        ],
        framings=figures["framings"],
        citations_held=figures["citations"]["held"],
        citations_all=figures["citations"]["all"],
        usd=figures["spend"]["usd"],
        prompt_tokens=figures["spend"]["prompt_tokens"],
        completion_tokens=figures["spend"]["completion_tokens"],
        caps=figures["caps"],
        damaged_lines=damaged,
        revision=revision,
    )
