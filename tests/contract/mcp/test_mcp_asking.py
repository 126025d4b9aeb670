"""What the server asks of the client: its model, its user, its roots; in both protocols."""

import json
from pathlib import Path
from typing import Any

import mcp.types as types
import pytest

from tests.contract.mcp.serving import EVERY, HTTP, LEGACY, MODERN, STDIO, call, connected
from tests.contract.mcp.thinking import filled

pytestmark = [pytest.mark.asyncio, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

MODES = [MODERN, LEGACY]


class Model:
    """A client's model: answers by the shape in the request, unless told to say something else."""

    def __init__(self, *said: str) -> None:
        self.asked: list[str] = []
        self._said = list(said)

    async def __call__(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        text = params.messages[0].content.text
        self.asked.append(text)
        said = self._said.pop(0) if self._said else json.dumps(_by_shape(text))
        return types.CreateMessageResult(
            role="assistant",
            model="m",
            stop_reason="endTurn",
            content=types.TextContent(type="text", text=said),
        )


def _by_shape(text: str) -> Any:
    shape = json.loads(text.rpartition("JSON of this shape:\n")[2].split("\n")[0])
    return _from_example(shape, text[-40:])


def _from_example(shape: Any, seed: str) -> Any:
    if isinstance(shape, dict):
        return {
            name: [] if name == "citations" else _from_example(each, f"{seed}.{name}")
            for name, each in shape.items()
        }
    if isinstance(shape, list):
        return [_from_example(shape[0], f"{seed}.{number}") for number in range(6)]
    return filled({"type": "integer"} if shape == "integer" else {"type": "string"}, seed, 2)


@pytest.mark.requirement("mcp:sampling:one-task")
@pytest.mark.parametrize(
    ("transport", "mode"), [(STDIO, MODERN), (STDIO, LEGACY), (HTTP, LEGACY), (HTTP, MODERN)]
)
async def test_the_clients_model_fills_one_task_in_inside_one_call(
    tmp_path: Path, transport: str, mode: str
) -> None:
    model = Model()
    async with connected(transport, mode, tmp_path, sampling_callback=model) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic", performer="sampling")
        first = await call(client, "tree_next", run=begun["run"])
        assert first["accepted"], first
        assert first["task"] == "ground/0/1"
        second = await call(client, "tree_next", run=begun["run"])
        assert second["task"].startswith("propose/0/")
        assert len(model.asked) == 2


@pytest.mark.requirement("mcp:sampling:unusable")
@pytest.mark.parametrize("mode", MODES)
async def test_a_sampled_answer_that_cannot_be_read_is_asked_again_with_the_fault(
    tmp_path: Path, mode: str
) -> None:
    model = Model("no idea", '{"statement": 1')
    async with connected(STDIO, mode, tmp_path, sampling_callback=model) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic", performer="sampling")
        first = await call(client, "tree_next", run=begun["run"])
        assert not first["accepted"]
        await call(client, "tree_next", run=begun["run"])
        third = await call(client, "tree_next", run=begun["run"])
        assert third["accepted"]
        assert "could not be read" in model.asked[1]
        assert len(model.asked[2]) < 2 * len(model.asked[0])


@pytest.mark.requirement("mcp:sampling:unusable")
async def test_a_model_that_never_answers_usably_does_not_hold_the_run_for_ever(tmp_path: Path) -> None:
    async with connected(STDIO, LEGACY, tmp_path, sampling_callback=Model(*["no"] * 40)) as client:
        begun = await call(client, "tree_start", preset="brainstorm", root="a topic", performer="sampling")
        for _ in range(30):
            reply = await call(client, "tree_next", run=begun["run"])
            if reply.get("status") not in (None, "GROWING"):
                break
        assert reply["status"] == "EARLY_STOP"


async def test_sampling_is_refused_at_the_start_when_the_client_does_not_offer_it(tmp_path: Path) -> None:
    async with connected(STDIO, MODERN, tmp_path) as client:
        refused = await call(client, "tree_start", preset="brainstorm", root="a topic", performer="sampling")
        assert refused["parameter"] == "performer"
        assert refused["example"] == "caller"


@pytest.mark.requirement("mcp:elicitation:mode")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_the_user_is_asked_for_the_mode(tmp_path: Path, transport: str, mode: str) -> None:
    asked: list[str] = []

    async def user(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"mode": "subagent"})

    async with connected(transport, mode, tmp_path, elicitation_callback=user) as client:
        reply = await call(client, "start_session", question="Should we cache?")
        assert reply["mode"] == "subagent"
        assert "serial:" in asked[0]
        given = await call(client, "start_session", question="Should we cache?", mode="serial")
        assert given["mode"] == "serial"
        assert len(asked) == 1


@pytest.mark.requirement("mcp:elicitation:mode")
@pytest.mark.parametrize("mode", MODES)
async def test_a_user_who_declines_leaves_the_question_to_the_caller(tmp_path: Path, mode: str) -> None:
    async def user(_: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with connected(STDIO, mode, tmp_path, elicitation_callback=user) as client:
        reply = await call(client, "start_session", question="Should we cache?")
        assert reply["code"] == "mode_required"
        assert len((await call(client, "list_sessions"))["sessions"]) == 1


@pytest.mark.requirement("mcp:elicitation:glossary")
@pytest.mark.parametrize("mode", MODES)
async def test_the_user_is_asked_once_about_unsettled_terms(tmp_path: Path, mode: str) -> None:
    (tmp_path / "glossary.md").write_text(
        "# Words\n\n- **Write cache**: what holds writes.\n- **Read cache**: what holds reads.\n",
        encoding="utf-8",
    )
    asked: list[Any] = []

    async def user(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        fields = params.requested_schema["properties"]
        return types.ElicitResult(
            action="accept", content={name: each["enum"][-1] for name, each in fields.items()}
        )

    async with connected(STDIO, mode, tmp_path, elicitation_callback=user) as client:
        begun = await call(
            client,
            "tree_start",
            preset="design",
            root="Make the shared write cache faster for the page cache layer",
        )
        assert begun["ok"]
        assert len(asked) == 1
        fields = asked[0].requested_schema["properties"]
        assert fields
        assert all(1 < len(each["enum"]) <= 3 for each in fields.values())
        skipped = await call(
            client, "tree_start", preset="design", root="Make the shared write cache faster", noGrill="true"
        )
        assert skipped["ok"]
        assert len(asked) == 1


@pytest.mark.requirement("mcp:roots:client")
@pytest.mark.parametrize(("transport", "mode"), EVERY)
async def test_the_clients_roots_count_when_the_command_line_names_none(
    tmp_path: Path, transport: str, mode: str
) -> None:
    inside, outside, home = (tmp_path / name for name in ("in side", "outside", "cwd"))
    for folder in (inside, outside, home):
        folder.mkdir()
        (folder / "a.py").write_text("def f(x):\n    return eval(x)\n", encoding="utf-8")

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=inside.as_uri())])

    async with connected(transport, mode, None, cwd=home, list_roots_callback=roots) as client:
        found = await call(client, "audit_code", path="a.py")
        assert found["total"] >= 1
        assert Path(found["folder"]).is_relative_to(inside)
        for path in (str(outside / "a.py"), "../outside/a.py", str(home / "a.py")):
            refused = await call(client, "audit_code", path=path)
            assert refused["code"] == "outside_roots"


@pytest.mark.requirement("mcp:roots:confined")
async def test_no_path_of_any_tool_leads_out_of_the_roots(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "a.py").write_text("def f():\n    pass\n", encoding="utf-8")
    (inside / "link.py").symlink_to(outside / "a.py")
    far = str(outside / "a.py")
    tried = [
        ("audit_code", {"path": far}),
        ("audit_code", {"path": "link.py"}),
        ("audit_code", {"path": ".", "out": str(outside / "out")}),
        ("tree_start", {"preset": "attack", "root": far}),
        ("tree_start", {"preset": "design", "root": far}),
        ("tree_start", {"preset": "brainstorm", "root": far}),
        ("tree_start", {"preset": far, "root": "x"}),
        ("tree_start", {"preset": "brainstorm", "root": "x", "seed_from": far}),
        ("tree_start", {"preset": "brainstorm", "root": "x", "glossary": far}),
        ("tree_start", {"preset": "brainstorm", "root": "x", "out": str(outside / "out")}),
        ("tree_chain", {"root": "x", "out": str(outside / "out")}),
        ("search_start", {"path": far, "checks": "assert f() is None"}),
        ("validate_preset", {"path": far}),
    ]
    async with connected(STDIO, MODERN, inside) as client:
        for tool, given in tried:
            reply = await call(client, tool, **given)
            assert reply["code"] == "outside_roots", (tool, given, reply)
        session = (await call(client, "start_session", question="?", mode="serial"))["session_id"]
        moved = await call(client, "move_session", session_id=session, new_path=str(outside / "s.json"))
        assert moved["code"] == "outside_roots"
    assert [path.name for path in outside.iterdir()] == ["a.py"]


@pytest.mark.requirement("mcp:roots:confined")
async def test_runs_of_folders_outside_are_neither_listed_nor_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.py").write_text("def f(x):\n    return eval(x)\n", encoding="utf-8")
    async with connected(STDIO, MODERN, outside) as client:
        run = (await call(client, "audit_code"))["run"]
    async with connected(STDIO, MODERN, inside) as client:
        assert (await call(client, "tree_status"))["runs"] == []
        for tool in ("tree_status", "tree_report", "tree_next", "tree_stop", "tree_resume"):
            assert (await call(client, tool, run=run))["code"] == "outside_roots"
        assert [resource.uri for resource in (await client.list_resources()).resources] == [
            "treewright://runs"
        ]
        with pytest.raises(Exception, match="may not look at"):
            await client.read_resource(f"treewright://run/{run}")
