"""`treewright mcp`: takes the wire, then starts the server. Imports nothing that the handshake does not need."""

import argparse
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.surfaces.mcp.wire import READER
from treewright.surfaces.mcp.work import PATIENCE_S

if TYPE_CHECKING:
    from treewright.surfaces.mcp.office import Options

LEAVE_S = 1.0
"""How long threads that are still at work may hold up the end of the process; what counts was written when it happened."""


WORKERS = 32
"""Threads for short blocking work."""


def run(arguments: Sequence[str]) -> int:
    """Serve, and return the process's exit code.

    Args:
        arguments: what stands behind `treewright mcp` on the command line.
    """
    chosen = parser().parse_args(list(arguments))
    if chosen.http is not None:
        from treewright.surfaces.mcp.http import serve_http

        _log()
        return serve_http(options_of(chosen), chosen.http)
    from treewright.surfaces.mcp.front import handshake
    from treewright.surfaces.mcp.wire import Wire, take_wire

    wire = Wire(*take_wire(), front=handshake)
    _log()
    return _serve(wire, options_of(chosen))


def options_of(chosen: argparse.Namespace) -> "Options":
    """Return how the server is to be started."""
    from treewright.surfaces.mcp.office import Options

    return Options(groups=tuple(chosen.groups), roots=tuple(chosen.root), patience_s=chosen.patience)


def _serve(wire: Any, options: "Options") -> int:
    import asyncio

    from treewright.surfaces.mcp.pump import streams
    from treewright.surfaces.mcp.server import build

    async def main() -> None:
        server, desk = build(options)
        serving = asyncio.ensure_future(_until_closed(server, wire, streams))
        _end_on_signals(serving)
        try:
            await asyncio.wait([serving])
            if not serving.cancelled():
                serving.result()
        finally:
            await desk.close()

    run_to_end(main())
    return 0


async def _until_closed(server: Any, wire: Any, streams: Any) -> None:
    async with streams(wire) as (source, out):
        await server.run(source, out, server.create_initialization_options())


def _end_on_signals(serving: Any) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and os.name != "nt":
            loop.add_signal_handler(number, serving.cancel)


def run_to_end(work: Any) -> None:
    """Run a server's coroutine on a loop of its own, and leave nothing running: no thread, no process.

    Not `asyncio.run`, which would wait for worker threads: one that still computes must not hold up the end.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    loop = asyncio.new_event_loop()
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="work")
    loop.set_default_executor(workers)
    asyncio.set_event_loop(loop)
    code = 1
    try:
        loop.run_until_complete(work)
        code = 0
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        _end_children()
        _end_threads(code)
    loop.close()


def _end_children() -> None:
    """End processes of ours that are still at work, where the system lists them: analysers of an audit that was stopped."""
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text(encoding="ascii").split():
                os.kill(int(child), signal.SIGKILL)


def _end_threads(code: int) -> None:
    """Do not let a thread that is stuck keep the process. The interpreter would wait for workers of any pool, daemons too."""
    sys.stderr.flush()
    end = time.monotonic() + LEAVE_S
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.name != READER:
            thread.join(timeout=max(0.0, end - time.monotonic()))
            if thread.is_alive():
                os._exit(code)


def _log() -> None:
    """Log warnings to stderr, before the SDK would configure logging by itself."""
    level = os.environ.get("TREEWRIGHT_LOG", "WARNING").upper()
    known = level if level in logging.getLevelNamesMapping() else "WARNING"
    logging.basicConfig(stream=sys.stderr, level=known, format="%(levelname)s %(name)s: %(message)s")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(
        prog="treewright mcp",
        description="Serve an agent over the model context protocol, on stdin and stdout, or over HTTP on this machine.",
    )
    found.add_argument(
        "--groups",
        type=_groups,
        default=(),
        metavar="NAMES",
        help="Which tools are offered: explore, deliberate, search, kernel, all; commas between. Default: explore,deliberate,search.",
    )
    found.add_argument(
        "--root",
        action="append",
        type=_folder,
        default=[],
        metavar="FOLDER",
        help="A folder that may be looked at; may be repeated. Default: what the client names, else the current folder.",
    )
    found.add_argument(
        "--http",
        nargs="?",
        const=0,
        default=None,
        type=_port,
        metavar="PORT",
        help="Serve streamable HTTP on 127.0.0.1 instead; without a port, any that is free. The token's file is told on stderr.",
    )
    found.add_argument(
        "--patience",
        type=_patience,
        default=PATIENCE_S,
        metavar="SECONDS",
        help=f"How long a call waits for long work before it answers a handle; at most 20. Default: {PATIENCE_S:g}.",
    )
    return found


def _groups(text: str) -> tuple[str, ...]:
    from treewright.surfaces.mcp.cards import GROUPS

    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    for name in names:
        if name not in (*GROUPS, "all"):
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(GROUPS)}, all")
    return names


def _folder(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return path.resolve()


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _patience(text: str) -> float:
    try:
        found = float(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from fault
    if not 0.1 <= found <= 20:
        raise argparse.ArgumentTypeError("between 0.1 and 20 seconds")
    return found


def main() -> None:
    """Run as `python -m treewright.surfaces.mcp.launch`."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
