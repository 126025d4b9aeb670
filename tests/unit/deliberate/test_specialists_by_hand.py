"""Subagent mode played by the caller: prompts, selection, gate, codes."""

from collections.abc import Callable
from typing import Any

import pytest

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.stages import specialist_weight
from treewright.deliberate.utility import DIMENSIONS


def scores(value: float) -> dict[str, float]:
    return dict.fromkeys(DIMENSIONS, value)


def play(
    desk: Deliberation, session_id: str, values: list[float], prefix: str = "candidate"
) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    for number, value in enumerate(values):
        reply = desk.advance_subagent_round(session_id, f"{prefix} {number}", scores(value))
        assert reply["ok"], reply
    return reply


@pytest.mark.requirement("deliberation:manual:prompts")
def test_each_specialist_gets_its_own_prompt_in_turn(start: Any, desk: Deliberation) -> None:
    session_id = start("subagent")
    reply = desk.begin_subagent_thought(session_id, prompt_focus="cost of staleness")
    seen = []
    for number in range(3):
        seen.append((reply["role"], reply["prompt"]))
        reply = desk.advance_subagent_round(session_id, f"c{number}", scores(0.5))
    assert [role for role, _ in seen] == ["Analysis", "Creativity", "Skeptic"]
    assert len({prompt.splitlines()[0] for _, prompt in seen}) == 3
    for _, prompt in seen:
        assert "Should reads be cached?" in prompt
        assert "cost of staleness" in prompt
        assert "Signs of unstated_assumption." in prompt, "the stage's lenses scaffold the prompt"


@pytest.mark.requirement("deliberation:manual:weights")
def test_a_voice_weighs_more_in_its_own_stage() -> None:
    weights = {(stage, role): specialist_weight(stage, role) for stage in ("Analysis", "Synthesis", "Research") for role in ("Analysis", "Creativity", "Skeptic")}  # fmt: skip
    assert weights.pop(("Analysis", "Analysis")) == 1.5
    assert weights.pop(("Synthesis", "Creativity")) == 1.5
    assert set(weights.values()) == {1.0}


@pytest.mark.requirement("deliberation:manual:selection")
@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.4, 0.9, 0.5], "candidate 1"), ([0.6, 0.6, 0.6], "candidate 0"), ([0.1, 0.2, 0.2], "candidate 1")],
)
def test_the_highest_mean_wins_and_of_equals_the_earliest(
    start: Any, desk: Deliberation, values: list[float], expected: str
) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id)
    assert play(desk, session_id, values)["candidate"] == expected


@pytest.mark.requirement("deliberation:manual:gate")
@pytest.mark.parametrize(("value", "met"), [(0.75, True), (0.749, False)])
def test_the_gate_is_the_mean_at_the_threshold(
    start: Any, desk: Deliberation, value: float, met: bool
) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id)
    reply = play(desk, session_id, [0.1, value, 0.1])
    assert reply["converged"] is met
    assert reply["next_tool"] == ("commit_subagent_thought" if met else "advance_subagent_round")


@pytest.mark.requirement("deliberation:manual:rounds")
def test_the_winner_of_a_round_seeds_the_next_until_the_rounds_are_used(
    start: Any, desk: Deliberation
) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id, "the first text")
    play(desk, session_id, [0.5, 0.6, 0.5])
    again = desk.advance_subagent_round(session_id)
    assert again["code"] == "need_candidate"
    assert "candidate 1" in again["prompt"]
    last = play(desk, session_id, [0.5, 0.5, 0.55], "second")
    assert (last["candidate"], last["converged_reason"], last["rounds_left"]) == ("second 2", "max_rounds", 0)
    refused = desk.advance_subagent_round(session_id, "more", scores(1.0))
    assert (refused["code"], refused["next_tool"]) == ("round_budget_exhausted", "commit_subagent_thought")
    assert desk.commit_subagent_thought(session_id)["converged_reason"] == "max_rounds"
    markdown = desk.render_session(session_id)["markdown"]
    assert "the first text" in markdown


@pytest.mark.requirement("deliberation:manual:commit")
def test_begin_then_commit_is_enough_when_the_thought_has_a_text(start: Any, desk: Deliberation) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id, "a text")
    reply = desk.commit_subagent_thought(session_id)
    assert (reply["ok"], reply["converged_reason"], reply["next_tool"]) == (True, "unrated", "advance_stage")


@pytest.mark.requirement("deliberation:subagent:codes")
def test_the_codes_of_subagent_mode_name_the_next_tool(start: Any, desk: Deliberation) -> None:
    session_id = start("subagent")
    for name in ("advance_subagent_round", "inspect_utility_matrix", "commit_subagent_thought"):
        reply = desk.call(name, {"session_id": session_id})
        assert (reply["code"], reply["next_tool"]) == ("begin_first", "begin_subagent_thought")
    desk.begin_subagent_thought(session_id)
    assert desk.begin_subagent_thought(session_id)["code"] == "uncommitted_exists"
    none = desk.commit_subagent_thought(session_id)
    assert (none["code"], none["next_tool"]) == ("no_rounds", "advance_subagent_round")
    assert "prompt" in none
    missing = desk.advance_subagent_round(session_id)
    assert (missing["code"], missing["error"], missing["role"]) == (
        "need_candidate",
        "sequencing",
        "Analysis",
    )
    desk.advance_subagent_round(session_id, "c", scores(0.5))
    open_round = desk.commit_subagent_thought(session_id)
    assert (open_round["code"], open_round["role"]) == ("round_open", "Creativity")


@pytest.mark.requirement("deliberation:manual:all-seven")
def test_all_seven_dimensions_are_asked_for_and_nothing_is_recorded_without_them(
    start: Any, desk: Deliberation
) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id)
    reply = desk.advance_subagent_round(session_id, "c", "clarity 0.8")
    assert (reply["code"], reply["parameter"]) == ("retry_with_clarification", "scores")
    assert "correctness" in reply["message"]
    assert desk.inspect_utility_matrix(session_id)["matrix"] == []


@pytest.mark.requirement("deliberation:manual:all-seven")
def test_the_same_candidate_from_two_specialists_is_kept_and_told(start: Any, desk: Deliberation) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id)
    desk.advance_subagent_round(session_id, "same", scores(0.5))
    assert desk.advance_subagent_round(session_id, "same", scores(0.5))["same_as"] == ["Analysis"]


@pytest.mark.requirement("deliberation:subagent:inspect")
def test_the_matrix_shows_every_candidate_on_all_dimensions(start: Any, desk: Deliberation) -> None:
    session_id = start("subagent")
    desk.begin_subagent_thought(session_id)
    play(desk, session_id, [0.4, 0.9])
    reply = desk.inspect_utility_matrix(session_id)
    assert [(row["role"], row["mean"], row["state"]) for row in reply["matrix"]] == [
        ("Analysis", 0.4, "pending"),
        ("Creativity", 0.9, "pending"),
    ]
    assert reply["dimensions"] == list(DIMENSIONS)
    assert reply["next_tool"] == "advance_subagent_round"


@pytest.mark.requirement("deliberation:subagent:no-endpoint")
@pytest.mark.parametrize("engine", ["nash", "necort"])
def test_without_an_endpoint_the_thought_is_begun_and_the_manual_path_named(
    start: Any, desk: Deliberation, engine: str
) -> None:
    session_id = start("subagent", overrides=f"subagent.engine={engine}")
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["code"], reply["next_tool"]) == ("no_endpoint", "advance_subagent_round")
    assert "manual" in reply["message"]
    assert reply["role"] == "Analysis"
    assert play(desk, session_id, [0.8, 0.8, 0.8])["converged"] is True
    assert desk.commit_subagent_thought(session_id)["ok"]


@pytest.mark.requirement("deliberation:manual:config")
def test_the_specialists_are_configurable(build: Callable[..., Deliberation]) -> None:
    desk = build({"subagent": {"agents": ["Economist", "Skeptic"]}})
    session_id = desk.start_session("Why?", "subagent")["session_id"]
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["role"], reply["specialists"]) == ("Economist", 2)
    assert "specialist for Economist" in reply["prompt"]
