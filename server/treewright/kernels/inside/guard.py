# ruff: noqa: PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Loads a candidate, evaluates checks, and reports on a channel of its own. Runs in the kernel's process.

This file is executed as text in a namespace whose builtins are a private copy, before any candidate code, and
keeps the C functions that it needs: what a candidate does to builtins, to `json` or to `traceback` does not
reach it. Nothing of what is expected is ever here. It is given `encode` (see `treewright.search.plain`).
Standard library only, CPython 3.10 or later.
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
from typing import Any

# Loaded now so that their classes and functions are known to be the library's own (see `_is_ours`).

encode: Any = globals().get("encode")  # put here by whoever loads this file

_TEXT_LIMIT = 2000
_FRAME_LIMIT = 30
_CHECK_OUTPUT = 65536
_TPFLAGS_HEAPTYPE = 1 << 9

_write, _monotonic, _cpu = os.write, time.monotonic, time.process_time
# There are no timers on Windows: a check's own time limit does not hold there, the branch's does.
_setitimer: Any = getattr(signal, "setitimer", None)
_signal, _settrace = signal.signal, sys.settrace
_compile, _exec, _eval = builtins.compile, builtins.exec, builtins.eval
_pristine: dict[str, Any] = dict(vars(builtins))
_mro = vars(type)["__mro__"].__get__
_vars = vars(type)["__dict__"].__get__
_flags = vars(type)["__flags__"].__get__
_name = vars(type)["__name__"].__get__
_known = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)}
_function_globals = vars(types.FunctionType)["__globals__"].__get__

_json_text = json.encoder.encode_basestring_ascii
_c_encoder: Any = getattr(json.encoder, "c_make_encoder", None)


def _to_json(record: Any) -> bytes:
    """JSON by the C encoder that was captured, whatever `json` has become since."""
    if _c_encoder is None:
        return json.encoder.JSONEncoder().encode(record).encode("ascii")
    encoder = _c_encoder(None, str, _json_text, None, ":", ",", False, False, True)
    return "".join(encoder(record, 0)).encode("ascii")


class CheckTimeoutError(BaseException):
    """One check took longer than it may."""


class OutputLimitError(BaseException):
    """The candidate printed more than it may."""


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


class Output:
    """Stands for `sys.stdout` and `sys.stderr`: passes text on, counts it, keeps what one check printed."""

    encoding, errors, closed, newlines = "utf-8", "replace", False, None

    def __init__(self, forward: Callable[[str], Any], number: int, tally: dict[str, int], keep: bool) -> None:
        self._forward = forward
        self._number = number
        self._tally = tally
        self._keep = keep
        self._kept: list[str] = []

    def write(self, text: str) -> int:
        """Pass text on, up to the limit of the whole branch."""
        if type(text) is not str:
            if not isinstance(text, str):
                raise TypeError(f"write() argument must be str, not {type(text).__name__}")
            text = str.__str__(text)
        left = self._tally["left"]
        self._tally["left"] = left - len(text)
        shown = text if len(text) <= left else text[: max(left, 0)]
        if shown:
            if self._keep and self._tally["kept"] > 0:
                self._kept.append(shown[: self._tally["kept"]])
                self._tally["kept"] -= len(shown)
            self._forward(shown)
        if self._tally["left"] < 0:
            self._tally["over"] = 1
            raise OutputLimitError
        return len(text)

    def take(self) -> str:
        """What was printed since the last call, up to 64 KiB."""
        text = "".join(self._kept)
        self._kept.clear()
        self._tally["kept"] = _CHECK_OUTPUT
        return text

    def writelines(self, lines: Any) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)

    def fileno(self) -> int:
        """The descriptor that stands behind."""
        return self._number

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """A candidate may close it; the next one to write finds out."""
        self._forward = _closed

    def isatty(self) -> bool:
        """No."""
        return False

    def readable(self) -> bool:
        """No."""
        return False

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """No."""
        return False

    @property
    def buffer(self) -> Any:
        """A bytes view, for programs that write to `sys.stdout.buffer`."""
        return _Bytes(self)

    def __enter__(self) -> Output:  # noqa: PYI034  Self is newer than 3.10
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def reconfigure(self, **_: Any) -> None:
        """Accepted and without effect."""


def _closed(_: str) -> None:
    raise ValueError("I/O operation on closed file.")


class _Bytes:
    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, data: Any) -> int:
        """Write bytes as text."""
        raw = bytes(data)
        self._output.write(raw.decode("utf-8", "replace"))
        return len(raw)

    def flush(self) -> None:
        """Nothing is held back."""


class Input:
    """Stands for `sys.stdin`: the plan's text, or a refusal that is noted."""

    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._empty = not text
        self.refused = False

    def readline(self, _limit: int = -1) -> str:
        """The next line; empty at the end."""
        if self._empty:
            self.refused = True
        return self._lines.pop(0) if self._lines else ""

    def read(self, _limit: int = -1) -> str:
        """Everything that is left."""
        if self._empty:
            self.refused = True
        text = "".join(self._lines)
        self._lines.clear()
        return text

    def readlines(self) -> list[str]:
        """Every line that is left."""
        return self.read().splitlines(keepends=True)

    def __iter__(self) -> Any:
        while line := self.readline():
            yield line

    def isatty(self) -> bool:
        """No."""
        return False

    def fileno(self) -> int:
        """Standard input is /dev/null."""
        return 0

    def close(self) -> None:
        """Nothing to close."""

    def ask(self, prompt: object = "", /) -> str:
        """Stands for `input`: never waits for a person."""
        if prompt != "":
            sys.stdout.write(str(prompt))
        line = self.readline()
        if not line:
            raise EOFError("no standard input")
        return line.rstrip("\n")


# --- comparisons inside checks ------------------------------------------------------------------------------


def _is_ours(function: Any) -> bool:
    """Whether a method is written in C or belongs to a module that was there before the candidate."""
    if type(function) is not types.FunctionType:
        return True
    return id(_function_globals(function)) in _known


def is_foreign(value: Any) -> bool:
    """Whether an object brings comparison code of the candidate's with it."""
    kind = type(value)
    if not _flags(kind) & _TPFLAGS_HEAPTYPE:
        return False
    for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"):
        for base in _mro(kind):
            found = _vars(base).get(name)
            if found is not None:
                if not _is_ours(found):
                    return True
                break
    return False


class _Guarding(ast.NodeTransformer):
    """Has both sides of every comparison in a check looked at before they are compared."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Wrap what is compared."""
        self.generic_visit(node)
        if len(node.ops) != 1 or isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        pair = ast.Call(
            ast.Name("__pair__", ast.Load()),
            [node.left, node.comparators[0], ast.Constant(_OPS[type(node.ops[0])])],
            [],
        )
        return ast.copy_location(pair, node)


_OPS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


class ForeignComparisonError(Exception):
    """A plain value was compared with an object that brings its own idea of equality."""


def _pair(left: Any, right: Any, operator: str) -> Any:
    """Compare, unless a candidate's object would decide about a plain value.

    Two objects of one class of the candidate's may compare themselves: the task asked for that class.
    """
    if is_foreign(left) != is_foreign(right) and operator not in ("in", "not in"):
        raise ForeignComparisonError(
            "an object with comparison methods of its own was compared with a plain value"
        )
    if operator in ("in", "not in") and is_foreign(left):
        raise ForeignComparisonError("an object with comparison methods of its own was looked up")
    return _COMPARE[operator](left, right)


# --- errors as data -----------------------------------------------------------------------------------------


def _text_of(value: Any) -> str:
    """`str(value)` of an object that may do anything."""
    try:
        text = str(value)
        return text[:_TEXT_LIMIT] if type(text) is str else ""
    except BaseException:  # noqa: BLE001  a candidate's __str__ may raise anything
        return "<no text: its __str__ raised>"


def describe(error: BaseException, path: str) -> dict[str, Any]:
    """Class name, text, traceback and the last line of the candidate's file, without the `traceback` module."""
    frames: list[list[Any]] = []
    line = None
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == path:
            line = step.tb_lineno
        if not code.co_filename.startswith("<treewright"):
            frames.append([code.co_filename, step.tb_lineno, code.co_name])
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename == path and isinstance(error.lineno, int):
        line = error.lineno
    names = [_name(base) for base in _mro(type(error))]
    return {
        "error": names[0],
        "bases": names[1:-1],
        "message": _text_of(error),
        "error_line": line,
        "frames": frames[-_FRAME_LIMIT:],
    }


# --- lines --------------------------------------------------------------------------------------------------


class Lines:
    """Notes which lines of the candidate's file run."""

    def __init__(self, path: str, wanted: bool) -> None:
        self._path = path
        self._wanted = wanted
        self._seen: set[int] = set()

    def __enter__(self) -> Lines:  # noqa: PYI034  Self is newer than 3.10
        if self._wanted:
            self._seen.clear()
            _settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            _settrace(None)

    def _call(self, frame: types.FrameType, _event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename == self._path else None

    def _line(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._seen.add(frame.f_lineno)
        return self._line

    def taken(self) -> list[int]:
        """The lines, in order."""
        return sorted(self._seen)


# --- the run ------------------------------------------------------------------------------------------------


def limit_process(limits: dict[str, Any]) -> None:
    """Set the limits of address space and CPU, counted from what this process has used already.

    Args:
        limits: `memory_bytes` beyond what is mapped now, `cpu_s` beyond what was used, `file_bytes`; absent or
            None leaves a limit as it is.
    """
    try:
        import resource
    except ImportError:
        return
    if limits.get("memory_bytes"):
        value = _mapped() + int(limits["memory_bytes"])
        _lower(resource, resource.RLIMIT_AS, value, value)
    if limits.get("cpu_s"):
        used = resource.getrusage(resource.RUSAGE_SELF)
        value = int(used.ru_utime + used.ru_stime + float(limits["cpu_s"])) + 1
        _lower(resource, resource.RLIMIT_CPU, value, value + 1)
    if limits.get("file_bytes"):
        _lower(resource, resource.RLIMIT_FSIZE, int(limits["file_bytes"]), int(limits["file_bytes"]))


def _lower(resource: Any, which: int, soft: int, hard: int) -> None:
    _, now = resource.getrlimit(which)
    if now != resource.RLIM_INFINITY:
        soft, hard = min(soft, now), min(hard, now)
    try:
        resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError):
        return


def _mapped() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 31


class Run:
    """One plan against one candidate.

    Args:
        plan: see `treewright.kernels.wire`.
        channel: where records go.
        forward: takes what is printed: `("stdout" | "stderr", text)`.
    """

    def __init__(self, plan: dict[str, Any], channel: Channel, forward: Callable[[str, str], Any]) -> None:
        self._plan = plan
        self._channel = channel
        self._path: str = plan["path"]
        self._tally = {"left": int(plan.get("output_bytes") or 1 << 20), "kept": _CHECK_OUTPUT, "over": 0}
        self._out = Output(lambda text: forward("stdout", text), 1, self._tally, keep=True)
        self._err = Output(lambda text: forward("stderr", text), 2, self._tally, keep=False)
        self._stdin = Input(plan.get("stdin") or "")
        self._lines = Lines(self._path, bool(plan.get("lines")))
        self._codes: dict[str, Any] = {}
        self._early: dict[str, Any] = {}
        self._module = types.ModuleType(plan.get("module") or "candidate")

    def go(self) -> None:
        """Run everything; every record is sent the moment it is known."""
        say = self._channel.say
        say({"k": "begin", "cpu": _cpu()})
        limit_process(self._plan.get("limits") or {})
        self._compile_checks()
        self._evaluate_early()
        sys.stdout, sys.stderr, sys.stdin = self._out, self._err, self._stdin
        builtins.input = self._stdin.ask
        loaded = self._load()
        say({"k": "loaded", **loaded})
        if loaded["status"] == "value" and not self._tally["over"]:
            self._check_all(say)
        say({"k": "end", "cpu": _cpu(), "stdin": self._stdin.refused, "over": bool(self._tally["over"])})

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
                ast.fix_missing_locations(_Guarding().visit(tree)),
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
            except BaseException:  # noqa: BLE001, S112  it needs the candidate: evaluated beside it later
                continue
            self._channel.say({"k": "right", "id": check, "right": self._early.pop(check)})
            self._early[check] = True

    def _timed(self, seconds: Any) -> _Timed:
        return _Timed(float(seconds) if seconds else 0.0)

    def _fresh(self, names: dict[str, Any]) -> dict[str, Any]:
        """A namespace with builtins nobody changed; a candidate's names shadow them only where it may."""
        allowed = set(self._plan.get("defines") or ())
        space = {
            name: value
            for name, value in names.items()
            if name not in _pristine or name in allowed or name == "__name__"
        }
        space["__builtins__"] = {**_pristine, "input": self._stdin.ask}
        space["__pair__"] = _pair
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
            say({"k": "check", "id": check["id"], **self._check(check, shared)})

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
    """Raises `CheckTimeoutError` in the main thread after some seconds of wall clock; 0 is no limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> _Timed:  # noqa: PYI034  Self is newer than 3.10
        if self._seconds > 0:
            _signal(signal.SIGALRM, self._ring)
            # It rings again and again: a candidate that swallows the first is hit by the next.
            _setitimer(signal.ITIMER_REAL, self._seconds, 0.1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._seconds > 0:
            _setitimer(signal.ITIMER_REAL, 0)

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
