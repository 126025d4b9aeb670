"""Export and import, sessions of deep-think-mcp, and sessions as trees."""

import json
from pathlib import Path
from typing import Any

import pytest

from treewright.app.session_import import import_home
from treewright.deliberate.encoding import decode, encode
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.treeview import conclusion_root, seeded_question, session_as_tree
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import StoreError

SEVEN = dict.fromkeys(DIMENSIONS, 0.7)


def full_session(desk: Deliberation, mode: str = "serial") -> str:
    session_id = str(desk.start_session("Should reads be cached?", mode, "First, Last")["session_id"])
    for _ in range(2):
        if mode == "serial":
            desk.begin_thought(session_id, "a draft")
            desk.critique_current_thought(session_id)
            desk.submit_critique(session_id, "too short")
            desk.refine_current_thought(session_id, "a much longer and better text")
            desk.score_current_thought(session_id, SEVEN)
            desk.commit_thought(session_id)
        else:
            desk.begin_subagent_thought(session_id)
            for number in range(3):
                desk.advance_subagent_round(session_id, f"candidate {number}", dict.fromkeys(DIMENSIONS, 0.9))
            desk.commit_subagent_thought(session_id)
        desk.advance_stage(session_id)
    return session_id


def foreign(**more: Any) -> dict[str, Any]:
    """Return a session as deep-think-mcp documents it."""
    return {
        "id": "a" * 32,
        "question": "Is the cache worth it?",
        "created_at": "2026-07-20T10:00:00",
        "mode": "serial",
        "expected_stages": ["Problem Definition", "Research"],
        "current_stage": "Research",
        "current_thought_id": "c" * 32,
        "status": "active",
        "save_path": "/srv/deep-think-mcp/sessions/a.json",
        "move_history": [{"from_path": "/a", "to_path": "/b", "timestamp": "2026-07-20T11:00:00+00:00"}],
        "thoughts": [
            {
                "id": "b" * 32,
                "stage": "Problem Definition",
                "position": 1,
                "timestamp": "2026-07-20T10:01:00",
                "content": "Refined twice.",
                "tags": ["t"],
                "axioms": [],
                "challenged_assumptions": ["x"],
                "critique_rounds": [
                    {"round_index": 0, "lens": "scope_creep", "critique_text": "c", "refined_content": "Refined.", "delta_score": 0.0},
                    {"round_index": 1, "lens": "steel_man", "critique_text": "c", "refined_content": "Refined twice.", "delta_score": 0.1},
                ],
                "specialist_rounds": [],
                "final_utility_scores": SEVEN,
                "committed": True,
            },
            {
                "id": "c" * 32,
                "stage": "Research",
                "position": 0,
                "timestamp": "2026-07-20T10:02:00",
                "content": "Draft.",
                "critique_rounds": [
                    {"round_index": 0, "lens": "weak_evidence", "critique_text": "c", "refined_content": "", "delta_score": -2.0}
                ],
                "final_utility_scores": None,
                "committed": False,
            },
        ],
        "decisions": [{"action": "keep_here", "timestamp": "2026-07-20T11:00:00"}],
        **more,
    }  # fmt: skip


@pytest.mark.requirement("deliberation:export:round-trip")
@pytest.mark.parametrize("mode", ["serial", "subagent"])
def test_what_is_exported_can_be_imported_under_a_new_id_and_equals_it(desk: Deliberation, mode: str) -> None:
    session_id = full_session(desk, mode)
    exported = desk.export_session(session_id)["session_json"]
    reply = desk.import_session(exported)
    assert reply["new_id"] == reply["session_id"] != session_id
    before, after = json.loads(exported), json.loads(desk.export_session(reply["session_id"])["session_json"])
    for changed in ("id", "save_path"):
        before.pop(changed)
        after.pop(changed)
    assert before == after


@pytest.mark.requirement("deliberation:export:round-trip")
def test_an_id_that_is_free_is_kept(desk: Deliberation, build: Any) -> None:
    session_id = full_session(desk)
    other = build()
    reply = other.import_session(desk.export_session(session_id)["session_json"])
    assert (reply["session_id"], reply["new_id"]) == (session_id, None)


@pytest.mark.requirement("deliberation:import:deep-think")
@pytest.mark.parametrize("as_text", [True, False])
def test_a_session_of_deep_think_is_taken_up_where_it_was(desk: Deliberation, as_text: bool) -> None:
    document = foreign()
    reply = desk.import_session(json.dumps(document) if as_text else document)
    assert reply["ok"], reply
    assert (reply["session_id"], reply["next_tool"]) == ("a" * 32, "refine_current_thought")
    assert desk.refine_current_thought(reply["session_id"], "A better text.")["ok"]
    scored = desk.score_current_thought(reply["session_id"], SEVEN)
    assert scored["delta"] is None
    exported = json.loads(desk.export_session(reply["session_id"])["session_json"])
    assert exported["thoughts"][0]["critique_rounds"][1]["delta_score"] == 0.1
    assert exported["created_at"].endswith("Z")


@pytest.mark.requirement("deliberation:import:deep-think")
def test_a_subagent_session_of_deep_think_keeps_its_rounds_and_gates(desk: Deliberation) -> None:
    thought = foreign()["thoughts"][1] | {
        "critique_rounds": [],
        "specialist_rounds": [
            {"round_index": 0, "agent_role": role, "candidate_content": role, "utility_vector": {**dict.fromkeys(DIMENSIONS, 0.5), "correctness": value, "clarity": value, "coverage": value}, "equilibrium_state": state, "was_selected": state == "in_equilibrium"}
            for role, value, state in (("Analysis", 0.9, "in_equilibrium"), ("Creativity", 0.2, "off_equilibrium"))
        ],
    }  # fmt: skip
    reply = desk.import_session(foreign(mode="subagent", thoughts=[thought]))
    assert (reply["ok"], reply["next_tool"]) == (True, "commit_subagent_thought"), reply


@pytest.mark.requirement("deliberation:import:validated")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"surprise": 1}, "surprise"),
        ({"current_stage": "Elsewhere"}, "current_stage"),
        ({"expected_stages": ["A", "A"], "current_stage": "A"}, "different"),
        ({"mode": "parallel"}, "mode"),
        ({"thoughts": "none"}, "wrong shape"),
        ({"thoughts": [{"critique_rounds": 3}]}, "wrong shape"),
        ({"overrides": {"serial": {"max_rounds": -1}}}, "max_rounds"),
        ({"id": "../../etc"}, "id"),
        ({"question": "\ud800"}, "JSON"),
    ],
)
def test_a_document_that_is_no_session_is_refused_with_the_fault(
    desk: Deliberation, change: dict[str, Any], told: str
) -> None:
    reply = desk.import_session(foreign(**change))
    assert reply["ok"] is False
    assert told in reply["message"]
    assert reply["next_tool"] == "import_session"
    assert desk.list_sessions()["sessions"] == []


@pytest.mark.requirement("deliberation:import:nothing-foreign-is-called")
def test_an_imported_session_brings_no_address_and_no_code_along(desk: Deliberation) -> None:
    overrides = {
        "subagent": {
            "endpoint": "http://evil",
            "endpoints": ["http://evil"],
            "necort_path": "/tmp/x",
            "engine": "nash",
        },
        "serial": {"max_rounds": 2},
    }
    reply = desk.import_session(foreign(overrides=overrides))
    assert sorted(reply["dropped"]) == ["subagent.endpoint", "subagent.endpoints", "subagent.necort_path"]
    exported = json.loads(desk.export_session(reply["session_id"])["session_json"])
    assert exported["overrides"] == {"subagent": {"engine": "nash"}, "serial": {"max_rounds": 2}}


@pytest.mark.requirement("deliberation:store:encoding")
def test_a_document_is_written_in_parts_that_are_made_once_for_committed_thoughts(desk: Deliberation) -> None:
    session = decode(desk.export_session(full_session(desk))["session_json"].encode())
    first, second = encode(session), encode(session)
    assert encode(decode(b"".join(first))) == first
    kept = [part for part in first if part.startswith(b'{"id":') and b'"committed":true' in part]
    assert len(kept) == 2
    assert all(any(part is again for again in second) for part in kept)


@pytest.mark.requirement("deliberation:tree:view")
@pytest.mark.parametrize("mode", ["serial", "subagent"])
def test_a_session_is_a_tree_of_stages_thoughts_and_rounds(desk: Deliberation, mode: str) -> None:
    session = decode(desk.export_session(full_session(desk, mode))["session_json"].encode())
    tree = session_as_tree(session)
    nodes = list(tree.walk())
    assert len({node.id for node in nodes}) == len(nodes)
    assert [node.kind for node in nodes[:4]] == ["session", "stage", "thought", "round"]
    thoughts = [node for node in nodes if node.kind == "thought"]
    assert [(node.state, round(node.score or 0, 2)) for node in thoughts] == [
        ("committed", 0.7 if mode == "serial" else 0.9)
    ] * 2
    assert set(thoughts[0].scores or {}) == set(DIMENSIONS)
    assert [child.state for child in tree.children] == ["done", "current"]


@pytest.mark.requirement("deliberation:tree:seeding")
def test_a_session_starts_from_a_node_and_its_conclusion_is_a_root(desk: Deliberation) -> None:
    question = seeded_question("Which cache?", "Node text.", "run 1, node 2")
    assert question == "Which cache?\n\nWhat is known (from run 1, node 2):\nNode text."
    assert seeded_question("Which cache?", " ") == "Which cache?"
    session = decode(desk.export_session(full_session(desk))["session_json"].encode())
    assert conclusion_root(session) == "Should reads be cached?\n\nLast:\na much longer and better text"


@pytest.mark.requirement("deliberation:import:home")
def test_everything_in_a_deep_think_home_is_imported_once_and_left_as_it_was(
    desk: Deliberation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sessions").mkdir()
    moved = tmp_path / "elsewhere.json"
    moved.write_text(json.dumps(foreign(id="d" * 32)), encoding="utf-8")
    (tmp_path / "sessions" / "a.json").write_text(json.dumps(foreign()), encoding="utf-8")
    (tmp_path / "sessions" / "broken.json").write_text('{"id": ', encoding="utf-8")
    (tmp_path / "sessions" / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "index.json").write_text(
        json.dumps({"d" * 32: {"path": str(moved)}, "gone": {"path": "/no/such"}, "odd": 3}), encoding="utf-8"
    )
    monkeypatch.setenv("DEEP_THINK_HOME", str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    told = {Path(reply["source"]).name: reply for reply in import_home(desk)}
    assert {name: reply["ok"] for name, reply in told.items()} == {
        "a.json": True,
        "broken.json": False,
        "bytes.json": False,
        "elsewhere.json": True,
    }
    assert {one["session_id"] for one in desk.list_sessions()["sessions"]} == {"a" * 32, "d" * 32}
    assert all(reply.get("skipped") for reply in import_home(desk) if reply["ok"])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before
    with pytest.raises(StoreError):
        import_home(desk, tmp_path / "nowhere")
