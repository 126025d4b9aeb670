"""Runs and nodes as documents."""

import asyncio
from pathlib import Path, PurePath

from lsprotocol import types

from treewright.app.chains import REPORT as CHAIN_REPORT
from treewright.app.looking import Look, kind_of, look_at
from treewright.app.runs import RunView, find_run
from treewright.errors import RequestError
from treewright.explore.reports.deliverables import deliverables
from treewright.explore.reports.markdown import tree_markdown
from treewright.regular import LARGEST_STORED, read_regular_text
from treewright.surfaces.lsp.messages.catalogue import DocumentRequest, ReportRequest
from treewright.surfaces.lsp.messages.trees import TextResult
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import virtual_parts


async def report(session: Session, request: ReportRequest) -> TextResult:
    """Return a run as a document."""
    other = await asyncio.to_thread(_other, session, request.run)
    if other is not None:
        return TextResult(text=await asyncio.to_thread(_other_text, other, request.name))
    view = await session.room.views.get(request.run)
    return await asyncio.to_thread(view.with_view, lambda looked: _text(looked, request.name))


def _other(session: Session, run: str) -> Look | Path | None:
    """Return a session or a search to look at, or a chain's report; None for an exploration."""
    context = session.app.context
    found = find_run(context, run)
    if found.entry is not None and found.entry.kind == "chain":
        return found.folder / CHAIN_REPORT
    if kind_of(context, run) == "exploration":
        return None
    return look_at(context, run)


def _other_text(other: Look | Path, name: str) -> str:
    stem = PurePath(name).stem
    if stem == "report":
        return read_regular_text(other, LARGEST_STORED) if isinstance(other, Path) else other.report()
    if stem == "tree" and not isinstance(other, Path):
        return other.outline()
    raise RequestError("document_not_found", f"The run has no document {name!r}.", "It has: report.")


def _text(view: RunView, name: str) -> TextResult:
    stem = PurePath(name).stem if name.endswith((".md", ".json")) else name
    if stem.lower() == "report":
        return TextResult(text=view.report())
    if stem == "tree":
        tree = view.reader.tree
        title = tree.root.statement or view.preset.name
        return TextResult(text="".join(tree_markdown(tree, view.preset, view.reader, title)))
    if stem in ("sarif", "findings.sarif"):
        return TextResult(text=view.sarif(), language="json")
    for file, pieces in deliverables(view.reader.tree, view.preset, view.reader):
        if file in (name, f"{name}.md"):
            return TextResult(text="".join(pieces))
    known = [
        "report",
        "tree",
        "sarif",
        *(file for file, _ in deliverables(view.reader.tree, view.preset, view.reader)),
    ]
    raise RequestError(
        "document_not_found", f"The run has no document {name!r}.", f"It has: {', '.join(known)}."
    )


async def document(session: Session, request: DocumentRequest) -> TextResult:
    """Return the text of a `treewright:` address: `treewright:/run/<id>/node/<node>.md` or `.../<document>.md`."""
    parts = virtual_parts(request.uri)
    if parts is None:
        raise RequestError("document_not_found", f"{request.uri} is no address of ours.")
    run, *rest = parts
    other = await asyncio.to_thread(_other, session, run)
    if other is not None and not (isinstance(other, Path) or len(rest) != 2 or rest[0] != "node"):
        return TextResult(text=await asyncio.to_thread(other.node_markdown, rest[1].removesuffix(".md")))
    if other is not None:
        return TextResult(text=await asyncio.to_thread(_other_text, other, "/".join(rest)))
    view = await session.room.views.get(run)
    if len(rest) == 2 and rest[0] == "node":
        wanted = rest[1].removesuffix(".md")
        return TextResult(
            text=await asyncio.to_thread(view.with_view, lambda looked: looked.node_markdown(wanted))
        )
    return await asyncio.to_thread(view.with_view, lambda looked: _text(looked, "/".join(rest)))


async def content(session: Session, params: types.TextDocumentContentParams) -> dict[str, str]:
    """Serve a virtual document to a client that reads it from the server, and keep it live."""
    await session.ready.wait()
    result = await document(session, DocumentRequest(uri=params.uri))
    session.room.virtual.served(params.uri)
    return {"text": result.text}
