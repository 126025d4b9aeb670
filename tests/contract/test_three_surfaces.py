"""An editor, a terminal and an agent's server on one root at once: three real processes, none of which knows the others."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.lsp.editing import FULL, PUBLISH, uri_of
from tests.contract.lsp.raw import RawClient
from tests.contract.mcp.serving import MODERN, STDIO, call, connected
from tests.contract.mcp.test_mcp_together import terminal
from tests.contract.mcp.thinking import filled
from tests.patience import within

WITHIN_S = 1.0
"""Each sees what another did within a second (contract: surfaces, 5) of a machine that is not overloaded."""
FLAW = """import os
from flask import Flask, request

app = Flask(__name__)


@app.route("/run")
def run():
    os.system("ls " + request.args["p"])
    return "done"
"""


class Editor:
    """A language server's client that notes when it was told what."""

    def __init__(self, workspace: Path) -> None:
        self.client = RawClient()
        self.client.initialize(workspace, capabilities=FULL)
        self.client.request("treewright/runs", {})  # everything is loaded from here on

    def told(self, wanted: Callable[[dict[str, Any]], bool], method: str) -> float:
        """Wait for a notification that fits and return when it came."""
        self.client.notification(method, wanted)
        return time.monotonic()

    def run(self, run: str, *statuses: str) -> float:
        """Wait until a run is told of, with one of some statuses, and return when that was."""

        def fits(params: dict[str, Any]) -> bool:
            rows = [each["row"] for each in params["changes"] if each["run"].startswith(run) and each["row"]]
            return any(not statuses or row["status"] in statuses for row in rows)

        return self.told(fits, "treewright/runChanged")

    def findings(self, uri: str, count: int) -> float:
        """Wait until a file is shown with so many findings, and return when that was."""
        return self.told(lambda p: p["uri"] == uri and len(p["diagnostics"]) == count, PUBLISH)


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "app.py").write_text(FLAW, encoding="utf-8")
    made = Editor(tmp_path)
    yield made
    made.client.close()


async def in_terminal(*arguments: str, cwd: Path) -> tuple[str, float]:
    """Run a command and return what it said and when it had ended."""
    done = await asyncio.to_thread(terminal, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout, time.monotonic()


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("together:three:within-a-second")
async def test_editor_terminal_and_agent_see_each_others_changes_within_a_second(
    editor: Editor, tmp_path: Path
) -> None:
    uri = uri_of(tmp_path / "app.py")
    seen: dict[str, float] = {}
    async with connected(STDIO, MODERN, tmp_path) as agent:
        assert (await call(agent, "tree_status"))["runs"] == []
        # The terminal audits: the editor marks the file, the agent's server lists the run.
        said, ended = await in_terminal("audit", ".", "--format", "json", cwd=tmp_path)
        audit = json.loads(said)["run"]
        seen["terminal's audit, editor's mark"] = await asyncio.to_thread(editor.findings, uri, 1) - ended
        begun = time.monotonic()
        listed = await call(agent, "tree_status")
        seen["terminal's audit, agent's list"] = time.monotonic() - begun
        assert [row["run"] for row in listed["runs"]] == [audit]
        # The terminal dismisses the finding: the editor takes the mark away.
        rows = (await call(agent, "tree_children", run=audit, states="advances"))["rows"]
        _, ended = await in_terminal(
            "dismiss", audit, rows[0]["id"], "--reason", "it is a test", cwd=tmp_path
        )
        seen["terminal's decision, editor's mark"] = await asyncio.to_thread(editor.findings, uri, 0) - ended
        # The agent grows a tree: the editor follows it answer by answer.
        guided = (await call(agent, "tree_start", preset="brainstorm", root="a topic"))["run"]
        answered = time.monotonic()
        seen["agent's run, editor's list"] = await asyncio.to_thread(editor.run, guided) - answered
        await asyncio.to_thread(editor.client.request, "treewright/children", {"run": guided})
        due = await call(agent, "tree_next", run=guided)
        answer = filled(due["schema"], due["task"], 2)
        await call(agent, "tree_submit", run=guided, task=due["task"], answer=answer)
        answered = time.monotonic()
        seen["agent's answer, editor's tree"] = await asyncio.to_thread(editor.run, guided) - answered
        said, _ = await in_terminal("runs", "--format", "json", cwd=tmp_path)
        assert {row["id"]: row["status"] for row in json.loads(said)}[guided] == "GROWING"
        # The agent stops it, and the editor knows.
        await call(agent, "tree_stop", run=guided)
        stopped = time.monotonic()
        seen["agent's stop, editor's list"] = await asyncio.to_thread(editor.run, guided, "STOPPED") - stopped
        # The editor audits: the agent's server and the terminal list it when it is done.
        (tmp_path / "more.py").write_text(FLAW, encoding="utf-8")
        second = (await asyncio.to_thread(editor.client.request, "treewright/start", {"root": "."}))["run"]
        await asyncio.to_thread(editor.run, second, "CONVERGED", "ROUNDS_EXHAUSTED")
        begun = time.monotonic()
        status = await call(agent, "tree_status", run=second)
        seen["editor's audit, agent's status"] = time.monotonic() - begun
        assert status["status"] in ("CONVERGED", "ROUNDS_EXHAUSTED")
        said, _ = await in_terminal("runs", "--format", "json", cwd=tmp_path)
        assert {row["id"] for row in json.loads(said)} == {audit, guided, second}
    for what, took in seen.items():
        sys.stdout.write(f"{what:40} {took * 1000:6.0f} ms\n")
    assert max(seen.values()) < within(WITHIN_S), seen
