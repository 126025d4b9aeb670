"""One persistent kernel: executes code, keeps its state, says when that state was lost."""

from __future__ import annotations

import ast
import json
import os
import re
import threading
import time
from typing import Any

from treewright.errors import KernelError
from treewright.kernels.forked import ForkedHost, Live
from treewright.kernels.limits import Limits
from treewright.kernels.results import ExecResult, ExecStatus, Inspection, Variable
from treewright.kernels.trace import CUT_MARK, ending_of_exit
from treewright.kernels.warm import INSIDE
from treewright.parsing import load_json

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_INTERRUPT_S = 2.0
_DISPLAY_BYTES = 1 << 20
_LOOK_MS = 100
_LAST_WORDS_S = 5.0
_INSTANT_S = 0.05


class _Seen:
    """What arrived while one request was executed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.text = {"stdout": bytearray(), "stderr": bytearray()}
        self.displays: list[dict[str, str]] = []
        self.displayed = 0
        self.result = ""
        self.error: dict[str, Any] | None = None
        self.reply: dict[str, Any] | None = None
        self.idle = False
        self.flooded = False
        self.end: dict[str, Any] | None = None

    def add(self, stream: str, data: bytes) -> None:
        """Keep printed text up to the limit."""
        kept = self.text["stderr" if stream == "stderr" else "stdout"]
        room = self.limit - len(kept)
        kept += data[: max(0, room)]
        self.flooded = self.flooded or len(data) > room

    def show(self, data: dict[str, Any]) -> None:
        """Keep a MIME bundle."""
        bundle = {
            str(kind): value if isinstance(value, str) else json.dumps(value) for kind, value in data.items()
        }
        size = sum(map(len, bundle.values()))
        if self.displayed + size <= _DISPLAY_BYTES:
            self.displayed += size
            self.displays.append(bundle)

    def printed(self, stream: str) -> str:
        """A stream's text, with the mark where it was cut."""
        kept = self.text[stream]
        return kept.decode("utf-8", "replace") + (CUT_MARK if len(kept) >= self.limit else "")


class KernelSession:
    """A kernel that lives from call to call. One execution at a time; interrupting is for any thread.

    Args:
        host: where kernels are forked.
        limits: of the kernel.
    """

    def __init__(self, host: ForkedHost, limits: Limits) -> None:
        self._host = host
        self._limits = limits
        self._live: Live | None = None
        self._lock = threading.Lock()
        self._lost = ""
        self.interrupted = False
        self.used = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether there is a kernel now."""
        return self._live is not None

    def execute(self, code: str, timeout_s: float) -> ExecResult:
        """Execute code.

        Args:
            code: a cell, magics and all.
            timeout_s: wall clock; then it is interrupted, and killed when that does not help.

        Raises:
            KernelError: kernel_busy, another execution is on; E052, kernels are not to be had.
        """
        with self._turn():
            return self._execute(code, timeout_s)

    def _turn(self) -> _Turn:
        return _Turn(self._lock, self)

    def _execute(self, code: str, timeout_s: float) -> ExecResult:
        live, reason = self._kernel()
        started = time.monotonic()
        live.kernel.say(do="watch", limits=self._limits.for_box())
        seen = _Seen(self._limits.output_bytes)
        status = self._follow(live, live.client.execute(code), seen, started + timeout_s)
        live.kernel.say(do="rest")
        return self._result(seen, status, reason, time.monotonic() - started)

    def _kernel(self) -> tuple[Live, str]:
        """The kernel, a new one where there is none, and why it is new."""
        if self._live is not None and self._has_ended(self._live):
            self._drop("the kernel had died")
        if self._live is None:
            self._live = self._host.fresh(self._limits, iopub=True)
            reason, self._lost = self._lost, ""
            return self._live, reason
        return self._live, ""

    @staticmethod
    def _has_ended(live: Live) -> bool:
        live.kernel.control.setblocking(False)
        try:
            live.kernel.control.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            live.kernel.control.setblocking(True)
        return True

    def _follow(self, live: Live, request: str, seen: _Seen, deadline: float) -> ExecStatus:
        """Follow one request to its end; interrupt and then kill what goes on too long."""
        import zmq

        poller = zmq.Poller()
        for one in (
            live.client.shell,
            live.client.iopub,
            live.kernel.control,
            live.kernel.out,
            live.kernel.err,
        ):
            poller.register(one, zmq.POLLIN)
        late = False
        while not (seen.reply is not None and seen.idle):
            now = time.monotonic()
            if seen.flooded:
                self._drop("it printed more than it may")
                return ExecStatus.OUTPUT_LIMIT
            if late and now >= deadline:
                self._drop("it did not stop when it was interrupted")
                return ExecStatus.INTERRUPTED if self.interrupted else ExecStatus.TIMEOUT
            if not late and (now >= deadline or self.interrupted):
                # An interrupt that comes between two statements of the kernel's own can cost it its reply.
                late, deadline = True, now + _INTERRUPT_S
                live.kernel.say(do="interrupt")
            for one, _ in poller.poll(min(_LOOK_MS, max(1, int((deadline - now) * 1000)))):
                if self._take(live, one, request, seen):
                    return ExecStatus.DIED
        return ExecStatus.TIMEOUT if late and not self.interrupted else self._status(seen)

    def _status(self, seen: _Seen) -> ExecStatus:
        content = (seen.reply or {}).get("content") or {}
        if content.get("status") == "ok":
            return ExecStatus.OK
        if self.interrupted and content.get("ename") == "KeyboardInterrupt":
            return ExecStatus.INTERRUPTED
        return ExecStatus.ERROR

    def _take(self, live: Live, one: Any, request: str, seen: _Seen) -> bool:
        """Take in what arrived on one channel; whether the kernel is gone."""
        if one is live.client.shell or one is live.client.iopub:
            message = live.client.read(one)
            if message is not None and (message.get("parent_header") or {}).get("msg_id") == request:
                self._message(message, seen)
            return False
        if one in (live.kernel.out, live.kernel.err):
            data = os.read(one, 1 << 16)
            seen.add("stdout" if one == live.kernel.out else "stderr", data)
            if data:
                return False
        # The end of a stream comes just before the init's last words.
        live.kernel.control.settimeout(_LAST_WORDS_S)
        seen.end = live.kernel.hear().get("end") or {"why": "lost", "code": None}
        self._drop(self._why(seen.end))
        return True

    @staticmethod
    def _why(end: dict[str, Any]) -> str:
        if end.get("why") == "processes":
            return "the kernel started more processes than it may"
        if end.get("why") == "resident":
            return "the kernel held more memory than it may"
        return f"the kernel's process ended ({ending_of_exit(end.get('code')).value})"

    @staticmethod
    def _message(message: dict[str, Any], seen: _Seen) -> None:
        content = message.get("content") or {}
        match message.get("msg_type"):
            case "stream":
                seen.add(str(content.get("name")), str(content.get("text", "")).encode("utf-8", "replace"))
            case "execute_result":
                seen.result = str((content.get("data") or {}).get("text/plain", ""))[: seen.limit]
            case "display_data":
                seen.show(content.get("data") or {})
            case "error":
                seen.error = content
            case "execute_reply":
                seen.reply = message
            case "status":
                seen.idle = seen.idle or content.get("execution_state") == "idle"

    def _result(self, seen: _Seen, status: ExecStatus, reason: str, wall_s: float) -> ExecResult:
        error = seen.error or {}
        content = (seen.reply or {}).get("content") or {}
        message = str(error.get("evalue", ""))
        if status is ExecStatus.DIED or (self._live is None and not message):
            message = f"{self._lost}; the next call starts a new one"
        return ExecResult(
            status=status,
            stdout=seen.printed("stdout"),
            stderr=seen.printed("stderr"),
            result=seen.result,
            displays=tuple(seen.displays),
            error=str(error.get("ename", "")),
            message=message[: self._limits.output_bytes],
            traceback=tuple(_ANSI.sub("", str(line)) for line in error.get("traceback") or ()),
            kernel_restarted=bool(reason),
            reason=reason,
            execution_count=content.get("execution_count"),
            wall_s=wall_s,
        )

    def variables(self, timeout_s: float = 10.0) -> tuple[list[Variable], str]:
        """Every public name, and why the kernel is a new one (empty when it is not)."""
        found, reason = self._look(None, timeout_s)
        return [Variable.model_validate(one) for one in found or []], reason

    def inspect(self, name: str, timeout_s: float = 10.0) -> tuple[Inspection | None, str]:
        """One name (dotted is fine), and why the kernel is a new one; None when there is no such name."""
        found, reason = self._look(name, timeout_s)
        return (Inspection.model_validate(found) if found is not None else None), reason

    def _look(self, name: str | None, timeout_s: float) -> tuple[Any, str]:
        text = (INSIDE / "variables.py").read_text(encoding="utf-8")
        expression = (
            f"(lambda space: (exec({text!r}, space), space['answer'])[1])"
            f"({{'asked': {name!r}, 'namespace': get_ipython().user_ns}})"
        )
        with self._turn():
            live, reason = self._kernel()
            seen = _Seen(self._limits.output_bytes)
            request = live.client.execute("", silent=True, expressions={"answer": expression})
            status = self._follow(live, request, seen, time.monotonic() + timeout_s)
            answer = (((seen.reply or {}).get("content") or {}).get("user_expressions") or {}).get(
                "answer"
            ) or {}
            shown = (answer.get("data") or {}).get("text/plain")
            if shown is None:
                raise KernelError(
                    "kernel_request_invalid",
                    f"The namespace could not be read ({status.value}).",
                    "Reset the kernel.",
                )
            return _namespace(shown), reason

    def interrupt(self) -> bool:
        """Interrupt what is executed; whether anything was."""
        live = self._live
        if live is None or not self._lock.locked():
            return False
        self.interrupted = True
        return True

    def reset(self) -> None:
        """Have a fresh kernel for the next call.

        Raises:
            KernelError: kernel_busy.
        """
        with self._turn():
            self._drop("it was reset")
            self._lost = ""

    def add_path(self, folder: str) -> ExecResult:
        """Put a folder first on the kernel's `sys.path`."""
        code = f"import sys; sys.path.insert(0, {folder!r}) if {folder!r} not in sys.path else None; del sys"
        return self.execute(code, 10.0)

    def stop_when_idle(self, idle_s: float) -> bool:
        """Stop a kernel that nobody used for a while; whether it was stopped."""
        if time.monotonic() - self.used < idle_s or not self._lock.acquire(blocking=False):
            return False
        try:
            if self._live is None or time.monotonic() - self.used < idle_s:
                return False
            live = self._taken(f"it was stopped after {idle_s:g} s without use")
        finally:
            self._lock.release()
        # Ending a kernel takes a moment; a call that comes meanwhile starts the next one and is not "busy".
        if live is not None:
            live.close()
        return True

    def _taken(self, why: str) -> Live | None:
        """The kernel, which is the session's no longer."""
        self._lost = why
        live, self._live = self._live, None
        return live

    def _drop(self, why: str) -> None:
        live = self._taken(why)
        if live is not None:
            live.close()

    def close(self) -> None:
        """End the kernel, whatever it is doing."""
        live, self._live = self._live, None
        if live is not None:
            live.kernel.say(do="kill", why="closed")
            with self._lock:
                live.close()


class _Turn:
    """Holds a session for one call; a second caller is told, not kept waiting."""

    def __init__(self, lock: threading.Lock, session: KernelSession) -> None:
        self._lock = lock
        self._session = session

    def __enter__(self) -> None:
        # The keeper of idle kernels holds the lock for an instant; whoever executes, for longer.
        if not self._lock.acquire(timeout=_INSTANT_S):
            raise KernelError(
                "kernel_busy", "The kernel is executing something else.", "Interrupt it, or wait."
            )

    def __exit__(self, *_: object) -> None:
        self._session.used = time.monotonic()
        # Forgotten here and not at the next beginning, where an early interrupt would be lost.
        self._session.interrupted = False
        self._lock.release()


def _namespace(shown: str) -> Any:
    """Return what the kernel says of its variables; the code in it may have made it say anything."""
    try:
        return load_json(ast.literal_eval(shown))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as fault:
        raise KernelError(
            "kernel_request_invalid", "The namespace could not be read.", "Reset the kernel."
        ) from fault
