"""A whole exploration, task by task, by a caller over MCP."""

from pathlib import Path

import pytest

from tests.contract.mcp.serving import EVERY, LEGACY, MODERN, STDIO, call, connected
from tests.contract.mcp.thinking import think

pytestmark = pytest.mark.asyncio


@pytest.mark.slow
@pytest.mark.requirement("mcp:exploration:task-by-task", "mcp:transport:both")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_a_caller_grows_a_whole_tree_one_task_at_a_time(
    tmp_path: Path, transport: str, mode: str
) -> None:
    async with connected(transport, mode, tmp_path) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="ways to cut our cold start")
        done = await think(client, begun["run"], score=2)
        assert len({task.split("/")[2] for task in done if task.startswith("propose/0/")}) == 12
        status = await call(client, "tree_status", run=begun["run"])
        assert status["status"] == "CONVERGED"
        assert status["nodes"] >= 12
        assert (Path(begun["folder"]) / "REPORT.md").is_file()
        report = await client.call_tool("tree_report", {"run": begun["run"]})
        assert report.content[1].text.startswith("#")


@pytest.mark.requirement("mcp:exploration:exact-shape")
async def test_an_answer_that_does_not_fit_is_answered_with_the_fault_and_the_shape(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic")
        due = await call(client, "tree_next", run=begun["run"])
        refused = await call(
            client, "tree_submit", run=begun["run"], task=due["task"], answer='{"statement": 3}'
        )
        assert refused["code"] == "retry_with_clarification"
        assert refused["next_tool"] == "tree_submit"
        assert refused["shape"]
        again = await call(client, "tree_next", run=begun["run"])
        assert again["task"] == due["task"]


@pytest.mark.requirement("mcp:exploration:idempotent")
async def test_an_answer_to_a_task_that_is_done_changes_nothing(tmp_path: Path) -> None:
    async with connected(STDIO, LEGACY, tmp_path) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic")
        due = await call(client, "tree_next", run=begun["run"])
        failed = await call(client, "tree_submit", run=begun["run"], task=due["task"], refuse="I cannot")
        assert failed["accepted"]
        twice = await call(client, "tree_submit", run=begun["run"], task=due["task"], refuse="I cannot")
        assert twice["code"] == "task_not_due"
