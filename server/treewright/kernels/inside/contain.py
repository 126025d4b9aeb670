# ruff: noqa: PTH110, PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Puts one kernel and everything it starts into a box, and empties the box afterwards.

Each box has an *init*: a small process between us and the kernel that owns the kernel's namespaces, counts its
processes and their memory, and answers on a control socket. Where the system gives a PID namespace, the init
is its first process, so that nothing can leave the box; elsewhere the init is a subreaper and sweeps its
descendants. The init itself is in `watch`, which is loaded into the same namespace. Standard library only: this
runs under any interpreter, before anything untrusted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import sys
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


def become_subreaper() -> None:
    """Have orphaned descendants handed to this process, where the system can do that."""
    with contextlib.suppress(OSError):
        _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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
