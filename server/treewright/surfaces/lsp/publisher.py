"""Diagnostics to the client: sent, or kept until asked for; never both (surfaces, 2)."""

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

Diagnostics = list[dict[str, Any]]


class Publisher:
    """What the client shows of each file, by source. Used on the loop."""

    def __init__(self, session: "Session") -> None:
        """Nothing is shown."""
        self._session = session
        self._parts: dict[str, dict[str, Diagnostics]] = {}
        self._uris: dict[str, str] = {}
        self._sent: dict[str, tuple[str, Diagnostics]] = {}
        self._stale_pull = False
        self._refreshing = False

    def put(
        self, key: str, uri: str, source: str, diagnostics: Diagnostics, version: int | None = None
    ) -> None:
        """Set what one source has to say about a document; an empty list takes it back.

        Args:
            key: the document's.
            uri: as the client writes it.
            source: whose diagnostics.
            diagnostics: plain values.
            version: of the open document they are right for.
        """
        parts = self._parts.setdefault(key, {})
        if diagnostics:
            parts[source] = diagnostics
        else:
            parts.pop(source, None)
        if not parts:
            del self._parts[key]
        self._uris[key] = uri
        if self._session.pull:
            self._stale_pull = True
        else:
            self._send(key, uri, version)

    def of(self, key: str) -> Diagnostics:
        """Return everything there is to say about a document."""
        return [each for part in self._parts.get(key, {}).values() for each in part]

    def _send(self, key: str, uri: str, version: int | None) -> None:
        now = self.of(key)
        before = self._sent.get(key)
        if before is not None and before[0] != uri:
            # Another spelling of the same file was used before: what stands there is taken back.
            self._tell(before[0], [], None)
            before = None
        if before is None and not now:
            return
        if before is not None and before[1] == now:
            return
        self._tell(uri, now, version)
        if now:
            self._sent[key] = (uri, now)
        else:
            self._sent.pop(key, None)

    def _tell(self, uri: str, diagnostics: Diagnostics, version: int | None) -> None:
        params: dict[str, Any] = {"uri": uri, "diagnostics": diagnostics}
        if version is not None and self._session.can("text_document.publish_diagnostics.version_support"):
            params["version"] = version
        self._session.tell("textDocument/publishDiagnostics", params)

    # asked for

    def report(self, key: str, previous: str | None) -> dict[str, Any]:
        """Return a document's report; `unchanged` when the client has it already."""
        items = self.of(key)
        result = _digest(items)
        if previous == result:
            return {"kind": "unchanged", "resultId": result}
        return {"kind": "full", "resultId": result, "items": items}

    def workspace_report(self, previous: dict[str, str]) -> list[dict[str, Any]]:
        """Return the reports of all files, and of those that the client still shows something of.

        Args:
            previous: result ids by address, as the client has them.
        """
        from treewright.surfaces.lsp.uris import key_of

        known = {key_of(uri): (uri, result) for uri, result in previous.items()}
        reports = []
        for key in dict.fromkeys([*self._parts, *known]):
            uri, result = known.get(key, (self._uris.get(key, ""), None))
            document = self._session.documents.by_key(key)
            report = self.report(key, result)
            reports.append({**report, "uri": uri, "version": document.version if document else None})
        return reports

    def refresh(self) -> None:
        """Have the client ask again, once, when something changed that it cannot know of."""
        if self._stale_pull and self._session.pull and not self._refreshing:
            self._refreshing = True
            self._session.spawn(self._ask_again(), "refreshing diagnostics")

    async def _ask_again(self) -> None:
        try:
            await asyncio.sleep(0.05)
            self._stale_pull = False
            await self._session.ask("workspace/diagnostic/refresh", None)
        except JsonRpcException:
            return
        finally:
            self._refreshing = False
            self.refresh()


def _digest(items: Diagnostics) -> str:
    encoded = json.dumps(items, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(encoded).hexdigest()[:24]
