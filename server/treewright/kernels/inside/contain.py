# ruff: noqa: PTH110, PTH123, PTH208
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Puts one kernel and everything it starts into a box, and empties the box afterwards.

Each box has an *init*: a small process between us and the kernel that owns the kernel's namespaces, counts its
processes and their memory, and answers on a control socket. Where the system gives a PID namespace, the init
is its first process, so that nothing can leave the box; elsewhere the init is a subreaper and sweeps its
descendants. Standard library only: this file runs under any interpreter, before anything untrusted.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 4096, 16384, 1 << 18, 2, 4, 8
_SYS_MOUNT_SETATTR, _AT_RECURSIVE, _ATTR_RDONLY = 442, 0x8000, 1
_WATCH_S, _IDLE_S = 0.02, 1.0
_EMPTY_S = 3.0
_SHARED_BYTES = 64 << 20  # what each process holds together with the parent it was forked from


def _libc() -> Any:
    """The C library, or None where there is no ctypes or no Linux."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return ctypes.CDLL(None, use_errno=True)
    except (ImportError, OSError):
        return None


LIBC = _libc()


def _call(name: str, *arguments: Any) -> None:
    """Call a C function that answers 0 when it worked.

    Raises:
        OSError: it did not, or there is no such function here.
    """
    import ctypes

    function = getattr(LIBC, name, None) if LIBC is not None else None
    if function is None:
        raise OSError(38, f"{name} is not to be had here")
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    import ctypes

    raw = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _call("mount", raw[0], raw[1], raw[2], ctypes.c_ulong(flags), raw[3])


def _mount_attributes(target: str, flags: int, put: int, clear: int) -> None:
    import ctypes

    attributes = struct.pack("=QQQQ", put, clear, 0, 0)
    _call(
        "syscall",
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_long(-100),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_long(flags),
        ctypes.c_char_p(attributes),
        ctypes.c_long(len(attributes)),
    )


# --- what this system gives ---------------------------------------------------------------------------------


def _works(trial: Callable[[], None]) -> bool:
    """Try something in a child that is thrown away."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(OSError, AttributeError, ImportError):
            trial()
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _try_files() -> None:
    _call("unshare", CLONE_NEWNS)
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount_attributes("/", _AT_RECURSIVE, _ATTR_RDONLY, 0)


def _try_proc() -> None:
    _call("unshare", CLONE_NEWNS | CLONE_NEWPID)
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(OSError):
            _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
            _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
            code = 0
        os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(1, "no /proc of its own")


def probe() -> dict[str, bool]:
    """Find out what this system and this user may do; costs a few forks.

    Returns:
        `processes` (PID namespace with its own /proc), `network` (network namespace), `files` (everything
        read-only but the branch's folders), `subreaper`.
    """
    if LIBC is None:
        return {"processes": False, "network": False, "files": False, "subreaper": False}
    return {
        "processes": hasattr(LIBC, "setns") and _works(_try_proc),
        "network": _works(lambda: _call("unshare", CLONE_NEWNET)),
        "files": _works(_try_files),
        "subreaper": _works(lambda: _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)),
    }


def enter_user_namespace() -> bool:
    """Give an unprivileged process the right to make namespaces, where the system allows that.

    The caller goes on as a child in a user and PID namespace of its own; the original process waits for it
    and ends with it. Call before anything else runs. Returns whether it was done.
    """
    if LIBC is None or os.geteuid() == 0:
        return False
    user, group = os.geteuid(), os.getegid()
    if not _works(lambda: _call("unshare", CLONE_NEWUSER | CLONE_NEWPID)):
        return False
    _call("unshare", CLONE_NEWUSER | CLONE_NEWPID)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with (
            contextlib.suppress(FileNotFoundError),
            open(f"/proc/self/{name}", "w", encoding="ascii") as file,
        ):
            file.write(text)
    child = os.fork()
    if child:
        os.closerange(3, 4096)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with_parent()
    with contextlib.suppress(OSError):
        _call("unshare", CLONE_NEWNS)
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    return True


# --- steps of the child -------------------------------------------------------------------------------------


def die_with_parent() -> None:
    """Have the system kill this process when its parent ends."""
    with contextlib.suppress(OSError):
        _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def fork_into_box(gives: dict[str, bool]) -> int:
    """Fork; the child is the init of a box of its own.

    Args:
        gives: what `probe` found.
    """
    if not gives["processes"]:
        return os.fork()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", CLONE_NEWPID)
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:
                # Later children are made in the old namespace again, until the next box.
                _call("setns", own, CLONE_NEWPID)
        return child
    finally:
        os.close(own)


def close_descriptors(keep: Iterable[int]) -> None:
    """Close every descriptor but those given and the three standard ones."""
    low = 3
    for number in sorted(set(keep)):
        if number >= low:
            os.closerange(low, number)
            low = number + 1
    os.closerange(low, 65536)


def seal(gives: dict[str, bool], request: dict[str, Any]) -> None:
    """Give the init's box its own network, mounts and /proc, as far as they are to be had.

    Args:
        gives: what `probe` found.
        request: `network` (bool: share ours), `writable` (folders that stay writable; empty with
            `sealed` false).
    """
    sealed = gives["files"] and request.get("sealed", True)
    apart = gives["network"] and not request.get("network", False)
    _call(
        "unshare",
        (CLONE_NEWNET if apart else 0) | (CLONE_NEWNS if gives["files"] or gives["processes"] else 0),
    )
    if apart:
        _loopback_up()
    if not (gives["files"] or gives["processes"]):
        return
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    if sealed:
        writable = [path for path in request.get("writable", []) if os.path.exists(path)]
        for path in writable:
            _mount(path, path, None, _MS_BIND | _MS_REC)
        _mount_attributes("/", _AT_RECURSIVE, _ATTR_RDONLY, 0)
        for path in writable:
            _mount_attributes(path, _AT_RECURSIVE, 0, _ATTR_RDONLY)
        with contextlib.suppress(OSError):
            _mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "size=64m")  # noqa: S108  in its own box
    if gives["processes"]:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def _loopback_up() -> None:
    """A fresh network namespace has a loopback that is down; programs may talk to themselves."""
    import fcntl

    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe_socket:
        # struct ifreq: 16 bytes of name, then the flags; SIOCSIFFLAGS, IFF_UP | IFF_RUNNING.
        fcntl.ioctl(probe_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))


def drop_rights() -> None:
    """Give up every capability and the way to new ones."""
    if LIBC is None:
        return
    import ctypes

    for number in range(64):
        if LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    with contextlib.suppress(OSError):
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    with contextlib.suppress(OSError):
        _call("capset", ctypes.byref(header), ctypes.byref(data))


def set_limits(limits: dict[str, Any]) -> None:
    """Set the limits that the system itself enforces on this process and its children.

    Args:
        limits: `file_bytes`, `open_files`, `processes` (only for users other than root).
    """
    import resource

    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.get("file_bytes")),
        (resource.RLIMIT_NOFILE, limits.get("open_files")),
    ]
    for which, value in wanted:
        if value is None:
            continue
        _, hard = resource.getrlimit(which)
        value = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (value, value))


def default_signals() -> None:
    """Undo what a parent chose about signals."""
    signal.set_wakeup_fd(-1)
    for number in (
        signal.SIGCHLD,
        signal.SIGTERM,
        signal.SIGALRM,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGXCPU,
    ):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


# --- the init -----------------------------------------------------------------------------------------------


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
        with contextlib.suppress(OSError):
            _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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
