"""The server beside a terminal and beside another server on one root, and how it leaves."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.contract.mcp.raw import RawServer, raw_server
from tests.contract.mcp.serving import LEGACY, LONG_S, MODERN, STDIO, call, connected, http_server
from tests.contract.mcp.thinking import filled, think

FLAW = "def f(x):\n    return eval(x)\n"


def terminal(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "treewright", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=3 * LONG_S,
        check=False,
    )


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:together:seen", "mcp:exploration:looked-at")
async def test_terminal_and_server_see_each_others_changes_within_a_second(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FLAW, encoding="utf-8")
    async with connected(STDIO, MODERN, tmp_path) as client:
        assert (await call(client, "tree_status"))["runs"] == []  # everything is loaded from here on
        # the terminal's run is seen by the server as soon as the terminal has ended
        ran = await asyncio.to_thread(terminal, "audit", ".", "--format", "json", cwd=tmp_path)
        run = json.loads(ran.stdout)["run"]
        began = time.monotonic()
        seen = await call(client, "tree_status")
        assert time.monotonic() - began < 1.0
        assert [row["run"] for row in seen["runs"]] == [run]
        rows = await call(client, "tree_children", run=run, states="advances", sort="score")
        assert rows["total"] >= 1
        # and the server's by the terminal, answer by answer
        guided = await call(client, "tree_start", preset="brainstorm", root="a topic")
        due = await call(client, "tree_next", run=guided["run"])
        await call(
            client, "tree_submit", run=guided["run"], task=due["task"], answer=filled(due["schema"], "g", 2)
        )
        listed = await asyncio.to_thread(terminal, "runs", "--format", "json", cwd=tmp_path)
        assert {row["id"]: row["status"] for row in json.loads(listed.stdout)}[guided["run"]] == "GROWING"
        shown = await asyncio.to_thread(terminal, "report", guided["run"], cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:together:no-damage")
async def test_a_guided_run_is_not_driven_by_the_terminal_and_stays_whole(tmp_path: Path) -> None:
    async with connected(STDIO, LEGACY, tmp_path) as client:
        run = (await call(client, "tree_start", preset="brainstorm", root="a topic"))["run"]
        journal = next(tmp_path.rglob("journal.jsonl"))  # noqa: ASYNC240 - a test may look for a file
        before = journal.read_bytes()
        refused = await asyncio.to_thread(terminal, "resume", run, cwd=tmp_path)
        assert refused.returncode == 2
        assert "agent" in refused.stderr
        assert journal.read_bytes() == before
        assert (await call(client, "tree_next", run=run))["task"] == "ground/0/1"


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:exploration:concurrent", "mcp:together:no-damage")
async def test_two_servers_fill_tasks_of_one_run_in_at_once_and_none_is_lost(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as one, connected(STDIO, LEGACY, tmp_path) as two:
        run = (await call(one, "tree_start", preset="brainstorm", root="a topic"))["run"]
        due = await call(one, "tree_next", run=run)
        await call(
            one, "tree_submit", run=run, task=due["task"], answer=filled(due["schema"], due["task"], 2)
        )
        tasks: list[dict[str, Any]] = []
        for number in range(8):
            client = (one, two)[number % 2]
            tasks.append(await call(client, "tree_next", run=run, skip=[each["task"] for each in tasks]))
        assert len({each["task"] for each in tasks}) == 8
        taken = await asyncio.gather(
            *(
                call(
                    (one, two)[n % 2],
                    "tree_submit",
                    run=run,
                    task=each["task"],
                    answer=filled(each["schema"], each["task"], 2),
                )
                for n, each in enumerate(tasks)
            )
        )
        assert [each["accepted"] for each in taken] == [True] * 8
        # the same answers again, from the other server, change nothing
        again = await call(
            one, "tree_submit", run=run, task=tasks[1]["task"], answer=filled(tasks[1]["schema"], "z", 2)
        )
        assert again["code"] == "task_not_due"
        await think(two, run)
        assert (await call(one, "tree_status", run=run))["status"] == "CONVERGED"


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:exploration:stop-resume")
async def test_a_guided_run_is_stopped_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        run = (await call(client, "tree_start", preset="brainstorm", root="a topic"))["run"]
        due = await call(client, "tree_next", run=run)
        await call(
            client, "tree_submit", run=run, task=due["task"], answer=filled(due["schema"], due["task"], 2)
        )
        stopped = await call(client, "tree_stop", run=run, reason="lunch")
        assert stopped["status"] == "STOPPED"
        assert (await call(client, "tree_next", run=run))["next_tool"] == "tree_resume"
    async with connected(STDIO, LEGACY, tmp_path) as client:
        resumed = await call(client, "tree_resume", run=run, rounds="2")
        assert resumed["next_tool"] == "tree_next"
        assert resumed["performer"] == "caller"
        assert (await call(client, "tree_next", run=run))["task"] == "propose/0/A/1"


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:exploration:checked")
async def test_a_quotation_that_is_not_in_the_file_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(
        "# Plan\n\nWe move all data in one night.\nNothing is copied before.\n", encoding="utf-8"
    )
    async with connected(STDIO, MODERN, tmp_path) as client:
        run = (await call(client, "tree_start", preset="attack", root="plan.md"))["run"]
        due = await call(client, "tree_next", run=run)
        assert (
            "We move all data in one night."
            in (await client.call_tool("tree_next", {"run": run})).content[1].text
        )
        root = filled(due["schema"], "root", 2) | {
            "citations": [
                {"path": "plan.md", "start": 3, "end": 3, "quote": "We move all data in one night."}
            ]
        }
        assert (await call(client, "tree_submit", run=run, task=due["task"], answer=root))["accepted"]
        due = await call(client, "tree_next", run=run)
        claimed = filled(due["schema"], "claim", 2)
        for each in claimed["proposals"]:
            each["citations"] = [
                {"path": "plan.md", "start": 3, "end": 3, "quote": "We copy everything twice."}
            ]
        taken = await call(client, "tree_submit", run=run, task=due["task"], answer=claimed)
        assert taken["accepted"]
        assert any("could not be verified" in fault for fault in taken["faults"]), taken
        again = await call(client, "tree_next", run=run)
        assert again["task"] == "propose/0/A/2"


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:exploration:provider", "mcp:exploration:chain")
async def test_a_configured_provider_thinks_in_the_background(tmp_path: Path, isolated_home: Path) -> None:
    home = isolated_home / "treewright"
    home.mkdir()
    script = home / "script.json"
    script.write_text(json.dumps([{"text": "I have no idea.", "times": None}]), encoding="utf-8")
    table = f'[providers.played]\nkind = "scripted"\nmodel = "{script}"\nfree = true\n'
    (home / "config.toml").write_text(table, encoding="utf-8")
    async with connected(STDIO, MODERN, tmp_path) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic", performer="played")
        assert begun["performer"] == "played"
        assert begun["next_tool"] == "tree_status"
        async with asyncio.timeout(LONG_S):
            while (status := await call(client, "tree_status", run=begun["run"], wait_s=5))["driven_by"]:
                pass
        assert status["status"] in ("PAUSED", "EARLY_STOP")
        chain = await call(
            client, "tree_chain", root="a topic", stages="brainstorm, design", performer="played"
        )
        assert chain["run"]
        assert chain["status"] in ("PAUSED", "EARLY_STOP", "GROWING")


def children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def busy(server: RawServer) -> list[psutil.Process]:
    """Start a server with a kernel at work, and return its processes."""
    server.start()
    assert server.call("kernel_exec", code="1")["ok"]
    server.send("tools/call", {"name": "kernel_exec", "arguments": {"code": "import time\ntime.sleep(600)"}})
    assert server.call("list_presets")["ok"]
    found = children(server.process.pid)
    assert found
    return found


@pytest.mark.slow
@pytest.mark.requirement("mcp:process:leaves")
@pytest.mark.parametrize("way", ["eof", "term", "int", "kill", "stdout-closed"])
def test_no_process_is_left_however_the_server_ends(tmp_path: Path, way: str) -> None:
    with raw_server("--root", str(tmp_path), "--groups", "all") as server:
        processes = busy(server)
        process = server.process
        if way == "eof":
            assert server.leave() == 0
        elif way == "stdout-closed":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal({"term": signal.SIGTERM, "int": signal.SIGINT, "kill": signal.SIGKILL}[way])
        process.wait(LONG_S)
        _, alive = psutil.wait_procs(processes, timeout=10)
        assert not alive, [each.cmdline() for each in alive if each.is_running()]


@pytest.mark.slow
@pytest.mark.requirement("mcp:process:leaves")
def test_a_run_that_is_driven_is_whole_and_free_after_the_server_was_closed(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"m{number}.py").write_text(
            "".join(f"def f{i}(x):\n    return eval(x)\n" for i in range(8)), encoding="utf-8"
        )
    with raw_server("--root", str(tmp_path), "--patience", "0.2") as server:
        server.start()
        run = server.call("audit_code")["run"]
        processes = children(server.process.pid)
        server.leave()
        _, alive = psutil.wait_procs(processes, timeout=5)
        assert not alive
    shown = terminal("resume", run, "-q", cwd=tmp_path)
    assert shown.returncode in (0, 2), shown.stderr  # it went on to its end, or had come to it before


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:process:leaves")
async def test_an_http_server_with_a_listening_client_ends_when_it_is_told_to(tmp_path: Path) -> None:
    import httpx2

    async with http_server("--root", str(tmp_path)) as server:
        pid = server.process.pid
        async with httpx2.AsyncClient(headers=server.headers(), trust_env=False, timeout=LONG_S) as client:
            headers = {"Accept": "text/event-stream"}
            try:
                async with client.stream("GET", server.url, headers=headers) as stream:
                    assert stream.status_code in (200, 400, 404, 405)
                    os.kill(pid, signal.SIGTERM)
                    async with asyncio.timeout(LONG_S):
                        assert await server.process.wait() == 0
            except httpx2.TransportError:
                assert server.process.returncode == 0
