"""Tolerant input: what is read, and that every tool answers nonsense with a directive."""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.reading import (
    Unclear,
    read_choice,
    read_flag,
    read_list,
    read_mapping,
    read_scores,
    read_session_id,
    read_text,
    read_whole,
)
from treewright.deliberate.toolcard import tool_cards
from treewright.deliberate.utility import DIMENSIONS


@pytest.mark.requirement("deliberation:input:scores")
@pytest.mark.parametrize(
    "given_scores",
    [
        {"correctness": 0.8, "clarity": 0.7},
        {"Correctness": "0.8", "CLARITY": 0.7},
        '{"correctness": 0.8, "clarity": 0.7}',
        '```json\n{"correctness": 0.8, "clarity": 0.7,}\n```',
        "<think>hm, 0.1?</think>{'correctness': 0.8, 'clarity': 0.7}",
        '{"scores": {"correctness": 0.8, "clarity": 0.7}}',
        "correctness: 0.8, clarity 0.7",
        "correctness=0.8; clarity=.7",
        "- correctness: 80%\n- clarity: 7/10",
        "Correctness is 0.8 and clarity is 0.7.",
        "correctness：0.8，clarity：0.7",
        "the scores are as follows\n\ncorrectness:    0.8\nand clarity:0.7\n",
    ],
)
def test_scores_are_read_from_json_and_from_plain_text(given_scores: object) -> None:
    assert read_scores("scores", given_scores) == pytest.approx({"correctness": 0.8, "clarity": 0.7})


@pytest.mark.requirement("deliberation:input:scores")
@pytest.mark.parametrize("name", ["bias resistance", "Bias-Resistance", "bias_resistance", "BIASRESISTANCE"])
def test_a_dimension_may_be_spelt_with_blanks_hyphens_or_any_case(name: str) -> None:
    assert read_scores("scores", {name: 1}) == {"bias_resistance": 1.0}
    assert read_scores("scores", f"{name}: 0.4") == {"bias_resistance": 0.4}


@pytest.mark.requirement("deliberation:input:scores")
@pytest.mark.parametrize(
    "bad",
    [
        "very good",
        "0.8",
        "correctness: 8",
        "correctness: -0.1",
        '{"correctness": 0.8',
        '{"correctness": NaN}',
        {"correctness": math.inf},
        {"correctness": True},
        {"correctness": [0.8]},
        {"correctness": "8/0"},
        {"brilliance": 0.8},
        [0.8, 0.7],
        0.8,
        {"correctness": 10**400},
    ],
)
def test_scores_that_can_be_meant_in_two_ways_are_asked_about(bad: object) -> None:
    with pytest.raises(Unclear) as caught:
        read_scores("scores", bad)
    assert all(name in caught.value.shape for name in DIMENSIONS)
    assert read_scores("scores", caught.value.example)


@pytest.mark.requirement("deliberation:input:lists")
@pytest.mark.parametrize(
    "given_list",
    [
        "a, b",
        ["a", "b"],
        ("a", "b"),
        '["a", "b"]',
        "- a\n- b",
        "1. a\n2) b",
        "a；b",
        "a、b",
        ["a", " b ", "a"],
        {"tags": ["a", "b"]},
    ],
)
def test_lists_are_read_in_any_form(given_list: object) -> None:
    assert read_list("tags", given_list, "a, b") == ["a", "b"]


@pytest.mark.requirement("deliberation:input:scalars")
def test_strings_stand_for_numbers_and_booleans_and_false_is_false() -> None:
    assert [read_flag("f", value) for value in (True, "true", "YES", 1, "1", "on")] == [True] * 6
    assert [read_flag("f", value) for value in (False, "false", "No", 0, "0", "off", None, "")] == [False] * 8
    assert [read_whole("n", value, 300, "300") for value in (200, "200", "200 tokens", 200.0, None, "")] == [
        200
    ] * 4 + [300] * 2
    assert read_choice("mode", " Sub-Agent ", ("serial", "subagent")) == "subagent"
    assert read_session_id("0F8FAD5B-D9CB-469F-A165-70867728950E") == "0f8fad5bd9cb469fa16570867728950e"
    assert read_text("content", 42, "x") == "42"
    assert read_text("content", {"content": "hello"}, "x") == "hello"
    assert read_mapping("overrides", 'subagent.agents=["A", "B"], serial.fast_mode=true', "") == {
        "subagent.agents": ["A", "B"],
        "serial.fast_mode": True,
    }


@pytest.mark.requirement("deliberation:input:scalars")
@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (lambda value: read_flag("f", value), "perhaps"),
        (lambda value: read_flag("f", value), [True]),
        (lambda value: read_whole("n", value, 1, "1"), -5),
        (lambda value: read_whole("n", value, 1, "1"), 2.5),
        (lambda value: read_whole("n", value, 1, "1"), True),
        (lambda value: read_whole("n", value, 1, "1"), math.nan),
        (lambda value: read_choice("mode", value, ("serial", "subagent")), "parallel"),
        (read_session_id, "42"),
        (lambda value: read_text("content", value, "x"), "half \ud800 a character"),
        (lambda value: read_list("tags", value, "x"), ["\ud800"]),
        (lambda value: read_list("tags", value, "x"), '["a", '),
        (lambda value: read_mapping("overrides", value, "x"), {"serial": {"default_lenses": ["\udfff"]}}),
    ],
)
def test_what_cannot_be_read_is_asked_about(reader: Any, value: object) -> None:
    with pytest.raises(Unclear):
        reader(value)


NONSENSE: dict[str, object] = {
    "none": None,
    "empty": "",
    "blank": " \n\t",
    "number": 3.7,
    "infinity": math.inf,
    "nan": math.nan,
    "huge": 10**400,
    "true": True,
    "list": [1, [2], {"a": None}],
    "object": {"a": {"b": []}},
    "open object": '{"a": ',
    "open list": '["a", ',
    "deep": "[" * 5000,
    "surrogate": "\ud800",
    "surrogate inside": {"a": "\udfff"},
    "null character": "a\x00b",
    "braces": "{question} {0} {} %s",
    "long": "x" * 200_000,
    "bytes": b"\xff\xfe",
    "instance": object(),
    "emoji": "🌲" * 50,
    "path": "../../etc/passwd",
}
PARAMETERS = [
    (name, parameter)
    for group in ("tools", "autopilot")
    for name, card in tool_cards(group).items()
    for parameter in card.parameters
]
READY = {
    "question": "Why?",
    "content": "A text.",
    "text": "A critique.",
    "new_content": "Another text.",
    "candidate": "A candidate.",
    "scores": dict.fromkeys(DIMENSIONS, 0.5),
    "mode": "serial",
    "new_path": "/elsewhere/a.json",
    "session_json": "{}",
}
BEFORE = {
    "submit_critique": ["critique_current_thought"],
    "refine_current_thought": ["critique_current_thought", "submit_critique"],
    "score_current_thought": ["critique_current_thought", "submit_critique", "refine_current_thought"],
}


def prepared(desk: Deliberation, name: str) -> str:
    """Return a session in which the tool could succeed."""
    by_specialists = "subagent" in name or name == "inspect_utility_matrix"
    session_id = str(desk.start_session("Why?", "subagent" if by_specialists else "serial")["session_id"])
    if by_specialists and not name.startswith(("begin", "run")):
        desk.begin_subagent_thought(session_id)
    elif name in BEFORE or name in ("critique_current_thought", "commit_thought"):
        desk.begin_thought(session_id, "A text.")
        for step in BEFORE.get(name, []):
            card = tool_cards()[step].parameters
            desk.call(
                step,
                {
                    "session_id": session_id,
                    **{key: READY[key] for key in card if key in READY and key != "scores"},
                },
            )
    return session_id


@pytest.mark.requirement("deliberation:input:matrix")
@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_every_tool_answers_nonsense_in_every_parameter_with_a_directive(
    build: Any, name: str, parameter: str
) -> None:
    for kind, nonsense in NONSENSE.items():
        try:
            answers_nonsense(build, name, parameter, nonsense)
        except AssertionError as fault:
            raise AssertionError(f"{name}({parameter}={kind})") from fault


def answers_nonsense(build: Any, name: str, parameter: str, nonsense: object) -> None:
    """Call a tool that could succeed with nonsense in one parameter, and check what it answers."""
    desk = build({"autopilot": {"enabled": True}})
    session_id = prepared(desk, name)
    card = (tool_cards() | tool_cards("autopilot"))[name].parameters
    arguments: dict[str, object] = {key: READY[key] for key in card if key in READY}
    if "session_id" in card:
        arguments["session_id"] = session_id
    arguments[parameter] = nonsense
    reply = desk.call(name, arguments)
    json.dumps(reply, allow_nan=False).encode("utf-8")
    assert isinstance(reply["message"], str)
    assert len(reply["message"]) < 2_000
    assert reply.get("code") not in ("internal_error", "unknown_tool")
    if not reply["ok"]:
        assert reply["code"]
        assert reply["next_tool"]
        if reply["code"] == "retry_with_clarification":
            assert reply["parameter"] == parameter
            assert reply["shape"]
            assert reply["example"]
    assert desk.next_action(session_id)["ok"] or desk.next_action(session_id)["code"] == "session_not_found"
    exported = desk.export_session(session_id)
    if exported["ok"]:
        assert desk.import_session(exported["session_json"])["ok"], "what is stored can be read again"


@pytest.mark.requirement("deliberation:input:matrix")
def test_missing_unknown_and_surplus_arguments_are_asked_about(start: Any, desk: Deliberation) -> None:
    session_id = start()
    missing = desk.call("begin_thought", {"session_id": session_id})
    assert (missing["code"], missing["parameter"]) == ("retry_with_clarification", "content")
    unknown = desk.call("begin_thought", {"session_id": session_id, "contents": "x"})
    assert (unknown["parameter"], "content" in unknown["message"]) == ("contents", True)
    assert desk.begin_thought(session_id, "x", None, None, "y")["code"] == "retry_with_clarification"
    assert desk.call("begin_thought", {})["parameter"] == "session_id"
    assert desk.call("begin_though")["message"].endswith("Did you mean begin_thought?")


@pytest.mark.requirement("deliberation:input:matrix")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(tool_cards())),
    arguments=st.dictionaries(
        st.sampled_from(sorted({parameter for _, parameter in PARAMETERS})),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.binary(max_size=20),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
            max_leaves=8,
        ),
        max_size=4,
    ),
)
def test_no_arguments_whatever_make_a_tool_raise(build: Any, name: str, arguments: dict[str, object]) -> None:
    desk = build()
    session_id = desk.start_session("Why?", "serial")["session_id"]
    arguments.setdefault("session_id", session_id)
    reply = desk.call(name, arguments)
    assert reply["message"]
    assert reply.get("code") != "internal_error", reply
    json.dumps(reply, allow_nan=False)
