"""Columns in code points, UTF-16 units and bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.workspace.positions import LineIndex, Position, Units, column_at, units_before

UNITS: list[Units] = ["utf-8", "utf-16", "utf-32"]
ANY_TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n🙂é\u2028\x0c"), max_size=40
)


@pytest.mark.requirement("store:positions:utf16")
def test_two_emoji_before_a_place_count_two_utf16_units_each() -> None:
    assert column_at("🙂🙂x", 2) == 1
    assert column_at("🙂🙂x", 4) == 2
    assert units_before("🙂🙂x", 2) == 4


def test_letters_with_two_bytes_count_as_one_utf16_unit() -> None:
    line = "héllo wörld x"
    assert units_before(line, 12) == 12
    assert units_before(line, 12, "utf-8") == 14
    assert column_at(line, 14, "utf-8") == 12


def test_a_place_inside_a_character_is_its_start() -> None:
    assert column_at("a🙂b", 2, "utf-16") == 1
    assert [column_at("a🙂b", count, "utf-8") for count in range(7)] == [0, 1, 1, 1, 1, 2, 3]


def test_places_beyond_the_ends_are_the_ends() -> None:
    index = LineIndex("ab\ncd")
    assert index.offset(Position(0, 99), "utf-16") == 2
    assert index.offset(Position(9, 0), "utf-16") == 5
    assert index.offset(Position(-1, -1), "utf-16") == 0
    assert index.position(99) == Position(1, 2)
    assert index.position(-1) == Position(0, 0)


def test_lines_end_at_lf_crlf_and_cr_only() -> None:
    index = LineIndex("a\r\nb\rc\n\x0cd\u2028e\n")
    assert [index.line(number) for number in range(len(index))] == ["a", "b", "c", "\x0cd\u2028e", ""]
    assert index.position(2) == Position(0, 1), "between CR and LF is before both"
    for number in (-1, 5):
        with pytest.raises(IndexError):
            index.line(number)


@given(ANY_TEXT, st.sampled_from(UNITS))
def test_every_place_survives_the_way_to_the_editor_and_back(text: str, units: Units) -> None:
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        position = index.position(offset, units)
        back = index.offset(position, units)
        assert back == offset or text[back : offset + 1] == "\r\n"


@given(ANY_TEXT)
def test_utf16_columns_agree_with_the_codec(text: str) -> None:
    index = LineIndex(text)
    for number in range(len(index)):
        line = index.line(number)
        assert units_before(line, len(line)) == len(line.encode("utf-16-le")) // 2
        assert units_before(line, len(line), "utf-8") == len(line.encode())
