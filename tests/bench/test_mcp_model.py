"""A whole exploration over MCP, task by task, with a real local model as the calling agent."""

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.contract.mcp.serving import MODERN, STDIO, call, connected
from treewright.app.context import Context
from treewright.app.providers import open_provider
from treewright.errors import ModelError
from treewright.models.provider import Message, Provider, Request
from treewright.models.structured import ask

MODEL = Path(
    os.environ.get("TREEWRIGHT_TEST_MODEL", Path("~/.cache/treewright-test-models/q15.gguf").expanduser())
)
TOPIC = "How can a small team keep flaky integration tests from blocking merges?"
NODES = 3
"""The cap: a small model on a small machine takes minutes a node."""
TRIES = 3
MOST_TOKENS = 900
MOST_TASKS = 80


async def answer(provider: Provider, due: dict[str, Any], faults: str) -> Any:
    """Have the model fill a task in; None when it cannot."""
    text = due["card"] + (f"\n\nYour last answer could not be taken:\n{faults}" if faults else "")
    request = Request(
        messages=(Message.of("system", "You answer with JSON only."), Message.of("user", text)),
        schema=due["schema"],
        max_tokens=MOST_TOKENS,
        temperature=0.4,
    )
    try:
        return (await ask(provider, request)).value
    except ModelError as fault:
        print(f"  {due['task']}: {fault.code}")
        return None


@pytest.mark.bench
@pytest.mark.timeout(0)
@pytest.mark.asyncio
@pytest.mark.requirement("mcp:exploration:real-model")
@pytest.mark.may_skip_in_ci("a language model of a gigabyte is on no machine by itself")
@pytest.mark.skipif(not MODEL.is_file(), reason=f"there is no model at {MODEL}")
async def test_a_local_model_grows_a_whole_tree_through_tree_next_and_tree_submit(tmp_path: Path) -> None:
    context = Context("cli")
    provider = open_provider(context, context.configuration(), f"local:{MODEL}")
    counted: Counter[str] = Counter()
    begun = time.monotonic()
    try:
        async with connected(STDIO, MODERN, tmp_path) as client:
            started = await call(client, "tree_start", preset="brainstorm", root=TOPIC, width=NODES, rounds=1)
            run = started["run"]
            faults: dict[str, str] = {}
            tried: Counter[str] = Counter()
            for _ in range(MOST_TASKS):
                due = await call(client, "tree_next", run=run)
                if due["next_tool"] != "tree_submit":
                    break
                task = due["task"]
                tried[task] += 1
                given = await answer(provider, due, faults.get(task, "")) if tried[task] <= TRIES else None
                if given is None:
                    counted["refused"] += 1
                    told = {"refuse": "the model has no usable answer"}
                else:
                    told = {"answer": json.dumps(given, ensure_ascii=False)}
                taken = await call(client, "tree_submit", run=run, task=task, **told)
                counted["submitted"] += 1
                counted["taken"] += bool(taken.get("accepted")) and given is not None
                counted["with faults"] += bool(taken.get("accepted")) and bool(taken["faults"])
                faults[task] = "" if taken["ok"] else taken["message"]
                print(f"  {time.monotonic() - begun:6.0f} s {task}: {taken['message'][:100]!r}")
            status = await call(client, "tree_status", run=run)
            report = await client.call_tool("tree_report", {"run": run})
    finally:
        await provider.close()
    print(f"{status['status']}, {status['nodes']} nodes, {dict(counted)}, {time.monotonic() - begun:.0f} s")
    assert status["status"] in ("CONVERGED", "ROUNDS_EXHAUSTED", "WIDTH_CAP_REACHED")
    assert status["nodes"] >= NODES
    assert counted["taken"] >= 12  # the framings at least
    assert report.content[1].text.startswith("#")
