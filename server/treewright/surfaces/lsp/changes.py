"""Telling the client what changed: own runs and other processes', gathered, at most ten notices a second."""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from treewright.app.watch import DecisionsWatch, Follower
from treewright.errors import StoreError
from treewright.store.index import IndexEntry
from treewright.surfaces.lsp.messages.events import RunChange, RunChanged
from treewright.surfaces.lsp.rows import run_row

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

logger = logging.getLogger(__name__)

_READ_WHOLE = ("search", "deliberation")
"""Kinds whose rows are read anew each time, so that nobody knows which of them changed."""
LOOK_S = 0.3
"""How often it is looked for what other processes did; each must see the other within a second (surfaces, 5)."""
BETWEEN_S = 0.1
"""At most ten notices a second (surfaces, 2)."""


class Changes:
    """Looks for changes and tells them. Used on the loop."""

    def __init__(self, session: "Session") -> None:
        """Prepare; `run` does the work."""
        self._session = session
        self._follower: Follower | None = None
        self._decisions: DecisionsWatch | None = None
        self._wanted: dict[str, Path] = {}
        self._wake = asyncio.Event()
        self._poked: set[str] = set()

    @property
    def entries(self) -> dict[str, IndexEntry]:
        """The index as last seen."""
        return self._follower.entries if self._follower else {}

    def follow(self, run: str, folder: Path) -> None:
        """Look at a run's journal whatever its status."""
        self._wanted[run] = folder
        if self._follower:
            self._follower.follow(run, folder)

    def unfollow(self, run: str) -> None:
        """Look at a run only while it grows."""
        self._wanted.pop(run, None)
        if self._follower:
            self._follower.unfollow(run)

    def poke(self, run: str) -> None:
        """Say that a run of ours has changed, from the loop."""
        self._poked.add(run)
        self._wake.set()

    async def run(self) -> None:
        """Look and tell until cancelled."""
        self._follower = await asyncio.to_thread(Follower, self._session.app.context)
        self._decisions = await asyncio.to_thread(DecisionsWatch, self._session.app.context)
        for run, folder in self._wanted.items():
            self._follower.follow(run, folder)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), LOOK_S)
            self._wake.clear()
            try:
                await self._round()
            except StoreError as fault:
                logger.warning("the runs cannot be followed: %s", fault.message)
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(BETWEEN_S)

    async def _round(self) -> None:
        assert self._follower is not None
        poked, self._poked = self._poked, set()
        found = {change.run: change for change in await asyncio.to_thread(self._follower.look)}
        decisions = self._decisions
        if decisions is not None and await asyncio.to_thread(decisions.changed):
            self._session.room.board.reload(hurry=True)
        told = []
        for run in {*found, *poked}:
            change = found.get(run)
            gone = change is not None and change.kind == "gone"
            entry = change.entry if change else self.entries.get(run)
            told.append(await self._change(run, None if gone else entry))
        if told:
            message = RunChanged(changes=told)
            self._session.tell("treewright/runChanged", message.model_dump(mode="json", by_alias=True))
            self._session.room.runs_changed(told)

    async def _change(self, run: str, entry: IndexEntry | None) -> RunChange:
        grown = await self._session.room.views.grow(run)
        jobs = self._session.room.jobs
        row = await asyncio.to_thread(run_row, entry, jobs.drives(run)) if entry else None
        return RunChange(
            run=run,
            row=row,
            nodes=sorted(grown.nodes) if grown else [],
            many=grown.many if grown else entry is not None and entry.kind in _READ_WHOLE,
            revision=grown.revision if grown else 0,
            in_flight=jobs.in_flight(run),
        )
