"""Arguments as models write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.surfaces.mcp.cards import all_cards
from treewright.surfaces.mcp.directive import Correction
from treewright.surfaces.mcp.loose import read_arguments

CARDS = all_cards()


@pytest.mark.requirement("mcp:input:spellings")
@pytest.mark.parametrize(
    "key", ["max_branches", "maxBranches", "MaxBranches", "max-branches", "MAX_BRANCHES", "max branches"]
)
def test_either_spelling_of_a_key_is_taken(key: str) -> None:
    assert read_arguments(CARDS["tree_start"], {"preset": "design", key: 14}) == {
        "preset": "design",
        "max_branches": 14,
    }


@pytest.mark.requirement("mcp:input:spellings")
def test_names_that_callers_use_are_taken() -> None:
    found = read_arguments(
        CARDS["tree_start"], {"preset": "brainstorm", "topic": "caching", "model": "caller"}
    )
    assert found == {"preset": "brainstorm", "root": "caching", "performer": "caller"}


@pytest.mark.requirement("mcp:input:coerced")
@pytest.mark.parametrize(
    ("tool", "key", "value", "expected"),
    [
        ("tree_start", "rounds", "3", 3),
        ("tree_start", "rounds", " 3 ", 3),
        ("tree_start", "rounds", 3.0, 3),
        ("tree_start", "rounds", "3.0", 3),
        ("tree_start", "spend_cap_usd", "$0.50", 0.5),
        ("tree_start", "spend_cap_usd", "0.5 USD", 0.5),
        ("tree_start", "min_novelty_ratio", "15%", 0.15),
        ("tree_start", "no_grill", "false", False),
        ("tree_start", "no_grill", "False", False),
        ("tree_start", "no_grill", "no", False),
        ("tree_start", "no_grill", 0, False),
        ("tree_start", "no_grill", "true", True),
        ("tree_start", "no_grill", 1, True),
        ("tree_start", "focus", 3, "3"),
        ("tree_start", "focus", ["section 3"], "section 3"),
    ],
)
def test_strings_are_taken_for_numbers_and_booleans(tool: str, key: str, value: Any, expected: Any) -> None:
    found = read_arguments(CARDS[tool], {"preset": "attack", key: value})[key]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.requirement("mcp:input:coerced")
@pytest.mark.parametrize("value", ["a, b", ["a", "b"], '["a", "b"]', "a\nb", "- a\n- b", "a; b", "a，b"])
def test_lists_are_taken_in_every_form(value: Any) -> None:
    assert read_arguments(CARDS["tree_chain"], {"root": "x", "stages": value})["stages"] == ["a", "b"]


@pytest.mark.requirement("mcp:input:plain-text")
@pytest.mark.parametrize(
    "given",
    [
        "7f3a",
        {"run": "7f3a"},
        '{"run": "7f3a"}',
        '```json\n{"runId": "7f3a",}\n```',
        {"arguments": {"run": "7f3a"}},
        {"arguments": "7f3a"},
        {"input": '{"run_id": "7f3a"}'},
    ],
)
def test_arguments_may_be_json_or_plain_text(given: Any) -> None:
    assert read_arguments(CARDS["tree_next"], given) == {"run": "7f3a"}


@pytest.mark.requirement("mcp:input:plain-text")
def test_text_keeps_its_shape_where_shape_matters() -> None:
    code = "    x = 1\n\tif x:\n        pass\n"
    assert read_arguments(CARDS["kernel_exec"], {"code": code})["code"] == code


@pytest.mark.requirement("mcp:input:unknown")
def test_unknown_arguments_are_named_with_the_nearest_known_one() -> None:
    with pytest.raises(Correction) as fault:
        read_arguments(CARDS["tree_start"], {"preset": "design", "roundz": 3, "colour": "red"})
    assert "'roundz' (did you mean rounds?)" in fault.value.problem
    assert "'colour'" in fault.value.problem
    assert "preset, root?" in fault.value.shape


@pytest.mark.requirement("mcp:input:correction")
@pytest.mark.parametrize(
    ("tool", "given", "parameter"),
    [
        ("tree_start", {}, "preset"),
        ("tree_start", {"preset": ""}, "preset"),
        ("tree_start", {"preset": "design", "rounds": "many"}, "rounds"),
        ("tree_start", {"preset": "design", "rounds": -1}, "rounds"),
        ("tree_start", {"preset": "design", "rounds": 1.5}, "rounds"),
        ("tree_start", {"preset": "design", "rounds": "1e9"}, "rounds"),
        ("tree_start", {"preset": "design", "max_branches": 3}, "max_branches"),
        ("tree_start", {"preset": "design", "spend_cap_usd": float("nan")}, "spend_cap_usd"),
        ("tree_start", {"preset": "design", "spend_cap_usd": float("inf")}, "spend_cap_usd"),
        ("tree_start", {"preset": "design", "spend_cap_usd": True}, "spend_cap_usd"),
        ("tree_start", {"preset": "design", "no_grill": "perhaps"}, "no_grill"),
        ("tree_start", {"preset": {"a": 1, "b": 2}}, "preset"),
        ("tree_start", {"preset": "design\x00"}, "preset"),
        ("tree_start", {"preset": "design", "root": "half \ud83d"}, "root"),
        ("tree_start", {"preset": "design", "width": 10**40}, "width"),
        ("tree_children", {"run": "a", "sort": "colour"}, "sort"),
        ("tree_next", {"run": "a", "run_id": "b"}, "run"),
        ("list_presets", "hello", ""),
        ("search_start", {"checks": "assert f() == 1", "candidates": [1]}, "candidates"),
    ],
)
def test_what_cannot_be_read_is_asked_for_again(tool: str, given: Any, parameter: str) -> None:
    with pytest.raises(Correction) as fault:
        read_arguments(CARDS[tool], given)
    reply = fault.value.reply(tool)
    assert reply["parameter"] == parameter
    assert reply["code"] == "retry_with_clarification"
    assert reply["next_tool"] == tool
    assert reply["shape"]
    assert reply["message"].startswith(f"{tool}: ")


def test_empty_values_are_values_not_given() -> None:
    given = {"preset": "design", "root": None, "rounds": "", "lang": "  ", "out": None}
    assert read_arguments(CARDS["tree_start"], given) == {"preset": "design"}


def test_a_handle_stands_for_all_other_arguments() -> None:
    assert read_arguments(CARDS["kernel_exec"], {"handle": "a1"}) == {"handle": "a1"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_TOOLS = st.sampled_from([card for card in CARDS.values() if not card.loose])


@pytest.mark.requirement("mcp:input:correction")
@given(card=_TOOLS, given=_JSON, data=st.data())
def test_nonsense_is_read_or_asked_about_but_never_raises_anything_else(
    card: Any, given: Any, data: Any
) -> None:
    names = [parameter.name for parameter in card.parameters]
    shaped = data.draw(st.dictionaries(st.sampled_from(names or ["x"]), _JSON, max_size=4))
    for value in (given, shaped):
        try:
            found = read_arguments(card, value)
        except Correction as fault:
            assert fault.reply(card.name)["message"]
        else:
            assert set(found) <= {*names}
