"""What is shown cannot steer what shows it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from treewright.tree.visible import storable_name, visible, writable_as_text


def test_escapes_of_a_terminal_and_marks_of_direction_are_written_out() -> None:
    assert visible("a\x1b[31mb\x9bc\x7f") == "a\\u001b[31mb\\u009bc\\u007f"
    assert visible("if \u202eadmin\u2066") == "if \\u202eadmin\\u2066"


def test_letters_of_any_script_tabs_and_line_feeds_stay() -> None:
    text = "naïve\t日本語\n한국어 🙂"
    assert visible(text) == text


@given(st.text(st.characters(codec=None)))
def test_whatever_is_shown_can_be_encoded_and_holds_no_control_character(text: str) -> None:
    shown = visible(text)
    assert writable_as_text(shown)
    assert all(char in "\t\n" or ord(char) >= 32 for char in shown)
    assert visible(shown) == shown


@given(st.text())
def test_json_shown_is_the_same_json(text: str) -> None:
    assert json.loads(visible(json.dumps({"a": text}, ensure_ascii=False))) == {"a": text}


def test_a_name_that_could_forge_a_line_is_told_apart() -> None:
    assert storable_name("naïve 日本.py")
    assert not storable_name("a\n## D1.py")
    assert not storable_name("a\x1b.py")
    assert not storable_name("\udcff.py")
