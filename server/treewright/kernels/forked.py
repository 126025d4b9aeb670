"""The host whose kernels are forked from a warm parent, with spares forked ahead."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from treewright.errors import KernelError
from treewright.kernels.branch import run_planned, run_wired, trace_of
from treewright.kernels.lean import LeanClient
from treewright.kernels.limits import Limits
from treewright.kernels.testrun import TestRun
from treewright.kernels.trace import BranchTrace
from treewright.kernels.warm import Forked, Zygote
from treewright.kernels.wire import wire_plan, wire_tests
from treewright.search.checks import Plan


@dataclass(slots=True)
class Live:
    """A kernel that is ready and connected to."""

    kernel: Forked
    client: LeanClient

    def close(self) -> None:
        """End it and leave nothing."""
        self.client.close()
        self.kernel.close()


class ForkedHost:
    """Runs branches in kernels forked from a zygote. Safe for several threads.

    Args:
        python: interpreter with ipykernel; None is ours.
        limits: of every branch.
        spares: kernels to keep forked ahead.
        preload: modules to import in the parent.
        path: folders put first on `sys.path`.
        defines: builtin names that programs are expected to define.
        without: of what the system gives (`processes`, `network`, `files`), what is not to be used.
        child: interpreter without ipykernel that runs the plans, each in a child of one of our kernels.
    """

    kind = "forked"

    def __init__(
        self,
        python: str | None = None,
        *,
        limits: Limits | None = None,
        spares: int = 0,
        preload: Sequence[str] = (),
        path: Sequence[str] = (),
        defines: tuple[str, ...] = (),
        without: Sequence[str] = (),
        child: str | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._child = child
        self.zygote = Zygote(python, preload, path, without=without)
        self._defines = defines
        self._spares: deque[Live] = deque()
        self._wanted = spares
        self._lock = threading.Condition()
        self._closed = False
        self._filler: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Warm up; not needed before the first branch, but it saves that one half a second.

        Raises:
            KernelError: E052, kernels are not to be had.
        """
        self.zygote.start()
        if self._wanted and self._filler is None:
            self._filler = threading.Thread(target=self._fill, name="treewright-spares", daemon=True)
            self._filler.start()

    def fresh(self, limits: Limits | None = None, *, iopub: bool = False) -> Live:
        """A kernel in which nothing ran before, ready for its first request.

        Args:
            limits: of its box; those of the host otherwise.
            iopub: subscribe to its output (such a kernel is never a spare).
        """
        limits = limits or self.limits
        if not iopub and self._same_box(limits):
            with self._lock:
                if self._spares:
                    live = self._spares.popleft()
                    self._lock.notify_all()
                    return live
        return self._make(limits, iopub)

    def _same_box(self, limits: Limits) -> bool:
        return (limits.network, limits.sealed, limits.open_files) == (
            self.limits.network,
            self.limits.sealed,
            self.limits.open_files,
        )

    def _make(self, limits: Limits, iopub: bool = False) -> Live:
        kernel = self.zygote.fork(limits, lasting=iopub)
        try:
            kernel.wait_ready()
            client = LeanClient(kernel.connection, iopub=iopub)
            if iopub:
                client.wait_subscribed(2.0)
        except BaseException:
            kernel.close()
            raise
        return Live(kernel, client)

    def _fill(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or len(self._spares) < self._wanted)
                if self._closed:
                    return
            try:
                live = self._make(self.limits)
            except KernelError:
                # Whoever asks next makes its own and learns why; do not spin meanwhile.
                with self._lock:
                    self._lock.wait_for(lambda: self._closed, 1.0)
                continue
            if not self._keep(live):
                live.close()
                return

    def _keep(self, live: Live) -> bool:
        """Put a kernel by; False when nobody will come for it any more."""
        with self._lock:
            if not self._closed:
                self._spares.append(live)
                self._lock.notify_all()
            return not self._closed

    def wait_spares(self, seconds: float) -> bool:
        """Wait until every spare is there; False when the time ran out."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self._spares) >= self._wanted, seconds)

    def guarantees_missing(self) -> tuple[str, ...]:
        """Names of the contract's guarantees that this system could not give."""
        gives = self.zygote.gives
        missing = [name for name in ("processes", "network", "files") if not gives.get(name, False)]
        if self.limits.network and "network" not in missing:
            missing.append("network")
        return tuple(missing)

    def run_branch(
        self,
        program: str,
        plan: Plan,
        *,
        files: Mapping[str, str] | None = None,
        tests: Mapping[str, str] | None = None,
    ) -> BranchTrace:
        """Run every check of a plan against a program in a fresh kernel (two, when some are pytest checks).

        Args:
            program: source text; it stands as `solution.py` in the kernel's folder.
            plan: checks, setup and time limits.
            files: further files of the candidate's, by path below its folder.
            tests: trusted test files and their conftest files, by path; what pytest checks are looked up in.

        Raises:
            KernelError: E052, kernels are not to be had; kernel_request_invalid, pytest checks without test files.
        """
        return run_planned(self._one, program, plan, files or {}, tests or {})

    def _one(
        self, program: str, plan: Plan, files: Mapping[str, str], tests: Mapping[str, str]
    ) -> BranchTrace:
        live = self.fresh()
        try:
            folder = live.kernel.folder
            folder.put(folder.work, {**files, "solution.py": program})
            path = str(folder.work / "solution.py")
            if tests:
                wired = wire_tests(
                    program, path, plan, self.limits, TestRun.prepare(folder.tests, tests, plan)
                )
            else:
                wired = wire_plan(program, path, plan, self.limits, self._defines)
            if self._child:
                wired.message["python"] = self._child
            seen = run_wired(live.kernel, live.client, wired, plan.per_branch_timeout_s, self.limits)
            return trace_of(seen, wired, self.guarantees_missing())
        finally:
            live.close()

    def close(self) -> None:
        """End every kernel and the parent; bounded, and a second call does nothing."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._filler is not None:
            self._filler.join(10)
            self._filler = None
        with self._lock:
            spares = list(self._spares)
            self._spares.clear()
        for live in spares:
            with contextlib.suppress(OSError):
                live.close()
        self.zygote.close()
