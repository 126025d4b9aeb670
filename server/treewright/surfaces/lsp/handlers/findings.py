"""Findings as lists, and what the user decides about them."""

import asyncio
from pathlib import Path

from treewright.app.decide import decide as record
from treewright.app.findings import one_finding
from treewright.app.runs import RunView
from treewright.errors import RequestError
from treewright.explore.reports.markdown import node_markdown
from treewright.explore.reports.record import node_record
from treewright.store.decisions import Decision, Decisions
from treewright.store.paths import find_workspace
from treewright.surfaces.lsp.board import Shown
from treewright.surfaces.lsp.fixes import ClientEdits, workspace_edit
from treewright.surfaces.lsp.messages.findings import (
    DecideRequest,
    DecideResult,
    DecisionRow,
    DecisionsRequest,
    DecisionsResult,
    FindingRequest,
    FindingRow,
    FindingsRequest,
    FindingsResult,
    FixResult,
    SpotRange,
)
from treewright.surfaces.lsp.messages.trees import TextResult
from treewright.surfaces.lsp.rendering import severity_of
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import key_of
from treewright.workspace.anchors import AnchorState


async def findings(session: Session, request: FindingsRequest) -> FindingsResult:
    """List what is shown in files."""
    board = session.room.board
    wanted = key_of(request.uri) if request.uri else ""
    rows: list[FindingRow] = []
    hidden = 0
    for key, _ in board.files():
        if wanted and key != wanted:
            continue
        for uri, shown in board.everywhere(key):
            rows += [_row(uri, each) for each in shown]
        hidden += board.counted(key)[1]
    part = rows[request.offset : request.offset + request.limit]
    return FindingsResult(findings=part, total=len(rows), hidden=hidden)


def _row(uri: str, each: Shown) -> FindingRow:
    finding = each.finding
    return FindingRow(
        run=finding.run,
        node=finding.node,
        uri=uri,
        path=finding.path,
        range=SpotRange.model_validate(each.range),
        statement=finding.statement,
        label=finding.label,
        role=finding.role.value,
        severity=severity_of(finding),
        score=finding.total,
        cwe=finding.cwe,
        stale=each.placement.state is AnchorState.STALE,
        fixable=bool(finding.edits),
    )


def client_edits(session: Session) -> ClientEdits:
    """Return what the client can do with a workspace edit."""
    return ClientEdits(
        versioned=bool(session.can("workspace.workspace_edit.document_changes")),
        annotated=bool(
            session.settings.confirm_fixes
            and session.can("workspace.workspace_edit.change_annotation_support")
        ),
        units=session.documents.units,
    )


async def fix(session: Session, request: FindingRequest) -> FixResult:
    """Return a finding's fix as an edit of the present texts."""
    found = _shown(session, request.run, request.node)
    if found is None:
        finding = await asyncio.to_thread(one_finding, session.app.context, request.run, request.node)
        return FixResult(edit=None, title=finding.title, reason="The finding's code is not there any more.")
    finding, placement = found.finding, found.placement
    if not finding.edits:
        return FixResult(edit=None, title=finding.title, reason="The fix is in words only: open the finding.")
    edit = None
    if placement.state is AnchorState.RIGHT:
        edit = workspace_edit(
            finding, session.documents, placement.start - finding.start, client_edits(session)
        )
    reason = "" if edit else "The code that the fix replaces was changed since."
    return FixResult(edit=edit, title=finding.title, reason=reason)


def _shown(session: Session, run: str, node: str) -> Shown | None:
    board = session.room.board
    for key, _ in board.files():
        for _, shown in board.everywhere(key):
            for each in shown:
                if each.finding.run.startswith(run) and each.finding.node == node:
                    return each
    return None


async def issue(session: Session, request: FindingRequest) -> TextResult:
    """Return a finding as the text of an issue."""
    view = await session.room.views.get(request.run)
    await asyncio.to_thread(view.row, request.node)
    return await asyncio.to_thread(
        view.with_view, lambda looked: TextResult(text=_issue(looked, request.node))
    )


def _issue(view: RunView, node: str) -> str:
    record_ = node_record(view.preset, view.reader, view.reader.tree.nodes[node])
    text = node_markdown(record_, level=1)
    rest = text.partition("\n")[2]
    started = view.reader.tree.started
    run = started.run if started else ""
    return f"# {record_.node.statement}\n{rest.rstrip()}\n\nFound by Treewright, run {run}, node {node}.\n"


async def decide(session: Session, request: DecideRequest) -> DecideResult:
    """Record what the user decided, and take the finding away (or bring it back)."""
    if request.decision != "reopened" and not request.reason.strip():
        raise RequestError("reason_missing", "A decision needs a reason.", "Say why in a few words.")
    _, note = await asyncio.to_thread(
        record, session.app.context, request.run, request.node, request.decision, request.reason
    )
    session.room.board.reload(hurry=True)
    return DecideResult(note=note)


async def decisions(session: Session, request: DecisionsRequest) -> DecisionsResult:
    """List what was decided in the client's folders."""
    del request  # it says nothing
    found = await asyncio.to_thread(_decisions, session)
    found.sort(key=lambda pair: pair[1].at, reverse=True)
    return DecisionsResult(
        decisions=[
            DecisionRow(
                workspace=str(workspace),
                path=each.path,
                rule=each.rule,
                symbol=each.symbol,
                quote=each.quote,
                decision=each.verdict,
                reason=each.reason,
                at=each.at,
            )
            for workspace, each in found
        ]
    )


def _decisions(session: Session) -> list[tuple[Path, Decision]]:
    folder = session.app.context.configuration().root.decisions
    workspaces = {find_workspace(each) for each in session.folders.values()} | set(session.folders.values())
    return [(w, each) for w in sorted(workspaces) for each in Decisions(folder, w).all().values()]
