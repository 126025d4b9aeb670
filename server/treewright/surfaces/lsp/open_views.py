"""Trees that the client looks at: kept open while they are in use, the longest unused let go."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from treewright.app.views import Grown, TreeView
from treewright.errors import StoreError, TreewrightError

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

KEPT = 4
"""Trees kept in memory; one of 100,000 nodes takes some 60 MB."""
SETTLE_S = 1.0
"""How long a tree that is looked at by its kept rows is left alone before it is folded, so that what is asked first is
answered first."""


class OpenViews:
    """Open trees by run id. Used on the loop; what blocks is done in worker threads."""

    def __init__(self, session: "Session") -> None:
        """Nothing is open."""
        self._session = session
        self._views: OrderedDict[str, TreeView] = OrderedDict()
        self._opening: dict[str, asyncio.Future[TreeView]] = {}
        self._folding: set[str] = set()

    def has(self, run: str) -> bool:
        """Tell whether a run is open."""
        return run in self._views

    def current(self) -> list[str]:
        """Return the open runs."""
        return list(self._views)

    async def get(self, reference: str) -> TreeView:
        """Return a run's tree as it is now.

        Raises:
            RunError: it cannot be found.
            StoreError: it cannot be read.
        """
        view = self._views.get(reference) or await self._opened(reference)
        self._views.move_to_end(view.run)
        if view.partial:
            self._complete(view)
            return view
        try:
            await asyncio.to_thread(view.grow)
        except StoreError:  # recovered or replaced meanwhile: another file
            self.forget(view.run)
            view = await self._opened(view.run)
        return view

    async def grow(self, run: str) -> Grown | None:
        """Read on in an open run; None when it is not open or had to be opened anew."""
        view = self._views.get(run)
        if view is None:
            return None
        if view.partial:
            self._complete(view)
        try:
            return await asyncio.to_thread(view.grow)
        except StoreError:
            self.forget(run)
            return None

    def forget(self, run: str) -> None:
        """Let a run go."""
        if self._views.pop(run, None) is not None:
            self._session.room.changes.unfollow(run)

    def _complete(self, view: TreeView) -> None:
        """Have a tree folded beside everything else, and tell if that shows more than its kept rows."""
        if view.run not in self._folding:
            self._folding.add(view.run)
            self._session.spawn(self._fold(view), "folding a tree")

    async def _fold(self, view: TreeView) -> None:
        try:
            await asyncio.sleep(0 if view.late else SETTLE_S)
            await asyncio.to_thread(view.complete)
        except TreewrightError as fault:
            self._session.warn(f"the run {view.run} cannot be read: {fault.message}")
            self.forget(view.run)
        finally:
            self._folding.discard(view.run)
            self._session.room.changes.poke(view.run)

    async def _opened(self, reference: str) -> TreeView:
        flight = self._opening.get(reference)
        if flight is None:
            where = self._session.room.jobs.folder(reference) or reference
            flight = asyncio.ensure_future(
                asyncio.to_thread(TreeView, self._session.app.context, where, late=True)
            )
            self._opening[reference] = flight
            flight.add_done_callback(lambda _: self._opening.pop(reference, None))
        view = await asyncio.shield(flight)
        kept = self._views.setdefault(view.run, view)
        self._session.room.changes.follow(view.run, view.folder)
        while len(self._views) > KEPT:
            gone = next(iter(self._views))
            self.forget(gone)
        return kept
