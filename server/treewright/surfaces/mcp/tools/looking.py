"""The tools that look at runs and presets, whoever drives them."""

import asyncio
import json
from pathlib import Path
from typing import Any

from treewright.app.rows import NodeFilter
from treewright.app.views import TreeView
from treewright.counted import counted
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done
from treewright.surfaces.mcp.reaching import reached_folder
from treewright.tree.run import Status

_RUNS_TOLD = 20
_PAGE = 30
_PAGE_MOST = 200
_WAIT_MOST_S = 15.0
_LOOK_S = 0.2
_REPORT_MOST = 400_000
"""Characters of the longest document handed over; a longer one is cut, and its file is named."""


async def view_of(call: Call, run: str) -> TreeView:
    """Return a run to look at.

    Raises:
        TreewrightError: it cannot be found or read, or lies outside the roots.
    """
    await reached_folder(call, run)
    return await call.office.view(run)


async def tree_status(call: Call) -> Reply:
    """Say where a run stands, or which runs there are."""
    run = call.get("run")
    if not run:
        return await _runs(call)
    if (other := await _of_another_kind(call, run)) is not None:
        return other
    view = await view_of(call, run)
    if wait := min(call.get("wait_s", 0.0), _WAIT_MOST_S):
        view = await _waited(call, view, wait)
    summary = await call.thread(view.with_view, lambda each: each.summary())
    return _status_reply(view, summary)


async def _of_another_kind(call: Call, run: str) -> Reply | None:
    """Return how a search or a deliberation stands; None for an exploration."""
    app = await call.office.app()
    await call.confinement()  # says where `last` is looked for
    kind = await call.thread(app.kind, run)
    if kind == "search":
        from treewright.surfaces.mcp.tools.searching import search_result

        return await search_result(call)
    if kind == "deliberation":
        found = await call.thread(lambda: app.look(run).summary())
        told = f"A deliberation, {found['status']}. Call next_action with session_id={found['run']}."
        return done(told, "next_action", session_id=found["run"], **found)
    return None


async def _waited(call: Call, view: TreeView, seconds: float) -> TreeView:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        summary = await call.thread(view.with_view, lambda each: each.summary())
        if not summary["driven_by"]:
            break
        await call.report(float(summary["nodes"]), counted(int(summary["nodes"]), "node"))
        await asyncio.sleep(_LOOK_S)
        view = await call.office.view(view.run)
    return view


def _status_reply(view: TreeView, summary: dict[str, Any]) -> Reply:
    status = str(summary["status"])
    driven = str(summary["driven_by"])
    told = f"{status}{'=' + str(summary['reason']) if summary.get('reason') else ''}: {counted(int(summary['nodes']), 'node')}."
    next_tool = "tree_report"
    if status == Status.GROWING.value:
        told += f" Driven by {driven}; look again." if driven else " Nobody drives it: call tree_next."
        next_tool = "tree_status" if driven else "tree_next"
    elif not Status(status).final:
        told += " tree_resume goes on with it."
        next_tool = "tree_resume"
    facts = {
        "run": view.run,
        "folder": str(view.folder),
        **{key: summary[key] for key in _TOLD if key in summary},
        "driven_by": driven,
    }
    return done(told, next_tool, **facts)


_TOLD = (
    "status",
    "reason",
    "preset",
    "nodes",
    "verdicts",
    "conditions",
    "citations",
    "rounds",
    "spend",
    "damaged_lines",
)


async def _runs(call: Call) -> Reply:
    app = await call.office.app()
    confinement = await call.confinement()
    entries = await call.thread(app.runs)
    shown = [entry for entry in entries if entry.kind == "deliberation" or confinement.holds(entry.path)]
    rows = [
        {
            "run": entry.id,
            "kind": entry.kind,
            "status": entry.status,
            "preset": entry.preset,
            "title": entry.title,
            "updated": entry.updated,
        }
        for entry in shown[:_RUNS_TOLD]
    ]
    told = f"{counted(len(shown), 'run')}, the latest first." if shown else "There are no runs yet."
    return done(told, "tree_status" if shown else "tree_start", runs=rows)


async def tree_children(call: Call) -> Reply:
    """List a node's children."""
    view = await view_of(call, call.arguments["run"])
    wanted = _filter(call)
    sort, offset = call.get("sort", "tree"), call.get("offset", 0)
    limit = min(call.get("limit", _PAGE), _PAGE_MOST)
    node = call.get("node", "0")
    if call.get("whole_tree"):
        page = await call.thread(view.matching, wanted, sort, offset, limit)
    else:
        page = await call.thread(view.children, node, wanted, sort, offset, limit)
    rows = [
        {
            "id": row.id,
            "statement": row.statement,
            "label": row.label,
            "score": row.total if row.total >= 0 else None,
            "position": row.position,
            "children": row.children,
        }
        for row in page.rows
    ]
    left = page.total - offset - len(rows)
    told = f"{len(rows)} of {page.total}." + (
        f" The next page has offset={offset + len(rows)}." if left > 0 else ""
    )
    return done(
        told,
        "tree_node" if rows else "tree_status",
        run=view.run,
        node=node,
        rows=rows,
        total=page.total,
        offset=offset,
    )


def _filter(call: Call) -> NodeFilter:
    try:
        return NodeFilter(
            states=frozenset(str(each).strip().casefold() for each in call.get("states", ())),
            framings=frozenset(str(each).strip().upper() for each in call.get("framings", ())),
            text=call.get("text", "")[:500],
        )
    except ValueError as fault:
        shape = "some of advances, kept, pruned, blocked, waiting, merged, superseded, unresolved"
        raise Correction("states", "one of them is no state", shape, "advances, kept") from fault


async def tree_node(call: Call) -> Reply:
    """Read one node."""
    run, node = call.get("run", "last"), call.arguments["node"]
    text, folder, found = await _looked(call, run, lambda each: each.node_markdown(node))
    return done(f"Node {node}.", "tree_children", run=found, node=node, text=_bounded(text, folder))


async def tree_report(call: Call) -> Reply:
    """Read a run's report."""
    form = call.get("format", "markdown")
    text, folder, found = await _looked(call, call.arguments["run"], _FORMS[form])
    told = "The report as it stands." if form != "sarif" else "The findings as SARIF 2.1.0."
    return done(told, "tree_children", run=found, format=form, text=_bounded(text, folder))


async def _looked(call: Call, run: str, look: Any) -> tuple[str, Path, str]:
    """Return what a look at a run of any kind gives, the run's folder, and its id."""
    app = await call.office.app()
    await call.confinement()  # says where `last` is looked for
    if await call.thread(app.kind, run) == "exploration":
        view = await view_of(call, run)
        return await call.thread(view.with_view, look), view.folder, view.run
    folder = await reached_folder(call, run)
    other = await call.thread(app.look, str(folder) if folder.is_dir() else run)
    summary = await call.thread(other.summary)
    return await call.thread(look, other), folder, str(summary["run"])


_FORMS: dict[str, Any] = {
    "markdown": lambda view: view.report(),
    "outline": lambda view: view.outline(),
    "json": lambda view: json.dumps(view.summary(), ensure_ascii=False, indent=1),
    "sarif": lambda view: view.sarif(),
}


def _bounded(text: str, folder: Path) -> str:
    if len(text) <= _REPORT_MOST:
        return text
    return f"{text[:_REPORT_MOST]}\n\n… cut; the whole is in {folder}"


async def list_presets(call: Call) -> Reply:
    """List the presets."""
    app = await call.office.app()
    found = await call.thread(app.presets)
    rows = [
        {"name": each.name, "description": each.description, "source": each.source, "faults": each.faults}
        for each in found
    ]
    return done(f"{counted(len(rows), 'preset')}.", "tree_start", presets=rows)


async def validate_preset(call: Call) -> Reply:
    """Check files of ours."""
    app = await call.office.app()
    paths = []
    if named := call.get("path"):
        path = (await call.confinement()).admit(named)
        if not path.exists():
            raise Correction("path", "there is nothing at it", "the path of a file or folder", "my-preset.md")
        paths = [path]
    report = await call.thread(app.validate, paths)
    faults = [str(fault) for fault in report.faults[:100]]
    told = (
        "No faults."
        if not report.faults
        else f"{counted(report.errors, 'error')}, {counted(len(report.faults) - report.errors, 'warning')}."
    )
    return done(
        told, "list_presets" if not report.errors else "validate_preset", faults=faults, errors=report.errors
    )
