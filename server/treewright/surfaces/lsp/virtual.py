"""`treewright:` documents served to clients that read them from a server (`workspace/textDocumentContent`)."""

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from treewright.surfaces.lsp.messages.events import RunChange
from treewright.surfaces.lsp.uris import VIRTUAL, virtual_parts

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

QUIET_S = 0.3
"""Refreshes of one document are gathered this long; the last content wins."""
_MOST = 200


class Virtual:
    """What is served of virtual documents. Used on the loop."""

    def __init__(self, session: "Session") -> None:
        """Nothing is served yet."""
        self._session = session
        self.offered = False
        self._served: dict[str, str] = {}
        self._due: set[str] = set()

    async def offer(self) -> None:
        """Serve the scheme, where the client takes it and the settings do not say otherwise."""
        if not self._session.settings.virtual_documents:
            return
        if not self._session.can("workspace.text_document_content.dynamic_registration"):
            return
        registration = {
            "id": "documents",
            "method": types.WORKSPACE_TEXT_DOCUMENT_CONTENT,
            "registerOptions": {"schemes": [VIRTUAL]},
        }
        try:
            await self._session.ask("client/registerCapability", {"registrations": [registration]})
        except JsonRpcException as refusal:
            self._session.warn(f"the client does not take virtual documents: {refusal}")
            return
        self.offered = True

    def served(self, uri: str) -> None:
        """Remember a document that the client shows."""
        parts = virtual_parts(uri)
        if parts:
            if len(self._served) >= _MOST:
                self._served.pop(next(iter(self._served)))
            self._served[uri] = parts[0]

    def changed(self, changes: list[RunChange]) -> None:
        """Have the client read documents again whose run or node has changed."""
        by_run = {change.run: change for change in changes}
        for uri, run in self._served.items():
            change = by_run.get(run)
            if change is None or uri in self._due:
                continue
            parts = virtual_parts(uri) or []
            node = parts[-1].removesuffix(".md") if parts[1:2] == ["node"] else ""
            if not node or change.many or node in change.nodes:
                self._due.add(uri)
                asyncio.get_running_loop().call_later(QUIET_S, self._refresh, uri)

    def _refresh(self, uri: str) -> None:
        self._due.discard(uri)
        self._session.spawn(self._ask(uri), "refreshing a document")

    async def _ask(self, uri: str) -> None:
        try:
            await self._session.ask(types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, {"uri": uri})
        except JsonRpcException:
            self._served.pop(uri, None)
