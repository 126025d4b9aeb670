"""Completion and hover in presets, profiles, lenses and framings."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.presets.assist import complete, hover
from treewright.presets.preset_file import PRESET_SHAPE
from treewright.presets.validator import FileKind

SAMPLES = Path(__file__).parent / "samples"
TEXTS: dict[FileKind, str] = {
    kind: (SAMPLES / f"{kind}.md").read_text(encoding="utf-8")
    for kind in ("preset", "profile", "lens", "framing")
}  # type: ignore[misc]  # the four kinds are literals of FileKind


def at(text: str, kind: FileKind = "preset") -> list[str]:
    """Return the labels offered at the cursor, which is the mark ‸ in the text."""
    start, _, _ = text.partition("‸")
    line, column = start.count("\n") + 1, len(start) - (start.rfind("\n") + 1) + 1
    return [s.label for s in complete(kind, text.replace("‸", ""), line, column)]


def changed(old: str, new: str) -> str:
    assert TEXTS["preset"].count(old) == 1
    return TEXTS["preset"].replace(old, new)


@pytest.mark.requirement("presets:assist:completion")
@pytest.mark.parametrize(
    ("old", "new", "offered"),
    [
        ("use-when: Never.", "us‸", ["use-when"]),
        ("root_kind: artifact", "root_kind: ‸", ["topic", "artifact", "code", "design-prompt"]),
        ("root_kind: artifact", "root_kind: de‸", ["design-prompt"]),
        ("  blocked: WAIT", "  bl‸", ["blocked"]),
        ("  fix: remedy", "  fix: re‸", ["readings", "remedy"]),
        ("  fix: remedy", "  fi‸", ["fix"]),
        ("  more: {min_items: 0}", "  more: {m‸", ["min_items", "min_sentences", "must_cite", "must_have_steps"]),
        ("  more: {min_items: 0}", "  more: {min_items: 0, must_cite: ‸", ["true", "false"]),
        ("  more: {min_items: 0}", "  mo‸", ["more"]),
        ("    then: kept", "    then: ‸", ["advances", "kept", "pruned", "blocked"]),
        ("  - when: score_below", "  - when: ‸", ["defense_shown", "field_missing", "score_below"]),
        ("  - when: score_below", "  - wh‸", ["when"]),
        ("    dim: S", "    dim: ‸", ["S", "P", "R", "F", "B"]),
        ("  primary: yes-list.md", "  pri‸", ["primary"]),
        ("## Verdict detail", "## V‸", ["## Verdict detail"]),
        ("### K: the bold one", "### ‸", ["### B", "### C", "### D", "### E", "### F", "### G", "### H", "### I", "### J", "### K", "### L", "### X"]),
        ("Decide.", "Decide‸.", []),
    ],
)  # fmt: skip
def test_what_could_stand_at_the_cursor_is_offered(old: str, new: str, offered: list[str]) -> None:
    assert at(changed(old, new)) == offered


@pytest.mark.requirement("presets:assist:completion")
def test_an_empty_front_matter_is_offered_every_key_with_a_line_about_it() -> None:
    offered = complete("preset", "---\n\n---\n", 2, 1)
    assert [s.label for s in offered] == [*PRESET_SHAPE.required, *PRESET_SHAPE.optional]
    assert all(s.detail for s in offered)
    assert [s.insert for s in offered if s.label in ("name", "parts")] == ["name: ", "parts:"]


def test_other_kinds_are_offered_their_own_keys_and_sections() -> None:
    assert at("---\n‸\n---\n", "lens") == ["name", "attacks", "produces", "asks"]
    assert at("---\nfield: x\n‸\n---\n", "profile") == ["description", "keywords", "weights"]
    assert at("---\nfield: x\n---\n## E‸", "profile") == ["## Evidence bar"]
    assert at("---\nframing: ‸\n---\n", "framing") == list("ABCDEFGHIJKLX")
    assert at("# T‸", "page") == []


def test_while_the_front_matter_is_still_open_its_keys_are_offered() -> None:
    assert "root_kind" in at("---\nname: x\nroot‸")


@pytest.mark.requirement("presets:assist:hover")
@pytest.mark.parametrize(
    ("line", "column", "told"),
    [
        (2, 1, "The preset's name"),
        (2, 9, ""),
        (8, 4, "Label of nodes that are expanded again."),
        (14, 6, "1 to 3 letters"),
        (14, 14, "The dimension's name"),
        (39, 14, "List items that are due"),
        (47, 6, "`defense_shown`"),
        (1, 1, ""),
        (70, 1, ""),
        (999, 1, ""),
    ],
)
def test_a_key_is_explained_where_the_pointer_rests(line: int, column: int, told: str) -> None:
    found = hover("preset", TEXTS["preset"], line, column)
    assert found.startswith(told) and bool(found) == bool(told)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(TEXTS)),
    st.integers(0, 100),
    st.integers(0, 60),
    st.text(max_size=10),
    st.integers(0, 1500),
)
def test_no_place_and_no_text_makes_it_raise(
    kind: FileKind, line: int, column: int, noise: str, cut: int
) -> None:
    text = TEXTS[kind][:cut] + noise
    for suggestion in complete(kind, text, line, column):
        assert suggestion.typed <= max(column - 1, 0)
    hover(kind, text, line, column)
