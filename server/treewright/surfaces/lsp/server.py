"""Wiring: which method is answered by which function, the loop, and leaving in good order.

Handlers are named in tables and imported when first called, so that initialize is answered with hardly more than the
protocol itself loaded.
"""

import asyncio
import importlib
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from treewright import __version__
from treewright.surfaces.lsp import faults
from treewright.surfaces.lsp.faults import fault
from treewright.surfaces.lsp.features import COMMANDS, OWN_METHODS, PULL_FEATURES, STANDARD
from treewright.surfaces.lsp.log import forward_logs
from treewright.surfaces.lsp.protocol import TreewrightProtocol
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.wire import WIRE_THREAD, BadFrame, StreamWriter, start_reader

logger = logging.getLogger(__name__)

PARENT_POLL_S = 1.0
"""How often it is looked whether the client's process still lives."""
LAST_WAIT_S = 1.0
"""How long threads that still compute may take to end before the process ends without them."""
WORKERS = 8
"""Threads for short blocking work; none of them runs a handler or reads the wire."""


class TreewrightServer(LanguageServer):
    """One server for one client."""

    protocol: TreewrightProtocol

    def __init__(self) -> None:
        """Register what is offered; nothing is loaded for it yet."""
        super().__init__(
            "treewright",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=types.NotebookDocumentSyncOptions(
                notebook_selector=[
                    types.NotebookDocumentFilterWithCells(
                        cells=[types.NotebookCellLanguage(language="python")]
                    )
                ],
                save=True,
            ),
            protocol_cls=TreewrightProtocol,
        )
        self.session = Session(self)
        self._code: int | None = None
        self._queue: asyncio.Queue[Any] | None = None
        self.protocol.fm.features.update(
            {
                types.INITIALIZE: self.session.initialize,
                types.INITIALIZED: self.session.initialized,
                types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self.session.folders_changed,
            }
        )
        for method, (target, options) in STANDARD.items():
            self.feature(method, options)(_lazily(self.session, target))
        for method, target in OWN_METHODS.items():
            self.protocol.own[method] = _own(self.session, target)
        self.protocol.fm.commands.update(dict.fromkeys(COMMANDS))
        execute = _lazily(self.session, "commands:execute")
        self.protocol.fm.builtin_features[types.WORKSPACE_EXECUTE_COMMAND] = execute

    def offer_pull_diagnostics(self) -> None:
        """Offer diagnostics on request; called while initialize is answered."""
        for method, (target, options) in PULL_FEATURES.items():
            self.feature(method, options)(_lazily(self.session, target))

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002 - pygls's signature
        """Log what went wrong; never a message box for a fault of ours."""
        logger.error("%s", error, exc_info=error)

    def leave(self, code: int) -> None:
        """End the process soon, with this exit code; the first call decides."""
        if self._code is None:
            self._code = code
            if self._queue is not None:
                self._queue.put_nowait(None)

    async def serve(self, source: BinaryIO, out: BinaryIO, parent: int) -> int:
        """Serve one client until it leaves or dies, and return the exit code."""
        loop = asyncio.get_running_loop()
        self.protocol.writer = StreamWriter(out)
        self._queue = start_reader(source, loop)
        stop_logs = forward_logs(self.protocol, loop)
        if parent:
            self.session.spawn(watch_process(parent, self.leave), "parent")
        try:
            while self._code is None:
                self._take(await self._queue.get())
        finally:
            await self.session.close()
            stop_logs()
        if self.protocol.writer is not None:
            self.protocol.writer.close()
        return self._code

    def _take(self, frame: Any) -> None:
        if frame is None:
            self.leave(0 if self.protocol._shutdown else 1)
        elif isinstance(frame, BadFrame):
            self.protocol.refuse(
                None, fault(faults.INVALID_REQUEST, f"The frame cannot be read: {frame.reason}.")
            )
        else:
            self.protocol.receive(frame)


async def watch_process(pid: int, gone: Callable[[int], None]) -> None:
    """Tell when a process has ended; one that cannot be seen from here is not watched."""
    if not _lives(pid):
        return
    while _lives(pid):  # noqa: ASYNC110 - another process's end sets no event of ours
        await asyncio.sleep(PARENT_POLL_S)
    gone(1)


def _lives(pid: int) -> bool:
    if os.name == "nt":
        return True  # a signal of 0 would end it there; the closed pipe tells
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _found(target: str) -> Callable[..., Awaitable[Any]]:
    module, _, name = target.partition(":")
    found: Callable[..., Awaitable[Any]] = getattr(
        importlib.import_module(f"treewright.surfaces.lsp.handlers.{module}"), name
    )
    return found


def _lazily(session: Session, target: str) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler of a standard method that is imported when it is first called."""

    async def call(*params: Any) -> Any:
        return await _found(target)(session, *params)

    return call


def _own(session: Session, target: str) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler of an own method: parameters checked on the way in, plain values on the way out."""

    async def call(params: Any) -> Any:
        from treewright.surfaces.lsp.checking import checked, outgoing

        handler = _found(target)
        return outgoing(await handler(session, checked(handler, params)))

    return call


def serve_streams(source: BinaryIO, out: BinaryIO, parent: int) -> int:
    """Serve one client over a pair of streams; returns the exit code, with nothing of ours left running."""
    loop = asyncio.new_event_loop()
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="work")
    loop.set_default_executor(workers)
    asyncio.set_event_loop(loop)
    try:
        code = loop.run_until_complete(TreewrightServer().serve(source, out, parent))
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
    _leave_nothing(code)
    loop.close()
    return code


def _leave_nothing(code: int) -> None:
    """Do not let a thread that is stuck keep the process: what counts was written when it happened."""
    until = time.monotonic() + LAST_WAIT_S
    for thread in threading.enumerate():
        # Even daemons: the interpreter waits for workers of executors whatever they are.
        if thread is not threading.current_thread() and thread.name != WIRE_THREAD:
            thread.join(timeout=max(0.0, until - time.monotonic()))
            if thread.is_alive():
                sys.stderr.flush()
                os._exit(code)


def serve_socket(host: str, port: int, parent: int) -> int:
    """Listen on a local port and serve the first client that comes (for debugging)."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)
        sys.stderr.write(f"treewright lsp listens on {host}:{listener.getsockname()[1]}\n")
        sys.stderr.flush()
        connection, _ = listener.accept()
    with connection, connection.makefile("rb") as source, connection.makefile("wb") as out:
        return serve_streams(source, out, parent)
