"""Short critical sections between threads and processes, in turn: whoever waits gets the lock before whoever comes later.

Waiting is polling, since a blocking call of the system knows no timeout outside a signal or a thread. Polling alone is not
fair: a process that gives the lock back and wants it again at once has it long before the others wake up, and on a busy machine
some of them never do. So there is a second lock file, the line. Whoever finds the lock taken, or others waiting, first takes
the line; its holder is next, alone polls the lock, and often. Those behind it poll the line, the more often the longer
they have waited. Only the lock itself guards anything: whatever happens to the line costs turns, not safety, and the system
frees both when a process dies.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from treewright.errors import StoreError
from treewright.store.durable import PRIVATE_FILE, shown, storage_error

_NEXT_WAIT_S = 0.0005
"""First pause of whoever is next; it grows to the longest one."""
_LONGEST_WAIT_S = 0.02
_LINE_WAIT_S = 0.01
"""First pause of the others; a second of waiting divides it by five."""
_LEAST_LINE_WAIT_S = 0.001

_held: set[int] = set()
_held_turn = threading.Lock()


@contextlib.contextmanager
def exclusive(path: Path, timeout: float = 30.0) -> Iterator[None]:
    """Hold a file lock for a short piece of work, among threads and processes.

    Args:
        path: the lock file; made when missing, and left there for good, as is the line's beside it once somebody has had to wait.
        timeout: seconds without anybody else getting the lock after which waiting is given up. While others take their turns,
            waiting goes on.

    Raises:
        StoreError: `lock_timeout`, or the file cannot be made.
    """
    descriptor = open_lock(path)
    try:
        line = path.with_name(f"{path.name}.line")
        if line.exists() or not try_lock(descriptor):
            _wait_in_line(path, descriptor, line, _Patience(path, timeout))
        yield
    finally:
        close_lock(descriptor)


def _wait_in_line(path: Path, descriptor: int, line: Path, patience: "_Patience") -> None:
    """Take the line, then the lock."""
    place = open_lock(line)
    try:
        began = time.monotonic()
        while not try_lock(place):
            waited = time.monotonic() - began
            patience.wait(max(_LEAST_LINE_WAIT_S, _LINE_WAIT_S / (1 + 4 * waited)))
        pause = _NEXT_WAIT_S
        while not try_lock(descriptor):
            patience.wait(pause)
            pause = min(pause * 1.25, _LONGEST_WAIT_S)
        with contextlib.suppress(OSError):
            os.utime(
                path
            )  # where it cannot be set, others wait for their timeout from the last turn that they saw
    finally:
        close_lock(place)


class _Patience:
    """How long to go on waiting: until nobody has got the lock for the timeout.

    Whoever got the lock out of the line has set the time of the lock's file. Only a change of it counts, not what it is.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout = path, timeout
        self._seen = self._last_turn()
        self._end = time.monotonic() + timeout

    def wait(self, seconds: float) -> None:
        """Pause.

        Raises:
            StoreError: `lock_timeout`.
        """
        seen, now = self._last_turn(), time.monotonic()
        if seen != self._seen:
            self._seen, self._end = seen, now + self._timeout
        elif now > self._end:
            raise StoreError(
                "lock_timeout",
                f"{shown(self._path)} stayed locked for {self._timeout:g} s.",
                "Another Treewright process is busy or stuck; try again, or end it.",
                {"path": str(self._path)},
            )
        time.sleep(seconds)

    def _last_turn(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0


def open_lock(path: Path) -> int:
    """Return a descriptor of a lock file, made when missing; nothing is locked yet.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags, PRIVATE_FILE)
    except OSError as fault:
        raise storage_error(fault, path, "lock") from fault
    with _held_turn:
        _held.add(descriptor)
    return descriptor


def try_lock(descriptor: int) -> bool:
    """Lock at once or not at all.

    Raises:
        StoreError: `storage_failed`; the file system does not lock files.
    """
    import portalocker  # 50 ms; only who writes pays them

    try:
        portalocker.lock(descriptor, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException as fault:
        raise StoreError(
            "storage_failed",
            f"This file system does not lock files: {fault}.",
            "Choose a local folder, with --out or TREEWRIGHT_HOME.",
        ) from fault
    return True


def close_lock(descriptor: int) -> None:
    """Give a lock back, if it is held, and close its descriptor."""
    import portalocker

    with _held_turn:
        _held.discard(descriptor)
    try:
        # Said outright: a forked child may share the descriptor, and closing ours alone would leave it locked.
        with contextlib.suppress(portalocker.LockException, OSError):
            portalocker.unlock(descriptor)
    finally:
        os.close(descriptor)


def _forget_in_child() -> None:
    """Close the parent's locks in a forked child, so that they end with the parent."""
    global _held_turn  # noqa: PLW0603 - the parent's lock may have been copied while it was held
    _held_turn = threading.Lock()
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
