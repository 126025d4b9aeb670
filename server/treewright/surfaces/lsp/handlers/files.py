"""Files as they are saved, renamed, deleted and changed on the disk; diagnostics as they are asked for."""

from pathlib import Path
from typing import Any

from lsprotocol import types

from treewright.errors import TreewrightError
from treewright.surfaces.lsp.handlers import growing
from treewright.surfaces.lsp.messages.runs import StartRequest
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import key_of, to_path, to_uri


async def saved(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    """Check findings against a saved text."""
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return
    session.room.board.saved(document)
    if session.settings.audit_on_save and document.path is not None:
        await _audit(session, document.path)


async def _audit(session: Session, path: Path) -> None:
    """Audit a saved file of a language that is read, unless something runs already: saving again and again must not heap up runs."""
    from treewright.performers.static.languages import is_read

    if not is_read(path) or session.folder_of(path) is None or session.room.jobs.count:
        return
    try:
        await growing.start(session, StartRequest(preset="code-audit", root=to_uri(path), model="static"))
    except TreewrightError as refusal:
        session.warn(f"{path.name} was not audited: {refusal.message}")


async def renamed(session: Session, params: types.RenameFilesParams) -> None:
    """Follow files to their new names."""
    for each in params.files:
        old, new = to_path(each.old_uri), to_path(each.new_uri)
        if old is not None and new is not None:
            session.room.board.moved(old, new)


async def deleted(session: Session, params: types.DeleteFilesParams) -> None:
    """Look at what is left."""
    for each in params.files:
        session.room.board.touched(key_of(each.uri))


async def watched(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    """Look at files again that have changed on the disk."""
    for each in params.changes:
        session.room.board.touched(key_of(each.uri))


async def diagnostic(session: Session, params: types.DocumentDiagnosticParams) -> dict[str, Any]:
    """Answer a client that asks for a document's diagnostics."""
    await session.ready.wait()
    session.room.board.flush()
    return session.room.publisher.report(key_of(params.text_document.uri), params.previous_result_id)


async def workspace_diagnostic(session: Session, params: types.WorkspaceDiagnosticParams) -> dict[str, Any]:
    """Answer a client that asks for all diagnostics."""
    await session.ready.wait()
    session.room.board.flush()
    previous = {each.uri: each.value for each in params.previous_result_ids}
    return {"items": session.room.publisher.workspace_report(previous)}
