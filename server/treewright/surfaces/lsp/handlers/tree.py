"""Pages of a tree, nodes, and the map of the whole."""

import asyncio
from pathlib import Path
from typing import Any

from treewright.app.looking import look_at_other
from treewright.app.other_rows import other_page
from treewright.app.rows import NodeFilter, Page
from treewright.app.runs import RunView
from treewright.explore.reports.markdown import field_text, node_markdown, one_line
from treewright.explore.reports.record import NodeRecord, node_record
from treewright.surfaces.lsp.messages.trees import (
    ChildrenRequest,
    ChildrenResult,
    CitationRow,
    CompareRequest,
    Located,
    MapRequest,
    MapResult,
    NodeRequest,
    NodeResult,
    TextResult,
)
from treewright.surfaces.lsp.rows import node_line
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import to_uri, virtual_uri
from treewright.tree.citation import CheckedCitation
from treewright.tree.run import Role


async def children(session: Session, request: ChildrenRequest) -> ChildrenResult:
    """Return a page of a node's children, or of all nodes that match."""
    wanted = NodeFilter(
        states=frozenset(request.filter.states),
        framings=frozenset(request.filter.framings),
        text=request.filter.text,
    )
    if not session.room.views.has(request.run):
        other = await asyncio.to_thread(_other_page, session, request, wanted)
        if other is not None:
            return _children(request.run, request.node, other)
    view = await session.room.views.get(request.run)
    if request.flat:
        page = await asyncio.to_thread(view.matching, wanted, request.sort, request.offset, request.limit)
    else:
        page = await asyncio.to_thread(
            view.children, request.node, wanted, request.sort, request.offset, request.limit
        )
    return _children(view.run, request.node, page)


def _other_page(session: Session, request: ChildrenRequest, wanted: NodeFilter) -> Page | None:
    """Return a page of a search or a session; None for an exploration."""
    look = look_at_other(session.app.context, session.room.jobs.folder(request.run) or request.run)
    if look is None:
        return None
    return other_page(look, request.node, wanted, request.offset, request.limit, flat=request.flat)


def _children(run: str, node: str, page: Page) -> ChildrenResult:
    return ChildrenResult(
        run=run,
        node=node,
        rows=[node_line(row) for row in page.rows],
        total=page.total,
        offset=page.offset,
        revision=page.revision,
    )


async def node(session: Session, request: NodeRequest) -> NodeResult:
    """Return one node with everything there is about it."""
    view = await session.room.views.get(request.run)
    row = await asyncio.to_thread(view.row, request.node)
    record: NodeRecord = await asyncio.to_thread(view.with_view, lambda looked: _record(looked, request.node))
    workspace = await asyncio.to_thread(view.with_view, _workspace)
    return NodeResult(
        line=node_line(row),
        uri=virtual_uri(view.run, "node", f"{row.id}.md"),
        markdown=node_markdown(record, level=1),
        fields=record.fields,
        scores=record.scores,
        reasons=list(record.node.reasons),
        citations=[_citation(each, workspace) for each in (*record.citations, *record.external)],
        children=record.node.children,
        edits=len(record.edits),
    )


def _record(view: RunView, node_id: str) -> NodeRecord:
    return node_record(view.preset, view.reader, view.reader.tree.nodes[node_id])


def _workspace(view: RunView) -> str:
    started = view.reader.tree.started
    return started.root.workspace if started else ""


def _citation(checked: CheckedCitation, workspace: str) -> CitationRow:
    citation = checked.citation
    location = None
    if citation.kind == "file" and workspace:
        location = Located(
            uri=to_uri(Path(workspace) / citation.path),
            path=citation.path,
            start=citation.start,
            end=max(citation.start, citation.end),
        )
    return CitationRow(
        kind=citation.kind,
        label=citation.label(),
        state=checked.state.value,
        field=citation.field,
        quote=citation.quote,
        reason=checked.reason,
        location=location,
    )


async def map_rows(session: Session, request: MapRequest) -> MapResult:
    """Return the whole tree as columns."""
    view = await session.room.views.get(request.run)
    columns = await asyncio.to_thread(view.columns, request.limit)
    return MapResult.model_construct(
        run=view.run,
        subject=view.preset.subject_label,
        labels={role.value: view.preset.label(role) for role in Role},
        id=columns["id"],
        parent=columns["parent"],
        state=columns["state"],
        score=columns["total"],
        statement=columns["statement"],
        total=view.size,
        revision=view.revision,
    )


async def compare(session: Session, request: CompareRequest) -> TextResult:
    """Return two nodes side by side, field by field."""
    view = await session.room.views.get(request.run)
    for each in (request.left, request.right):
        await asyncio.to_thread(view.row, each)

    def look(looked: RunView) -> tuple[NodeRecord, NodeRecord]:
        return _record(looked, request.left), _record(looked, request.right)

    left, right = await asyncio.to_thread(view.with_view, look)
    return TextResult(text=_compared(left, right))


def _compared(left: NodeRecord, right: NodeRecord) -> str:
    rows: list[tuple[str, Any, Any]] = [
        ("verdict", left.state, right.state),
        ("sum", left.node.total, right.node.total),
        *((key, left.scores.get(key, ""), right.scores.get(key, "")) for key in left.scores | right.scores),
    ]
    parts = [f"# {left.id} and {right.id}", "", f"| | {left.id} | {right.id} |", "| --- | --- | --- |"]
    parts += [f"| {name} | {one_line(str(a))} | {one_line(str(b))} |" for name, a, b in rows]
    for name in left.fields | right.fields:
        a, b = left.fields.get(name, ""), right.fields.get(name, "")
        parts += ["", f"## {name}", ""]
        if a == b:
            parts += ["The same in both.", "", field_text(a)]
        else:
            parts += [f"**{left.id}**", "", field_text(a), "", f"**{right.id}**", "", field_text(b)]
    return "\n".join(parts).rstrip() + "\n"
