"""The few file acts that must survive a crash: sync, atomic replace, private folders, and their errors.

Everything that the store writes goes through here, so that a full or read-only disk always gives the same clear
`StoreError` and never a half-written file.
"""

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from treewright.errors import StoreError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
TEMPORARY_PREFIX = ".treewright-tmp-"
_STALE_AFTER_S = 3600.0
_CODES = {
    errno.ENOSPC: ("storage_full", "Free some space there and try again."),
    errno.EDQUOT: ("storage_full", "Free some of your quota there and try again."),
    errno.EROFS: ("storage_read_only", "Choose a writable place, with --out or TREEWRIGHT_HOME."),
    errno.EACCES: ("storage_read_only", "Choose a writable place, with --out or TREEWRIGHT_HOME."),
    errno.EPERM: ("storage_read_only", "Choose a writable place, with --out or TREEWRIGHT_HOME."),
    errno.ENOENT: ("storage_missing", "Check the path."),
    errno.ENOTDIR: ("storage_missing", "Check the path."),
    errno.ELOOP: ("storage_link", "Remove the link; what a run writes to must be a file of its own."),
}


def shown(path: Path | str) -> str:
    """Return a path as messages show it: the user's home folder becomes `~`."""
    text = str(path)
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where no home is known
    if home not in ("~", "/") and (text == home or text.startswith(home + os.sep)):
        return "~" + text[len(home) :]
    return text


def storage_error(fault: OSError, path: Path, act: str) -> StoreError:
    """Return the StoreError that tells an operating system error to the user.

    Args:
        fault: what the system said.
        path: the file or folder of the act.
        act: what was tried, as in "could not {act}": "write", "read", "make the folder".
    """
    code, hint = _CODES.get(
        fault.errno or 0, ("storage_failed", "Check the disk and the file's permissions.")
    )
    if act == "read" and code == "storage_read_only":
        code, hint = "storage_unreadable", "Check the file's permissions."
    reason = fault.strerror or type(fault).__name__
    return StoreError(
        code,
        f"Could not {act} {shown(path)}: {reason}.",
        hint,
        {"path": str(path), "errno": errno.errorcode.get(fault.errno or 0, "")},
    )


@contextlib.contextmanager
def telling(path: Path, act: str) -> Iterator[None]:
    """Turn an operating system error of the block into a StoreError; see `storage_error`."""
    try:
        yield
    except OSError as fault:
        raise storage_error(fault, path, act) from fault


def sync_file(descriptor: int) -> None:
    """Force a file's data, and the size needed to read it, to the disk."""
    if sys.platform == "darwin":  # pragma: no cover - fsync leaves the drive's cache unflushed there
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:  # pragma: no cover - Windows
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk; without effect where the system cannot."""
    if os.name == "nt":  # pragma: no cover - folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    except OSError as fault:
        if fault.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path, *, private: bool = False) -> Path:
    """Make a folder and those above it, and return it.

    Args:
        folder: the folder wanted.
        private: create what is missing for this user only (mode 0700).

    Raises:
        StoreError: it cannot be made, or a file stands in its place.
    """
    mode = PRIVATE_FOLDER if private else 0o777
    try:
        missing = []
        at = folder
        while not at.exists():
            missing.append(at)
            at = at.parent
        for each in reversed(missing):
            each.mkdir(mode=mode, exist_ok=True)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a file stands in its place", str(folder))
    except OSError as fault:
        raise storage_error(fault, folder, "make the folder") from fault
    return folder


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False, durable: bool = True) -> Iterator[BinaryIO]:
    """Give a file to write; once the block ends well it stands at `path`, complete, in one step.

    When the block raises, or the disk does, `path` is what it was before and the temporary file is gone.

    Args:
        path: the file to make or replace. A symbolic link is replaced, not followed.
        private: readable by this user only (mode 0600).
        durable: sync data and name; False for what can be rebuilt.

    Raises:
        StoreError: the disk refused (`storage_full`, `storage_read_only`, `storage_missing`, `storage_failed`).
    """
    temporary = temporary_beside(path)
    try:
        _keep_devices(path)
        handle = _open_new(temporary, private)
        try:
            with handle:
                yield handle
                handle.flush()
                # Its own clock reading, not the kernel's tick: readers tell two saves apart by this stamp.
                _stamp(handle.fileno())
                if durable:
                    sync_file(handle.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
            raise
        if durable:
            sync_folder(path.parent)
    except OSError as fault:
        raise storage_error(fault, path, "write") from fault


def replace_file(path: Path, parts: Iterable[bytes], *, private: bool = False, durable: bool = True) -> int:
    """Write a file by atomic replace and return its size in bytes.

    Args:
        path: the file to make or replace.
        parts: its content, in order.
        private: readable by this user only (mode 0600).
        durable: sync data and name before returning.

    Raises:
        StoreError: the disk refused; `path` is what it was before.
    """
    size = 0
    with replacing(path, private=private, durable=durable) as handle:
        for part in parts:
            size += handle.write(part)
    return size


def temporary_beside(path: Path) -> Path:
    """Return a fresh name beside a file; it tells the process that made it."""
    return path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(4)}")


def sweep_temporaries(folder: Path, *, now: float) -> int:
    """Remove what killed processes left of unfinished writes in a folder.

    Args:
        folder: where to look; not below.
        now: the present, in seconds since 1970.

    Returns:
        How many files were removed: those untouched for an hour.
    """
    removed = 0
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process sweeps too, or the folder is read-only
            if now - path.stat().st_mtime > _STALE_AFTER_S:
                path.unlink()
                removed += 1
    return removed


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however the system splits it.

    Raises:
        OSError: the system refused; some bytes may have been written.
    """
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        view = view[written:]


def _keep_devices(path: Path) -> None:
    """Refuse to put a file in the place of a device or a pipe, or of a link to one (`/dev/null`, `/dev/stdout`)."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "a device or a pipe stands in its place", str(path))


def _open_new(path: Path, private: bool) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, PRIVATE_FILE if private else 0o666), "wb", buffering=1 << 20)


def _stamp(descriptor: int) -> None:
    if os.utime in os.supports_fd:
        now = time.time_ns()
        os.utime(descriptor, ns=(now, now))
