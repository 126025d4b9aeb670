"""Stopping a model that repeats itself: a weak one may write the same sentence until its tokens are used up."""

import asyncio
from dataclasses import replace

from treewright.models.provider import Completion, Outcome, Provider, Request, TextSink
from treewright.models.wire import pass_on

WINDOW = 2400
"""Characters at the end of an answer that are looked at."""

REPEATS = 4
"""So many equal pieces in a row are a loop, if together they are long enough."""

LEAST = 240
"""Characters that the equal pieces must have together: a table's rule or some blanks are no loop."""

_EVERY = 120
_NEEDLE = 24


class Repetition:
    """Watches text as it arrives."""

    def __init__(self) -> None:
        self.found = False
        self._tail = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Return whether the text has run into a loop."""
        self._tail = (self._tail + piece)[-WINDOW:]
        self._new += len(piece)
        if not self.found and self._new >= _EVERY:
            self._new = 0
            self.found = ends_in_loop(self._tail)
        return self.found


def ends_in_loop(text: str) -> bool:
    """Return whether a text ends in the same piece again and again."""
    needle = text[-_NEEDLE:]
    before = text.rfind(needle, 0, len(text) - 1)
    if before < 0 or len(text) <= _NEEDLE:
        return False
    period = len(text) - _NEEDLE - before
    times = max(REPEATS, -(-LEAST // period))
    loop = text[-period:] * times
    return len(loop) <= len(text) and text.endswith(loop)


async def complete_without_loops(
    provider: Provider, request: Request, on_text: TextSink | None, cancel: asyncio.Event | None
) -> tuple[Completion, bool]:
    """Ask, and end the call when the answer runs into a loop.

    Returns:
        The completion, and whether it was ended for that; it counts as cut off then.
    """
    stop = asyncio.Event()
    watch = Repetition()

    def sink(piece: str) -> None:
        if on_text is not None:
            on_text(piece)
        if watch.feed(piece):
            stop.set()

    link = asyncio.ensure_future(pass_on(cancel, stop))
    try:
        done = await provider.complete(request, on_text=sink, cancel=stop)
    finally:
        link.cancel()
        await asyncio.gather(link, return_exceptions=True)
    ours = done.outcome is Outcome.CANCELLED and watch.found and not (cancel is not None and cancel.is_set())
    if not ours:
        return done, False
    samples = tuple(replace(sample, outcome=Outcome.CUT_OFF) for sample in done.samples)
    detail = "the answer repeated itself and was ended"
    return replace(done, outcome=Outcome.CUT_OFF, samples=samples, detail=detail), True
