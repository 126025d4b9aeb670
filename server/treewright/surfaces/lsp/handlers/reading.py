"""Hover, code lenses, links and symbols: on flagged lines and in node documents."""

from typing import Any

from lsprotocol import types

from treewright.app.findings import Finding
from treewright.explore.reports.inert import inert
from treewright.explore.reports.markdown import one_line
from treewright.surfaces.lsp.actions import TITLES, command_for
from treewright.surfaces.lsp.board import Shown
from treewright.surfaces.lsp.documents import Document
from treewright.surfaces.lsp.handlers.writing import hover_key
from treewright.surfaces.lsp.node_document import links, symbols
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import VIRTUAL, scheme_of, virtual_parts, virtual_uri
from treewright.workspace.anchors import AnchorState

_EVENT = 24
_LONGEST = 1200


async def hover(session: Session, params: types.HoverParams) -> dict[str, Any] | None:
    """Say what is known of the flagged code, or of the key, at a place."""
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return None
    await session.ready.wait()
    at = (params.position.line, params.position.character)
    fits = [each for each in session.room.board.shown(document) if _holds(each.range, at)]
    if not fits:
        return await hover_key(session, document, params.position)
    text = "\n\n---\n\n".join(_about(session, each) for each in fits[:5])
    return {"contents": {"kind": "markdown", "value": text}, "range": fits[0].range}


def _about(session: Session, each: Shown) -> str:
    finding = each.finding
    link = virtual_uri(finding.run, "node", f"{finding.node}.md")
    parts = [
        f"**{finding.label}** [{finding.node}]({link}) {finding.cwe}".rstrip(),
        one_line(finding.statement),
    ]
    if each.placement.state is AnchorState.STALE:
        told = session.say("The code was changed since; it is looked at again when the file is saved.")
        parts.append(f"*{told}*")
    for title, text in ((session.say("Cause"), finding.cause), (session.say("Fix"), finding.fix)):
        if text:
            parts.append(f"**{title}**: {inert(text[:_LONGEST])}")
    return "\n\n".join(parts)


def _holds(range_: dict[str, dict[str, int]], at: tuple[int, int]) -> bool:
    start, end = range_["start"], range_["end"]
    return (start["line"], start["character"]) <= at <= (end["line"], end["character"])


async def code_lens(session: Session, params: types.CodeLensParams) -> list[dict[str, Any]]:
    """Put a line above flagged code, and the actions of a node above its document."""
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return []
    await session.ready.wait()
    if scheme_of(document.uri) == VIRTUAL:
        return _node_lenses(session, document)
    board = session.room.board
    lenses = [_lens(session, each) for each in board.shown(document)]
    hidden = board.counted(document.notebook or document.key)[1]
    if hidden and lenses:
        top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        title = session.say("Treewright: {0} more findings in this file are not shown", hidden)
        lenses.append({"range": top, "command": {"title": title, "command": ""}})
    return lenses


def _lens(session: Session, each: Shown) -> dict[str, Any]:
    finding = each.finding
    title = f"{finding.label} {finding.node}: {_short(finding)}"
    return {"range": each.range, "command": command_for(session, "open", finding.run, finding.node, title)}


def _short(finding: Finding) -> str:
    text = finding.title or finding.statement
    return text if len(text) <= 80 else text[:79] + "…"  # one line above the code, not a paragraph


def _node_lenses(session: Session, document: Document) -> list[dict[str, Any]]:
    parts = virtual_parts(document.uri)
    if not parts or parts[1] != "node":
        return []
    run, node = parts[0], parts[-1].removesuffix(".md")
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    return [
        {"range": top, "command": command_for(session, kind, run, node, session.say(TITLES[kind]))}
        for kind in ("deeper", "issue")
    ]


async def document_link(session: Session, params: types.DocumentLinkParams) -> list[dict[str, Any]]:
    """Link a node document to its parent, children and citations."""
    document = session.documents.get(params.text_document.uri)
    parts = virtual_parts(document.uri) if document else None
    if document is None or not parts:
        return []
    await session.ready.wait()
    view = await session.room.views.get(parts[0])
    started = view.with_view(lambda looked: looked.reader.tree.started)
    workspace = started.root.workspace if started else ""
    return links(document.index, parts[0], workspace, session.documents.units)


async def document_symbol(session: Session, params: types.DocumentSymbolParams) -> list[dict[str, Any]]:
    """Return a node document's fields, or a file's findings."""
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return []
    await session.ready.wait()
    if scheme_of(document.uri) == VIRTUAL:
        return symbols(document.index)
    return [
        {
            "name": f"{each.finding.label} {each.finding.node}",
            "detail": _short(each.finding),
            "kind": _EVENT,
            "range": each.range,
            "selectionRange": each.range,
        }
        for each in session.room.board.shown(document)
    ]
