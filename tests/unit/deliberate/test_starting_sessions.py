"""Starting sessions: the mode is asked, set once, and gates everything."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.session import CritiqueRound, Session, SpecialistRound, Thought
from treewright.deliberate.settings import DeliberationSettings, for_session, specialist_endpoints
from treewright.deliberate.toolcard import tool_cards
from treewright.deliberate.utility import Utility

THINKING_TOOLS: dict[str, dict[str, object]] = {
    "begin_thought": {"content": "x"},
    "critique_current_thought": {},
    "submit_critique": {"text": "x"},
    "refine_current_thought": {"new_content": "x"},
    "score_current_thought": {},
    "commit_thought": {},
    "begin_subagent_thought": {},
    "advance_subagent_round": {},
    "inspect_utility_matrix": {},
    "commit_subagent_thought": {},
    "advance_stage": {},
}


@pytest.mark.requirement("deliberation:start:mode-required")
def test_a_session_without_a_mode_is_saved_and_asks_for_the_mode(desk: Deliberation) -> None:
    reply = desk.start_session("Why?")
    assert reply["code"] == "mode_required"
    assert reply["next_tool"] == "set_session_mode"
    assert [mode["mode"] for mode in reply["modes"]] == ["serial", "subagent"]
    assert all(len(mode["line"]) > 40 and "\n" not in mode["line"] for mode in reply["modes"])
    assert [one["session_id"] for one in desk.list_sessions()["sessions"]] == [reply["session_id"]]


@pytest.mark.requirement("deliberation:start:one-gate")
@pytest.mark.parametrize("name", THINKING_TOOLS)
def test_every_thinking_tool_answers_the_same_directive_before_the_mode_is_set(
    desk: Deliberation, name: str
) -> None:
    started = desk.start_session("Why?")
    reply = desk.call(name, {"session_id": started["session_id"], **THINKING_TOOLS[name]})
    for key in ("code", "message", "next_tool", "modes", "session_id"):
        assert reply[key] == started[key]
    assert reply["ok"] is False


@pytest.mark.requirement("deliberation:start:one-gate")
def test_the_gated_tools_are_all_tools_that_think(desk: Deliberation) -> None:
    free = set(desk.tool_names()) - set(THINKING_TOOLS)
    session_id = desk.start_session("Why?")["session_id"]
    for name in free:
        if "session_id" in tool_cards()[name].parameters and name not in (
            "set_session_mode",
            "clear_session",
        ):
            assert (
                desk.call(name, {"session_id": session_id, "new_path": "/x/y.json"}).get("code")
                != "mode_required"
            )


@pytest.mark.requirement("deliberation:start:mode-once")
def test_the_mode_is_set_once_and_never_changes(desk: Deliberation) -> None:
    session_id = desk.start_session("Why?")["session_id"]
    assert desk.set_session_mode(session_id, "SERIAL")["next_tool"] == "begin_thought"
    assert desk.set_session_mode(session_id, "serial")["ok"]
    refused = desk.set_session_mode(session_id, "subagent")
    assert (refused["code"], refused["next_tool"]) == ("mode_fixed", "begin_thought")
    assert desk.resume_session(session_id)["mode"] == "serial"


@pytest.mark.requirement("deliberation:start:wrong-mode")
def test_a_tool_of_the_other_mode_is_refused_with_the_right_next_tool(start: Any, desk: Deliberation) -> None:
    reply = desk.begin_subagent_thought(start("serial"))
    assert (reply["code"], reply["next_tool"]) == ("wrong_mode", "begin_thought")
    reply = desk.begin_thought(start("subagent"), "x")
    assert (reply["code"], reply["next_tool"]) == ("wrong_mode", "begin_subagent_thought")


@pytest.mark.requirement("deliberation:config:default-prompt-user")
def test_a_default_mode_is_only_taken_when_the_user_need_not_be_asked(
    build: Callable[..., Deliberation],
) -> None:
    asked = build({"modes": {"default": "serial"}}).start_session("Why?")
    assert asked["code"] == "mode_required"
    taken = build({"modes": {"default": "serial", "default_prompt_user": False}}).start_session("Why?")
    assert taken["mode"] == "serial"


@pytest.mark.requirement("deliberation:start:stages")
def test_the_five_stages_are_the_default_and_can_be_replaced(desk: Deliberation) -> None:
    usual = desk.start_session("Why?", "serial")
    assert usual["stages"] == ["Problem Definition", "Research", "Analysis", "Synthesis", "Conclusion"]
    assert desk.start_session("Why?", "serial", "Facts, Choice")["stages"] == ["Facts", "Choice"]
    assert desk.start_session("Why?", "serial", '["Facts", "Choice"]')["stages"] == ["Facts", "Choice"]


@pytest.mark.requirement("deliberation:start:stages")
@pytest.mark.parametrize("stages", ["A, B, a", ["A", "A"], "- A\n- B\n- A"])
def test_two_stages_of_the_same_name_are_asked_about(desk: Deliberation, stages: object) -> None:
    reply = desk.start_session("Why?", "serial", stages)
    assert reply["code"] == "retry_with_clarification"
    assert reply["parameter"] == "stages"


@pytest.mark.requirement("deliberation:stages:advance")
def test_a_stage_holds_several_thoughts_and_the_last_points_to_finalize(
    start: Any, desk: Deliberation
) -> None:
    session_id = start(stages="A, B", overrides="serial.fast_mode=true")
    for text in ("one", "two"):
        desk.begin_thought(session_id, text)
        desk.critique_current_thought(session_id)
        desk.submit_critique(session_id, "c")
        desk.refine_current_thought(session_id, f"{text} refined at length")
        desk.score_current_thought(session_id, "clarity 0.9")
        assert desk.commit_thought(session_id)["next_tool"] == "advance_stage"
    assert desk.summarize_session(session_id)["thoughts"] == 2
    assert desk.advance_stage(session_id)["next_tool"] == "begin_thought"
    refused = desk.advance_stage(session_id)
    assert (refused["code"], refused["next_tool"]) == ("last_stage", "finalize_session")


@pytest.mark.requirement("deliberation:stages:advance")
def test_a_stage_is_not_left_while_a_thought_is_open(start: Any, desk: Deliberation) -> None:
    session_id = start()
    desk.begin_thought(session_id, "x")
    reply = desk.advance_stage(session_id)
    assert (reply["code"], reply["next_tool"]) == ("uncommitted_exists", "critique_current_thought")


@pytest.mark.requirement("deliberation:start:overrides")
@pytest.mark.parametrize(
    "overrides",
    [
        {"serial": {"max_rounds": 2}},
        '{"serial": {"max_rounds": "2"}}',
        "serial.max_rounds=2",
        "serial.max_rounds: 2",
    ],
)
def test_overrides_are_read_in_any_form(desk: Deliberation, overrides: object) -> None:
    session_id = desk.start_session("Why?", "serial", overrides=overrides)["session_id"]
    assert '"max_rounds":2' in desk.export_session(session_id)["session_json"]


@pytest.mark.requirement("deliberation:start:overrides")
@pytest.mark.parametrize(
    ("overrides", "code", "told"),
    [
        ("serial.max_round=2", "unknown_override", "serial.max_rounds"),
        ("serial.max_rounds=zero", "bad_override", "serial.max_rounds"),
        ("serial.max_rounds=0", "bad_override", "serial.max_rounds"),
        ("max_rounds=2", "unknown_override", "serial.max_rounds or subagent.max_rounds"),
        ("autopilot.enabled=true", "unknown_override", "autopilot.enabled"),
        ("subagent.equilibrium_threshold=NaN", "bad_override", "equilibrium_threshold"),
    ],
)
def test_a_bad_override_is_refused_with_what_is_valid(
    desk: Deliberation, overrides: str, code: str, told: str
) -> None:
    reply = desk.start_session("Why?", "serial", overrides=overrides)
    assert reply["code"] == code
    assert told in reply["message"]
    assert desk.list_sessions()["sessions"] == []


@pytest.mark.requirement("deliberation:start:override-endpoint-keyless")
def test_an_endpoint_that_a_session_chose_is_called_without_the_operators_key() -> None:
    operator = DeliberationSettings.model_validate({"subagent": {"endpoint": "http://mine/v1"}})
    session = for_session(operator, {"subagent": {"endpoints": ["http://mine/v1", "http://other/v1"]}})
    assert [(one.url, one.use_operator_key) for one in specialist_endpoints(operator, session)] == [
        ("http://mine/v1", True),
        ("http://other/v1", False),
    ]


@pytest.mark.requirement("deliberation:config:names")
def test_the_settings_have_the_names_and_defaults_of_the_contract() -> None:
    settings = DeliberationSettings()
    assert settings.modes.default_prompt_user is True
    serial = settings.serial
    assert (serial.max_rounds, serial.score_threshold, serial.edit_distance_epsilon) == (3, 0.05, 0.05)
    assert (serial.fast_mode, len(serial.default_lenses)) == (False, 8)
    subagent = settings.subagent
    assert (subagent.engine, subagent.max_rounds, subagent.equilibrium_threshold) == ("manual", 2, 0.75)
    assert subagent.agents == ["Analysis", "Creativity", "Skeptic"]
    assert (subagent.sequential_fallback, subagent.endpoint, subagent.endpoints) == (True, "", [])
    assert {"model", "timeout", "necort_path"} <= set(type(subagent).model_fields)
    assert len(settings.stages.default) == 5
    assert set(type(settings.autopilot).model_fields) == {"enabled", "endpoint", "model", "temperature"}
    assert settings.autopilot.enabled is False


@pytest.mark.requirement("deliberation:model:unknown-fields-refused")
@pytest.mark.parametrize("model", [Session, Thought, CritiqueRound, SpecialistRound, Utility])
def test_unknown_fields_are_refused_everywhere(model: type) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model(surprise=1)


@pytest.mark.requirement("deliberation:model:utility")
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_utility_is_from_0_to_1(value: float) -> None:
    with pytest.raises(ValidationError):
        Utility(**{**dict.fromkeys(Utility.model_fields, 0.5), "novelty": value})


@pytest.mark.requirement("deliberation:resume:current-rounds-only")
def test_resuming_answers_the_current_thoughts_rounds_and_no_others(start: Any, desk: Deliberation) -> None:
    session_id = start(overrides="serial.fast_mode=true")
    desk.begin_thought(session_id, "first")
    desk.critique_current_thought(session_id)
    desk.submit_critique(session_id, "an old critique")
    desk.refine_current_thought(session_id, "first, refined")
    desk.score_current_thought(session_id)
    desk.commit_thought(session_id)
    desk.begin_thought(session_id, "second")
    desk.critique_current_thought(session_id)
    reply = desk.resume_session(session_id)
    assert reply["current_thought"]["content"] == "second"
    assert len(reply["current_thought"]["critique_rounds"]) == 1
    assert "an old critique" not in str(reply)
    assert reply["next_tool"] == "submit_critique"
