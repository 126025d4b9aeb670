"""Driving a run beside everything else: in a thread with a loop of its own, so that growing never holds up a server."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

OutcomeT_co = TypeVar("OutcomeT_co", covariant=True)


class Drivable(Protocol[OutcomeT_co]):
    """An open run of any kind: `explorations.Growing`, `search_drive.Searching`."""

    @property
    def run(self) -> str:
        """Its id."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    def stop(self) -> None:
        """Ask it to stop."""

    async def drive(self, listener: Any = None) -> OutcomeT_co:
        """Drive it until it ends."""


class Driver(Generic[OutcomeT_co]):
    """Drives one open run until it ends.

    Attributes:
        growing: the run.
        done: its outcome, once it has ended.
    """

    def __init__(self, growing: Drivable[OutcomeT_co], listener: Callable[..., None] | None = None) -> None:
        """Start to drive at once.

        Args:
            growing: an open run.
            listener: told of each commit, in the driving thread; must be quick and safe there.
        """
        self.growing = growing
        self.done: Future[OutcomeT_co] = Future()
        self._listener = listener
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._drive, name=f"run {growing.run}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the run to stop; nothing is lost."""
        with self._guard:
            self._stopped = True
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.growing.stop)

    def _drive(self) -> None:
        # Not `asyncio.run`: it would wait for worker threads, and one that still computes must not hold up a stop.
        loop = asyncio.new_event_loop()
        workers = ThreadPoolExecutor(thread_name_prefix=f"run {self.growing.run}")
        loop.set_default_executor(workers)
        try:
            outcome = loop.run_until_complete(self._main())
        except BaseException as fault:  # noqa: BLE001 - handed to whoever waits for the outcome
            self.done.set_exception(fault)
        else:
            self.done.set_result(outcome)
        finally:
            workers.shutdown(wait=False, cancel_futures=True)
            loop.close()

    async def _main(self) -> OutcomeT_co:
        with self._guard:
            self._loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(self.growing.drive(self._listener))
        await asyncio.sleep(0)  # from here on the run can be asked to stop
        if self._stopped:
            self.growing.stop()
        try:
            return await task
        finally:
            with self._guard:
                self._loop = None
