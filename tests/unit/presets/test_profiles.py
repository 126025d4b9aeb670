"""Field profiles: sections, selection, and an order that relaxes nothing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.errors import PresetError
from treewright.presets.framings import LETTERS
from treewright.presets.loader import load_preset
from treewright.presets.profiles import (
    CITATIONS,
    Profile,
    find_profile,
    list_profiles,
    parse_profile,
    priority,
)

SAMPLE = (Path(__file__).parent / "samples" / "profile.md").read_text(encoding="utf-8")
AUDIT = load_preset("code-audit")


def profile(name: str = "security") -> Profile:
    found, warning = find_profile(name)
    assert found is not None, warning
    return found


@pytest.mark.requirement("exploration:profile:shipped")
@pytest.mark.parametrize("name", ["security", "distributed-systems", "data-science", "physics"])
def test_a_shipped_profile_weighs_dimensions_of_some_preset(name: str) -> None:
    found = profile(name)
    names = {
        d.name for p in ("brainstorm", "attack", "design", "code-audit") for d in load_preset(p).score_dims
    }
    assert found.weights.keys() <= names
    assert len(found.keywords) >= 10


@pytest.mark.requirement("exploration:profile:four-sections")
def test_the_four_sections_go_to_their_framings_and_to_the_citations() -> None:
    found, faults = parse_profile(SAMPLE, "sample.md")
    assert found is not None and faults == []
    notes = {
        letter: found.notes_for(letter) for letter in [*LETTERS, "X", CITATIONS] if found.notes_for(letter)
    }
    assert notes == {
        "C": "Concern.",
        "D": "Concern.",
        "I": "Consensus.",
        "J": "Failure.",
        "X": "Bar.",
        CITATIONS: "Bar.",
    }


@pytest.mark.requirement("exploration:profile:missing-warns")
def test_a_missing_profile_is_a_warning_that_names_the_nearest() -> None:
    found, warning = find_profile("secruity")
    assert found is None
    assert warning.startswith("[FIELD_PROFILE_NOT_FOUND]")
    assert "did you mean security?" in warning


@pytest.mark.requirement("exploration:profile:underscore")
def test_a_name_that_starts_with_an_underscore_cannot_be_selected(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "_mine.md").write_text(
        SAMPLE.replace("field: sample", "field: _mine"), encoding="utf-8"
    )
    for name in ("_template", "_mine"):
        found, warning = find_profile(name, tmp_path)
        assert found is None
        assert warning.startswith("[FIELD_PROFILE_NOT_FOUND]")
    assert not any(name.startswith("_") for name in list_profiles(tmp_path))


def test_a_profile_of_the_user_s_wins_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "security.md").write_text(SAMPLE.replace("field: sample", "field: security"), encoding="utf-8")
    found, _ = find_profile("security", tmp_path)
    assert found is not None and found.description == "A profile for tests."
    (folder / "security.md").write_text("nothing", encoding="utf-8")
    with pytest.raises(PresetError) as caught:
        find_profile("security", tmp_path)
    assert caught.value.code == "profile_invalid"


def test_a_name_cannot_leave_the_profiles_folder(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(SAMPLE, encoding="utf-8")
    assert find_profile("../x", tmp_path)[0] is None


def test_weighed_dimensions_and_keywords_raise_the_priority() -> None:
    low = dict.fromkeys(AUDIT.dim_keys(), 2)
    plain = priority(profile(), AUDIT, low, "The list is sorted twice.")
    assert priority(profile(), AUDIT, {**low, "S": 3}, "The list is sorted twice.") > plain
    assert priority(profile(), AUDIT, low, "An untrusted path allows traversal.") == plain + 1.0
    assert priority(profile(), AUDIT, {**low, "F": 3}, "The list is sorted twice.") == plain
    assert priority(None, AUDIT, low, "An untrusted path.") == 0.0


def test_a_keyword_starts_a_word() -> None:
    scores = dict.fromkeys(AUDIT.dim_keys(), 0)
    assert priority(profile(), AUDIT, scores, "Tokens leak.") == 0.5
    assert priority(profile(), AUDIT, scores, "The detoken step.") == 0.0


@pytest.mark.requirement("exploration:flow:profile-only-reorders")
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 3), min_size=5, max_size=5), st.text(max_size=40)), max_size=12
    )
)
def test_a_profile_reorders_the_frontier_and_neither_adds_nor_drops_a_node(
    nodes: list[tuple[list[int], str]],
) -> None:
    found = profile()
    by_key = [dict(zip(AUDIT.dim_keys(), scores, strict=True)) for scores, _ in nodes]
    values = [priority(found, AUDIT, scores, text) for scores, (_, text) in zip(by_key, nodes, strict=True)]
    assert all(0 <= value <= 5 for value in values)
    assert values == [
        priority(found, AUDIT, scores, text) for scores, (_, text) in zip(by_key, nodes, strict=True)
    ]
