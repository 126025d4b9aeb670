"""Code actions on findings."""

import asyncio
from typing import Any

from lsprotocol import types

from treewright.surfaces.lsp.actions import TITLES, command_for
from treewright.surfaces.lsp.board import Shown
from treewright.surfaces.lsp.documents import Document
from treewright.surfaces.lsp.fixes import has_fix, workspace_edit
from treewright.surfaces.lsp.handlers.findings import client_edits
from treewright.surfaces.lsp.session import Session
from treewright.workspace.anchors import AnchorState

_KIND = "quickfix"
MOST = 10
"""Findings at one place that actions are offered for; a lightbulb with a hundred entries helps nobody."""


async def code_action(session: Session, params: types.CodeActionParams) -> list[dict[str, Any]]:
    """Offer what can be done about the findings in a range."""
    document = session.documents.get(params.text_document.uri)
    only = params.context.only
    if document is None or (only and not any(k == _KIND or _KIND.startswith(f"{k}.") or not k for k in only)):
        return []
    await session.ready.wait()
    wanted = (
        (params.range.start.line, params.range.start.character),
        (params.range.end.line, params.range.end.character),
    )
    fits = [each for each in session.room.board.shown(document) if _overlaps(each, wanted)][:MOST]
    found: list[dict[str, Any]] = []
    for each in fits:
        found += await _actions(session, document, each)
    return found


async def _actions(session: Session, document: Document, each: Shown) -> list[dict[str, Any]]:
    finding = each.finding
    shown = session.room.board.diagnostic(document, each)
    found: list[dict[str, Any]] = []
    moved = each.placement.start - finding.start
    if each.placement.state is AnchorState.RIGHT and has_fix(finding, document, moved):
        edit = await asyncio.to_thread(
            workspace_edit, finding, session.documents, moved, client_edits(session)
        )
        if edit is not None:
            title = finding.title or finding.statement
            found.append(
                {
                    "title": session.say("Fix: {0}", title),
                    "kind": _KIND,
                    "diagnostics": [shown],
                    "isPreferred": True,
                    "edit": edit,
                }
            )
    for kind, title in TITLES.items():
        if kind == "search" and not session.settings.trusted:
            continue
        named = f"{session.say(title)} ({finding.node})"
        command = command_for(session, kind, finding.run, finding.node, named)
        found.append({"title": command["title"], "kind": _KIND, "diagnostics": [shown], "command": command})
    return found


def _overlaps(each: Shown, wanted: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    start = (each.range["start"]["line"], each.range["start"]["character"])
    end = (each.range["end"]["line"], each.range["end"]["character"])
    return start <= wanted[1] and wanted[0] <= end
