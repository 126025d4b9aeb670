"""Runs that this server drives itself: static audits, and explorations with a configured provider."""

import asyncio
import contextlib
from dataclasses import dataclass, field

from treewright.app.driving import Driver
from treewright.app.explorations import Growing, Outcome
from treewright.app.request import Progress
from treewright.errors import TreewrightError
from treewright.tree.event import FramingAnswered, VerdictGiven
from treewright.tree.run import Role

ENDED_MOST = 64
"""Ended runs whose end is remembered, so that a fault of their performer can be told."""


@dataclass(slots=True)
class Driven:
    """A run that is driven here, or was.

    Attributes:
        run: its id.
        driver: drives it.
        settled, advanced, framings: what has come of it since it was begun here.
        in_flight: tasks being performed.
        outcome: how it ended; None before.
        fault: why it ended, when something went wrong.
    """

    run: str
    driver: Driver[Outcome]
    settled: int = 0
    advanced: int = 0
    framings: int = 0
    in_flight: int = 0
    outcome: Outcome | None = None
    fault: TreewrightError | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, told: Progress) -> None:
        """Take what a commit tells."""
        self.in_flight = told.in_flight
        for event in told.events:
            if isinstance(event, VerdictGiven):
                self.settled += 1
                self.advanced += event.role is Role.ADVANCES
            elif isinstance(event, FramingAnswered):
                self.framings += 1

    def told(self) -> tuple[float, str]:
        """Return what progress reports say: work done so far, and one line."""
        done = self.framings + self.settled
        line = f"framings answered: {self.framings}; nodes settled: {self.settled}, of them to be expanded: {self.advanced}"
        return float(done), line


class Running:
    """The runs that this server drives. Used on the loop."""

    def __init__(self) -> None:
        """Nothing is driven."""
        self._runs: dict[str, Driven] = {}
        self._watchers: set[asyncio.Task[None]] = set()

    def drive(self, growing: Growing) -> Driven:
        """Drive an open run beside everything else."""
        loop = asyncio.get_running_loop()
        run = growing.run

        def note(told: Progress) -> None:
            if driven := self._runs.get(run):
                driven.note(told)

        def heard(told: Progress) -> None:
            with contextlib.suppress(RuntimeError):  # the server has left
                loop.call_soon_threadsafe(note, told)

        driven = Driven(run, Driver(growing, heard))
        self._runs[run] = driven
        watcher = asyncio.ensure_future(self._await_end(driven))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return driven

    def find(self, run: str) -> Driven | None:
        """Return a run that is driven here, or was."""
        return self._runs.get(run)

    def stop(self, run: str) -> bool:
        """Ask a run driven here to stop; False when it is not driven here."""
        driven = self._runs.get(run)
        if driven is None or driven.ended.is_set():
            return False
        driven.driver.stop()
        return True

    async def close(self, within_s: float) -> None:
        """Stop everything and wait for it a little; what counts is journalled already."""
        left = [driven for driven in self._runs.values() if not driven.ended.is_set()]
        for driven in left:
            driven.driver.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await asyncio.gather(*(driven.ended.wait() for driven in left))

    async def _await_end(self, driven: Driven) -> None:
        try:
            driven.outcome = await asyncio.wrap_future(driven.driver.done)
        except TreewrightError as fault:
            driven.fault = fault
        finally:
            driven.ended.set()
            ended = [run for run, each in self._runs.items() if each.ended.is_set()]
            for run in ended[: max(0, len(ended) - ENDED_MOST)]:
                del self._runs[run]
