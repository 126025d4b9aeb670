"""Work that may outlast a call: begun at once, waited for a while, and then left running under a handle.

Many clients end a call at 60 s whatever it reports, so no call computes for over 20 s (contract: surfaces, 4): the call is answered with a
handle, and the same tool called with it waits again. Waiting for the client's own model or user is not computing.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from treewright.errors import TreewrightError
from treewright.surfaces.mcp.directive import Reply

logger = logging.getLogger(__name__)

PATIENCE_S = 15.0
"""Seconds that a call waits for its work before it answers a handle; well under the 20 that the contract allows."""
KEPT_MOST = 64
"""Finished work that nobody has asked for yet."""
_TELL_EVERY_S = 0.5


@dataclass(slots=True)
class Job:
    """A piece of work.

    Attributes:
        handle: names it.
        tool: which began it.
        task: does it.
        stop: asks it to end early; None when it cannot be.
        told: returns figures for progress reports: done so far, and one line.
    """

    handle: str
    tool: str
    task: "asyncio.Task[Reply]"
    stop: Callable[[], None] | None = None
    told: Callable[[], tuple[float, str]] | None = None


class Work:
    """The work of one server. Used on the loop."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        """Nothing is at work.

        Args:
            patience_s: see `PATIENCE_S`.
        """
        self._patience_s = patience_s
        self._jobs: dict[str, Job] = {}

    def begin(
        self,
        tool: str,
        work: Awaitable[Reply],
        stop: Callable[[], None] | None = None,
        told: Callable[[], tuple[float, str]] | None = None,
    ) -> Job:
        """Begin a piece of work; it goes on whether or not anybody waits for it."""

        async def run() -> Reply:
            return await work

        job = Job(secrets.token_hex(4), tool, asyncio.ensure_future(run()), stop, told)
        self._jobs[job.handle] = job
        done = [handle for handle, each in self._jobs.items() if each.task.done()]
        for handle in done[: max(0, len(done) - KEPT_MOST)]:
            del self._jobs[handle]
        return job

    def find(self, handle: str, tool: str) -> Job | None:
        """Return a tool's work by its handle."""
        job = self._jobs.get(handle)
        return job if job is not None and job.tool == tool else None

    async def wait(self, job: Job, report: Callable[[float, str], Awaitable[None]]) -> Reply | None:
        """Wait for a piece of work as long as a call may; None when it goes on.

        Raises:
            TreewrightError: what the work raised.
            asyncio.CancelledError: the client gave the call up; the work is asked to end.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience_s
        try:
            while not job.task.done():
                left = end - loop.time()
                if left <= 0:
                    return None
                await asyncio.wait([job.task], timeout=min(_TELL_EVERY_S, left))
                if job.told is not None and not job.task.done():
                    await report(*job.told())
        except asyncio.CancelledError:
            if job.stop is not None:
                job.stop()
            raise
        self._jobs.pop(job.handle, None)
        return job.task.result()

    async def close(self, within_s: float) -> None:
        """Ask all work to end, and wait for it a little."""
        running = [job for job in self._jobs.values() if not job.task.done()]
        for job in running:
            if job.stop is not None:
                job.stop()
        if running:
            await asyncio.wait([job.task for job in running], timeout=within_s)
        for job in running:
            job.task.cancel()
        for job in running:
            with contextlib.suppress(asyncio.CancelledError, TreewrightError, Exception):
                await job.task
        self._jobs.clear()
