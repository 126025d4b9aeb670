"""The lock that a run's writer holds.

Editor, terminal and MCP server on one machine at the same time is normal use. The system releases a lock when its
holder dies. One case is left: a child forked by the holder can keep the lock's descriptor alive after its parent's
death; then the recorded holder is dead while the lock is held, and the lock file is replaced.
"""

import contextlib
import os
import platform
import time
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pydantic import BaseModel, ConfigDict

from treewright.errors import StoreError
from treewright.regular import read_regular
from treewright.store.durable import replace_file, shown, storage_error
from treewright.store.strict_json import decode_object, replace_surrogates
from treewright.store.turns import close_lock, exclusive, open_lock, try_lock

_LOCK = ".run.lock"
_GUARD = ".run.lock.guard"
_HOLDER = ".run.holder.json"
_STOP = ".stop.request.json"

Record = TypeVar("Record", bound=BaseModel)


class Holder(BaseModel):
    """Who holds a run's lock.

    Attributes:
        pid: the process.
        birth: when the process began, in a form that a change of the clock does not alter; it tells the process from a
            later one with the same id.
        host: the machine's name.
        space: the process id namespace; ids of another one say nothing here.
        surface: `cli`, `lsp`, `mcp` or another word for what the process is to the user.
        since: when the lock was taken, in seconds since 1970.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    pid: int
    birth: str
    host: str
    space: str = ""
    surface: str
    since: float

    def named(self) -> str:
        """Return the holder as messages name it."""
        return f"{self.surface} (process {self.pid} on {self.host})"


class StopRequest(BaseModel):
    """A wish, left in a run's folder, that whoever drives the run stop it.

    Attributes:
        surface: who asks: `cli`, `lsp`, `mcp`.
        pid: the asking process.
        at: when, in seconds since 1970.
        reason: the user's words; may be empty.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    surface: str
    pid: int
    at: float
    reason: str = ""


class RunLock:
    """The right to write to one run, held while a runner or a submit is at work."""

    def __init__(self, folder: Path, descriptor: int, holder: Holder) -> None:
        """Take over a lock that is held; use `take`."""
        self.folder = folder
        self.holder = holder
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path, surface: str) -> Self:
        """Take a run's lock at once or not at all.

        Args:
            folder: the run's folder.
            surface: what this process is to the user: `cli`, `lsp`, `mcp`.

        Raises:
            StoreError: `run_locked`, naming the holder; or the folder cannot be written to.
        """
        own = _this_process(surface)
        # Under the guard nobody is between taking the lock and recording it, so what the record says is true.
        with exclusive(folder / _GUARD):
            descriptor = open_lock(folder / _LOCK)
            if not try_lock(descriptor):
                close_lock(descriptor)
                recorded = _read(folder / _HOLDER, Holder)
                if recorded is None or _alive(recorded):
                    raise _refusal(folder, recorded)
                (folder / _LOCK).unlink(missing_ok=True)
                descriptor = open_lock(folder / _LOCK)
                if not try_lock(descriptor):  # pragma: no cover - a new file that nobody else can have
                    close_lock(descriptor)
                    raise _refusal(folder, recorded)
            try:
                replace_file(folder / _HOLDER, [own.model_dump_json().encode()], durable=False)
            except StoreError:
                close_lock(descriptor)
                raise
        return cls(folder, descriptor, own)

    def release(self) -> None:
        """Give the lock back; may be called twice."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):  # the folder may be gone or read-only by now
            (self.folder / _HOLDER).unlink(missing_ok=True)
        close_lock(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Return the lock."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lock back."""
        self.release()


def run_holder(folder: Path) -> Holder | None:
    """Return who holds a run's lock, or None when nobody that lives does.

    Args:
        folder: the run's folder. Nothing is written there.
    """
    recorded = _read(folder / _HOLDER, Holder)
    return recorded if recorded and _alive(recorded) else None


def request_stop(folder: Path, surface: str, reason: str = "") -> StopRequest:
    """Ask whoever drives a run to stop it.

    Raises:
        StoreError: the folder cannot be written to.
    """
    words = str(replace_surrogates(reason))
    request = StopRequest(surface=surface, pid=os.getpid(), at=time.time(), reason=words)
    replace_file(folder / _STOP, [request.model_dump_json().encode()])
    return request


def stop_requested(folder: Path) -> StopRequest | None:
    """Return the stop request that lies in a run's folder, if any; cheap enough to poll ten times a second."""
    path = folder / _STOP
    if not path.exists():
        return None
    return _read(path, StopRequest) or StopRequest(surface="unknown", pid=0, at=0.0)


def clear_stop(folder: Path) -> None:
    """Remove a stop request: it was honoured, or the run is being resumed.

    Raises:
        StoreError: the folder cannot be written to.
    """
    try:
        (folder / _STOP).unlink(missing_ok=True)
    except OSError as fault:
        raise storage_error(fault, folder / _STOP, "remove") from fault


def _refusal(folder: Path, holder: Holder | None) -> StoreError:
    name = holder.named() if holder else "another process"
    return StoreError(
        "run_locked",
        f"The run in {shown(folder)} is being written by {name}.",
        "Wait for it, or ask it to stop with `treewright stop`.",
        {"path": str(folder), "holder": holder.model_dump() if holder else None},
    )


def _this_process(surface: str) -> Holder:
    pid = os.getpid()
    return Holder(
        pid=pid,
        birth=_birth(pid) or "",
        host=platform.node(),
        space=_space(),
        surface=surface,
        since=time.time(),
    )


def _birth(pid: int) -> str | None:
    """Return when a process began; None when there is no such process or only its zombie, empty when it is hidden."""
    if not Path("/proc/self/stat").exists():
        return _birth_elsewhere(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "" if _exists(pid) else None
    # The command's name may hold anything, so fields are counted behind its closing bracket (proc(5)).
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"


def _exists(pid: int) -> bool:
    """Tell whether a process exists, also one of another user that is hidden in /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _birth_elsewhere(pid: int) -> str | None:
    """Answer as `_birth`, where there is no /proc."""
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return ""


def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _alive(holder: Holder) -> bool:
    """Tell whether a recorded holder lives; one that cannot be seen from here counts as living."""
    if holder.host != platform.node() or holder.space != _space():
        return True
    birth = _birth(holder.pid)
    return birth is not None and (not birth or birth == holder.birth)


def _read(path: Path, kind: type[Record]) -> Record | None:
    try:
        return kind.model_validate(decode_object(read_regular(path)))
    except (OSError, ValueError):
        return None
