"""What works behind a session once the client is ready: settings, open trees, runs, changes, findings."""

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from treewright.surfaces.lsp.changes import Changes
from treewright.surfaces.lsp.jobs import Jobs
from treewright.surfaces.lsp.open_views import OpenViews
from treewright.surfaces.lsp.settings import EditorSettings, read_settings

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session


class EngineRoom:
    """Everything beyond the protocol.

    Attributes:
        settings: the editor's, as they are now.
        jobs: runs driven here.
        views: trees looked at.
        changes: looks for changes and tells them.
    """

    def __init__(self, session: "Session") -> None:
        """Take the client's options."""
        self._session = session
        self.settings, faults = read_settings(session.options, EditorSettings())
        self._complain(faults)
        self.jobs = Jobs(session)
        self.views = OpenViews(session)
        self.changes = Changes(session)

    async def open(self) -> None:
        """Begin to look for changes."""
        self._session.spawn(self.changes.run(), "following runs")

    async def close(self) -> None:
        """Stop the runs driven here."""
        await self.jobs.close()

    def configure(self, given: Any) -> None:
        """Take changed settings."""
        self.settings, faults = read_settings(given, self.settings)
        self._complain(faults)

    def folders_changed(self) -> None:
        """The workspace folders are others now."""

    async def runs_changed(self, runs: list[str]) -> None:
        """Runs have changed, here or elsewhere."""

    def _complain(self, faults: list[str]) -> None:
        if faults:
            self._session.show("Treewright settings: " + "; ".join(faults) + ".", types.MessageType.Warning)
