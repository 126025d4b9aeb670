"""Work-done progress: shown where the client shows it, cancelled where the user cancels it."""

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

BETWEEN_S = 0.25
"""Reports come at most four times a second: more is only work for the client."""


class WorkDone:
    """One operation's progress. Used on the loop only."""

    def __init__(self, session: "Session", token: str | int | None, title: str) -> None:
        """Prepare; nothing is shown before `begin`.

        Args:
            session: the client's.
            token: the request's own token; None to make one, where the client takes it.
            title: what goes on.
        """
        self._session = session
        self._token = token
        self._title = title
        self._shown = False
        self._over = False
        self._last = 0.0

    async def begin(self, cancel: Callable[[], Any]) -> None:
        """Show it, and have `cancel` called when the user cancels."""
        if self._token is None:
            if not self._session.can("window.work_done_progress"):
                return
            self._token = f"treewright-{secrets.token_hex(4)}"
            try:
                await self._session.ask("window/workDoneProgress/create", {"token": self._token})
            except JsonRpcException:
                return
        if self._over:
            return
        self._session.cancels[self._token] = cancel
        self._shown = True
        self._tell({"kind": "begin", "title": self._title, "cancellable": True})

    def report(self, message: str) -> None:
        """Say how it stands."""
        now = time.monotonic()
        if self._shown and now - self._last >= BETWEEN_S:
            self._last = now
            self._tell({"kind": "report", "message": message, "cancellable": True})

    def end(self, message: str = "") -> None:
        """Take it away; may be called twice."""
        self._over = True
        if self._shown:
            self._shown = False
            self._tell({"kind": "end", "message": message} if message else {"kind": "end"})
            if self._token is not None:
                self._session.cancels.pop(self._token, None)

    def _tell(self, value: dict[str, Any]) -> None:
        self._session.tell("$/progress", {"token": self._token, "value": value})
