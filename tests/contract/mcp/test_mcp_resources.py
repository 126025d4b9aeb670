"""Resources, and being told of their changes."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp import Client

from tests.contract.mcp.serving import EVERY, LEGACY, LONG_S, MODERN, STDIO, call, connected

pytestmark = [pytest.mark.asyncio, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

FLAW = "def f(x):\n    return eval(x)\n"


@pytest.mark.requirement("mcp:resources:read")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_runs_nodes_and_reports_are_resources(tmp_path: Path, transport: str, mode: str) -> None:
    (tmp_path / "a.py").write_text(FLAW, encoding="utf-8")
    async with connected(transport, mode, tmp_path) as client:
        found = await call(client, "audit_code", path="a.py")
        run, node = found["run"], found["findings"][0]["node"]
        assert f"treewright://run/{run}" in {
            resource.uri for resource in (await client.list_resources()).resources
        }
        templates = {
            each.uri_template for each in (await client.list_resource_templates()).resource_templates
        }
        assert "treewright://run/{run}/node/{node}" in templates
        runs = json.loads(await text_of(client, "treewright://runs"))
        assert [entry["id"] for entry in runs] == [run]
        assert json.loads(await text_of(client, f"treewright://run/{run}"))["status"] == "CONVERGED"
        assert (await text_of(client, f"treewright://run/{run}/report")).startswith("#")
        assert "eval" in await text_of(client, f"treewright://run/{run}/node/{node}")
        for wrong in (
            "treewright://run/nothing",
            f"treewright://run/{run}/node/Z9",
            "treewright://else",
            "file:///etc/passwd",
        ):
            with pytest.raises(Exception, match=r"no run|no node|no address"):
                await client.read_resource(wrong)


async def text_of(client: Client, uri: str) -> str:
    found = (await client.read_resource(uri)).contents[0].text
    assert isinstance(found, str)
    return found


@pytest.mark.requirement("mcp:resources:subscribed")
async def test_a_listener_is_told_of_what_another_process_changes(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client, connected(STDIO, LEGACY, tmp_path) as other:
        run = (await call(client, "tree_start", preset="brainstorm", root="a topic"))["run"]
        uris = [f"treewright://run/{run}", "treewright://runs"]
        async with client.listen(resource_subscriptions=uris) as told:
            await asyncio.sleep(1.0)  # the first look has been made: what follows is a change
            await refuse_next(other, run)
            began = asyncio.get_running_loop().time()
            async with asyncio.timeout(LONG_S):
                seen = await anext(aiter(told))
            assert asyncio.get_running_loop().time() - began < 1.5
            assert seen.uri in uris


@pytest.mark.requirement("mcp:resources:subscribed")
async def test_a_subscriber_of_the_older_protocol_is_told_too_and_no_longer_when_it_has_left(
    tmp_path: Path,
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def heard(message: object) -> None:
        params = getattr(message, "params", None)
        if getattr(message, "method", "") == "notifications/resources/updated" and params is not None:
            told.put_nowait(str(params.uri))

    async with (
        connected(STDIO, LEGACY, tmp_path, message_handler=heard) as client,
        connected(STDIO, MODERN, tmp_path) as other,
    ):
        run = (await call(client, "tree_start", preset="brainstorm", root="a topic"))["run"]
        uri = f"treewright://run/{run}"
        await client.subscribe_resource(uri)
        await asyncio.sleep(1.0)
        await refuse_next(other, run)
        async with asyncio.timeout(LONG_S):
            assert await told.get() == uri
        await client.unsubscribe_resource(uri)
        await asyncio.sleep(0.5)
        while not told.empty():
            told.get_nowait()
        await refuse_next(other, run)
        await asyncio.sleep(1.5)
        assert told.empty()


async def refuse_next(client: Client, run: str) -> None:
    due = await call(client, "tree_next", run=run)
    taken = await call(client, "tree_submit", run=run, task=due["task"], refuse="cannot")
    assert taken["accepted"]
