"""What works behind a session once the client is ready: settings, open trees, runs, changes, findings."""

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from treewright.surfaces.lsp.board import Board
from treewright.surfaces.lsp.changes import Changes
from treewright.surfaces.lsp.jobs import Jobs
from treewright.surfaces.lsp.messages.events import FindingsChanged, RunChange
from treewright.surfaces.lsp.open_views import OpenViews
from treewright.surfaces.lsp.publisher import Publisher
from treewright.surfaces.lsp.rendering import Look
from treewright.surfaces.lsp.settings import EditorSettings, read_settings
from treewright.surfaces.lsp.virtual import Virtual
from treewright.surfaces.lsp.written import Written
from treewright.tree.run import Status

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

POLL_S = 1.0
"""How often files with findings are looked at when the client does not tell of changes."""


class EngineRoom:
    """Everything beyond the protocol.

    Attributes:
        settings: the editor's, as they are now.
        jobs: runs driven here.
        views: trees looked at.
        changes: looks for changes and tells them.
        publisher: brings diagnostics to the client.
        board: findings and where they are.
        written: checks files of ours while they are written.
        virtual: serves `treewright:` documents.
    """

    def __init__(self, session: "Session") -> None:
        """Take the client's options."""
        self._session = session
        self._told = (0, 0)
        self.settings, faults = read_settings(session.options, EditorSettings())
        self._complain(faults)
        self.jobs = Jobs(session)
        self.views = OpenViews(session)
        self.changes = Changes(session)
        self.publisher = Publisher(session)
        self.board = Board(session, _look(session))
        self.written = Written(session)
        self.virtual = Virtual(session)

    async def begin(self) -> None:
        """Begin to look for changes and to show findings."""
        self._session.spawn(self.changes.run(), "following runs")
        self._session.spawn(self.board.run(), "reading findings")
        self.board.reload()
        self.written.home = self._session.app.context.configuration().root.folder
        for document in self._session.documents:
            self.written.opened(document)
        await self.virtual.offer()
        if not await self._watch_files():
            self._session.spawn(self._poll_files(), "looking at files")

    async def close(self) -> None:
        """Stop the runs driven here."""
        await self.jobs.close()

    def configure(self, given: Any) -> None:
        """Take changed settings."""
        before = self.settings
        self.settings, faults = read_settings(given, before)
        self._complain(faults)
        if before.editor_model != self.settings.editor_model:
            self._session.renew_app()
        self.board.publish_all()

    def folders_changed(self) -> None:
        """The workspace folders are others now."""
        self.board.reload()

    def runs_changed(self, changes: list[RunChange]) -> None:
        """Runs have changed, here or elsewhere."""
        ours = [change for change in changes if change.row is None or change.row.kind == "exploration"]
        if ours:
            ended = any(change.row is None or change.row.status != Status.GROWING.value for change in ours)
            self.board.reload(hurry=ended)
        self.virtual.changed(changes)

    def findings_changed(self) -> None:
        """Tell the client how many findings there are now."""
        counts = [self.board.counted(key) for key, _ in self.board.files()]
        told = (sum(shown for shown, _ in counts), sum(hidden for _, hidden in counts))
        if told != self._told:
            self._told = told
            message = FindingsChanged(shown=told[0], hidden=told[1])
            self._session.tell("treewright/findingsChanged", message.model_dump(mode="json", by_alias=True))

    async def _watch_files(self) -> bool:
        """Have the client tell of files that change on the disk; False when it cannot."""
        if not self._session.can("workspace.did_change_watched_files.dynamic_registration"):
            return False
        watcher = {"watchers": [{"globPattern": "**/*"}]}
        registration = {
            "id": "files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": watcher,
        }
        try:
            await self._session.ask("client/registerCapability", {"registrations": [registration]})
        except JsonRpcException as refusal:
            self._session.warn(f"the client does not watch files: {refusal}")
            return False
        return True

    async def _poll_files(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            await self.board.poll()

    def _complain(self, faults: list[str]) -> None:
        if faults:
            self._session.show("Treewright settings: " + "; ".join(faults) + ".", types.MessageType.Warning)


def _look(session: "Session") -> Look:
    tags = session.can("text_document.publish_diagnostics.tag_support")
    pulled = session.can("text_document.diagnostic")
    struck = bool(tags and types.DiagnosticTag.Deprecated in tags.value_set) or bool(session.pull and pulled)
    shows = session.can("text_document.publish_diagnostics.related_information")
    asked = session.can("text_document.diagnostic.related_document_support")
    return Look(
        struck=struck,
        related=bool(shows or (session.pull and asked)),
        linked=bool(
            session.can("text_document.publish_diagnostics.code_description_support") or session.pull
        ),
        units=session.documents.units,
        language=session.language,
    )
