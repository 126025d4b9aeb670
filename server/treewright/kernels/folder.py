"""The folder that a host's kernels live in: one below for each kernel, gone with it.

The path must be short (a socket's path holds about 100 bytes) and the folder's name holds the owner's process
id, so that the next host can sweep what a killed one left behind.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from pathlib import Path

import psutil

_PREFIX = "tw-kernels-"
_LONGEST = 60


def _base() -> Path:
    base = Path(tempfile.gettempdir())
    return base if len(str(base)) <= _LONGEST or os.name == "nt" else Path("/tmp")  # noqa: S108  mkdtemp below


def sweep() -> list[Path]:
    """Remove folders whose owner is dead; returns them."""
    gone = []
    for path in _base().glob(f"{_PREFIX}*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)) and _is_mine(path):
            remove(path)
            gone.append(path)
    return gone


def _is_mine(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    with contextlib.suppress(OSError):
        return path.lstat().st_uid == os.getuid() and not path.is_symlink()
    return False


def remove(path: Path) -> None:
    """Remove a folder, also one whose permissions a candidate took away."""

    def widen(_function: object, name: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(Path(name).parent, 0o700)  # noqa: PTH101  a path that may be hostile, not followed below
            os.chmod(name, 0o700)  # noqa: PTH101 - bytes names, which Path refuses
            if Path(name).is_dir() and not Path(name).is_symlink():
                shutil.rmtree(name, ignore_errors=True)
            else:
                os.unlink(name)  # noqa: PTH108 - bytes names, which Path refuses

    shutil.rmtree(path, onerror=widen)


class KernelFolder:
    """One kernel's folder.

    Attributes:
        path: the folder.
        sockets: where sockets `k-1` to `k-5` stand.
        work: the current folder of the kernel, where the program's files are.
        scratch: its TMPDIR.
        tests: trusted copies of test files; read-only to the kernel where files can be sealed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sockets = path / "s"
        self.work = path / "work"
        self.scratch = path / "tmp"
        self.tests = path / "tests"
        for one in (path, self.sockets, self.work, self.scratch, self.tests):
            one.mkdir(mode=0o700)

    @property
    def socket_stem(self) -> str:
        """What ZeroMQ's ipc transport calls the ip."""
        return str(self.sockets / "k")

    def writable(self) -> list[str]:
        """What stays writable in a sealed box."""
        return [str(self.work), str(self.scratch), str(self.sockets)]

    def put(self, where: Path, files: dict[str, str]) -> None:
        """Write text files below a folder of this kernel.

        Raises:
            ValueError: a name leads out of the folder.
        """
        for name, text in files.items():
            target = (where / name).resolve()
            if not target.is_relative_to(where.resolve()):
                raise ValueError(f"{name!r} leads out of the branch's folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")

    def remove(self) -> None:
        """Remove everything."""
        remove(self.path)


class HostFolder:
    """The folder of one host."""

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_base()))
        self._numbers = itertools.count(1)

    def new(self) -> KernelFolder:
        """A folder for a new kernel."""
        return KernelFolder(self.path / str(next(self._numbers)))

    def remove(self) -> None:
        """Remove everything."""
        remove(self.path)
