"""The 12 framings and X as data."""

import pytest

from treewright.errors import PresetError
from treewright.presets.framings import CROSS_CHECK, LETTERS, all_framings, framing
from treewright.presets.loader import load_preset

KINDS = {"topic", "artifact", "design-prompt", "code"}
TITLES = (
    "First principles, Inversion, Cross-disciplinary, Adversarial, Constraint variation, Scale, Substitution, "
    "Office hours, Contrarian, Failure-driven, High-risk asymmetric, Self-audit"
)


@pytest.mark.requirement("exploration:framings:twelve-as-data")
def test_there_are_twelve_in_order_each_with_its_five_parts() -> None:
    found = all_framings()
    assert "".join(f.letter for f in found) == LETTERS
    assert ", ".join(f.title for f in found) == TITLES
    for each in (*found, framing(CROSS_CHECK)):
        assert set(each.look_for) == KINDS
        assert each.purpose and each.prompt and each.output and each.failure_modes


@pytest.mark.requirement("presets:framings:output-requirements")
@pytest.mark.parametrize(
    ("letter", "listed", "listed_as", "children"),
    [
        ("C", 3, "fields", 1),
        ("D", 3, "counters", 1),
        ("E", 0, "", 2),
        ("H", 6, "questions", 1),
        ("I", 3, "consensuses", 1),
        ("J", 3, "failures", 1),
        ("K", 3, "candidates", 1),
        ("L", 7, "questions", 1),
        ("X", 0, "", 0),
    ],
)
def test_what_an_answer_must_bring_is_data(letter: str, listed: int, listed_as: str, children: int) -> None:
    due = framing(letter).requirement
    assert (due.listed, due.listed_as, due.children) == (listed, listed_as, children)


@pytest.mark.requirement("presets:framings:output-requirements")
def test_e_relaxes_and_tightens_and_only_k_is_high_risk_and_only_l_must_be_new() -> None:
    assert framing("E").requirement.labels == ("relax", "tighten")
    assert [f.letter for f in all_framings() if f.requirement.high_risk] == ["K"]
    assert [f.letter for f in all_framings() if f.requirement.new_branch] == ["L"]


@pytest.mark.requirement("exploration:framings:preset-notes")
def test_an_instruction_holds_what_this_preset_looks_for_and_its_note_and_no_other_s() -> None:
    attack, design = load_preset("attack"), load_preset("design")
    text = framing("K").instruction(attack)
    for part in (
        framing("K").prompt,
        framing("K").look_for["artifact"],
        attack.framing_notes["K"],
        framing("K").output,
    ):
        assert part in text
    assert design.framing_notes["K"] not in text
    assert framing("K").look_for["code"] not in text


def test_instructions_are_short_enough_for_a_small_model() -> None:
    for name in ("brainstorm", "attack", "design", "code-audit"):
        preset = load_preset(name)
        assert max(len(framing(letter).instruction(preset)) for letter in LETTERS + CROSS_CHECK) < 2600


@pytest.mark.parametrize("letter", ["", "a", "M", "AB"])
def test_an_unknown_letter_is_refused(letter: str) -> None:
    with pytest.raises(PresetError) as caught:
        framing(letter)
    assert caught.value.code == "framing_not_found"
