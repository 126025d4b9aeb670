"""Runs that this server drives: started, shown with progress, stopped, told about."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from treewright.app.driving import Drivable, Driver
from treewright.app.request import Progress
from treewright.errors import TreewrightError
from treewright.surfaces.lsp.progress import WorkDone
from treewright.tree.event import FramingAnswered, VerdictGiven
from treewright.tree.run import Role

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session


SO_FAR = "framings answered: {0}; nodes settled: {1}, of them to be expanded: {2}"


@dataclass(slots=True)
class Job:
    """A run being driven.

    Attributes:
        run: its id.
        driver: drives it.
        progress: shows it.
        in_flight: tasks being performed.
        settled, advanced, framings: what has come of it since it was begun here.
    """

    run: str
    driver: Driver[Any]
    progress: WorkDone
    in_flight: int = 0
    settled: int = 0
    advanced: int = 0
    framings: int = 0
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

    def figures(self) -> tuple[int, int, int]:
        """Return how many framings were answered, nodes settled and of these advance, for the progress."""
        return self.framings, self.settled, self.advanced


class Jobs:
    """The runs that this server drives. Used on the loop."""

    def __init__(self, session: "Session") -> None:
        """Nothing is driven."""
        self._session = session
        self._jobs: dict[str, Job] = {}

    @property
    def count(self) -> int:
        """How many runs are driven here."""
        return len(self._jobs)

    def drives(self, run: str) -> bool:
        """Tell whether a run is driven here."""
        return run in self._jobs

    def folder(self, run: str) -> str:
        """Return the folder of a run driven here, which the index may not know yet; empty for any other."""
        job = self._jobs.get(run)
        return str(job.driver.growing.folder) if job else ""

    def in_flight(self, run: str) -> int:
        """Return how many tasks of a run are being performed here."""
        job = self._jobs.get(run)
        return job.in_flight if job else 0

    def drive(
        self,
        growing: Drivable[Any],
        title: str,
        token: str | int | None,
        ended: Callable[[Any], Coroutine[Any, Any, None]] | None = None,
    ) -> Job:
        """Drive an open run beside everything else.

        Args:
            growing: the run.
            title: of its progress.
            token: the request's own for the progress; None to make one.
            ended: told its outcome when it ended without a fault.
        """
        loop = asyncio.get_running_loop()
        progress = WorkDone(self._session, token, title)
        run = growing.run

        def heard(*told: Any) -> None:
            try:
                loop.call_soon_threadsafe(self._heard, run, *told)
            except RuntimeError:  # the server has left
                return

        job = Job(run, Driver(growing, heard), progress)
        self._jobs[run] = job
        self._session.spawn(progress.begin(job.driver.stop), "showing progress")
        self._session.spawn(self._await_end(job, job.driver.done, ended), f"run {run}")
        self._session.room.changes.poke(run)
        return job

    def stop(self, run: str) -> bool:
        """Ask a run driven here to stop; False when it is not driven here."""
        job = self._jobs.get(run)
        if job is None:
            return False
        job.driver.stop()
        return True

    async def close(self) -> None:
        """Stop everything and wait for it."""
        for job in self._jobs.values():
            job.driver.stop()
        await asyncio.gather(*(job.ended.wait() for job in list(self._jobs.values())))

    def _heard(self, run: str, told: Any, *_: Any) -> None:
        job = self._jobs.get(run)
        if job is not None:
            if isinstance(told, Progress):
                job.note(told)
            else:
                job.settled += len(told)
            job.progress.report(self._session.say(SO_FAR, *job.figures()))
            self._session.room.changes.poke(run)

    async def _await_end(
        self,
        job: Job,
        done: Future[Any],
        ended: Callable[[Any], Coroutine[Any, Any, None]] | None,
    ) -> None:
        try:
            outcome = await asyncio.wrap_future(done)
        except TreewrightError as fault:
            job.progress.end(fault.message)
            self._session.show(f"{fault.message} {fault.hint}".strip(), types.MessageType.Error)
        else:
            job.progress.end(str(outcome.status))
            if ended is not None:
                await ended(outcome)
            for notice in outcome.notices:
                if notice.severity == "warning":
                    self._session.show(notice.message, types.MessageType.Warning)
        finally:
            self._jobs.pop(job.run, None)
            job.ended.set()
            self._session.room.changes.poke(job.run)
