"""next_action: its truth table over all states and both modes, and where following it leads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.app.session_memory import MemoryStore
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.guidance import Situation
from treewright.deliberate.utility import DIMENSIONS

LOW = dict.fromkeys(DIMENSIONS, 0.5)
HIGH = dict.fromkeys(DIMENSIONS, 0.9)
T1, T2, T3 = "a" * 30, "b" * 30, "c" * 30
Step = tuple[str, dict[str, object]]

BEGIN: list[Step] = [("begin_thought", {"content": T1})]
CRITIQUE: list[Step] = [*BEGIN, ("critique_current_thought", {})]
SUBMIT: list[Step] = [*CRITIQUE, ("submit_critique", {"text": "c"})]
REFINE: list[Step] = [*SUBMIT, ("refine_current_thought", {"new_content": T2})]
SCORE: list[Step] = [*REFINE, ("score_current_thought", {"scores": LOW})]
SAME: list[Step] = [
    *SUBMIT,
    ("refine_current_thought", {"new_content": T1}),
    ("score_current_thought", {"scores": LOW}),
]
COMMIT: list[Step] = [*SCORE, ("commit_thought", {})]
LAST: list[Step] = [*COMMIT, ("advance_stage", {}), *COMMIT]
S_BEGIN: list[Step] = [("begin_subagent_thought", {})]
S_TEXT: list[Step] = [("begin_subagent_thought", {"content": T1})]
S_ONE: list[Step] = [*S_BEGIN, ("advance_subagent_round", {"candidate": T1, "scores": LOW})]
S_LOW: list[Step] = [*S_ONE, ("advance_subagent_round", {"candidate": T2, "scores": LOW})]
S_HIGH: list[Step] = [*S_ONE, ("advance_subagent_round", {"candidate": T2, "scores": HIGH})]
S_SPENT: list[Step] = [*S_LOW, *S_LOW[1:]]
S_COMMIT: list[Step] = [*S_HIGH, ("commit_subagent_thought", {})]
S_LAST: list[Step] = [*S_COMMIT, ("advance_stage", {}), *S_COMMIT]
FINAL: list[Step] = [("finalize_session", {})]
KEEP: list[Step] = [*FINAL, ("keep_here", {})]
MOVE: list[Step] = [*FINAL, ("move_session", {"new_path": "/elsewhere/reasoning.json"})]
CLEAR: list[Step] = [("clear_session", {})]

NASH_AGREED = {"engine": "nash", "agree": True}
NASH_SPLIT = {"engine": "nash", "agree": False}
NASH_DOWN = {"engine": "nash", "agree": None}

# mode, engine, steps taken, situation, next tool, arguments it should carry
TABLE: list[tuple[str | None, dict[str, Any], list[Step], Situation, str, list[str]]] = [
    (None, {}, [], "awaiting_mode", "set_session_mode", ["mode"]),
    (None, {}, FINAL, "finalized", "keep_here", []),
    (None, {}, KEEP, "finished", "", []),
    (None, {}, CLEAR, "archived", "resume_session", []),
    ("serial", {}, [], "serial_begin", "begin_thought", ["content"]),
    ("serial", {}, BEGIN, "serial_critique", "critique_current_thought", []),
    ("serial", {}, CRITIQUE, "serial_submit", "submit_critique", ["text"]),
    ("serial", {}, SUBMIT, "serial_refine", "refine_current_thought", ["new_content"]),
    ("serial", {}, REFINE, "serial_score", "score_current_thought", ["scores"]),
    ("serial", {}, SCORE, "serial_next_lens", "critique_current_thought", []),
    ("serial", {}, SAME, "serial_converged", "commit_thought", []),
    ("serial", {}, COMMIT, "stage_done", "advance_stage", []),
    ("serial", {}, [*COMMIT, ("advance_stage", {})], "serial_begin", "begin_thought", ["content"]),
    ("serial", {}, [*COMMIT, *BEGIN], "serial_critique", "critique_current_thought", []),
    ("serial", {}, LAST, "last_stage_done", "finalize_session", []),
    ("serial", {}, [*LAST, *FINAL], "finalized", "keep_here", []),
    ("serial", {}, [*LAST, *KEEP], "finished", "", []),
    ("serial", {}, [*LAST, *MOVE], "finished", "", []),
    ("serial", {}, [*LAST, *KEEP[1:], *FINAL], "finalized", "keep_here", []),
    ("serial", {}, [*SUBMIT, *FINAL], "finalized", "keep_here", []),
    ("serial", {}, [*SUBMIT, *CLEAR], "archived", "resume_session", []),
    ("serial", {}, [*SUBMIT, *CLEAR, ("resume_session", {})], "serial_refine", "refine_current_thought", ["new_content"]),
    ("serial", {}, [*LAST, *FINAL, *CLEAR, ("resume_session", {})], "finalized", "keep_here", []),
    ("subagent", {}, [], "subagent_begin", "begin_subagent_thought", []),
    ("subagent", {}, S_BEGIN, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", {}, S_TEXT, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", {}, S_ONE, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", {}, S_LOW, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", {}, S_HIGH, "subagent_settled", "commit_subagent_thought", []),
    ("subagent", {}, S_SPENT, "subagent_settled", "commit_subagent_thought", []),
    ("subagent", {}, S_COMMIT, "stage_done", "advance_stage", []),
    ("subagent", {}, S_LAST, "last_stage_done", "finalize_session", []),
    ("subagent", {}, [*S_LAST, *FINAL], "finalized", "keep_here", []),
    ("subagent", {}, [*S_LAST, *KEEP], "finished", "", []),
    ("subagent", {}, [*S_ONE, *CLEAR], "archived", "resume_session", []),
    ("subagent", NASH_DOWN, S_BEGIN, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", NASH_DOWN, S_ONE, "subagent_candidate", "advance_subagent_round", ["candidate", "scores"]),
    ("subagent", NASH_SPLIT, S_BEGIN, "subagent_again", "advance_subagent_round", []),
    ("subagent", NASH_SPLIT, [*S_BEGIN, ("advance_subagent_round", {})], "subagent_settled", "commit_subagent_thought", []),
    ("subagent", NASH_AGREED, S_BEGIN, "subagent_settled", "commit_subagent_thought", []),
    ("subagent", NASH_AGREED, [*S_BEGIN, ("commit_subagent_thought", {})], "stage_done", "advance_stage", []),
]  # fmt: skip


def desk_for(build: Callable[..., Deliberation], scripted: Any, engine: dict[str, Any]) -> Deliberation:
    """Return a deliberation with two specialists whose models agree, disagree or are down."""

    def answer(task: Any) -> str | None:
        if engine["agree"] is None:
            return None
        if task.kind != "rate":
            return f"text of {task.id}"
        rater, rated = task.id.rpartition(":")[2].split("-")
        favourite = "1" if engine["agree"] else rater
        return json.dumps(HIGH if rated == favourite else LOW)

    tables: dict[str, Any] = {"agents": ["Analysis", "Skeptic"]}
    if not engine:
        return build({"subagent": tables})
    tables.update(engine=engine["engine"], endpoint="http://127.0.0.1:1")
    return build({"subagent": tables}, driver=scripted(answer))


def reach(desk: Deliberation, mode: str | None, steps: list[Step]) -> str:
    session_id = str(desk.start_session("Why?", mode, "First, Last")["session_id"])
    for name, arguments in steps:
        reply = desk.call(name, {"session_id": session_id, **arguments})
        assert reply["ok"] or reply["code"] == "adapter_error", (name, reply)
    return session_id


@pytest.mark.requirement("deliberation:guidance:truth-table")
@pytest.mark.parametrize(("mode", "engine", "steps", "situation", "tool", "arguments"), TABLE)
def test_next_action_names_the_exact_tool_for_every_state(
    build: Any,
    scripted: Any,
    mode: str | None,
    engine: dict[str, Any],
    steps: list[Step],
    situation: str,
    tool: str,
    arguments: list[str],
) -> None:
    desk = desk_for(build, scripted, engine)
    session_id = reach(desk, mode, steps)
    reply = desk.next_action(session_id)
    assert (reply["situation"], reply["next_tool"], reply["arguments"]) == (situation, tool, arguments)
    assert reply["message"]
    assert "\n" not in reply["message"]
    assert reply["done"] is (tool == "")
    if "candidate" in arguments:
        assert reply["prompt"]
    if situation == "serial_submit":
        assert reply["directive"]


@pytest.mark.requirement("deliberation:guidance:truth-table")
def test_the_table_covers_every_situation() -> None:
    elsewhere = {"subagent_round"}  # a new process finds a thought whose first round never ran; see below
    assert {row[3] for row in TABLE} | elsewhere == set(Situation.__args__)  # type: ignore[attr-defined]


@pytest.mark.requirement("deliberation:guidance:truth-table")
def test_a_round_that_was_interrupted_is_run_by_whoever_takes_the_session_up(
    build: Any, scripted: Any
) -> None:
    store = MemoryStore()
    tables = {"engine": "nash", "endpoint": "http://127.0.0.1:1"}
    down = build({"subagent": tables}, store=store, driver=scripted(lambda _: None))
    session_id = reach(down, "subagent", S_BEGIN)
    up = build({"subagent": tables}, store=store, driver=scripted(lambda task: json.dumps(HIGH)))
    step = up.next_action(session_id)
    assert (step["situation"], step["next_tool"], step["arguments"]) == (
        "subagent_round",
        "advance_subagent_round",
        [],
    )
    assert up.advance_subagent_round(session_id)["converged"] is True


@pytest.mark.requirement("deliberation:guidance:truth-table")
@pytest.mark.parametrize(("mode", "engine", "steps", "situation", "tool", "arguments"), TABLE)
def test_asking_changes_nothing_and_the_tool_it_names_is_taken(
    build: Any,
    scripted: Any,
    mode: str | None,
    engine: dict[str, Any],
    steps: list[Step],
    situation: str,
    tool: str,
    arguments: list[str],
) -> None:
    desk = desk_for(build, scripted, engine)
    session_id = reach(desk, mode, steps)
    before = desk.export_session(session_id)["session_json"]
    desk.next_action(session_id)
    assert desk.export_session(session_id)["session_json"] == before
    if tool:
        reply = desk.call(tool, {"session_id": session_id, **{name: FILLER[name] for name in arguments}})
        assert reply["ok"] or reply["code"] == "adapter_error", reply


FILLER: dict[str, object] = {
    "mode": "serial",
    "content": "a draft",
    "text": "a critique",
    "new_content": "a refined text",
    "scores": HIGH,
    "candidate": "a candidate",
}


def follow(desk: Deliberation, session_id: str, scores: dict[str, float]) -> int:
    """Follow next_action until it says that nothing is left; return the number of calls."""
    for number in range(200):
        step = desk.next_action(session_id)
        if step["done"]:
            return number
        filler = {**FILLER, "scores": scores, "new_content": f"a refined text, number {number * 7919}"}
        arguments = {name: filler[name] for name in step["arguments"]}
        desk.call(step["next_tool"], {"session_id": session_id, **arguments})
    raise AssertionError("following next_action does not end")


@pytest.mark.requirement("deliberation:guidance:ends-finalized")
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("mode", "engine", "steps"), [row[:3] for row in TABLE])
def test_following_it_blindly_from_any_state_ends_in_a_finalised_session(
    build: Any, scripted: Any, mode: str | None, engine: dict[str, Any], steps: list[Step], value: float
) -> None:
    desk = desk_for(build, scripted, engine)
    session_id = reach(desk, mode, steps)
    follow(desk, session_id, dict.fromkeys(DIMENSIONS, value))
    assert desk.resume_session(session_id)["status"] == "finalized"


CALLS = [
    ("begin_thought", {"content": "x"}),
    ("critique_current_thought", {}),
    ("critique_current_thought", {"lens": "steel_man"}),
    ("submit_critique", {"text": "x"}),
    ("submit_critique", {"text": ""}),
    ("refine_current_thought", {"new_content": "another text altogether"}),
    ("score_current_thought", {}),
    ("score_current_thought", {"scores": "clarity 2"}),
    ("commit_thought", {}),
    ("begin_subagent_thought", {}),
    ("begin_subagent_thought", {"content": "x"}),
    ("advance_subagent_round", {}),
    ("advance_subagent_round", {"candidate": "x", "scores": HIGH}),
    ("commit_subagent_thought", {}),
    ("advance_stage", {}),
    ("set_session_mode", {"mode": "serial"}),
    ("set_session_mode", {"mode": "subagent"}),
    ("finalize_session", {}),
    ("keep_here", {}),
    ("clear_session", {}),
    ("resume_session", {}),
    ("move_session", {"new_path": "/somewhere.json", "force": True}),
]


@pytest.mark.requirement("deliberation:guidance:ends-finalized")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mode=st.sampled_from([None, "serial", "subagent"]),
    calls=st.lists(st.sampled_from(CALLS), max_size=25),
    value=st.floats(0, 1),
)
def test_whatever_was_called_before_following_it_ends_in_a_finalised_session(
    build: Any, mode: str | None, calls: list[tuple[str, dict[str, Any]]], value: float
) -> None:
    desk = build()
    session_id = desk.start_session("Why?", mode, "First, Last")["session_id"]
    for name, arguments in calls:
        reply = desk.call(name, {"session_id": session_id, **arguments})
        assert reply["message"]
        done = not desk.next_action(session_id)["next_tool"]  # finalised and moved: nothing is left to call
        assert reply["ok"] or reply["next_tool"] or done, reply
        assert reply.get("code") != "internal_error", reply
    follow(desk, session_id, dict.fromkeys(DIMENSIONS, value))
    assert desk.resume_session(session_id)["status"] == "finalized"
