"""Completion and hover in files of ours while they are written."""

import asyncio
from typing import Any

from lsprotocol import types

from treewright.presets import assist
from treewright.surfaces.lsp.documents import Document
from treewright.surfaces.lsp.session import Session
from treewright.workspace.positions import column_at, units_before

_PROPERTY, _TEXT = 10, 1


def place(session: Session, document: Document, at: types.Position) -> tuple[int, int]:
    """Return a position as line and column from 1, in code points."""
    index = document.index
    if at.line >= len(index):
        return len(index), 1
    return at.line + 1, column_at(index.line(at.line), at.character, session.documents.units) + 1


async def completion(session: Session, params: types.CompletionParams) -> list[dict[str, Any]]:
    """Offer keys, values and headings."""
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return []
    await session.ready.wait()
    kind = session.room.written.kind(document)
    if kind is None:
        return []
    line, column = place(session, document, params.position)
    found = await asyncio.to_thread(assist.complete, kind, document.text, line, column)
    return [_item(session, document, each, line, column, number) for number, each in enumerate(found)]


def _item(
    session: Session, document: Document, each: assist.Suggestion, line: int, column: int, number: int
) -> dict[str, Any]:
    text, units = document.index.line(line - 1), session.documents.units
    start = {"line": line - 1, "character": units_before(text, column - 1 - each.typed, units)}
    end = {"line": line - 1, "character": units_before(text, column - 1, units)}
    return {
        "label": each.label,
        "kind": _PROPERTY if each.insert.endswith((":", ": ")) else _TEXT,
        "detail": each.detail,
        "sortText": f"{number:04d}",
        "filterText": each.label,
        "textEdit": {"range": {"start": start, "end": end}, "newText": each.insert},
    }


async def hover_key(session: Session, document: Document, at: types.Position) -> dict[str, Any] | None:
    """Say what the key at a place is for."""
    kind = session.room.written.kind(document)
    if kind is None:
        return None
    line, column = place(session, document, at)
    said = await asyncio.to_thread(assist.hover, kind, document.text, line, column)
    return {"contents": {"kind": "markdown", "value": said}} if said else None
