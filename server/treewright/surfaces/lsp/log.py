"""What is logged goes to the client's log window: on stderr each line would look like an error there."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

_TYPES = ((logging.ERROR, 1), (logging.WARNING, 2), (logging.INFO, 3))
_LOG = 4
_LONGEST = 16_000


class _Teller(Protocol):
    def tell(self, method: str, params: dict[str, Any]) -> None: ...


class _ClientHandler(logging.Handler):
    def __init__(self, protocol: _Teller, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._protocol = protocol
        self._loop = loop
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        kind = next((kind for level, kind in _TYPES if record.levelno >= level), _LOG)
        params = {"type": kind, "message": self.format(record)[:_LONGEST]}
        try:
            self._loop.call_soon_threadsafe(self._protocol.tell, "window/logMessage", params)
        except RuntimeError:  # the loop has ended; nobody reads any more
            return


def forward_logs(protocol: _Teller, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Send what is logged to the client, and return what ends it."""
    handler = _ClientHandler(protocol, loop)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("treewright").setLevel(logging.INFO)
    # What pygls says of messages holds the user's texts.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    logging.captureWarnings(capture=True)

    def stop() -> None:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(level)

    return stop
