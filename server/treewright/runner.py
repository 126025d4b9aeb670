"""Ready tasks to performers, results back to the engine, until the engine says that the run has ended or someone stops it.

Every result is durable before anything that follows from it is asked for, so that a run cut off anywhere goes on with exactly the
tasks not yet done. Cancelling is bounded: what is in flight is cancelled, what was answered is kept.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from treewright.errors import CapError, ModelError, TreewrightError
from treewright.explore.engine import Explorer
from treewright.explore.ports import Performance, Performer
from treewright.explore.tasks import Task, TaskKind
from treewright.store.locks import stop_requested
from treewright.store.run_folder import RunWriter
from treewright.tree.event import Event, Noted
from treewright.tree.run import Status

PAUSING = frozenset(
    {
        "model_over_quota",
        "model_overloaded",
        "model_unreachable",
        "model_unauthorised",
        "model_timed_out",
        "price_unknown",
    }
)
"""Codes that pause a run: nothing is wrong with the task (contract: exploration, 7)."""

STOP_POLL_S = 0.1
"""How often a request file of another process is looked for."""


@dataclass(slots=True)
class Growth:
    """What a listener is told after each commit."""

    events: list[Event]
    in_flight: int


class Runner:
    """Drives one exploration."""

    def __init__(
        self,
        writer: RunWriter,
        explorer: Explorer,
        performer: Performer,
        verifier: Performer,
        *,
        concurrency: int = 4,
        listener: Callable[[Growth], None] | None = None,
        keep: Callable[[], None] | None = None,
    ) -> None:
        """Prepare.

        Args:
            writer: the run, whose lock is held.
            explorer: over the writer's tree.
            performer: fills in everything but checks.
            verifier: ours; performs the checks.
            concurrency: how many tasks are in flight, 1 or more.
            listener: called after each commit, on this thread; must be quick.
            keep: writes the views of the tree; called when due while the run grows, at most a twentieth of the time.
        """
        self.writer = writer
        self.explorer = explorer
        self.performer = performer
        self.verifier = verifier
        self.concurrency = max(1, concurrency)
        self._listener = listener
        self._keep = _Paced(keep, writer.save_snapshot)
        self._flights: dict[str, asyncio.Task[Performance]] = {}
        self._tasks: dict[str, Task] = {}
        self._pause: tuple[Status, str] | None = None
        self._stop = asyncio.Event()
        self._looked = 0.0

    def stop(self) -> None:
        """Ask the run to stop; `run` returns soon after."""
        self._stop.set()

    async def run(self) -> Status:
        """Grow until the run ends, pauses or is stopped, and return its status.

        Raises:
            StoreError: the disk refused; everything acknowledged is kept.
            asyncio.CancelledError: the caller was cancelled; the run is recorded as stopped.
        """
        try:
            self._commit([])
            while self.writer.tree.status is Status.GROWING:
                if self._must_stop():
                    await self._abandon()
                    self._commit(self.explorer.stop(Status.STOPPED, "by the user"))
                    break
                self._launch()
                if not self._flights:
                    self._commit(self._halt())
                    break
                await self._land()
        except asyncio.CancelledError:
            await self._abandon()
            self._commit(self.explorer.stop(Status.STOPPED, "cancelled"))
            raise
        finally:
            await self._abandon()
        return self.writer.tree.status

    def _must_stop(self) -> bool:
        now = time.monotonic()
        if not self._stop.is_set() and now - self._looked >= STOP_POLL_S:
            self._looked = now
            if stop_requested(self.writer.folder):
                self._stop.set()
        return self._stop.is_set()

    def _launch(self) -> None:
        room = self.concurrency - len(self._flights)
        if room <= 0 or self._pause:
            return
        for task in self.explorer.ready(room, self._flights):
            performer = self.verifier if task.kind is TaskKind.VERIFY else self.performer
            self._tasks[task.id] = task
            self._flights[task.id] = asyncio.ensure_future(performer.perform(self.explorer.brief(task)))

    def _halt(self) -> list[Event]:
        """Say why nothing is in flight: a pause that was asked for, or nobody who can go on."""
        if self._pause:
            status, reason = self._pause
            return self.explorer.stop(status, reason)
        return self.explorer.stop(Status.PAUSED, "no task is ready")

    async def _land(self) -> None:
        done, _ = await asyncio.wait(
            self._flights.values(), timeout=STOP_POLL_S, return_when=asyncio.FIRST_COMPLETED
        )
        events: list[Event] = []
        for task_id in [t for t, flight in self._flights.items() if flight in done]:
            flight = self._flights.pop(task_id)
            task = self._tasks.pop(task_id)
            self._stage(self._outcome(task, flight), events)
        if done:
            self._commit([], events)
            self._keep.when_due()

    def _outcome(self, task: Task, flight: asyncio.Task[Performance]) -> list[Event]:
        fault = flight.exception() if not flight.cancelled() else None
        if flight.cancelled():
            return []
        if fault is None:
            performance = flight.result()
            return [*performance.spent, *self.explorer.accept(task.id, performance.result)]
        if isinstance(fault, CapError):
            self._pause = self._pause or (Status.SPEND_CAP_REACHED, fault.message)
            spent = fault.details.pop("spent", [])
            return [*spent, Noted(text=fault.message, data={"code": fault.code, "task": task.id})]
        if not isinstance(fault, TreewrightError):
            raise fault
        spent = fault.details.pop("spent", [])
        if fault.code in PAUSING:
            self._pause = self._pause or (Status.PAUSED, f"{fault.code}: {fault.message}")
            return [*spent, Noted(text=fault.message, data={"code": fault.code, "task": task.id})]
        raw = str(fault.details.get("raw", "")) if isinstance(fault, ModelError) else ""
        return [*spent, *self.explorer.fail(task.id, fault.code, fault.message, raw)]

    def _stage(self, events: list[Event], staged: list[Event]) -> None:
        self.writer.stage(events)
        staged.extend(events)

    def _commit(self, events: list[Event], staged: list[Event] | None = None) -> None:
        """Fold and journal events and all that follows from them, as one append."""
        everything = staged if staged is not None else []
        self._stage(events, everything)
        while following := self.explorer.settle():
            self._stage(following, everything)
        if everything:
            self.writer.commit()
            if self._listener:
                self._listener(Growth(everything, len(self._flights)))

    async def _abandon(self) -> None:
        flights = list(self._flights.values())
        self._flights.clear()
        self._tasks.clear()
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)


class _Paced:
    """Calls costly upkeep as often as costs at most a share of the time."""

    SHARE = 1 / 20
    """The share of a growing run's time that its views may cost (contract: design, "The store")."""
    FIRST_S = 2.0

    def __init__(self, *upkeep: Callable[[], None] | None) -> None:
        self._upkeep = [each for each in upkeep if each is not None]
        self._due = time.monotonic() + self.FIRST_S

    def when_due(self) -> None:
        begun = time.monotonic()
        if begun < self._due:
            return
        for each in self._upkeep:
            each()
        took = time.monotonic() - begun
        self._due = begun + took + max(self.FIRST_S, took / self.SHARE)
