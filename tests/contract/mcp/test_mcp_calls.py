"""Long, cancelled, parallel and large calls."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.contract.mcp.raw import raw_server
from tests.contract.mcp.serving import EVERY, LEGACY, LONG_S, MODERN, STDIO, call, connected

pytestmark = [pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

SLEEP = "import time\nfor _ in range(600):\n    time.sleep(0.1)\n"


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:calls:handle")
@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_long_work_answers_a_handle_and_the_handle_brings_its_end(tmp_path: Path, mode: str) -> None:
    async with connected(STDIO, mode, tmp_path, "--groups", "all", "--patience", "0.5") as client:
        code = "import time\ntime.sleep(3)\nprint('done')"
        begun = await call(client, "kernel_exec", code=code)
        assert begun["next_tool"] == "kernel_exec"
        reply, handle = begun, begun["handle"]
        async with asyncio.timeout(LONG_S):
            while "handle" in reply:
                reply = await call(client, "kernel_exec", handle=handle)
        assert reply["stdout"].strip() == "done"
        assert (await call(client, "kernel_exec", handle=handle))["code"] == "handle_unknown"


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.requirement("mcp:audit:background", "mcp:calls:handle")
async def test_an_audit_that_takes_longer_goes_on_and_is_looked_at_by_its_run(tmp_path: Path) -> None:
    for number in range(150):
        body = "".join(
            f"def f{i}(x):\n    if x > {i}:\n        return eval(x)\n    return g{i}(x)\n\n"
            for i in range(25)
        )
        (tmp_path / f"m{number}.py").write_text(body, encoding="utf-8")
    async with connected(STDIO, MODERN, tmp_path, "--patience", "0.2") as client:
        begun = await call(client, "audit_code")
        assert begun["status"] == "GROWING"
        assert begun["handle"]
        status = await call(client, "tree_status", run=begun["run"])
        assert status["status"] in ("GROWING", "CONVERGED")
        stopped = await call(client, "tree_stop", run=begun["run"])
        assert stopped["ok"]
        async with asyncio.timeout(LONG_S):
            while (await call(client, "tree_status", run=begun["run"], wait_s=5))["driven_by"]:
                pass


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:audit:background")
async def test_an_audit_answers_with_its_findings(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    return eval(x)\n", encoding="utf-8")
    async with connected(STDIO, LEGACY, tmp_path) as client:
        found = await call(client, "audit_code", path="a.py")
        assert found["status"] == "CONVERGED"
        assert found["findings"][0]["position"] == "a.py:2"
        assert found["findings"][0]["cwe"] == "CWE-95"
        read = await client.call_tool(
            "tree_node", {"run": found["run"], "node": found["findings"][0]["node"]}
        )
        assert "return eval(x)" in read.content[1].text


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:calls:progress")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_long_work_reports_progress(tmp_path: Path, transport: str, mode: str) -> None:
    for number in range(12):
        body = "".join(f"def f{i}(x):\n    return eval(x)\n\n" for i in range(12))
        (tmp_path / f"m{number}.py").write_text(body, encoding="utf-8")
    told: list[tuple[float, str | None]] = []

    async def heard(progress: float, _: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected(transport, mode, tmp_path) as client:
        await client.call_tool("audit_code", {}, progress_callback=heard)
    assert told
    assert all(message and "framings answered" in message for _, message in told)
    assert [progress for progress, _ in told] == sorted(progress for progress, _ in told)


@pytest.mark.requirement("mcp:calls:cancelled")
def test_a_cancelled_call_gets_no_reply_its_work_ends_and_the_next_call_works(tmp_path: Path) -> None:
    with raw_server("--root", str(tmp_path), "--groups", "all") as server:
        server.start()
        assert server.call("kernel_exec", code="1")["ok"]
        number = server.send("tools/call", {"name": "kernel_exec", "arguments": {"code": SLEEP}})
        time.sleep(1.0)
        server.send(
            "notifications/cancelled", {"requestId": number, "reason": "changed my mind"}, notify=True
        )
        end = time.monotonic() + 15
        while True:
            reply = server.call("kernel_exec", code="2 + 2")
            if reply["ok"] or time.monotonic() > end:
                break
            time.sleep(0.2)
        assert reply["result"] == "4"
        assert not [line for line in server.lines if f'"id":{number},'.encode() in line]
        # once more, now for a call that has been answered already
        server.send("notifications/cancelled", {"requestId": number}, notify=True)
        server.send("notifications/cancelled", {"requestId": 12345}, notify=True)
        assert server.call("kernel_exec", code="3 + 3")["result"] == "6"


@pytest.mark.slow
@pytest.mark.requirement("mcp:calls:cancelled")
def test_each_tool_can_be_cancelled_at_once(tmp_path: Path) -> None:
    with raw_server("--root", str(tmp_path), "--groups", "all") as server:
        server.start()
        names = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
        for name in names:
            number = server.send(
                "tools/call", {"name": name, "arguments": {"run": "x", "code": "1", "checks": "assert 1"}}
            )
            server.send("notifications/cancelled", {"requestId": number}, notify=True)
        assert server.call("list_presets")["ok"]
        assert server.leave() == 0


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:calls:parallel")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_fifty_parallel_calls_are_all_answered(tmp_path: Path, transport: str, mode: str) -> None:
    async with connected(transport, mode, tmp_path) as client:
        begun = [
            call(client, "start_session", question=f"Question {n}?", mode="serial", stages="One")
            for n in range(25)
        ]
        other = [call(client, "list_presets") for _ in range(25)]
        replies = await asyncio.gather(*begun, *other)
        assert all(reply["ok"] for reply in replies)
        sessions = {reply["session_id"] for reply in replies[:25]}
        assert len(sessions) == 25
        listed = await call(client, "list_sessions")
        assert {row["session_id"] for row in listed["sessions"]} == sessions


@pytest.mark.asyncio
@pytest.mark.requirement("mcp:wire:large")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_an_argument_of_five_megabytes_is_taken(tmp_path: Path, transport: str, mode: str) -> None:
    async with connected(transport, mode, tmp_path) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic")
        due = await call(client, "tree_next", run=begun["run"])
        large = "x" * 5_000_000
        refused = await call(client, "tree_submit", run=begun["run"], task=due["task"], answer=large)
        assert refused["code"] == "retry_with_clarification"
        session = await call(client, "start_session", question="Large?", mode="serial", stages="One")
        saved = await call(client, "begin_thought", session_id=session["session_id"], content=large)
        assert saved["ok"]
