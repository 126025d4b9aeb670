# ruff: noqa: TC004
# (names of the files loaded before into the same namespace are imported for type checkers only)
"""Loads a candidate, evaluates checks, and reports on a channel of its own. Runs in the kernel's process.

This file is executed as text, after `streams` and `observe` and in the same namespace, whose builtins are a
private copy, before any candidate code; it keeps the C functions that it needs: what a candidate does to
builtins, to `json` or to `traceback` does not reach it. Nothing of what is expected is ever here. It is given
`encode` (see `treewright.search.plain`). Standard library only, CPython 3.10 or later.
"""

from __future__ import annotations

import ast
import builtins
import json.encoder
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.kernels.inside.observe import Guarding, Lines, compare_pair, describe, limit_process
    from treewright.kernels.inside.streams import CheckTimeoutError, Input, Output, OutputLimitError

encode: Any = globals().get("encode")  # put here by whoever loads this file

_write, _monotonic, _cpu = os.write, time.monotonic, time.process_time
# There are no timers on Windows: a check's own time limit does not hold there, the branch's does.
_setitimer: Any = getattr(signal, "setitimer", None)
_signal = signal.signal
_compile, _exec, _eval = builtins.compile, builtins.exec, builtins.eval
_pristine: dict[str, Any] = dict(vars(builtins))
_CHECK_OUTPUT = 65536

_json_text = json.encoder.encode_basestring_ascii
_c_encoder: Any = getattr(json.encoder, "c_make_encoder", None)


def _to_json(record: Any) -> bytes:
    """JSON by the C encoder that was captured, whatever `json` has become since."""
    if _c_encoder is None:
        return json.encoder.JSONEncoder().encode(record).encode("ascii")
    encoder = _c_encoder(None, str, _json_text, None, ":", ",", False, False, True)
    return "".join(encoder(record, 0)).encode("ascii")


class Channel:
    """Sends records: one line of JSON each, led by a secret that only this object and the other side know."""

    def __init__(self, send: Callable[[bytes], None], secret: str) -> None:
        self._send = send
        self._secret = secret

    def say(self, record: dict[str, Any]) -> None:
        """Send one record."""
        self._send(self._secret.encode("ascii") + _to_json(record) + b"\n")


def send_to_descriptor(number: int) -> Callable[[bytes], None]:
    """A sender that writes to a pipe."""

    def send(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[_write(number, view) :]

    return send


# --- the run ------------------------------------------------------------------------------------------------


class Run:
    """One plan against one candidate.

    Args:
        plan: see `treewright.kernels.wire`.
        channel: where records go.
        forward: takes what is printed: `("stdout" | "stderr", text)`.
        prepared: a run whose checks are compiled already, to take them over from.
    """

    def __init__(
        self,
        plan: dict[str, Any],
        channel: Channel,
        forward: Callable[[str, str], Any],
        prepared: Run | None = None,
    ) -> None:
        self._plan = plan
        self._channel = channel
        self._path: str = plan["path"]
        self._tally = {"left": int(plan.get("output_bytes") or 1 << 20), "kept": _CHECK_OUTPUT, "over": 0}
        self._out = Output(lambda text: forward("stdout", text), 1, self._tally, keep=True)
        self._err = Output(lambda text: forward("stderr", text), 2, self._tally, keep=False)
        self._stdin = Input(plan.get("stdin") or "")
        self._lines = Lines(self._path, bool(plan.get("lines")))
        self._codes: dict[str, Any] = prepared._codes if prepared else {}
        self._early: dict[str, Any] = prepared._early if prepared else {}
        self._module = types.ModuleType(plan.get("module") or "candidate")

    def go(self) -> None:
        """Run everything; every record is sent the moment it is known."""
        say = self._channel.say
        say({"k": "begin", "cpu": _cpu()})
        self.prepare()
        self._stand_in()
        loaded = self._load()
        say({"k": "loaded", **loaded})
        if loaded["status"] == "value" and not self._tally["over"]:
            self._check_all(say)
        say({"k": "end", "cpu": _cpu(), "stdin": self._stdin.refused, "over": bool(self._tally["over"])})

    def prepare(self) -> None:
        """Everything that comes before a candidate: limits, compiled checks, what does not need a candidate."""
        limit_process(self._plan.get("limits") or {})
        self._compile_checks()
        self._evaluate_early()

    def brief(self) -> dict[str, Any]:
        """Load and check, and return everything as one record instead of sending it."""
        self._stand_in()
        with self._timed(self._plan.get("check_s")):
            loaded = self._load()
        checks: list[dict[str, Any]] = []
        if loaded["status"] == "value" and not self._tally["over"]:
            self._check_all(checks.append)
        builtins.input = _pristine["input"]
        return {
            "loaded": loaded,
            "checks": checks,
            "stdin": self._stdin.refused,
            "over": bool(self._tally["over"]),
        }

    def _stand_in(self) -> None:
        sys.stdout, sys.stderr, sys.stdin = self._out, self._err, self._stdin
        builtins.input = self._stdin.ask

    def _compile_checks(self) -> None:
        """Compile before the candidate is there: what cannot be compiled is reported as raised."""
        for number, check in enumerate(self._plan["checks"]):
            parts: dict[str, Any] = {}
            for part, mode in (("context", "exec"), ("evaluate", "eval"), ("right", "eval")):
                text = check.get(part)
                if text:
                    parts[part] = self._code(text, f"<treewright check {number}>", mode)
            self._codes[check["id"]] = parts

    @staticmethod
    def _code(text: str, name: str, mode: str) -> Any:
        try:
            try:
                tree: ast.AST = ast.parse(text, name, mode)
            except SyntaxError:
                tree = ast.parse(text, name, "exec")
            return _compile(
                ast.fix_missing_locations(Guarding().visit(tree)),
                name,
                "exec" if isinstance(tree, ast.Module) else "eval",
            )
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return error

    def _evaluate_early(self) -> None:
        """Evaluate what does not need the candidate before the candidate can have changed anything."""
        if not any(parts.get("right") is not None for parts in self._codes.values()):
            return
        shared = self._fresh({})
        try:
            with self._timed(self._plan.get("check_s")):
                self._statements(self._plan.get("setup") or "", shared)
        except BaseException:  # noqa: BLE001  it needs the candidate: it is run again once that is there
            shared = self._fresh({})
        for check, parts in self._codes.items():
            if parts.get("right") is None:
                continue
            try:
                with self._timed(self._plan.get("check_s")):
                    space = dict(shared)
                    self._run_part(parts.get("context"), space)
                    self._early[check] = encode(self._run_part(parts["right"], space))
            except BaseException:  # noqa: BLE001 it needs the candidate: evaluated beside it later
                known = False
            else:
                known = True
            if not known:
                continue
            self._channel.say({"k": "right", "id": check, "right": self._early.pop(check)})
            self._early[check] = True

    def _timed(self, seconds: Any) -> _Timed:
        return _Timed(float(seconds) if seconds else 0.0, self._plan.get("timer") == "cpu")

    def _fresh(self, names: dict[str, Any]) -> dict[str, Any]:
        """A namespace with builtins nobody changed; a candidate's names shadow them only where it may."""
        allowed = set(self._plan.get("defines") or ())
        space = {
            name: value
            for name, value in names.items()
            if name not in _pristine or name in allowed or name == "__name__"
        }
        space["__builtins__"] = {**_pristine, "input": self._stdin.ask}
        space["__pair__"] = compare_pair
        space.setdefault("__name__", "checks")
        return space

    @staticmethod
    def _run_part(code: Any, space: dict[str, Any]) -> Any:
        if code is None:
            return None
        if isinstance(code, BaseException):
            raise code
        return _eval(code, space)

    def _statements(self, text: str, space: dict[str, Any]) -> None:
        if text:
            self._run_part(self._code(text, "<treewright setup>", "exec"), space)

    def _load(self) -> dict[str, Any]:
        """Run the candidate's file as a module."""
        module = self._module
        module.__file__ = self._path
        # Without this it would get the private copy that this file runs with.
        module.__dict__["__builtins__"] = builtins
        sys.modules[module.__name__] = module
        started, used = _monotonic(), _cpu()
        record: dict[str, Any] = {"status": "value"}
        try:
            with self._lines:
                code = _compile(self._plan["source"], self._path, "exec", dont_inherit=True)
                _exec(code, module.__dict__)
        except BaseException as error:  # noqa: BLE001  a candidate may raise anything
            record = self._failed(error)
            if self._ended_well(error):
                record = {"status": "value"}
        finally:
            self._lines.__exit__()
        record.update(
            stdout=self._out.take(), lines=self._lines.taken(), wall=_monotonic() - started, cpu=_cpu() - used
        )
        return record

    def _ended_well(self, error: BaseException) -> bool:
        """A script may end by `sys.exit(0)`; a module that is imported may not."""
        return (
            self._module.__name__ == "__main__" and isinstance(error, SystemExit) and error.code in (None, 0)
        )

    def _failed(self, error: BaseException) -> dict[str, Any]:
        status = "raised"
        if isinstance(error, CheckTimeoutError):
            status = "timeout"
        elif isinstance(error, OutputLimitError):
            status = "output"
        elif isinstance(error, SystemExit):
            status = "exited"
        return {"status": status, **describe(error, self._path)}

    def _check_all(self, say: Callable[[dict[str, Any]], None]) -> None:
        shared = self._fresh(dict(self._module.__dict__))
        setup_error = None
        try:
            with self._timed(self._plan.get("check_s")):
                self._statements(self._plan.get("setup") or "", shared)
        except BaseException as error:  # noqa: BLE001  the setup runs the candidate
            setup_error = self._failed(error)
            say({"k": "setup", **setup_error})
        self._out.take()
        for check in self._plan["checks"]:
            if self._tally["over"]:
                return
            seen = self._check(check, shared)
            say({"k": "check", "id": check["id"], **seen})
            if seen["status"] == "timeout" and self._plan.get("hurry"):
                return

    def _check(self, check: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        parts = self._codes[check["id"]]
        space = dict(shared)
        if check.get("apart"):
            space = self._fresh({})
        started, used = _monotonic(), _cpu()
        record: dict[str, Any] = {"status": "value"}
        try:
            with self._timed(self._plan.get("check_s")), self._lines:
                self._run_part(parts.get("context"), space)
                record["value"] = encode(self._run_part(parts.get("evaluate"), space))
                if "right" in parts and check["id"] not in self._early:
                    record["right"] = encode(self._run_part(parts["right"], space))
        except BaseException as error:  # noqa: BLE001  a candidate may raise anything
            record = self._failed(error)
        finally:
            self._lines.__exit__()
        record.update(
            stdout=self._out.take(), lines=self._lines.taken(), wall=_monotonic() - started, cpu=_cpu() - used
        )
        return record


class no_running_loop:  # noqa: N801  reads as a statement
    """Hides the kernel's own event loop, so that a candidate's `asyncio.run` works."""

    def __enter__(self) -> None:
        self._events = sys.modules.get("asyncio.events")
        self._loop = self._events._get_running_loop() if self._events else None
        if self._events and self._loop is not None:
            self._restore = self._events._set_running_loop
            self._restore(None)

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._restore(self._loop)


class _Timed:
    """Raises `CheckTimeoutError` in the main thread after some seconds, of the clock or of CPU; 0 is no limit."""

    def __init__(self, seconds: float, cpu: bool = False) -> None:
        self._seconds = seconds
        self._cpu = cpu

    def __enter__(self) -> _Timed:  # noqa: PYI034  Self is newer than 3.10
        if self._seconds > 0:
            _signal(signal.SIGPROF if self._cpu else signal.SIGALRM, self._ring)
            # It rings again and again: a candidate that swallows the first is hit by the next.
            _setitimer(signal.ITIMER_PROF if self._cpu else signal.ITIMER_REAL, self._seconds, 0.1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._seconds > 0:
            _setitimer(signal.ITIMER_PROF if self._cpu else signal.ITIMER_REAL, 0)

    @staticmethod
    def _ring(_number: int, _frame: Any) -> None:
        raise CheckTimeoutError


def run(plan: dict[str, Any], send: Callable[[bytes], None], forward: Callable[[str, str], Any]) -> None:
    """Run one plan and report.

    Args:
        plan: see `treewright.kernels.wire`; `secret` leads every record.
        send: takes the bytes of one record.
        forward: takes what the candidate prints.
    """
    secret = plan.pop("secret")
    if _setitimer is None or threading.current_thread() is not threading.main_thread():
        plan["check_s"] = None
    with no_running_loop():
        Run(plan, Channel(send, secret), forward).go()
