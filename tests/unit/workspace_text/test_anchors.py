"""Anchors are right, stale or gone, never wrong: by example, and against a model that knows every line's identity."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.workspace.anchor_tracker import AnchorTracker, Edit
from treewright.workspace.anchors import (
    GONE,
    Anchor,
    AnchorState,
    Placement,
    locate,
    make_anchor,
    span,
)
from treewright.workspace.citations import same_up_to_space
from treewright.workspace.positions import LineIndex, Position

CODE = """import os


def load(name):
    path = os.path.join("data", name)
    return open(path).read()


def save(name, text):
    path = os.path.join("data", name)
    open(path, "w").write(text)
"""


def right(start: int, end: int | None = None) -> Placement:
    return Placement(AnchorState.RIGHT, start, end or start)


def tracked(text: str, line: int) -> AnchorTracker:
    return AnchorTracker(text, {"a": make_anchor(text, line, line)})


def replaced(text: str, old: str, new: str) -> Edit:
    start = text.index(old)
    return Edit(start, start + len(old), new)


# --- a text that was not followed ----------------------------------------------------------------------------


@pytest.mark.requirement("store:anchors:moves")
def test_a_finding_moves_with_its_text() -> None:
    anchor = make_anchor(CODE, 6, 6)
    assert locate(anchor, CODE) == right(6)
    assert locate(anchor, "# one\n# two\n" + CODE) == right(8)
    assert locate(anchor, CODE.replace("    return open", "\treturn  open")) == right(6)


@pytest.mark.requirement("store:anchors:gone")
def test_deleted_code_is_gone_even_when_an_equal_line_stands_elsewhere() -> None:
    anchor = make_anchor(CODE, 5, 5)
    assert (anchor.count, anchor.ordinal) == (2, 0)
    without = CODE.replace('    path = os.path.join("data", name)\n', "", 1)
    assert locate(anchor, without) == GONE


def test_equal_lines_are_told_apart_while_their_number_is_the_same() -> None:
    first, second = make_anchor(CODE, 5, 5), make_anchor(CODE, 10, 10)
    shifted = "# x\n" + CODE.replace("def load", "# y\ndef load")
    assert locate(first, shifted) == right(7)
    assert locate(second, shifted) == right(12)


@pytest.mark.requirement("store:anchors:stale")
def test_changed_code_between_unchanged_neighbours_is_stale() -> None:
    anchor = make_anchor(CODE, 6, 6)
    changed = CODE.replace("return open(path).read()", "return safe_open(path).read()")
    assert locate(anchor, changed).state is AnchorState.GONE, "its neighbour above is no unique line"
    unique = CODE.replace(
        '    path = os.path.join("data", name)\n    return', "    path = find(name)\n    return"
    )
    anchor = make_anchor(unique, 6, 6)
    changed = unique.replace("return open", "return safe_open")
    assert locate(anchor, changed) == Placement(AnchorState.STALE, 6, 6)


def test_an_anchor_needs_lines_that_exist_and_say_something() -> None:
    for start, end in [(0, 1), (2, 1), (1, 99), (2, 3)]:
        with pytest.raises(ValueError, match="lines"):
            make_anchor(CODE, start, end)


def test_columns_are_kept_through_a_change_of_indentation() -> None:
    text = "def f():\n    return eval(x) + 1\n"
    anchor = make_anchor(text, 2, 2, columns=(11, 18))
    assert span(anchor, locate(anchor, text), LineIndex(text)) == (Position(1, 11), Position(1, 18))
    moved = "class A:\n    def f():\n        return  eval(x) + 1\n"
    start, end = span(anchor, locate(anchor, moved), LineIndex(moved))
    assert moved.splitlines()[start.line][start.column : end.column] == "eval(x)"
    assert start.line == end.line == 2


def test_without_columns_a_finding_covers_the_text_of_its_lines() -> None:
    anchor = make_anchor(CODE, 5, 6)
    start, end = span(anchor, locate(anchor, CODE), LineIndex(CODE))
    assert (start, end) == (Position(4, 4), Position(5, 28))


# --- edit by edit ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:anchors:follow")
def test_lines_put_above_move_an_anchor_and_lines_below_do_not() -> None:
    tracker = tracked(CODE, 6)
    tracker.edit(Edit(0, 0, "# top\n"))
    tracker.edit(Edit(len(tracker.text), len(tracker.text), "# end\n"))
    assert tracker.placement("a") == right(7)


@pytest.mark.parametrize(
    ("line_start", "text", "moved"),
    [(True, "# above\n", 1), (True, "x = 1\n\n", 2), (False, "\n# below", 0), (False, "\n    more()\n", 0)],
)
def test_lines_put_directly_next_to_it_do_not_touch_an_anchor(
    line_start: bool, text: str, moved: int
) -> None:
    tracker = tracked(CODE, 6)
    index = LineIndex(CODE)
    at = index.start(5) if line_start else index.end(5)
    tracker.edit(Edit(at, at, text))
    assert tracker.placement("a") == right(6 + moved)


def test_typing_in_the_line_makes_it_stale_and_undoing_makes_it_right() -> None:
    tracker = tracked(CODE, 6)
    tracker.edit(replaced(tracker.text, "open(path).read()", "load(path).read()"))
    assert tracker.placement("a") == Placement(AnchorState.STALE, 6, 6)
    tracker.edit(Edit(0, 0, "\n"))
    assert tracker.placement("a") == Placement(AnchorState.STALE, 7, 7)
    tracker.edit(replaced(tracker.text, "load(path).read()", "open(path).read()"))
    assert tracker.placement("a") == right(7)


def test_a_stale_anchor_does_not_grow_over_lines_typed_behind_it() -> None:
    tracker = tracked(CODE, 6)
    tracker.edit(replaced(tracker.text, ".read()", ".readline()"))
    for _ in range(5):
        index = LineIndex(tracker.text)
        at = index.end(tracker.placement("a").end - 1)
        tracker.edit(Edit(at, at, "\n    more()"))
    assert tracker.placement("a") == Placement(AnchorState.STALE, 6, 6)


def test_joining_the_line_with_the_one_above_makes_it_stale() -> None:
    tracker = tracked(CODE, 6)
    tracker.edit(replaced(tracker.text, "\n    return", " return"))
    assert tracker.placement("a") == Placement(AnchorState.STALE, 5, 5)


def test_deleting_one_of_two_equal_lines_leaves_the_other_alone() -> None:
    text = "a()\nx()\nx()\nb()\n"
    tracker = AnchorTracker(text, {"first": make_anchor(text, 2, 2), "second": make_anchor(text, 3, 3)})
    tracker.edit(Edit(4, 8, ""))
    assert tracker.placement("first") == GONE
    assert tracker.placement("second") == right(2)


def test_cut_code_is_gone_and_right_again_where_it_is_pasted() -> None:
    tracker = tracked(CODE, 6)
    line = "    return open(path).read()\n"
    tracker.edit(replaced(tracker.text, line, ""))
    assert tracker.placement("a") == GONE
    tracker.edit(Edit(0, 0, line))
    assert tracker.placement("a") == right(1)


def test_code_pasted_where_its_equal_already_stands_is_not_taken_for_it() -> None:
    text = "a()\nx()\nb()\nx()\n"
    tracker = tracked(text, 2)
    tracker.edit(Edit(4, 8, ""))
    tracker.edit(Edit(8, 11, "y()"))
    tracker.edit(Edit(8, 11, "x()"))
    assert tracker.placement("a") == GONE


def test_replacing_the_whole_text_is_followed_as_the_edit_between_both() -> None:
    tracker = tracked(CODE, 6)
    tracker.replace("#!/usr/bin/env python\n" + CODE.replace("data", "files"))
    assert tracker.placement("a") == right(7)
    tracker.replace("")
    assert tracker.placement("a") == GONE
    tracker.replace(CODE)
    assert tracker.placement("a") == right(6)


def test_an_edit_outside_the_text_is_refused() -> None:
    tracker = tracked(CODE, 6)
    for edit in [Edit(-1, 0, ""), Edit(3, 2, ""), Edit(0, len(CODE) + 1, "")]:
        with pytest.raises(ValueError, match="outside"):
            tracker.edit(edit)
    assert tracker.placement("a") == right(6)


# --- the model ---------------------------------------------------------------------------------------------------

LINES = st.sampled_from(["x()", "y = 1", "    x()", "if a:", "return None", "é🙂", "", "}", "x() "])
TEXTS = st.lists(LINES, min_size=1, max_size=14)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def _random_edits(draw: st.DrawFn, size: int) -> list[tuple[float, float, str]]:
    count = draw(st.integers(1, 8))
    part = st.sampled_from(["", "z", "\n", "x()", "x()\n", "\n    x()\n", "y = 1\n}", "🙂", " "])
    ratio = st.floats(0, 1)
    return [(draw(ratio), draw(ratio), draw(part)) for _ in range(count)]


def _assert_honest(anchor: Anchor, text: str, placement: Placement) -> None:
    """Right means: the lines equal the quote up to white space, whatever happened."""
    if placement.state is AnchorState.GONE:
        assert placement == GONE
        return
    index = LineIndex(text)
    assert 1 <= placement.start <= placement.end <= len(index)
    lines = text[index.start(placement.start - 1) : index.end(placement.end - 1)]
    same = same_up_to_space(lines) == same_up_to_space(anchor.quote)
    assert same is (placement.state is AnchorState.RIGHT)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data(), ENDS)
@pytest.mark.requirement("store:anchors:never-wrong")
def test_whatever_is_edited_a_right_anchor_stands_on_its_quote(
    lines: list[str], data: st.DataObject, end: str
) -> None:
    text = end.join([*lines, "last()"])
    anchors = {
        str(number): make_anchor(text, number, number)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    }
    tracker = AnchorTracker(text, anchors)
    for low, high, put in data.draw(_random_edits(len(text))):
        first, last = sorted((int(low * len(tracker.text)), int(high * len(tracker.text))))
        tracker.edit(Edit(first, last, put))
        for name, anchor in anchors.items():
            _assert_honest(anchor, tracker.text, tracker.placement(name))
            found = locate(anchor, tracker.text)
            assert found.state is not AnchorState.RIGHT or found == right(found.start, found.end)
            if found.state is AnchorState.RIGHT:
                _assert_honest(anchor, tracker.text, found)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_whole_lines_put_in_and_taken_out_are_followed_by_identity(
    lines: list[str], data: st.DataObject
) -> None:
    """Each line has an identity; an anchor is right at its own line while that is there, and gone after."""
    model = [(number, line) for number, line in enumerate([*lines, "last()"])]
    text = "".join(line + "\n" for _, line in model)
    anchors = {number: make_anchor(text, number + 1, number + 1) for number, line in model if line.strip()}
    tracker = AnchorTracker(text, {str(number): anchor for number, anchor in anchors.items()})
    for step in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(model)))
        start = sum(len(line) + 1 for _, line in model[:at])
        if data.draw(st.booleans()):
            tracker.edit(Edit(start, start, f"new{step}()\n"))
            model.insert(at, (-1, f"new{step}()"))
        else:
            until = data.draw(st.integers(at, min(at + 3, len(model))))
            tracker.edit(Edit(start, start + sum(len(line) + 1 for _, line in model[at:until]), ""))
            del model[at:until]
        where = {number: place for place, (number, _) in enumerate(model, start=1)}
        for number in anchors:
            wanted = right(where[number]) if number in where else GONE
            assert tracker.placement(str(number)) == wanted, (number, model)
