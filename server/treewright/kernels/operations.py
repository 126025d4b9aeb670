"""The six kernel operations that surfaces offer: exec, list_vars, inspect, reset, interrupt, install_pkg."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from treewright.errors import KernelError
from treewright.kernels.forked import ForkedHost
from treewright.kernels.limits import Limits
from treewright.kernels.results import ExecResult, Inspected, Installed, Variables
from treewright.kernels.session import KernelSession

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_INSTALL_S = 120.0


class InstallPolicy(BaseModel):
    """What may be installed into a kernel (contract: search, 3): nothing, unless the user says so.

    Attributes:
        enabled: whether anything may be.
        allowed: names of packages.
        wheels: folder of wheels; nothing is fetched from anywhere else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    wheels: Path | None = None


class OperationSettings(BaseModel):
    """Settings of the persistent kernels.

    Attributes:
        idle_timeout_s: a kernel that nobody used for so long is stopped.
        timeout_s: wall clock of one execution, when the caller names none.
        most: sessions at a time.
        limits: of each kernel.
        install: what may be installed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    idle_timeout_s: float = Field(default=1800.0, gt=0)
    timeout_s: float = Field(default=60.0, gt=0)
    most: int = Field(default=8, ge=1)
    limits: Limits = Limits(memory_bytes=2 << 30)
    install: InstallPolicy = InstallPolicy()


class KernelOperations:
    """Persistent kernels by name. Safe for several threads; blocking.

    Args:
        settings: limits and permissions.
        host: where kernels are forked; its own by default.
    """

    def __init__(self, settings: OperationSettings | None = None, host: ForkedHost | None = None) -> None:
        self.settings = settings or OperationSettings()
        self._host = host or ForkedHost(limits=self.settings.limits)
        self._owns_host = host is None
        self._sessions: dict[str, KernelSession] = {}
        self._lock = threading.Condition()
        self._closed = False
        self._keeper: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _session(self, name: str, *, create: bool = True) -> KernelSession:
        with self._lock:
            if self._closed:
                raise KernelError("kernel_unknown", "The kernels are closed.")
            session = self._sessions.get(name)
            if session is None and not create:
                raise KernelError(
                    "kernel_unknown", f"There is no kernel session {name!r}.", "exec starts one."
                )
            if session is None:
                if len(self._sessions) >= self.settings.most:
                    raise KernelError(
                        "kernel_request_invalid",
                        f"There are {self.settings.most} kernel sessions already.",
                        "Close one, or use its name.",
                    )
                session = self._sessions[name] = KernelSession(self._host, self.settings.limits)
                self._keep()
            return session

    def _keep(self) -> None:
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._stop_idle, name="treewright-idle", daemon=True)
            self._keeper.start()

    def _stop_idle(self) -> None:
        idle = self.settings.idle_timeout_s
        while True:
            with self._lock:
                if self._lock.wait_for(lambda: self._closed, min(30.0, idle / 4)):
                    return
                sessions = list(self._sessions.values())
            for session in sessions:
                session.stop_when_idle(idle)

    def exec(self, code: str, session: str = "default", timeout_s: float | None = None) -> ExecResult:
        """Execute code in a session; a new session starts with its first execution.

        Raises:
            KernelError: kernel_busy; kernel_request_invalid, too many sessions; E052, kernels are not to be had.
        """
        return self._session(session).execute(code, timeout_s or self.settings.timeout_s)

    def list_vars(self, session: str = "default") -> Variables:
        """The public names of a session.

        Raises:
            KernelError: kernel_unknown, kernel_busy.
        """
        found, reason = self._session(session, create=False).variables()
        return Variables(variables=tuple(found), kernel_restarted=bool(reason), reason=reason)

    def inspect(self, name: str, session: str = "default") -> Inspected:
        """One name of a session, dotted names too.

        Raises:
            KernelError: kernel_unknown, kernel_busy; kernel_request_invalid, not a name.
        """
        if not all(part.isidentifier() for part in name.split(".")):
            raise KernelError(
                "kernel_request_invalid", f"{name[:80]!r} is not a name.", "Use exec for expressions."
            )
        found, reason = self._session(session, create=False).inspect(name)
        return Inspected(found=found, kernel_restarted=bool(reason), reason=reason)

    def reset(self, session: str = "default") -> None:
        """Give a session a fresh kernel.

        Raises:
            KernelError: kernel_unknown, kernel_busy.
        """
        self._session(session, create=False).reset()

    def interrupt(self, session: str = "default") -> bool:
        """Interrupt what a session executes; whether it executed anything.

        Raises:
            KernelError: kernel_unknown.
        """
        return self._session(session, create=False).interrupt()

    def install_pkg(self, package: str, session: str = "default") -> Installed:
        """Install a package for one session, from the folder of wheels only.

        Raises:
            KernelError: kernel_install_disabled, kernel_package_not_allowed, kernel_package_missing,
                kernel_request_invalid.
        """
        policy = self.settings.install
        if not policy.enabled:
            raise KernelError(
                "kernel_install_disabled",
                "Installing into kernels is switched off.",
                "The user can allow it in config.toml.",
            )
        if not _NAME.fullmatch(package):
            raise KernelError(
                "kernel_request_invalid", f"{package[:80]!r} is not the name of a package.", "Name one."
            )
        if _normal(package) not in map(_normal, policy.allowed):
            raise KernelError(
                "kernel_package_not_allowed",
                f"{package} is not on the list of what may be installed.",
                f"Allowed: {', '.join(policy.allowed) or 'nothing'}.",
            )
        if policy.wheels is None or not policy.wheels.is_dir():
            raise KernelError(
                "kernel_package_missing", "There is no folder of wheels.", "Set it in config.toml."
            )
        target = self._site(session)
        self._pip(package, policy.wheels, target)
        self._session(session).add_path(str(target))
        wheels = sorted(path.name for path in target.glob("*.dist-info"))
        return Installed(package=package, wheels=tuple(wheels))

    def _site(self, session: str) -> Path:
        self._host.start()
        home = self._host.zygote.home
        if home is None:
            raise KernelError("E052", "The host of kernels is closed.")
        target = home.path / "site" / _normal(session)
        target.mkdir(parents=True, exist_ok=True)
        return target

    def _pip(self, package: str, wheels: Path, target: Path) -> None:
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--only-binary", ":all:"),
            *(
                "--disable-pip-version-check",
                "--no-input",
                "--find-links",
                str(wheels),
                "--target",
                str(target),
                package,
            ),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_INSTALL_S, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KernelError("kernel_request_invalid", f"pip could not be run: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise KernelError(
                "kernel_package_missing",
                f"{package} could not be installed from the folder of wheels.",
                "Put its wheel, and those it needs, there.",
                {"pip": said[-1] if said else ""},
            )

    def close_session(self, session: str) -> None:
        """End one session and forget it.

        Raises:
            KernelError: kernel_unknown.
        """
        found = self._session(session, create=False)
        with self._lock:
            self._sessions.pop(session, None)
        found.close()

    def close(self) -> None:
        """End every session; a second call does nothing."""
        with self._lock:
            self._closed = True
            sessions = list(self._sessions.values())
            self._sessions.clear()
            self._lock.notify_all()
        if self._keeper is not None:
            self._keeper.join(10)
            self._keeper = None
        for session in sessions:
            session.close()
        if self._owns_host:
            self._host.close()


def _normal(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
