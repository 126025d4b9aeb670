"""The caller fills tasks in: cards that say everything, answers that are read tolerantly, corrections that are exact."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.performers.answering import Answerer
from tests.unit.performers.briefs import brief
from tests.unit.performers.growing_runs import project
from treewright.explore.tasks import (
    RESULT_KINDS,
    DeriveResult,
    GroundResult,
    ProposeResult,
    TaskKind,
)
from treewright.performers.guided import Fault, answer_schema, parse_answer, task_card
from treewright.performers.model.material import read_material

KINDS = [kind for kind in TaskKind if kind is not TaskKind.VERIFY]
PRESETS = ["brainstorm", "attack", "design", "code-audit"]


def good(kind: TaskKind, preset: str = "attack", **given: Any) -> tuple[Any, dict[str, Any]]:
    """Return a brief and a well-formed answer to it."""
    asked = brief(kind, preset, **given)
    prompt = "File `paper.md`:\n3| The cache makes every build faster."
    return asked, Answerer(score=2).fill(answer_schema(asked), prompt)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("performers:guided:cards")
def test_a_card_tells_the_task_the_shape_and_every_field_due(
    kind: TaskKind, preset: str, tmp_path: Path
) -> None:
    folder = project(tmp_path / "project")
    asked = brief(kind, preset, folder)
    card = task_card(asked, read_material(asked.root_spec))
    assert card["task"] == asked.task.id
    assert json.loads(json.dumps(card)) == card
    for name in card["schema"]["properties"]:
        assert name in card["shape"]
    if kind is TaskKind.DERIVE:
        own = {asked.preset.parts.framing, asked.preset.parts.verdict, asked.preset.parts.external}
        assert not own & set(card["schema"]["properties"])
        for dim in asked.preset.score_dims:
            assert dim.desc in card["instructions"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("performers:guided:answers")
def test_an_answer_that_fits_becomes_a_result_of_the_kind(kind: TaskKind, preset: str) -> None:
    asked, answer = good(kind, preset)
    result = parse_answer(asked, answer)
    assert isinstance(result, RESULT_KINDS[kind]), result


@pytest.mark.requirement("performers:guided:tolerant")
def test_fences_prose_strings_for_numbers_and_trailing_commas_are_put_right() -> None:
    asked, answer = good(TaskKind.DERIVE)
    answer["scores"] = dict.fromkeys(answer["scores"], "2")
    text = "Here it is:\n```json\n" + json.dumps(answer)[:-1] + ",}\n```\nDone."
    result = parse_answer(asked, text)
    assert isinstance(result, DeriveResult), result
    assert set(result.body.scores.values()) == {2}


@pytest.mark.requirement("performers:guided:exact-correction")
def test_what_does_not_fit_is_answered_with_the_field_and_the_shape() -> None:
    asked, answer = good(TaskKind.DERIVE)
    del answer["evidence"]
    answer["scores"]["S"] = 7
    fault = parse_answer(asked, answer)
    assert isinstance(fault, Fault)
    assert "evidence" in fault.message
    assert "scores.S" in fault.message
    assert "evidence" in fault.shape


@pytest.mark.parametrize(
    "text", ["", "no", "[1, 2]", '"a string"', "{", '{"proposals": [', "null", "<think>hm</think>"]
)
def test_nonsense_is_answered_with_a_correction_and_never_raises(text: str) -> None:
    for kind in KINDS:
        assert isinstance(parse_answer(brief(kind), text), Fault)


@given(st.text(max_size=80), st.sampled_from(KINDS))
def test_whatever_text_comes_is_a_result_or_a_correction(text: str, kind: TaskKind) -> None:
    found = parse_answer(brief(kind), text)
    assert isinstance(found, (Fault, RESULT_KINDS[kind]))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["proposals", "citations", "statement", "scores", "edits", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["proposals", "citations", "statement", "scores", "evidence", "edits", "reason", "failure"]
        ),
        _JSON,
    ),
    st.sampled_from(KINDS),
)
def test_whatever_data_comes_is_a_result_or_a_correction(data: dict[str, Any], kind: TaskKind) -> None:
    found = parse_answer(brief(kind), data)
    assert isinstance(found, (Fault, RESULT_KINDS[kind]))


def test_citations_may_be_written_as_path_and_lines() -> None:
    asked, answer = good(TaskKind.PROPOSE)
    answer["proposals"][0]["citations"] = [
        "paper.md:3-4",
        {"path": "paper.md", "line": "7", "quote": "We hash"},
    ]
    result = parse_answer(asked, answer)
    assert isinstance(result, ProposeResult), result
    first, second = result.proposals[0].citations
    assert (first.path, first.start, first.end) == ("paper.md", 3, 4)
    assert (second.start, second.quote) == (7, "We hash")
    assert result.proposals[0].position == "paper.md:3-4"


def test_nothing_to_bring_a_failed_root_and_a_refusal_may_be_said() -> None:
    nothing = parse_answer(brief(TaskKind.PROPOSE), {"reason": "nothing here"})
    assert isinstance(nothing, ProposeResult)
    assert nothing.reason == "nothing here"
    failed = parse_answer(brief(TaskKind.GROUND), {"failure": "tool_blocked", "reason": "no access"})
    assert isinstance(failed, GroundResult)
    assert failed.failure == "tool_blocked"
    refused = parse_answer(brief(TaskKind.DERIVE), {"refuses": "policy"})
    assert isinstance(refused, DeriveResult)
    assert refused.refuses == "policy"


def test_a_revision_asks_for_the_faulty_fields_only_and_keeps_the_rest() -> None:
    asked = brief(TaskKind.REVISE)
    assert set(answer_schema(asked)["properties"]) == {"predictions", "citations"}
    result = parse_answer(asked, {"predictions": "A second measurement takes longer."})
    assert isinstance(result, DeriveResult), result
    assert result.body.fields["predictions"] == "A second measurement takes longer."
    assert result.body.fields["evidence"] == "It stands."
    assert result.body.scores == asked.previous.scores  # type: ignore[union-attr]


def test_an_inferred_topic_is_marked() -> None:
    asked = brief(TaskKind.GROUND, "brainstorm")
    asked = asked.model_copy(
        update={"root_spec": asked.root_spec.model_copy(update={"text": "", "inferred": True})}
    )
    answer = Answerer().fill(answer_schema(asked), "")
    result = parse_answer(asked, answer)
    assert isinstance(result, GroundResult), result
    assert result.statement.startswith("[INFERRED] ")
