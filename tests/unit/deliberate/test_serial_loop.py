"""The serial loop: order, convergence, scores, lenses."""

from collections.abc import Callable
from typing import Any

import pytest

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.session import CritiqueRound
from treewright.deliberate.stages import lens_rotation, stage_table
from treewright.deliberate.utility import DIMENSIONS

TEXTS = [
    "Caching answers most reads without touching the disk at all.",
    "Measure first: of ten calls nine only read, so a cache with a short lifetime pays.",
    "A cache moves the problem to invalidation, which is where this team has failed twice before.",
    "Buy a faster disk.",
    "Neither: batch the reads, since all of them happen in one loop over the same table.",
]


def run_round(desk: Deliberation, session_id: str, text: str, score: float) -> dict[str, Any]:
    assert desk.critique_current_thought(session_id)["ok"]
    assert desk.submit_critique(session_id, "It rests on one case.")["ok"]
    assert desk.refine_current_thought(session_id, text)["ok"]
    return desk.score_current_thought(session_id, dict.fromkeys(DIMENSIONS, score))


@pytest.mark.requirement("deliberation:serial:max-rounds")
def test_a_thought_that_keeps_improving_ends_at_max_rounds_flagged(start: Any, desk: Deliberation) -> None:
    session_id = start()
    desk.begin_thought(session_id, TEXTS[0])
    replies = [run_round(desk, session_id, TEXTS[n + 1], 0.5 + 0.1 * n) for n in range(3)]
    assert [one["converged_reason"] for one in replies] == [None, None, "max_rounds"]
    assert [one["next_tool"] for one in replies] == ["critique_current_thought"] * 2 + ["commit_thought"]
    assert replies[2]["flagged"] is True
    assert replies[0]["delta"] is None
    assert replies[1]["delta"] == pytest.approx(0.1)
    committed = desk.commit_thought(session_id)
    assert (committed["converged_reason"], committed["flagged"]) == ("max_rounds", True)


@pytest.mark.requirement("deliberation:serial:fixed-point")
def test_a_refinement_that_barely_differs_is_a_fixed_point_even_at_max_rounds(
    start: Any, desk: Deliberation
) -> None:
    session_id = start(overrides="serial.max_rounds=1")
    text = "x" * 100
    desk.begin_thought(session_id, text)
    assert run_round(desk, session_id, text[:95] + "y" * 5, 0.5)["converged_reason"] == "fixed_point"


@pytest.mark.requirement("deliberation:serial:fixed-point")
def test_a_refinement_is_compared_with_the_one_before_and_not_with_the_draft(
    start: Any, desk: Deliberation
) -> None:
    session_id = start()
    desk.begin_thought(session_id, TEXTS[0])
    assert run_round(desk, session_id, TEXTS[1], 0.4)["converged_reason"] is None
    assert run_round(desk, session_id, TEXTS[0], 0.6)["converged_reason"] is None
    assert run_round(desk, session_id, TEXTS[0] + "!", 0.8)["converged_reason"] == "fixed_point"


@pytest.mark.requirement("deliberation:serial:diminishing-returns")
@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([0.5, 0.54, 0.58], "diminishing_returns"),
        ([0.5, 0.55, 0.59], None),
        ([0.5, 0.54, 0.6], None),
        ([0.5, 0.3, 0.2], "diminishing_returns"),
    ],
)
def test_two_rounds_in_a_row_below_the_threshold_end_a_thought(
    start: Any, desk: Deliberation, scores: list[float], reason: str | None
) -> None:
    session_id = start(overrides="serial.max_rounds=5")
    desk.begin_thought(session_id, TEXTS[0])
    replies = [run_round(desk, session_id, TEXTS[n + 1], score) for n, score in enumerate(scores)]
    assert [one["converged_reason"] for one in replies] == [None, None, reason]


@pytest.mark.requirement("deliberation:serial:diminishing-returns")
def test_diminishing_returns_come_before_max_rounds(start: Any, desk: Deliberation) -> None:
    session_id = start()
    desk.begin_thought(session_id, TEXTS[0])
    last = [run_round(desk, session_id, TEXTS[n + 1], 0.5) for n in range(3)][-1]
    assert (last["converged_reason"], last["flagged"]) == ("diminishing_returns", False)


@pytest.mark.requirement("deliberation:serial:scores")
def test_missing_dimensions_are_neutral_on_the_first_round_and_carried_after_it(
    start: Any, desk: Deliberation
) -> None:
    session_id = start()
    desk.begin_thought(session_id, TEXTS[0])
    for text in TEXTS[1:2]:
        desk.critique_current_thought(session_id)
        desk.submit_critique(session_id, "c")
        desk.refine_current_thought(session_id, text)
    first = desk.score_current_thought(session_id, "clarity: 0.9")
    assert first["scores"]["clarity"] == 0.9
    assert first["scores"]["novelty"] == 0.5
    assert set(first["assumed"]) == set(DIMENSIONS) - {"clarity"}
    assert first["score"] == pytest.approx((0.9 + 6 * 0.5) / 7, abs=1e-4)
    desk.critique_current_thought(session_id)
    desk.submit_critique(session_id, "c")
    desk.refine_current_thought(session_id, TEXTS[2])
    second = desk.score_current_thought(session_id, "novelty: 0.7")
    assert (second["scores"]["clarity"], second["scores"]["novelty"], second["assumed"]) == (0.9, 0.7, [])
    assert second["delta"] == pytest.approx(0.2 / 7, abs=1e-4)


@pytest.mark.requirement("deliberation:serial:lenses")
@pytest.mark.parametrize(
    ("stage", "first", "second"),
    [
        ("Problem Definition", "unstated_assumption", "scope_creep"),
        ("Research", "weak_evidence", "missing_perspective"),
        ("Analysis", "weak_evidence", "overconfidence"),
        ("Synthesis", "missing_perspective", "unstated_assumption"),
        ("Conclusion", "steel_man", "overconfidence"),
    ],
)
def test_a_stage_tries_its_own_lenses_first_and_then_the_rest_in_order(
    stage: str, first: str, second: str
) -> None:
    order = stage_table().lens_order
    rotation = lens_rotation(stage, [], order)
    assert rotation[:2] == [first, second]
    assert rotation[2:] == [name for name in order if name not in (first, second)]


@pytest.mark.requirement("deliberation:serial:lenses")
def test_each_round_uses_another_lens_and_a_named_one_is_used(start: Any, desk: Deliberation) -> None:
    session_id = start(stages="Analysis, Conclusion")
    desk.begin_thought(session_id, TEXTS[0])
    opened = desk.critique_current_thought(session_id)
    assert (opened["lens"], opened["directive"]) == (
        "weak_evidence",
        "# weak_evidence\nAttack the weak_evidence.",
    )
    desk.submit_critique(session_id, "c")
    desk.refine_current_thought(session_id, TEXTS[1])
    desk.score_current_thought(session_id, "clarity 0.9")
    assert desk.critique_current_thought(session_id, "Steel Man")["lens"] == "steel_man"


@pytest.mark.requirement("deliberation:serial:lenses")
def test_lenses_that_a_user_dropped_in_are_used_after_the_configured_ones(
    build: Callable[..., Deliberation],
) -> None:
    assert lens_rotation("Other", ["b"], ["z", "a", "b"]) == ["b", "a", "z"]
    assert lens_rotation("other", {"Other": ["z"]}, ["z", "overconfidence"]) == ["z", "overconfidence"]
    empty = build(lenses={})
    session_id = empty.start_session("Why?", "serial")["session_id"]
    empty.begin_thought(session_id, "x")
    assert empty.critique_current_thought(session_id)["code"] == "unknown_lens"


@pytest.mark.requirement("deliberation:serial:fast-mode")
def test_fast_mode_is_one_round_a_thought(start: Any, desk: Deliberation) -> None:
    session_id = start(overrides="serial.fast_mode=yes")
    desk.begin_thought(session_id, TEXTS[0])
    assert run_round(desk, session_id, TEXTS[1], 0.9)["converged_reason"] == "max_rounds"


SEQUENCE: list[tuple[list[tuple[str, tuple[object, ...]]], tuple[str, tuple[object, ...]], str, str]] = [
    ([], ("critique_current_thought", ()), "begin_first", "begin_thought"),
    ([], ("submit_critique", ("c",)), "begin_first", "begin_thought"),
    ([], ("refine_current_thought", ("t",)), "begin_first", "begin_thought"),
    ([], ("score_current_thought", ()), "begin_first", "begin_thought"),
    ([], ("commit_thought", ()), "begin_first", "begin_thought"),
    (["begin"], ("begin_thought", ("y",)), "uncommitted_exists", "critique_current_thought"),
    (["begin"], ("submit_critique", ("c",)), "need_critique", "critique_current_thought"),
    (["begin"], ("refine_current_thought", ("t",)), "need_critique", "critique_current_thought"),
    (["begin"], ("score_current_thought", ()), "need_critique", "critique_current_thought"),
    (["begin"], ("commit_thought", ()), "zero_rounds", "critique_current_thought"),
    (["begin"], ("critique_current_thought", ("no such lens",)), "unknown_lens", "critique_current_thought"),
    (["begin", "critique"], ("submit_critique", ("  ",)), "empty_critique", "submit_critique"),
    (["begin", "critique"], ("refine_current_thought", ("t",)), "need_submit", "submit_critique"),
    (["begin", "critique"], ("score_current_thought", ()), "need_submit", "submit_critique"),
    (["begin", "critique"], ("commit_thought", ()), "need_submit", "submit_critique"),
    (["begin", "critique", "submit"], ("submit_critique", ("c",)), "need_refine", "refine_current_thought"),
    (["begin", "critique", "submit"], ("critique_current_thought", ()), "need_refine", "refine_current_thought"),
    (["begin", "critique", "submit"], ("refine_current_thought", ("",)), "empty_refinement", "refine_current_thought"),
    (["begin", "critique", "submit"], ("score_current_thought", ()), "need_refine", "refine_current_thought"),
    (["begin", "critique", "submit"], ("commit_thought", ()), "need_refine", "refine_current_thought"),
    (["begin", "critique", "submit", "refine"], ("refine_current_thought", ("t",)), "need_score", "score_current_thought"),
    (["begin", "critique", "submit", "refine"], ("submit_critique", ("c",)), "need_score", "score_current_thought"),
    (["begin", "critique", "submit", "refine"], ("critique_current_thought", ()), "need_score", "score_current_thought"),
    (["begin", "critique", "submit", "refine"], ("commit_thought", ()), "need_score", "score_current_thought"),
    (["begin", "critique", "submit", "refine", "score"], ("score_current_thought", ()), "need_critique", "critique_current_thought"),
    (["begin", "critique", "submit", "refine", "score"], ("refine_current_thought", ("t",)), "need_critique", "critique_current_thought"),
]  # fmt: skip
STEPS: dict[str, tuple[str, tuple[object, ...]]] = {
    "begin": ("begin_thought", (TEXTS[0],)),
    "critique": ("critique_current_thought", ()),
    "submit": ("submit_critique", ("c",)),
    "refine": ("refine_current_thought", (TEXTS[1],)),
    "score": ("score_current_thought", ()),
}


@pytest.mark.requirement("deliberation:serial:sequencing")
@pytest.mark.parametrize(("before", "then", "code", "next_tool"), SEQUENCE)
def test_a_tool_out_of_order_answers_a_code_and_the_next_tool_and_changes_nothing(
    start: Any,
    desk: Deliberation,
    before: list[str],
    then: tuple[str, tuple[object, ...]],
    code: str,
    next_tool: str,
) -> None:
    session_id = start()
    for step in before:
        name, arguments = STEPS[step]
        assert getattr(desk, name)(session_id, *arguments)["ok"]
    document = desk.export_session(session_id)["session_json"]
    reply = getattr(desk, then[0])(session_id, *then[1])
    assert (reply["ok"], reply["error"], reply["code"], reply["next_tool"]) == (
        False,
        "sequencing",
        code,
        next_tool,
    )
    assert desk.export_session(session_id)["session_json"] == document


@pytest.mark.requirement("deliberation:serial:sequencing")
def test_asking_for_the_lens_twice_hands_out_the_same_one_again(start: Any, desk: Deliberation) -> None:
    session_id = start()
    desk.begin_thought(session_id, "x")
    first = desk.critique_current_thought(session_id)
    assert desk.critique_current_thought(session_id)["lens"] == first["lens"]
    assert len(desk.resume_session(session_id)["current_thought"]["critique_rounds"]) == 1


@pytest.mark.requirement("deliberation:model:phase-derived")
def test_nothing_about_the_step_is_stored_beside_the_rounds() -> None:
    assert set(CritiqueRound.model_fields) == {
        "round_index",
        "lens",
        "critique_text",
        "refined_content",
        "delta_score",
    }


@pytest.mark.requirement("deliberation:serial:commit")
def test_a_committed_thought_holds_the_last_refinement_and_keeps_the_draft(
    start: Any, desk: Deliberation
) -> None:
    session_id = start()
    desk.begin_thought(session_id, TEXTS[0], "cache, speed", ["reads dominate"])
    run_round(desk, session_id, TEXTS[1], 0.9)
    reply = desk.commit_thought(session_id)
    assert (reply["converged_reason"], reply["next_tool"]) == ("early", "advance_stage")
    markdown = desk.render_session(session_id)["markdown"]
    assert TEXTS[0] in markdown
    assert TEXTS[1] in markdown
    assert "cache, speed" in markdown
    assert "reads dominate" in markdown
