"""One branch: a fresh forked kernel, a plan, a watch from outside, a trace."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from treewright.errors import KernelError
from treewright.kernels.lean import LeanClient
from treewright.kernels.limits import Limits
from treewright.kernels.trace import CUT_MARK, OUTCOMES, BranchTrace, Ending, ending_of_exit
from treewright.kernels.warm import Forked
from treewright.kernels.wire import Records, Wired, observation
from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan

_END_S = 6.0
_PIECE = 1 << 16


@dataclass(slots=True)
class Watched:
    """What was seen of a kernel while it ran a branch.

    Attributes:
        records: from the check channel.
        out: bytes printed, by stream.
        end: the init's last words.
        timed_out: the wall clock ran out.
        flooded: more was printed than may be.
        wall_s: seconds.
    """

    records: Records
    out: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    end: dict[str, Any] | None = None
    reply: dict[str, Any] | None = None
    timed_out: bool = False
    flooded: bool = False
    wall_s: float = 0.0


class Watch:
    """Follows a forked kernel through every way it can speak, until it is done or must be stopped."""

    def __init__(self, kernel: Forked, client: LeanClient, seen: Watched, limits: Limits) -> None:
        import zmq

        self._zmq = zmq
        self._kernel, self._client, self._seen, self._limits = kernel, client, seen, limits
        self._poller = zmq.Poller()
        for one in (kernel.control, client.shell, kernel.out, kernel.err, kernel.channel):
            self._poller.register(one, zmq.POLLIN)
        self._open = {kernel.out, kernel.err, kernel.channel}

    def until(self, deadline: float) -> None:
        """Follow until the last record, the kernel's death, a flood or the deadline (monotonic seconds)."""
        while not (self._seen.records.ended or self._seen.end is not None or self._seen.flooded):
            left = deadline - time.monotonic()
            if left <= 0:
                self._seen.timed_out = True
                return
            self._step(left)
            if self._seen.reply is not None and not self._seen.records.ended:
                # A reply without a last record: give what is in the pipe a moment, then it is tampering.
                self._drain_for(0.2)
                return

    def stop(self, why: str) -> None:
        """Have everything of the kernel killed and wait for its last words."""
        self._kernel.say(do="kill", why=why)
        deadline = time.monotonic() + _END_S
        while self._seen.end is None and (left := deadline - time.monotonic()) > 0:
            self._step(left)
        self._drain_for(0.0)

    def _drain_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._step(max(0.0, deadline - time.monotonic())) and not self._seen.flooded:
            if self._seen.records.ended:
                return

    def _step(self, seconds: float) -> bool:
        ready = dict(self._poller.poll(int(seconds * 1000) + (1 if seconds else 0)))
        for one in ready:
            if one is self._client.shell:
                self._seen.reply = self._client.read(one) or self._seen.reply
            elif one == self._kernel.control.fileno() or one is self._kernel.control:
                self._last_words()
            else:
                self._bytes(one)
        return bool(ready)

    def _last_words(self) -> None:
        message = self._kernel.hear()
        if not message or "end" in message or "failed" in message:
            self._poller.unregister(self._kernel.control)
            self._seen.end = message.get("end") or {"why": "lost", "code": None, "cpu_s": None, "peak": None}

    def _bytes(self, number: int) -> None:
        data = os.read(number, _PIECE)
        if not data:
            self._poller.unregister(number)
            self._open.discard(number)
            return
        if number == self._kernel.channel:
            self._seen.records.feed(data)
            return
        kept = self._seen.out["stdout" if number == self._kernel.out else "stderr"]
        room = self._limits.output_bytes - len(kept)
        kept += data[: max(0, room)]
        if len(data) > room:
            self._seen.flooded = True


def run_wired(kernel: Forked, client: LeanClient, wired: Wired, wall_s: float, limits: Limits) -> Watched:
    """Execute a wired plan in a fresh kernel and stop everything afterwards.

    Args:
        kernel: fresh and ready.
        client: connected to it.
        wired: what to run.
        wall_s: wall clock of the branch.
        limits: of the branch.
    """
    seen = Watched(Records(wired.secret))
    watch = Watch(kernel, client, seen, limits)
    started = time.monotonic()
    kernel.say(do="watch", limits=limits.for_box())
    client.execute(f"__treewright__({json.dumps(wired.message)!r})", silent=True)
    watch.until(started + wall_s)
    seen.wall_s = time.monotonic() - started
    watch.stop("timeout" if seen.timed_out else "done")
    return seen


def ending_of(seen: Watched, wired: Wired) -> tuple[Ending, str]:
    """How a branch ended, and what there is to say about it."""
    records, end = seen.records, seen.end or {}
    loaded = records.single("loaded") or {}
    last = records.single("end") or {}
    if why := _tampering(records, wired):
        return Ending.TAMPERED, why
    if seen.flooded or last.get("over") or loaded.get("status") == "output":
        return Ending.OUTPUT, "more was printed than may be"
    if seen.timed_out:
        return Ending.TIMEOUT, "the wall clock ran out"
    if end.get("why") == "processes":
        return Ending.PROCESSES, "more processes than may be"
    if end.get("why") == "resident":
        return Ending.MEMORY, "its processes held more memory than they may"
    if not records.ended and end.get("why") in ("", None, "lost"):
        return _died(end)
    if not records.ended:
        return Ending.TAMPERED, "the check channel was silenced"
    if missing := records.single("missing"):
        return Ending.MISSING, f"{missing['what']} is not installed for this interpreter"
    return _finished(records, loaded, last, wired)


def _tampering(records: Records, wired: Wired) -> str:
    """What speaks against believing the records; an absent canary counts once the last record is there."""
    whole = records.ended and not records.single("missing") and not records.single("aborted")
    if records.forged:
        return "something wrote to the check channel"
    if wired.tests is not None:
        return wired.tests.tampered(records.tests, whole=whole)
    whole = whole and (records.single("loaded") or {}).get("status") == "value" and not records.cut
    for name, canary in wired.canaries.items():
        record = records.check(name)
        if (whole or record is not None) and not canary.reads_right(record):
            return "a check with a known answer read wrong"
    return ""


def _died(end: dict[str, Any]) -> tuple[Ending, str]:
    code = end.get("code")
    ending = ending_of_exit(code)
    return ending, f"the kernel's process ended with {'an unknown code' if code is None else f'code {code}'}"


def _finished(
    records: Records, loaded: dict[str, Any], last: dict[str, Any], wired: Wired
) -> tuple[Ending, str]:
    message = str(loaded.get("message") or "")
    if last.get("stdin"):
        return Ending.STDIN, "it asked for standard input"
    if loaded.get("error") == "MemoryError" or _any_error(records, wired, "MemoryError"):
        return Ending.MEMORY, message
    aborted = records.single("aborted")
    if aborted is not None:
        message = f"{aborted.get('error')}: {aborted.get('message')}"
        return (Ending.EXITED if aborted.get("error") == "SystemExit" else Ending.EXCEPTION), message
    if loaded.get("status") == "exited":
        return Ending.EXITED, message
    if loaded.get("status") not in ("value", None):
        return Ending.EXCEPTION, message
    return Ending.COMPLETED, ""


def _any_error(records: Records, wired: Wired, name: str) -> bool:
    return any((records.check(one) or {}).get("error") == name for one in wired.checks)


def trace_of(seen: Watched, wired: Wired, not_guaranteed: tuple[str, ...]) -> BranchTrace:
    """Put together what a branch showed."""
    ending, message = ending_of(seen, wired)
    records = seen.records
    loaded = records.single("loaded") or {}
    begin, end = records.single("begin") or {}, seen.end or {}
    observations = [] if ending is Ending.TAMPERED else _observations(records, wired, loaded)
    setup = records.single("setup")
    notes = [f"the setup of the checks raised {setup.get('error')}: {setup.get('message')}"] if setup else []
    notes += [
        f"{one.get('id')} cannot be collected: {one.get('message')}"[:2000] for one in records.uncollected
    ]
    cpu = end.get("cpu_s")
    return BranchTrace(
        outcome=OUTCOMES[ending],
        ending=ending,
        observations=tuple(observations),
        error=str(loaded.get("error") or ""),
        message=message[:2000],
        error_line=loaded["error_line"] if type(loaded.get("error_line")) is int else None,
        stdout=_text(seen.out["stdout"], ending),
        stderr=_text(seen.out["stderr"], ending) if seen.out["stderr"] else "",
        wall_s=seen.wall_s,
        cpu_s=max(0.0, (cpu or 0.0) - _number(begin.get("cpu"))),
        peak_memory_bytes=int(end.get("peak") or 0),
        not_guaranteed=not_guaranteed,
        exit_code=end.get("code") if not records.ended else None,
        frames=_frames(loaded.get("frames")),
        load_lines=tuple(one for one in loaded.get("lines") or () if type(one) is int),
        check_cpu_s={
            check.id: _number((records.check(name) or {}).get("cpu")) for name, check in wired.checks.items()
        },
        notes=tuple(notes),
    )


def _observations(records: Records, wired: Wired, loaded: dict[str, Any]) -> list[Observation]:
    found = []
    for name, check in wired.checks.items():
        record = wired.tests.record(check, records.tests) if wired.tests else records.check(name)
        if record is not None:
            found.append(observation(check, record))
    if loaded.get("status") == "value":
        found += [_printed(check, loaded) for check in wired.program_output]
    return found


def _printed(check: Check, loaded: dict[str, Any]) -> Observation:
    assert check.kind is CheckKind.STDOUT
    lines = tuple(one for one in loaded.get("lines") or () if type(one) is int)
    return Observation(
        check_id=check.id, status=ObservedStatus.VALUE, stdout=str(loaded.get("stdout") or ""), lines=lines
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and value == value and value >= 0 else 0.0


def _frames(value: Any) -> tuple[tuple[str, int, str], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        (str(one[0]), one[1], str(one[2]))
        for one in value
        if isinstance(one, list) and len(one) == 3 and type(one[1]) is int
    )


def _text(data: bytearray, ending: Ending) -> str:
    text = data.decode("utf-8", "replace")
    return text + CUT_MARK if ending is Ending.OUTPUT else text


def merged(first: BranchTrace, second: BranchTrace) -> BranchTrace:
    """One trace of a branch that took two kernels: one for values, one for pytest."""
    worse = second if first.ending is Ending.COMPLETED else first
    if second.ending is Ending.TAMPERED:
        worse = second
    observations = () if worse.ending is Ending.TAMPERED else first.observations + second.observations
    return worse.model_copy(
        update={
            "observations": observations,
            "stdout": first.stdout + second.stdout,
            "stderr": first.stderr + second.stderr,
            "wall_s": first.wall_s + second.wall_s,
            "cpu_s": first.cpu_s + second.cpu_s,
            "peak_memory_bytes": max(first.peak_memory_bytes, second.peak_memory_bytes),
            "load_lines": first.load_lines,
            "check_cpu_s": first.check_cpu_s | second.check_cpu_s,
            "notes": first.notes + second.notes,
            "not_guaranteed": tuple(dict.fromkeys(first.not_guaranteed + second.not_guaranteed)),
        }
    )


OneKernel = Callable[[str, Plan, Mapping[str, str], Mapping[str, str]], BranchTrace]


def run_planned(
    one: OneKernel, program: str, plan: Plan, files: Mapping[str, str], tests: Mapping[str, str]
) -> BranchTrace:
    """Split a plan over fresh kernels: what is evaluated in one, what pytest runs in another.

    Args:
        one: runs a program, a plan, further files and trusted tests (empty: no pytest) in one fresh kernel.
        program: source text.
        plan: checks, setup and time limits.
        files: further files of the candidate's.
        tests: trusted test files.

    Raises:
        KernelError: kernel_request_invalid, pytest checks without test files.
    """
    by_pytest = [check for check in plan.checks if check.kind is CheckKind.PYTEST]
    if by_pytest and not tests:
        raise KernelError(
            "kernel_request_invalid",
            "The plan has pytest checks, but no test file came with it.",
            "Pass `tests`.",
        )
    traces = []
    if len(by_pytest) < len(plan.checks) or not by_pytest:
        traces.append(one(program, plan, files, {}))
    if by_pytest:
        traces.append(one(program, plan, files, tests))
    return traces[0] if len(traces) == 1 else merged(*traces)
