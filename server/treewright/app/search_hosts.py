"""The kernels of one search: the interpreter, the limits, and hosts as the search engine wants them."""

import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from treewright.errors import KernelError
from treewright.kernels.host import choose_host
from treewright.kernels.limits import Limits
from treewright.kernels.screen import ForkScreener
from treewright.kernels.trace import BranchTrace, Ending
from treewright.kernels.warm import can_fork
from treewright.search.checks import Check, CheckKind, Observation, Plan
from treewright.search.ports import BranchOutcome, Trace
from treewright.search.repair import verdicts_of
from treewright.store.config import Configuration
from treewright.store.settings import KernelsSection

_SCREEN_MEMORY = 512 << 20
_WHOLE_PROGRAM = "__program__"
_RELATIVE = re.compile(r"^(\s*)from\s+(\.+)([\w.]*)(\s+import\b)", re.MULTILINE)


def limits_of(section: KernelsSection) -> Limits:
    """Return the limits of a branch that a configuration asks for."""
    return Limits(
        memory_bytes=section.memory_mb << 20,
        cpu_s=section.cpu_s,
        processes=section.processes,
        file_bytes=section.file_mb << 20,
        output_bytes=section.output_kb << 10,
        network=section.network,
    )


def find_python(asked: str, configuration: Configuration, workspace: Path, *, trusted: bool) -> str:
    """Return the interpreter that checks run under: the user's choice, the configured one, the project's, else ours.

    Returns:
        An absolute path; empty for ours.

    Raises:
        KernelError: E052, the one that was asked for is not there.
    """
    for named in (asked, configuration.settings.kernels.python):
        if named:
            found = shutil.which(str(Path(named).expanduser()))
            if found is None:
                raise KernelError(
                    "E052", f"There is no interpreter {named}.", "Check the path given by --python."
                )
            return str(Path(found).absolute())
    names = ("Scripts/python.exe",) if sys.platform == "win32" else ("bin/python3", "bin/python")
    for folder in (".venv", "venv") if trusted else ():
        for name in names:
            path = workspace / folder / name
            if path.is_file() and os.access(path, os.X_OK):
                return "" if _is_ours(path) else str(path.absolute())
    return ""


def _is_ours(path: Path) -> bool:
    return path.parent.resolve() == Path(sys.executable).parent.resolve()


def absolute_imports(program: str, package: str) -> str:
    """Return a program whose relative imports name their package, so that it runs under another name.

    Args:
        program: source text.
        package: dotted package of the program; empty leaves it as it is.
    """
    if not package:
        return program
    parts = package.split(".")

    def named(match: re.Match[str]) -> str:
        indent, dots, rest, tail = match.groups()
        base = ".".join(parts[: len(parts) - len(dots) + 1])
        return f"{indent}from {'.'.join(one for one in (base, rest) if one)}{tail}"

    return _RELATIVE.sub(named, program)


class Extra(Protocol):
    """Checks that need no kernel, such as that a program no longer breaks a rule of the offline audit."""

    def wants(self, check: Check) -> bool:
        """Whether a check is of this kind."""
        ...

    def observe(self, program: str, check: Check) -> Observation:
        """Look at a program."""
        ...


class SearchHosts:
    """Everything of one search that executes programs. Its calls block; safe for several threads.

    Args:
        configuration: gives the limits.
        python: interpreter; empty for ours.
        plan: all checks of the search.
        files: the project's files that lie beside each program.
        tests: trusted test files.
        package: what relative imports are relative to.
        entry_point: the function under test.
        extra: judges checks that need no kernel; may be set later.
    """

    def __init__(
        self,
        configuration: Configuration,
        python: str,
        plan: Plan,
        *,
        files: Mapping[str, str],
        tests: Mapping[str, str],
        package: str = "",
        entry_point: str | None = None,
        extra: Extra | None = None,
    ) -> None:
        self._limits = limits_of(configuration.settings.kernels)
        self._python = python or None
        self._files, self._tests = dict(files), dict(tests)
        self._package = package
        self._by_pytest = any(check.kind is CheckKind.PYTEST for check in plan.checks)
        first = (entry_point or "").partition(".")[0]
        self._defines = (first,) if first in dir(__import__("builtins")) else ()
        self.extra = extra
        self._host: Any = None
        self._screener: ForkScreener | None = None
        self._folder: Path | None = None
        self._turn = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Make kernels ready.

        Raises:
            KernelError: E052, kernels are not to be had.
        """
        with self._turn:
            self._ready()

    def _ready(self) -> Any:
        if self._closed:
            raise KernelError("E052", "The kernels of this search were ended.")
        if self._host is None:
            host = choose_host(
                python=self._python,
                limits=self._limits,
                preload=("pytest",) if self._by_pytest else (),
                defines=self._defines,
            )
            try:
                host.start()
            except BaseException:
                host.close()
                raise
            self._host = host
        return self._host

    def close(self) -> None:
        """End every kernel; what still runs in one ends as lost. Harmless when repeated."""
        self._closed = True
        host, self._host = self._host, None
        screener, self._screener = self._screener, None
        if host is not None:
            host.close()
        if screener is not None:
            screener.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # --- as the engine's ports ---

    def run_branch(self, program: str, plan: Plan) -> Trace:
        """Run every check of a plan in a fresh kernel; a kernel that is lost is a trace, not an error.

        A program that passes checks of pytest is run again, since these run beside it; both must agree.

        Raises:
            KernelError: `search_pytest_missing`, or E052 when no kernel is to be had at all.
        """
        kept, apart = self._divide(plan)
        trace = self._once(program, kept)
        if any(check.kind is CheckKind.PYTEST for check in kept.checks) and _all_pass(kept, trace):
            again = self._once(program, kept)
            if not _all_pass(kept, again):
                trace = again.model_copy(
                    update={"message": f"a second run did not agree: {again.message}".rstrip(": ")}
                )
        return _with(trace, [self._look(program, check) for check in apart])

    def screen(self, programs: Sequence[str], plan: Plan) -> list[Trace]:
        """Run a plan against many programs: what needs no pytest in bare forks, the rest only where that passed.

        Raises:
            KernelError: as `run_branch`.
        """
        kept, apart = self._divide(plan)
        quick = kept.model_copy(
            update={"checks": tuple(one for one in kept.checks if one.kind is not CheckKind.PYTEST)}
        )
        by_pytest = kept.model_copy(
            update={"checks": tuple(one for one in kept.checks if one.kind is CheckKind.PYTEST)}
        )
        if quick.checks or not by_pytest.checks:
            traces = self._screen_quickly(programs, quick)
        else:
            traces = [Trace(outcome=BranchOutcome.FINISHED) for _ in programs]
        if by_pytest.checks:
            traces = self._pytest_where_passed(programs, quick, by_pytest, traces)
        if not apart:
            return traces
        return [
            _with(trace, [self._look(program, check) for check in apart])
            for program, trace in zip(programs, traces, strict=True)
        ]

    def _screen_quickly(self, programs: Sequence[str], plan: Plan) -> list[Trace]:
        if not can_fork():
            with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
                return list(pool.map(lambda program: self._once(program, plan), programs))
        texts = [absolute_imports(program, self._package) for program in programs]
        return [_plain(one) for one in self._forks().screen(texts, plan)]

    def _pytest_where_passed(
        self, programs: Sequence[str], quick: Plan, by_pytest: Plan, traces: list[Trace]
    ) -> list[Trace]:
        slow = by_pytest.model_copy(
            update={
                "per_branch_timeout_s": max(by_pytest.per_branch_timeout_s, 10.0),
                "per_check_timeout_s": 0.0,
            }
        )

        def one(number: int) -> Trace:
            if not _all_pass(quick, traces[number]):
                return traces[number]
            found = self._once(programs[number], slow)
            return found.model_copy(update={"observations": traces[number].observations + found.observations})

        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            return list(pool.map(one, range(len(programs))))

    def _once(self, program: str, plan: Plan) -> Trace:
        text = absolute_imports(program, self._package)
        for last in (False, True):
            try:
                with self._turn:
                    host = self._ready()
                trace = host.run_branch(text, plan, files=self._files, tests=self._tests)
            except (KernelError, OSError) as fault:
                if isinstance(fault, KernelError) and fault.code != "E052":
                    raise
                if last or self._closed:
                    return Trace(outcome=BranchOutcome.KERNEL_LOST, message=f"no kernel: {fault}"[:2000])
                self._restart(host if "host" in locals() else None)
                continue
            if isinstance(trace, BranchTrace) and trace.ending is Ending.MISSING:
                raise KernelError(
                    "search_pytest_missing",
                    f"Some checks need pytest: {trace.message}.",
                    f"Install it: {self._python or sys.executable} -m pip install pytest",
                )
            return _plain(trace)
        raise AssertionError("one of the two tries returned")

    def _restart(self, broken: Any) -> None:
        """Give up a host whose parent died; the next branch gets a new one."""
        with self._turn:
            if broken is not None and self._host is broken:
                self._host = None
                broken.close()

    def _forks(self) -> ForkScreener:
        with self._turn:
            if self._closed:
                raise KernelError("E052", "The kernels of this search were ended.")
            if self._screener is None:
                self._screener = ForkScreener(
                    self._python,
                    limits=self._limits.model_copy(
                        update={
                            "memory_bytes": min(self._limits.memory_bytes, _SCREEN_MEMORY),
                            "output_bytes": min(self._limits.output_bytes, 64 << 10),
                        }
                    ),
                    defines=self._defines,
                    path=[str(self._laid())] if self._files else (),
                )
            return self._screener

    def _laid(self) -> Path:
        """A folder with the project's files, for bare forks, which share one."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="tw-search-"))
            for name, text in self._files.items():
                target = self._folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="")
        return self._folder

    def _divide(self, plan: Plan) -> tuple[Plan, list[Check]]:
        apart = [check for check in plan.checks if self.extra is not None and self.extra.wants(check)]
        checks = tuple(
            check.model_copy(update={"evaluate": ""})
            if check.kind is CheckKind.STDOUT and check.evaluate == _WHOLE_PROGRAM
            else check
            for check in plan.checks
            if check not in apart
        )
        return plan.model_copy(update={"checks": checks}), apart

    def _look(self, program: str, check: Check) -> Observation:
        assert self.extra is not None
        return self.extra.observe(program, check)


def _all_pass(plan: Plan, trace: Trace) -> bool:
    verdicts, _ = verdicts_of(plan.checks, trace)
    return trace.outcome is BranchOutcome.FINISHED and all(one.passed for one in verdicts)


def _with(trace: Trace, more: list[Observation]) -> Trace:
    if not more:
        return trace
    return trace.model_copy(update={"observations": trace.observations + tuple(more)})


def _plain(trace: Trace) -> Trace:
    """A trace as the search keeps it, without what only the kernel's host knows."""
    return Trace(**{name: getattr(trace, name) for name in Trace.model_fields})
