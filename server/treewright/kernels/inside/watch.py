# ruff: noqa: TC004, PTH123, PTH208
# (names of the files loaded before into the same namespace are imported for type checkers only)
# (no pathlib: it is slow to import)
"""The init of a box: starts the kernel in it, watches it, empties it, and says how it ended.

Loaded after `contain` and into the same namespace.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.kernels.inside.contain import (
        LIBC,
        become_subreaper,
        close_descriptors,
        default_signals,
        die_with_parent,
        drop_rights,
        seal,
        set_limits,
    )

_WATCH_S, _IDLE_S = 0.02, 1.0
_EMPTY_S = 3.0
_SHARED_BYTES = 64 << 20  # what each process holds together with the parent it was forked from


def _stat(process: str) -> tuple[int, str, int, int] | None:
    """Parent, state, CPU ticks and resident pages of a process, from /proc."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0], int(fields[11]) + int(fields[12]), int(fields[21])


class Box:
    """The init's view of everything in its box."""

    def __init__(self, child: int, owns_proc: bool) -> None:
        self.child = child
        self._owns_proc = owns_proc

    def members(self) -> dict[int, tuple[int, str, int, int]]:
        """Every live process of the box but the init, with `_stat`."""
        try:
            names = [name for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return {}
        found = {int(name): one for name in names if (one := _stat(name)) is not None and one[1] not in "ZX"}
        me = os.getpid()
        if self._owns_proc:
            found.pop(me, None)
            return found
        inside: set[int] = {me}
        grew = True
        while grew:
            more = {number for number, one in found.items() if one[0] in inside} - inside
            inside |= more
            grew = bool(more)
        return {number: found[number] for number in inside - {me} if number in found}

    def usage(self) -> dict[str, Any]:
        """Processes, resident bytes and CPU seconds of the box now."""
        members = self.members()
        page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
        return {
            "processes": len(members),
            "resident": sum(max(0, one[3] * page - _SHARED_BYTES) for one in members.values()),
            "cpu_s": sum(one[2] for one in members.values()) / tick,
        }

    def empty(self) -> tuple[int | None, Any]:
        """Kill and reap everything in the box.

        Returns:
            The wait status of the box's first child and its resource usage, where it was still there.
        """
        status, used = None, None
        deadline = time.monotonic() + _EMPTY_S
        while time.monotonic() < deadline:
            if self._owns_proc and os.getpid() == 1:
                with contextlib.suppress(OSError):
                    os.kill(-1, signal.SIGKILL)
            else:
                with contextlib.suppress(OSError):
                    os.kill(self.child, signal.SIGKILL)
                for number in self.members():
                    with contextlib.suppress(OSError):
                        os.kill(number, signal.SIGKILL)
            try:
                number, code, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if number == 0:
                time.sleep(0.001)
            elif number == self.child:
                status, used = code, usage
        return status, used


class Init:
    """Watches a box until its first child ends, a limit is passed, or whoever asked goes away.

    Args:
        child: process id of the kernel.
        control: socket of messages: `w` watch closely, `u` watch lazily, `i` interrupt the kernel, `s` report
            usage, `k` kill; its end of file is a kill too.
        limits: `processes` (count) and `resident` (bytes of all processes together), or nothing.
        owns_proc: whether /proc shows this box alone.
    """

    def __init__(self, child: int, control: socket.socket, limits: dict[str, Any], owns_proc: bool) -> None:
        self._box = Box(child, owns_proc)
        self._control = control
        self._limits = limits
        self._watching = False

    def run(self) -> None:
        """Watch; returns when the box is empty and its end was reported."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            watched: list[Any] = [self._control, reader]
            ready, _, _ = select.select(watched, [], [], _WATCH_S if self._watching else _IDLE_S)
            if reader in ready:
                os.read(reader, 4096)
            why = self._command() if self._control in ready else ""
            gone = self._reap()
            if gone is not None:
                return self._end("", *gone)
            if not why and self._watching:
                why = self._over()
            if why:
                return self._end(why, *self._box.empty())

    def _command(self) -> str:
        try:
            message = self._control.recv(65536)
        except OSError:
            return "closed"
        if not message:
            return "closed"
        request = json.loads(message)
        if "limits" in request:
            self._limits = request["limits"]
        match request.get("do"):
            case "watch":
                self._watching = True
            case "rest":
                self._watching = False
            case "interrupt":
                with contextlib.suppress(OSError):
                    os.kill(self._box.child, signal.SIGINT)
            case "usage":
                self._say({"usage": self._box.usage()})
            case "kill":
                return str(request.get("why", "killed"))
        return ""

    def _reap(self) -> tuple[int, Any] | None:
        while True:
            try:
                number, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return 0, None
            if number == 0:
                return None
            if number == self._box.child:
                return status, used

    def _over(self) -> str:
        usage = self._box.usage()
        if usage["processes"] > (self._limits.get("processes") or 1 << 30):
            return "processes"
        if usage["resident"] > (self._limits.get("resident") or 1 << 62):
            return "resident"
        return ""

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())

    def _end(self, why: str, status: int | None, used: Any) -> None:
        self._box.empty()
        code = None if status is None else os.waitstatus_to_exitcode(status)
        # ru_maxrss counts kilobytes on Linux and bytes on macOS.
        unit = 1 if sys.platform == "darwin" else 1024
        self._say(
            {
                "end": {
                    "why": why,
                    "code": code,
                    "cpu_s": used.ru_utime + used.ru_stime if used else None,
                    "peak": used.ru_maxrss * unit if used else None,
                }
            }
        )


def guard_box(
    gives: dict[str, bool], request: dict[str, Any], control: socket.socket, start: Callable[[], None]
) -> None:
    """Be the init of a box: seal it, start the kernel in it, watch, and end the process.

    Args:
        gives: what `probe` found.
        request: `limits`, `network`, `sealed`, `writable`.
        control: the box's control socket.
        start: runs in the kernel's process; never returns normally.
    """
    code = 0
    try:
        die_with_parent()
        os.setsid()
        become_subreaper()
        if LIBC is not None:
            seal(gives, request)
        child = os.fork()
        if child == 0:
            _become_kernel(request, start)
        for number in (0, 1, 2):
            os.close(number)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        close_descriptors([control.fileno()])
        with contextlib.suppress(OSError):
            # A watchman that queues behind what it watches comes too late.
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        Init(child, control, request.get("limits", {}), gives["processes"]).run()
    except BaseException as error:  # noqa: BLE001  the process ends here; the reason must reach the other side
        code = 70
        with contextlib.suppress(OSError):
            control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
    finally:
        os._exit(code)


def _become_kernel(request: dict[str, Any], start: Callable[[], None]) -> None:
    code = 71
    try:
        die_with_parent()
        os.setsid()
        default_signals()
        set_limits(request.get("limits", {}))
        if request.get("cwd"):
            os.chdir(request["cwd"])
        if request.get("drop_rights", True):
            drop_rights()
        start()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else (0 if end.code is None else 1)
    except BaseException:  # noqa: BLE001  the process ends here; its error stream is the only place left
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code & 0xFF)
