# ruff: noqa: PTH118
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Runs trusted test files beside a candidate and reports every test on the guard's channel.

Executed as text like `guard`, which it is handed. pytest runs in this process: a cold start of it would cost
more than the tests. Only the trusted folder's conftest files are read, no configuration of the candidate's and
no plugin that was not named.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

guard: Any = globals().get("guard")  # put here by whoever loads this file

_cpu, _monotonic = time.process_time, time.monotonic
# What `pytest.hookimpl` would set; pytest may not be there when this file is loaded.
_WRAPS: dict[str, Any] = {"wrapper": True, "tryfirst": True}


class Reporter:
    """A pytest plugin that sends one record a test.

    A test passed when no phase raised, seen both where its function was called and where its report was made.
    """

    def __init__(self, channel: Any, lines: Any, path: str, seconds: float, nodes: list[str]) -> None:
        self._nodes = nodes
        self._channel = channel
        self._lines = lines
        self._path = path
        self._seconds = seconds
        self._state: dict[str, dict[str, Any]] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep what was planned; a node that is not there would have stopped the whole run."""
        items[:] = [item for item in items if self._wanted(item.nodeid)]

    def _wanted(self, name: str) -> bool:
        return any(name == node or name.startswith((f"{node}[", f"{node}::")) for node in self._nodes)

    def pytest_collection_finish(self, session: Any) -> None:
        """Name what will run."""
        self._channel.say({"k": "collected", "ids": [item.nodeid for item in session.items]})

    def pytest_collectreport(self, report: Any) -> None:
        """A file that does not even import."""
        if report.failed:
            text = str(report.longrepr)[-2000:]
            self._channel.say({"k": "uncollected", "id": report.nodeid, "message": text})

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Something ended the whole run, such as `sys.exit` while a file was imported."""
        self._channel.say({"k": "aborted", **guard.describe(excinfo.value, self._path)})

    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Bracket one test."""
        self._state[item.nodeid] = {"status": "absent", "began": _monotonic(), "cpu": _cpu(), "failed": None}
        with guard._Timed(self._seconds), self._lines:
            answer = yield
        state = self._state[item.nodeid]
        failed = state["failed"]
        record = (
            dict(failed)
            if failed
            else {"status": "value" if state["status"] == "passed" else state["status"]}
        )
        self._channel.say(
            {
                "k": "test",
                "id": item.nodeid,
                **record,
                "passed": failed is None and state["status"] == "passed",
                "wall": _monotonic() - state["began"],
                "cpu": _cpu() - state["cpu"],
                "lines": self._lines.taken(),
            }
        )
        return answer

    pytest_runtest_protocol.pytest_impl = _WRAPS  # type: ignore[attr-defined]  # pluggy reads this attribute

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Generator[None, Any, Any]:
        """See what the test's function itself did."""
        try:
            return (yield)
        except BaseException as error:
            self._note(pyfuncitem.nodeid, error)
            raise

    pytest_pyfunc_call.pytest_impl = _WRAPS  # type: ignore[attr-defined]  # pluggy reads this attribute

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """See what each phase did."""
        state = self._state.setdefault(item.nodeid, {"status": "absent", "failed": None})
        if call.excinfo is not None:
            self._note(item.nodeid, call.excinfo.value)
        elif call.when == "call" and state["failed"] is None:
            state["status"] = "passed"

    def _note(self, node: str, error: BaseException) -> None:
        state = self._state.setdefault(node, {"status": "absent", "failed": None})
        if type(error).__name__ == "Skipped":
            state["status"] = "skipped"
        elif state["failed"] is None:
            status = "timeout" if isinstance(error, guard.CheckTimeoutError) else "raised"
            state["failed"] = {**guard.describe(error, self._path), "status": status}


def run(plan: dict[str, Any], send: Callable[[bytes], None], forward: Callable[[str, str], Any]) -> None:
    """Run the planned test files.

    Args:
        plan: as for `guard.run`, with `pytest`: `folder` (trusted copy), `arguments` (node ids or files in
            it), `plugins` (names to load).
        send: takes the bytes of one record.
        forward: takes what is printed.
    """
    channel = guard.Channel(send, plan.pop("secret"))
    wanted = plan["pytest"]
    channel.say({"k": "begin", "cpu": _cpu()})
    try:
        import pytest
    except ImportError:
        channel.say({"k": "missing", "what": "pytest"})
        channel.say({"k": "end", "cpu": _cpu(), "stdin": False, "over": False})
        return
    guard.limit_process(plan.get("limits") or {})
    tally = {"left": int(plan.get("output_bytes") or 1 << 20), "kept": 65536, "over": 0}
    out = guard.Output(lambda text: forward("stdout", text), 1, tally, True)
    sys.stdout = out
    sys.stderr = guard.Output(lambda text: forward("stderr", text), 2, tally, False)
    stdin = guard.Input("")
    sys.stdin = stdin
    guard.builtins.input = stdin.ask
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, wanted["folder"])
    lines = guard.Lines(plan["path"], bool(plan.get("lines")))
    reporter = Reporter(
        channel, lines, plan["path"], float((guard._setitimer and plan.get("check_s")) or 0), wanted["nodes"]
    )
    record: dict[str, Any] = {"status": "value"}
    try:
        with guard.no_running_loop():
            code = pytest.main(_arguments(wanted), plugins=[reporter])
        record["code"] = int(code)
    except BaseException as error:  # noqa: BLE001  the candidate runs in here and may raise anything
        record = {"status": "raised", **guard.describe(error, plan["path"])}
    channel.say({"k": "loaded", **record, "stdout": out.take(), "lines": []})
    channel.say({"k": "end", "cpu": _cpu(), "stdin": stdin.refused, "over": bool(tally["over"])})


def _arguments(wanted: dict[str, Any]) -> list[str]:
    folder = wanted["folder"]
    named = [option for name in wanted.get("plugins", ()) for option in ("-p", name)]
    return [
        *("-p", "no:cacheprovider", "-p", "no:terminal", "-s", "--import-mode=importlib"),
        "--continue-on-collection-errors",
        *("-c", os.path.join(folder, wanted["config"]), "--rootdir", folder, "--confcutdir", folder),
        *named,
        *(os.path.join(folder, argument) for argument in wanted["arguments"]),
    ]
