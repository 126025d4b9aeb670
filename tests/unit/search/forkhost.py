"""A plain host that really executes: one forked child a batch of programs, answers over a pipe.

It stands in for the kernels package in the tests of the search engine, which may not import it, and shows how
little the engine asks of a host. It protects nothing: it only runs programs that the tests wrote.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan
from treewright.search.plain import encode
from treewright.search.ports import BranchOutcome, Trace

NAME = "<candidate>"


class _Late(BaseException):
    pass


def _alarm(number: int, frame: FrameType | None) -> None:
    raise _Late


class Compiled:
    """A plan's checks, compiled once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.setup = compile(plan.setup, "<setup>", "exec")
        self.checks = [(check, *_compile(check)) for check in plan.checks]


def _compile(check: Check) -> tuple[CodeType, CodeType, CodeType | None]:
    mode = "exec" if check.kind in (CheckKind.STATEMENT, CheckKind.STDOUT) else "eval"
    try:
        code = compile(check.evaluate, "<check>", mode)
    except SyntaxError:
        code = compile(check.evaluate, "<check>", "exec")
    right = compile(check.right, "<check>", "eval") if check.right is not None else None
    return compile(check.context, "<check>", "exec"), code, right


class ForkHost:
    """Implements `KernelHost` and `Screener` with bare forks.

    Args:
        check_timeout_s: CPU seconds one check may take.
        batch: programs a child runs one after the other before a new one is forked.
        memory_bytes: address space that a child may take beyond what it starts with: it is a fork of whatever
            process runs the tests, which may have mapped much more than a program needs.
    """

    def __init__(self, check_timeout_s: float = 0.5, batch: int = 12, memory_bytes: int = 400 << 20) -> None:
        self.check_timeout_s = check_timeout_s
        self.batch = batch
        self.memory_bytes = memory_bytes
        self.screened = 0

    def run_branch(self, program: str, plan: Plan) -> Trace:
        """Run one program in a fork of its own."""
        return self._run([program], plan, plan.per_check_timeout_s or self.check_timeout_s * 4)[0]

    def screen(self, programs: Sequence[str], plan: Plan) -> list[Trace]:
        """Run programs in batches; what a batch took down with it is run again alone."""
        self.screened += len(programs)
        traces: list[Trace] = []
        for start in range(0, len(programs), self.batch):
            traces.extend(
                self._run(
                    list(programs[start : start + self.batch]),
                    plan,
                    plan.per_check_timeout_s or self.check_timeout_s,
                )
            )
        return traces

    def _run(self, programs: list[str], plan: Plan, timeout: float) -> list[Trace]:
        compiled = Compiled(plan)
        traces: list[Trace] = []
        while len(traces) < len(programs):
            rest = programs[len(traces) :]
            found = self._fork(rest, compiled, timeout)
            traces.extend(found)
            if len(found) < len(rest):
                traces.append(Trace(outcome=BranchOutcome.CRASHED))
        return traces

    def _fork(self, programs: list[str], compiled: Compiled, timeout: float) -> list[Trace]:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _serve(writer, programs, compiled, timeout, self.memory_bytes)
        os.close(writer)
        data = _read(reader, len(programs), max(4 * timeout, 1.0) if len(programs) > 1 else 6 * timeout + 5.0)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [_trace(line) for line in data.split(b"\n")[:-1]]


def _read(reader: int, lines: int, patience: float) -> bytes:
    """Read until the child is done, or has not finished a program for a while."""
    data = b""
    limit = time.monotonic() + patience
    while data.count(b"\n") < lines:
        ready, _, _ = select.select([reader], [], [], max(0.0, limit - time.monotonic()))
        part = os.read(reader, 1 << 20) if ready else b""
        if not part:
            break
        if b"\n" in part:
            limit = time.monotonic() + patience
        data += part
    os.close(reader)
    return data


def _trace(line: bytes) -> Trace:
    data = json.loads(line)
    observations = tuple(
        Observation.model_construct(
            **{**one, "status": ObservedStatus(one["status"]), "lines": tuple(one.get("lines", ()))}
        )
        for one in data.pop("observations")
    )
    return Trace.model_construct(
        observations=observations, outcome=BranchOutcome(data.pop("outcome")), **data
    )


def _serve(writer: int, programs: list[str], compiled: Compiled, timeout: float, memory: int) -> None:
    try:
        # What the parent holds is nobody's garbage here; walking through it would take a check's whole time.
        gc.freeze()
        most = _mapped() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        signal.signal(signal.SIGPROF, _alarm)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        for program in programs:
            answer = _one(program, compiled, timeout)
            view = json.dumps(answer).encode() + b"\n"
            while view:
                view = view[os.write(writer, view) :]
    finally:
        os._exit(0)


def _mapped() -> int:
    """Bytes of address space in use."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _one(program: str, compiled: Compiled, timeout: float) -> dict[str, Any]:
    sys.setrecursionlimit(400)
    answer: dict[str, Any] = {
        "outcome": "finished",
        "observations": [],
        "error": "",
        "message": "",
        "error_line": None,
    }
    space: dict[str, Any] = {"__name__": "candidate"}
    started = time.process_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            signal.setitimer(signal.ITIMER_PROF, max(timeout, 1.0))
            exec(compile(program, NAME, "exec"), space)
            exec(compiled.setup, space)
        signal.setitimer(signal.ITIMER_PROF, 0)
    except BaseException as error:  # noqa: BLE001  whatever a program raises is its result
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer |= {"outcome": "load_error", "error": type(error).__name__, "message": str(error)[:500]}
        return answer
    late = 0
    for check, context, code, right in compiled.checks:
        if late >= 1:
            answer["observations"].append({"check_id": check.id, "status": "timeout"})
            continue
        seen = _observe(
            check, context, code, right, dict(space), timeout / (1 + late), compiled.plan.trace_lines
        )
        late += seen["status"] == "timeout"
        answer["observations"].append(seen)
    answer["cpu_s"] = time.process_time() - started
    return answer


def _observe(
    check: Check,
    context: CodeType,
    code: CodeType,
    right: CodeType | None,
    space: dict[str, Any],
    timeout: float,
    trace: bool,
) -> dict[str, Any]:
    seen: dict[str, Any] = {"check_id": check.id, "status": "value"}
    lines: set[int] = set()
    out, started = io.StringIO(), time.process_time()
    try:
        with contextlib.redirect_stdout(out):
            signal.setitimer(signal.ITIMER_PROF, timeout)
            if trace:
                sys.settrace(_tracer(lines))
            exec(context, space)
            value = eval(code, space)
            seen["value"] = encode(value)
            if right is not None:
                seen["right"] = encode(eval(right, space))
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _Late:
        seen = {"check_id": check.id, "status": "timeout"}
    except BaseException as error:  # noqa: BLE001  whatever a program raises is its result
        signal.setitimer(signal.ITIMER_PROF, 0)
        seen |= {
            "status": "raised",
            "error": type(error).__name__,
            "message": str(error)[:500],
            "error_line": _line(error),
        }
        seen.pop("value", None)
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
    seen |= {"cpu_s": time.process_time() - started, "stdout": out.getvalue()[:10_000]}
    seen["lines"] = sorted(lines)
    return seen


def _line(error: BaseException) -> int | None:
    line = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == NAME:
            line = step.tb_lineno
        step = step.tb_next
    return line


def _tracer(lines: set[int]) -> Any:
    def local(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def call(frame: FrameType, event: str, arg: Any) -> Any:
        return local if frame.f_code.co_filename == NAME else None

    return call
