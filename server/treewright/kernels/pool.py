"""The host whose kernels are ordinary ones, started ahead: any kernelspec, any interpreter, any provisioner."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from treewright.errors import KernelError
from treewright.kernels.branch import run_planned, trace_of
from treewright.kernels.environment import scrubbed
from treewright.kernels.folder import HostFolder, KernelFolder
from treewright.kernels.lean import LeanClient
from treewright.kernels.limits import Limits
from treewright.kernels.loop import LoopThread
from treewright.kernels.message import cell_of, run_by_messages
from treewright.kernels.testrun import TestRun
from treewright.kernels.trace import BranchTrace
from treewright.kernels.warm import INSIDE
from treewright.kernels.wire import Wired, wire_plan, wire_tests
from treewright.parsing import load_json
from treewright.search.checks import Plan

_READY_S = 30.0


def spec_of(kernel: str | None, python: str | None) -> Any:
    """The kernelspec to start.

    Args:
        kernel: name of an installed kernelspec; None takes the interpreter's own ipykernel.
        python: interpreter; None is ours.

    Raises:
        KernelError: E052, there is no such kernelspec.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

    if kernel is None:
        argv = [python or sys.executable, "-s", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Treewright", language="python")
    try:
        return KernelSpecManager().get_kernel_spec(kernel)
    except NoSuchKernel as error:
        raise KernelError(
            "E052",
            f"There is no kernelspec {kernel!r}.",
            "`jupyter kernelspec list` shows what is installed.",
        ) from error


def _manager_of(spec: Any, before: list[str], folder: KernelFolder) -> Any:
    """jupyter_client's manager of one kernel.

    Args:
        spec: the kernelspec.
        before: what is put before its command.
        folder: where its sockets and its connection file stand.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    chosen = KernelSpec(
        argv=[*before, *spec.argv],
        display_name=spec.display_name,
        language=spec.language,
        metadata=spec.metadata,
        env=spec.env,
    )

    class Only(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> Any:  # noqa: ARG002  the base class's signature
            return chosen

    manager: Any = AsyncKernelManager(
        kernel_name="treewright",
        kernel_spec_manager=Only(),
        connection_file=str(folder.sockets / f"{secrets.token_hex(4)}.json"),
        transport="tcp" if sys.platform == "win32" else "ipc",
        cache_ports=False,
    )
    if sys.platform != "win32":
        manager.ip = folder.socket_stem
    return manager


class PooledKernel:
    """One started kernel: jupyter_client's manager, a folder, a lean client.

    Attributes:
        folder: the kernel's own.
        client: subscribed to its output.
    """

    def __init__(
        self, spec: Any, folder: KernelFolder, limits: Limits, python: str, loop: LoopThread
    ) -> None:
        self.folder = folder
        self._loop = loop
        self._report = folder.path / "report.json"
        provisioner = spec.metadata.get("kernel_provisioner", {}).get("provisioner_name", "local-provisioner")
        contained = provisioner == "local-provisioner" and sys.platform != "win32"
        self._log = (folder.path / "output").open("wb")
        self._manager = _manager_of(spec, self._launcher(limits) if contained else [], folder)
        environment = scrubbed(python, folder.work, folder.scratch)
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            environment[name] = str(folder.scratch)
        streams = {"stdin": subprocess.DEVNULL, "stdout": self._log, "stderr": self._log}
        loop.run(self._manager.start_kernel(env=environment, cwd=str(folder.work), **streams))
        info = self._manager.get_connection_info()
        key = info["key"]
        self.client = LeanClient({**info, "key": key.decode() if isinstance(key, bytes) else key}, iopub=True)

    def _launcher(self, limits: Limits) -> list[str]:
        settings = {
            "limits": limits.for_box(),
            "network": limits.network,
            "sealed": limits.sealed,
            "writable": self.folder.writable(),
            "cwd": str(self.folder.work),
            "report": str(self._report),
        }
        return [sys.executable, "-s", str(INSIDE / "launcher.py"), json.dumps(settings), "--"]

    def wait_ready(self, seconds: float = _READY_S) -> None:
        """Wait for the first reply.

        Raises:
            KernelError: E052, it did not come up.
        """
        import time

        deadline = time.monotonic() + seconds
        request = self.client.request("kernel_info_request", {})
        while time.monotonic() < deadline:
            if self.client.reply(request, 0.1) is not None:
                self.client.wait_subscribed(1.0)
                return
            if self.ended()[0]:
                break
        said = (self.folder.path / "output").read_bytes()[-500:].decode("utf-8", "replace").strip()
        raise KernelError(
            "E052", f"The kernel did not come up: {said or 'it said nothing'}", "Is ipykernel there?"
        )

    @property
    def gives(self) -> dict[str, bool]:
        """What the launcher found that the system gives its box; nothing without a launcher."""
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, bool] = load_json(self._report.read_text(encoding="utf-8"))["gives"]
            return found
        return {}

    def last_words(self) -> dict[str, Any]:
        """The init's report of the end, where there is one."""
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, Any] = load_json(self._report.read_text(encoding="utf-8")).get("end") or {}
            return found
        return {}

    def execute(self, code: str, *, silent: bool = False) -> str:
        """Send an execute request; returns its id."""
        return self.client.execute(code, silent=silent)

    def message(self, seconds: float) -> tuple[str, dict[str, Any]] | None:
        """The next message of either channel."""
        import zmq

        poller = zmq.Poller()
        for one in (self.client.iopub, self.client.shell):
            poller.register(one, zmq.POLLIN)
        for one, _ in poller.poll(max(1, int(seconds * 1000))):
            message = self.client.read(one)
            if message is not None:
                return ("iopub" if one is self.client.iopub else "shell"), message
        return None

    def ended(self) -> tuple[bool, int | None]:
        """Whether the kernel's process is gone, and its exit code."""
        if self._loop.run(self._manager.is_alive()):
            return False, None
        code = self.last_words().get("code")
        process = getattr(self._manager.provisioner, "process", None)
        found = code if code is not None else getattr(process, "returncode", None)
        return True, None if found is None else int(found)

    def interrupt(self) -> None:
        """Interrupt what it executes."""
        self._loop.run(self._manager.interrupt_kernel())

    def close(self) -> None:
        """End it and everything it started; leave nothing."""
        self.client.close()
        with contextlib.suppress(RuntimeError, OSError):
            self._loop.run(self._manager.shutdown_kernel(now=True))
        self._log.close()
        self.folder.remove()


class PoolHost:
    """Runs branches in kernels of a kernelspec, one branch a kernel. Safe for several threads.

    Args:
        kernel: name of an installed kernelspec.
        python: interpreter with ipykernel, when no kernelspec is named; None is ours.
        limits: of every branch.
        spares: kernels to keep started ahead.
        path: folders put first on `sys.path`.
        defines: builtin names that programs are expected to define.
    """

    kind = "pool"

    def __init__(
        self,
        kernel: str | None = None,
        python: str | None = None,
        *,
        limits: Limits | None = None,
        spares: int = 1,
        path: Sequence[str] = (),
        defines: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits or Limits()
        self._spec = spec_of(kernel, python)
        self._python = python or sys.executable
        self._path = list(path)
        self._defines = defines
        self._wanted = spares
        self._home: HostFolder | None = None
        self._loop: LoopThread | None = None
        self._spares: deque[PooledKernel] = deque()
        self._lock = threading.Condition()
        self._closed = False
        self._filler: threading.Thread | None = None
        self._gives: dict[str, bool] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to start kernels ahead.

        Raises:
            KernelError: E052, kernels are not to be had.
        """
        if self._spec.language.lower() != "python":
            raise KernelError(
                "kernel_request_invalid",
                f"Checks are Python; this kernelspec is {self._spec.language}.",
                "Name another.",
            )
        with self._lock:
            self._home = self._home or HostFolder()
            self._loop = self._loop or LoopThread()
            if self._wanted and self._filler is None:
                self._filler = threading.Thread(target=self._fill, name="treewright-pool", daemon=True)
                self._filler.start()

    def fresh(self) -> PooledKernel:
        """A kernel in which nothing ran before."""
        self.start()
        with self._lock:
            if self._spares:
                kernel = self._spares.popleft()
                self._lock.notify_all()
                if not kernel.ended()[0]:
                    return kernel
                kernel.close()
        return self._make()

    def _make(self) -> PooledKernel:
        if self._home is None or self._loop is None:
            raise KernelError("E052", "The pool of kernels is closed.")
        kernel = PooledKernel(self._spec, self._home.new(), self.limits, self._python, self._loop)
        try:
            kernel.wait_ready()
        except BaseException:
            kernel.close()
            raise
        self._gives = kernel.gives
        return kernel

    def _fill(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or len(self._spares) < self._wanted)
                if self._closed:
                    return
            try:
                kernel = self._make()
            except KernelError:
                # Whoever asks next makes its own and learns why.
                with self._lock:
                    self._lock.wait_for(lambda: self._closed, 1.0)
                continue
            if not self._keep(kernel):
                kernel.close()
                return

    def _keep(self, kernel: PooledKernel) -> bool:
        """Put a kernel by; False when nobody will come for it any more."""
        with self._lock:
            if not self._closed:
                self._spares.append(kernel)
                self._lock.notify_all()
            return not self._closed

    def wait_spares(self, seconds: float) -> bool:
        """Wait until every spare is there; False when the time ran out."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self._spares) >= self._wanted, seconds)

    def guarantees_missing(self) -> tuple[str, ...]:
        """Names of the contract's guarantees that this host could not give."""
        missing = [name for name in ("processes", "network", "files") if not self._gives.get(name, False)]
        return ("channel", *missing)

    def run_branch(
        self,
        program: str,
        plan: Plan,
        *,
        files: Mapping[str, str] | None = None,
        tests: Mapping[str, str] | None = None,
    ) -> BranchTrace:
        """Run every check of a plan against a program; see `ForkedHost.run_branch`.

        Raises:
            KernelError: E052, kernels are not to be had; kernel_request_invalid, pytest checks without test files.
        """
        return run_planned(self._one, program, plan, files or {}, tests or {})

    def _one(
        self, program: str, plan: Plan, files: Mapping[str, str], tests: Mapping[str, str]
    ) -> BranchTrace:
        kernel = self.fresh()
        try:
            folder = kernel.folder
            folder.put(folder.work, {**files, "solution.py": program})
            wired = self._wire(program, folder.work / "solution.py", plan, tests, folder)
            cell = cell_of(wired, [str(folder.work), *self._path], {})
            seen = run_by_messages(kernel, wired, cell, plan.per_branch_timeout_s, self.limits)
            if seen.end and seen.end.get("why") == "" and (words := kernel.last_words()):
                seen.end = words
            return trace_of(seen, wired, self.guarantees_missing())
        finally:
            kernel.close()

    def _wire(
        self, program: str, path: Path, plan: Plan, tests: Mapping[str, str], folder: KernelFolder
    ) -> Wired:
        if tests:
            return wire_tests(
                program, str(path), plan, self.limits, TestRun.prepare(folder.tests, tests, plan)
            )
        return wire_plan(program, str(path), plan, self.limits, self._defines)

    def close(self) -> None:
        """End every kernel; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._filler is not None:
            self._filler.join(_READY_S)
            self._filler = None
        with self._lock:
            spares = list(self._spares)
            self._spares.clear()
        for kernel in spares:
            kernel.close()
        if self._loop is not None:
            self._loop.close()
            self._loop = None
        if self._home is not None:
            self._home.remove()
            self._home = None
