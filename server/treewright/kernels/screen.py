"""Runs many programs in bare forks, on every core, to sort out what fails.

A fork costs more than most programs, so several run in one child, one after the other, until one of them
leaves something behind or does not end (see `inside/several`). Whatever passes there, and whatever cannot be
told there, is run again in a child of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from treewright.errors import KernelError
from treewright.kernels.branch import Watched, run_planned, trace_of
from treewright.kernels.folder import KernelFolder
from treewright.kernels.limits import Limits
from treewright.kernels.several import hung, passes, read_several, wire_several
from treewright.kernels.testrun import TestRun
from treewright.kernels.trace import BranchTrace
from treewright.kernels.warm import Forked, Zygote
from treewright.kernels.wire import Records, wire_plan, wire_tests
from treewright.parsing import load_json
from treewright.search.checks import CheckKind, Plan

_RECORD_BYTES = 16 << 20
_GRACE_S = 5.0
_TOGETHER = 64
"""Most programs of one child."""


class _Worker:
    """One box with a worker in it, started when it is first needed and again after it was lost."""

    def __init__(self, zygote: Zygote, limits: Limits) -> None:
        self._zygote = zygote
        self._limits = limits
        self._forked: Forked | None = None
        self._wire: socket.socket | None = None
        self._run: tuple[Plan, TestRun] | None = None

    def folder(self) -> KernelFolder:
        """The folder of the box, which is started when there is none."""
        if self._forked is None or self._wire is None:
            self._forked, self._wire = self._zygote.fork_worker(self._limits)
            self._forked.say(do="watch")
            self._run = None
        return self._forked.folder

    def trusted(self, tests: Mapping[str, str], plan: Plan) -> TestRun:
        """The trusted copy of the tests in this box, made once a plan."""
        folder = self.folder()
        if self._run is None or self._run[0] is not plan:
            place = folder.tests / secrets.token_hex(4)
            place.mkdir()
            self._run = plan, TestRun.prepare(place, tests, plan)
        return self._run[1]

    def run(
        self,
        message: dict[str, Any],
        wall_s: float,
        files: Mapping[str, str] | None = None,
        silence_s: float | None = None,
    ) -> tuple[dict[str, Any], bytes, bytes]:
        """Run one child; a lost worker is an answer too."""
        self.folder()
        if self._wire is None:
            raise KernelError("E052", "The screener is closed.")
        request = {
            "plan": message,
            "wall_s": wall_s,
            "silence_s": silence_s,
            "output_bytes": self._limits.output_bytes,
            "record_bytes": _RECORD_BYTES,
            "files": dict(files or {}),
        }
        data = json.dumps(request).encode("utf-8")
        self._wire.settimeout(wall_s + _GRACE_S)
        try:
            self._wire.sendall(struct.pack("!I", len(data)) + data)
            header, records, out = (self._part() for _ in range(3))
            return load_json(header), records, out
        except (OSError, ValueError):
            return {**self._lost(), "wall_s": 0.0}, b"", b""

    def _part(self) -> bytes:
        (length,) = struct.unpack("!I", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self._wire.recv(count - len(data)) if self._wire else b""
            if not piece:
                raise OSError("the worker is gone")
            data += piece
        return bytes(data)

    def _lost(self) -> dict[str, Any]:
        """The init's last words about a worker that is gone; the next program gets a new one."""
        words: dict[str, Any] = {"why": "lost", "code": None}
        if self._forked is not None:
            self._forked.control.settimeout(_GRACE_S)
            self._forked.say(do="kill", why="lost")
            words = self._forked.hear().get("end", words)
        self.close()
        return words

    def close(self) -> None:
        """End the box."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._forked is not None:
            self._forked.close()
            self._forked = None


class _Numbers:
    """Programs that wait for a worker, by number; safe for several threads."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._waiting = deque(numbers)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, count: int) -> list[int]:
        """The next ones, at most so many; empty at the end."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    def give_back(self, numbers: Sequence[int]) -> None:
        """Put back what was not done."""
        with self._lock:
            self._waiting.extendleft(reversed(numbers))


class ForkScreener:
    """Screens programs (see `treewright.search.ports.Screener`). Safe for several threads, one call at a time.

    Args:
        python: interpreter; None is ours.
        limits: of every program.
        workers: programs at a time; None is one a core.
        preload: modules to import in the parent.
        path: folders put first on `sys.path`.
        defines: builtin names that programs are expected to define.
        tests: trusted test files and their conftest files, for plans with pytest checks.
        without: of what the system gives (`processes`, `network`, `files`), what is not to be used.
    """

    def __init__(
        self,
        python: str | None = None,
        *,
        limits: Limits | None = None,
        workers: int | None = None,
        preload: Sequence[str] = (),
        path: Sequence[str] = (),
        defines: tuple[str, ...] = (),
        without: Sequence[str] = (),
        tests: Mapping[str, str] | None = None,
    ) -> None:
        self._tests = dict(tests or {})
        preload = [*preload, "pytest"] if self._tests else preload
        self.limits = limits or Limits(memory_bytes=512 << 20, output_bytes=64 << 10)
        self._zygote = Zygote(python, preload, path, bare=True, without=without)
        self._defines = defines
        self._workers = [_Worker(self._zygote, self.limits) for _ in range(workers or os.cpu_count() or 1)]
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._zygote.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def screen(self, programs: Sequence[str], plan: Plan) -> list[BranchTrace]:
        """Run a plan against each program.

        Args:
            programs: source texts.
            plan: checks; pytest checks need the screener's `tests`.

        Returns:
            One trace a program, in order.

        Raises:
            KernelError: E052, forks are not to be had; kernel_request_invalid, pytest checks without test files.
        """
        with self._lock:
            return self._screen(programs, plan)

    def _screen(self, programs: Sequence[str], plan: Plan) -> list[BranchTrace]:
        self._zygote.start()
        found: dict[int, BranchTrace] = {}
        if len(programs) > 1 and not any(check.kind is CheckKind.PYTEST for check in plan.checks):
            self._sieve(programs, plan, found)
        alone = _Numbers(
            number for number in range(len(programs)) if number not in found or passes(plan, found[number])
        )

        def work(worker: _Worker) -> None:
            while batch := alone.take(1):
                found[batch[0]] = self._one(worker, programs[batch[0]], plan)

        self._on_workers(work, len(alone))
        return [found[number] for number in range(len(programs))]

    def _sieve(self, programs: Sequence[str], plan: Plan, found: dict[int, BranchTrace]) -> None:
        """Run several programs a child; `found` takes what could be told."""
        left = _Numbers(range(len(programs)))
        together = max(1, min(_TOGETHER, -(-len(programs) // len(self._workers))))

        def work(worker: _Worker) -> None:
            while batch := left.take(together):
                left.give_back(self._several(worker, batch, programs, plan, found))

        self._on_workers(work, -(-len(programs) // together))

    def _several(
        self,
        worker: _Worker,
        batch: list[int],
        programs: Sequence[str],
        plan: Plan,
        found: dict[int, BranchTrace],
    ) -> list[int]:
        """Run one child; returns the programs that it did not come to."""
        each = plan.per_branch_timeout_s
        whole = each * (1 + len(batch) / 4)
        sources = [programs[number] for number in batch]
        sieve = wire_several(sources, "/solution.py", plan, self.limits, self._defines, whole)
        header, records, _ = worker.run(sieve.message, whole, silence_s=each)
        traces, ended = read_several(sieve, records)
        found.update(
            {number: trace for number, trace in zip(batch, traces, strict=False) if trace is not None}
        )
        rest = batch[len(traces) :]
        if ended or not rest:
            return rest
        if header.get("why") == "timeout":
            found[rest[0]] = hung(each)
        elif header.get("why"):
            # The whole worker may be gone with what it had to say: none of them is known.
            return []
        # Whoever was running took the child along, and is looked at alone.
        return rest[1:]

    def _on_workers(self, work: Callable[[_Worker], None], jobs: int) -> None:
        """Do a job on as many workers as there is work for; a failure is raised here."""
        failures: list[BaseException] = []

        def guarded(worker: _Worker) -> None:
            try:
                work(worker)
            except BaseException as error:  # noqa: BLE001  handed to the caller's thread below
                failures.append(error)

        threads = [
            threading.Thread(target=guarded, args=(worker,), name="treewright-screen", daemon=True)
            for worker in self._workers[:jobs]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _one(self, worker: _Worker, program: str, plan: Plan) -> BranchTrace:
        def fork(program: str, plan: Plan, _: Mapping[str, str], tests: Mapping[str, str]) -> BranchTrace:
            return self._fork(worker, program, plan, tests)

        return run_planned(fork, program, plan, {}, self._tests)

    def _fork(self, worker: _Worker, program: str, plan: Plan, tests: Mapping[str, str]) -> BranchTrace:
        if tests:
            run = worker.trusted(tests, plan)
            path = str(worker.folder().work / "solution.py")
            wired = wire_tests(program, path, plan, self.limits, run)
            files = {"solution.py": program}
        else:
            wired, files = wire_plan(program, "/solution.py", plan, self.limits, self._defines), {}
            # By the clock, a check would fail or pass by how busy the machine is.
            wired.message["timer"] = "cpu"
        header, records, out = worker.run(wired.message, plan.per_branch_timeout_s, files)
        seen = Watched(Records(wired.secret))
        seen.records.feed(records)
        seen.out["stdout"] += out[: self.limits.output_bytes]
        why = header.get("why")
        seen.timed_out = why == "timeout"
        seen.flooded = why == "output" or len(out) > self.limits.output_bytes
        seen.end = header
        seen.wall_s = float(header.get("wall_s") or 0.0)
        return trace_of(seen, wired, self.guarantees_missing())

    def guarantees_missing(self) -> tuple[str, ...]:
        """Names of the contract's guarantees that a bare fork could not give here."""
        gives = self._zygote.gives
        return ("kernel", *(name for name in ("processes", "network", "files") if not gives.get(name, False)))

    def close(self) -> None:
        """End every worker and the parent; a second call does nothing."""
        for worker in self._workers:
            worker.close()
        self._zygote.close()
