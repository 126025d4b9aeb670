"""A thread with an event loop, for asynchronous libraries behind a blocking interface."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any


class LoopThread:
    """Runs coroutines in a thread of its own and waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="treewright-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any], seconds: float = 60.0) -> Any:
        """Run one coroutine to its end.

        Raises:
            TimeoutError: it took longer.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and end the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        self.run(self._cancel_rest(), 10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @staticmethod
    async def _cancel_rest() -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
