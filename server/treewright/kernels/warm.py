"""Starts a zygote and asks it for kernels."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.errors import KernelError
from treewright.kernels.environment import scrubbed
from treewright.kernels.folder import HostFolder, KernelFolder
from treewright.kernels.limits import Limits

INSIDE = Path(__file__).parent / "inside"
_WARM_S = 60.0
_READY_S = 20.0


def can_fork() -> bool:
    """Whether this system has what a zygote needs."""
    return hasattr(os, "fork") and hasattr(socket, "SOCK_SEQPACKET") and sys.platform != "darwin"


def plain_source() -> str:
    """The text of the module that turns values into plain data."""
    from treewright.search import plain

    return Path(plain.__file__).read_text(encoding="utf-8")


@dataclass(slots=True)
class Forked:
    """A kernel that was forked and is not connected to yet.

    Attributes:
        folder: the kernel's own.
        connection: Jupyter connection information.
        control: speaks to the kernel's init; closing it kills everything.
        out: read end of descriptor 1.
        err: read end of descriptor 2.
        channel: read end of the check channel.
    """

    folder: KernelFolder
    connection: dict[str, Any]
    control: socket.socket
    out: int
    err: int
    channel: int
    _open: list[int] = field(default_factory=list)

    def wait_ready(self, seconds: float = _READY_S) -> None:
        """Wait until the kernel's sockets are bound.

        Raises:
            KernelError: it did not come up.
        """
        self.control.settimeout(seconds)
        try:
            data = self.control.recv(65536)
        except (TimeoutError, OSError) as error:
            raise _unavailable(f"A forked kernel did not come up: {error}") from error
        answer = json.loads(data) if data else {"failed": "it ended at once"}
        if not answer.get("ready"):
            raise _unavailable(f"A forked kernel did not come up: {answer.get('failed', answer)}")

    def say(self, **message: Any) -> None:
        """Send a message to the init; one that has ended does not hear it."""
        with contextlib.suppress(OSError):
            self.control.send(json.dumps(message).encode("utf-8"))

    def hear(self) -> dict[str, Any]:
        """The init's next message; empty at the end, or when none came in the time that is set.

        A message of ours that the init no longer read makes the first read fail, while its last words wait.
        """
        for _ in range(2):
            try:
                data = self.control.recv(65536)
            except ConnectionResetError:
                continue
            except OSError:
                return {}
            found: dict[str, Any] = json.loads(data) if data else {}
            return found
        return {}

    def close(self) -> None:
        """Close our ends and remove the folder; whatever still lives dies."""
        self.control.close()
        for number in (self.out, self.err, self.channel):
            with contextlib.suppress(OSError):
                os.close(number)
        self.folder.remove()


def own_connection(folder: KernelFolder) -> dict[str, Any]:
    """Connection information with a new key, on sockets in the kernel's own folder."""
    names = ("shell", "iopub", "stdin", "control", "hb")
    return {
        "transport": "ipc",
        "ip": folder.socket_stem,
        "key": secrets.token_hex(24),
        "signature_scheme": "hmac-sha256",
        **{f"{name}_port": number for number, name in enumerate(names, 1)},
        "heartbeat": False,
    }


def _unavailable(message: str, hint: str = "") -> KernelError:
    return KernelError("E052", message, hint or "Run `treewright doctor` to see what is missing.")


class Zygote:
    """A warm parent process.

    Args:
        python: interpreter with ipykernel; None is ours.
        preload: modules to import before the first fork.
        path: folders put first on `sys.path` of every kernel.
        bare: fork workers of `inside/screener` instead of Jupyter kernels; ipykernel is not needed then.
        without: of what the system gives (`processes`, `network`, `files`), what is not to be used.

    Attributes:
        gives: what the system lets the boxes do: `processes`, `network`, `files`, `subreaper`.
        missing: modules of `preload` that could not be imported.
    """

    def __init__(
        self,
        python: str | None = None,
        preload: Sequence[str] = (),
        path: Sequence[str] = (),
        *,
        bare: bool = False,
        without: Sequence[str] = (),
    ) -> None:
        self.python = python or sys.executable
        self._bare = bare
        self._without = list(without)
        self._preload = list(preload)
        self._path = list(path)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.home: HostFolder | None = None
        self.gives: dict[str, bool] = {}
        self.missing: list[str] = []

    @property
    def pid(self) -> int | None:
        """Process id of the parent, while it lives."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process and wait until it is warm; a second call does nothing while it lives.

        Raises:
            KernelError: E052, there is no fork here, no ipykernel, or it did not start.
        """
        with self._lock:
            if self.pid is not None:
                return
            self._close()
            if not can_fork():
                raise _unavailable("This system cannot fork kernels.", "Use a pool of started kernels.")
            self.home = HostFolder()
            try:
                self._start(self.home)
            except BaseException:
                self._close()
                raise

    def _start(self, home: HostFolder) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        folder = home.path / "warm"
        folder.mkdir()
        environment = scrubbed(self.python, folder, folder)
        environment["IPYTHONDIR"] = str(folder / "ipython")
        with theirs, tempfile.TemporaryFile(dir=folder) as errors:
            self._process = subprocess.Popen(
                [self.python, "-s", str(INSIDE / "zygote.py"), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
            theirs.close()
            ours.settimeout(_WARM_S)
            try:
                settings = {
                    "plain": plain_source(),
                    "preload": self._preload,
                    "bare": self._bare,
                    "without": self._without,
                }
                ours.send(json.dumps(settings).encode("utf-8"))
                data = ours.recv(65536)
            except OSError:
                data = b""
            answer = json.loads(data) if data else {}
            if "gives" not in answer:
                errors.seek(0)
                said = answer.get("failed") or errors.read().decode("utf-8", "replace").strip()[-500:]
                raise _unavailable(
                    f"The kernel parent did not start: {said or 'it said nothing'}",
                    f"Check that ipykernel is installed for {self.python}.",
                )
        self.gives, self.missing = answer["gives"], answer["missing"]

    def fork(
        self, limits: Limits, *, connection: dict[str, Any] | None = None, lasting: bool = False
    ) -> Forked:
        """Ask for a kernel; does not wait until it is ready.

        Args:
            limits: of its box.
            connection: Jupyter connection information to serve; None makes one with a new key, on sockets in
                the kernel's own folder.
            lasting: a kernel for people: its memory is limited from the start and it takes no checks.

        Raises:
            KernelError: the parent is gone and cannot be started again.
        """
        for attempt in (1, 2):
            self.start()
            try:
                return self._ask(limits, connection, None, lasting=lasting)
            except OSError as error:
                if attempt == 2:
                    raise _unavailable(f"The kernel parent does not answer: {error}") from error
        raise AssertionError("unreachable")

    def fork_worker(self, limits: Limits) -> tuple[Forked, socket.socket]:
        """Ask for a worker of a bare zygote; returns it and the socket that it takes programs from.

        Raises:
            KernelError: the parent is gone and cannot be started again.
        """
        self.start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return self._ask(limits, {}, [theirs.fileno()]), ours
            except OSError as error:
                ours.close()
                raise _unavailable(f"The kernel parent does not answer: {error}") from error

    def _ask(
        self,
        limits: Limits,
        connection: dict[str, Any] | None,
        further: list[int] | None,
        *,
        lasting: bool = False,
    ) -> Forked:
        """Send a request with its descriptors.

        Args:
            limits: of the box.
            connection: what the kernel serves; None makes one.
            further: descriptors to hand over instead of a check channel.
            lasting: see `fork`.

        Raises:
            OSError: the parent is gone.
        """
        if self.home is None or self._control is None:
            raise OSError("closed")
        folder = self.home.new()
        connection = connection or own_connection(folder)
        request = self._request(folder, limits, connection, lasting)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, out_w = os.pipe()
        err, err_w = os.pipe()
        records, records_w = os.pipe()
        given = [theirs.fileno(), out_w, err_w, *([records_w] if further is None else further)]
        try:
            with self._lock:
                if self._control is None:
                    raise OSError("closed")
                socket.send_fds(self._control, [json.dumps(request).encode("utf-8")], given)
        except OSError:
            ours.close()
            for number in (out, err, records):
                os.close(number)
            folder.remove()
            raise
        finally:
            theirs.close()
            for number in (out_w, err_w, records_w):
                os.close(number)
        return Forked(folder, connection, ours, out, err, records)

    def _request(
        self, folder: KernelFolder, limits: Limits, connection: dict[str, Any], lasting: bool
    ) -> dict[str, Any]:
        return {
            "connection": connection,
            "env": scrubbed(self.python, folder.work, folder.scratch),
            "path": [str(folder.work), *self._path],
            "cwd": str(folder.work),
            "limits": limits.for_box(),
            "network": limits.network,
            "sealed": limits.sealed,
            "writable": folder.writable(),
            "checks": not lasting,
            "own_limits": {"memory_bytes": limits.memory_bytes} if lasting else None,
        }

    def close(self) -> None:
        """End the parent and with it every kernel; a second call does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self.home is not None:
            self.home.remove()
            self.home = None
