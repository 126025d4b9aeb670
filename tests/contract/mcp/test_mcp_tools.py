"""Every tool, listed, called and called wrongly, over both transports and protocols."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from tests.contract.mcp.serving import EVERY, LEGACY, MODERN, STDIO, call, connected
from treewright.surfaces.mcp.cards import all_cards

pytestmark = pytest.mark.asyncio

NONSENSE: list[Any] = [
    {},
    {"nonsense": 1},
    {"run": {"a": [1, {"b": None}]}, "session_id": ["x"], "code": 3, "checks": False},
    {
        "run": "no-such-run",
        "task": "x",
        "answer": "{",
        "node": "Z9",
        "session_id": "f" * 32,
        "path": "/etc/passwd",
    },
    {
        "run": "\u0000",
        "preset": "../../x",
        "root": "\ufffd",
        "text": "x" * 100_000,
        "estimate": "NaN",
        "actual": -1,
    },
]


@pytest.mark.slow
@pytest.mark.requirement("mcp:input:correction", "mcp:tools:output-schema", "mcp:answers:directive")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_every_tool_answers_nonsense_with_a_directive(
    tmp_path: Path, transport: str, mode: str
) -> None:
    async with connected(transport, mode, tmp_path, "--groups", "all") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {name for name in all_cards() if not name.endswith("_autopilot")}
        for name, tool in tools.items():
            for given in NONSENSE:
                reply = await _answered(client, name, given)
                jsonschema.validate(reply, tool.output_schema)
                assert reply["message"].strip()
                assert not reply["next_tool"] or reply["next_tool"] in all_cards(), (name, reply)
                assert reply.get("code") != "internal_error", (name, given, reply)
                assert "Traceback" not in reply["message"]
                assert "pydantic" not in reply["message"]


async def _answered(client: Client, name: str, given: Any) -> dict[str, Any]:
    known = {parameter.name for parameter in all_cards()[name].parameters}
    fitting = {key: value for key, value in given.items() if key in known} or given
    result = await client.call_tool(name, fitting)
    reply: dict[str, Any] = result.structured_content
    text = json.loads(result.content[0].text)
    assert text["message"] == reply["message"]
    assert text["ok"] is reply["ok"]
    assert result.is_error is not reply["ok"]
    return reply


@pytest.mark.requirement("mcp:tools:annotations", "mcp:tools:output-schema")
async def test_tools_are_listed_with_annotations_and_output_schemas(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            assert tool.title
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is not None
            assert tool.annotations.open_world_hint is not None
            assert tool.output_schema is not None
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)


@pytest.mark.requirement("mcp:tools:groups")
async def test_a_tool_of_another_group_is_said_to_be_there(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path, "--groups", "explore") as client:
        assert "start_session" not in {tool.name for tool in (await client.list_tools()).tools}
        with pytest.raises(Exception, match="group deliberate"):
            await client.call_tool("start_session", {"question": "?"})


@pytest.mark.requirement("mcp:deliberation:whole")
@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_a_deliberation_is_led_from_the_first_draft_to_its_end_by_next_tool(
    tmp_path: Path, mode: str
) -> None:
    said = {
        "set_session_mode": {"mode": "Serial"},
        "begin_thought": {"content": "Caching helps when reads repeat."},
        "critique_current_thought": {},
        "submit_critique": {"text": "It does not say how stale an answer may be."},
        "refine_current_thought": {"newContent": "Caching helps when reads repeat and may be a minute old."},
        "score_current_thought": {"scores": "correctness: 0.8, clarity 0.7"},
        "commit_thought": {},
        "advance_stage": {},
        "finalize_session": {},
    }
    async with connected(STDIO, mode, tmp_path) as client:
        reply = await call(client, "start_session", question="Should we cache?", stages="Only")
        session, used = reply["session_id"], []
        for step in range(30):
            tool = reply["next_tool"] or "next_action"
            if reply.get("current_path"):
                break
            given = dict(said.get(tool, {}))
            if tool == "refine_current_thought":
                given["newContent"] += f" Point {step} stands."
            reply = await call(client, tool, sessionId=session, **given)
            used.append(tool)
        assert used[0] == "set_session_mode"
        assert {
            "submit_critique",
            "refine_current_thought",
            "score_current_thought",
            "commit_thought",
        } <= set(used)
        assert Path(reply["current_path"]).is_file()  # noqa: ASYNC240 - a test may look at a file
        listed = await call(client, "list_sessions")
        assert [row["session_id"] for row in listed["sessions"]] == [session]


@pytest.mark.slow
@pytest.mark.requirement("mcp:search:whole")
async def test_a_search_is_started_given_a_candidate_and_tells_what_it_found(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        begun = await call(
            client, "search_start", checks=["assert f(3) == 9", "assert f(2) == 4"], statement="square"
        )
        assert begun["next_tool"] == "search_submit_candidate"
        run = begun["run"]
        first = await call(client, "search_submit_candidate", run=run, code="def f(n):\n    return n + n")
        assert (first["branch"]["passed"], first["branch"]["total"]) == (1, 2)
        assert first["verified"] is False
        second = await call(client, "search_submit_candidate", run=run, program="def f(n):\n    return n * n")
        assert second["verified"] is True
        found = await call(client, "search_result", run=run)
        assert found["chosen"]["code"].strip() == "def f(n):\n    return n * n"
        third = await call(client, "search_submit_candidate", run=run, code="def f(n):\n    return n ** 2")
        assert third["code"] == "search_verified"


@pytest.mark.slow
@pytest.mark.requirement("mcp:search:whole")
async def test_a_starting_program_given_as_text_is_repaired_by_edits(tmp_path: Path) -> None:
    async with connected(STDIO, LEGACY, tmp_path) as client:
        found = await call(
            client,
            "search_start",
            start="def f(n):\n    return n + n\n",
            checks="assert f(3) == 9\nassert f(2) == 4",
            generators="mutate",
            time_limit_s="14",
        )
        assert found["verified"] is True
        assert "n * n" in found["chosen"]["diff"] or "n ** " in found["chosen"]["diff"]


@pytest.mark.requirement("mcp:search:caps")
async def test_amounts_are_reserved_and_settled_under_the_cap(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path, "--groups", "all") as client:
        held = [await call(client, "cap_reserve", run="r1", estimateUsd="0.20") for _ in range(3)]
        assert [reply["ok"] for reply in held] == [True, True, False]
        assert held[2]["code"] == "spend_cap_exceeded"
        settled = await call(
            client,
            "cap_settle",
            run="r1",
            reservation=held[0]["reservation"]["id"],
            actual=0.05,
            failed="false",
        )
        assert settled["settlement"]["charged_usd"] == 0.05
        state = (await call(client, "cap_status", run="r1"))["state"]
        assert (state["committed_usd"], state["held_usd"]) == (0.05, 0.2)


@pytest.mark.slow
@pytest.mark.requirement("mcp:kernels:six")
async def test_code_is_executed_inspected_reset_and_never_installed_by_default(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path, "--groups", "kernel") as client:
        ran = await call(client, "kernel_exec", code="import math\nx = math.tau\nprint('hi')\nx > 6")
        assert (ran["outcome"], ran["result"], ran["stdout"].strip()) == ("ok", "True", "hi")
        names = await call(client, "kernel_list_vars")
        assert "x" in {row["name"] for row in names["variables"]}
        seen = await call(client, "kernel_inspect", name="x")
        assert seen["found"]["type"] == "float"
        broken = await call(client, "kernel_exec", code="1 / 0")
        assert broken["exception"] == "ZeroDivisionError"
        assert (await call(client, "kernel_interrupt"))["interrupted"] is False
        await call(client, "kernel_reset")
        gone = await call(client, "kernel_inspect", name="x")
        assert gone["code"] == "name_unknown"
        refused = await call(client, "kernel_install_pkg", package="numpy")
        assert refused["code"] == "kernel_install_disabled"


@pytest.mark.requirement("mcp:presets:validate")
async def test_a_faulty_preset_is_told_with_the_line_of_each_fault(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text(
        "---\nname: mine\ndescription: foo: bar\nroot_kind: topic\n---\n", encoding="utf-8"
    )
    async with connected(STDIO, MODERN, tmp_path) as client:
        names = {row["name"] for row in (await call(client, "list_presets"))["presets"]}
        assert names == {"attack", "brainstorm", "code-audit", "design"}
        found = await call(client, "validate_preset", path="mine.md")
        assert found["errors"] > 0
        assert any("mine.md:3:" in fault for fault in found["faults"])
        whole = await call(client, "validate_preset")
        assert whole["errors"] == 0


@pytest.mark.requirement("mcp:prompts:all")
async def test_there_is_a_prompt_for_each_preset_and_each_lens(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert {"attack", "brainstorm", "code-audit", "design"} <= set(prompts)
        assert len([name for name in prompts if name.startswith("lens_")]) == 8
        filled = await client.get_prompt("brainstorm", {"topic": "cold starts"})
        assert "cold starts" in filled.messages[0].content.text
        assert "tree_start" in filled.messages[0].content.text
        lens = await client.get_prompt("lens_overconfidence", {"text": "It always works."})
        assert lens.messages[0].content.text.endswith("It always works.")
        with pytest.raises(Exception, match="no prompt"):
            await client.get_prompt("lens_none", {})
