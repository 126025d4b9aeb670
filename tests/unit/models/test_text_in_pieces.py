"""Text that arrives in pieces comes out as if it had come whole; counts of tokens keep their order."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.models.classify import ThinkFilter, classify_sample, split_reasoning
from treewright.models.provider import Outcome
from treewright.models.sse import EventReader, TextJoiner, whole_characters
from treewright.models.tokens import tokens_about, tokens_at_least, tokens_at_most

LINES = st.lists(
    st.sampled_from(
        ["data: a", "data: 日本 🌳", ": ping", "event: x", "", "data:", "id: 1", "data: \u2028b"]
    ),
    max_size=12,
)


def pieces_of(raw, cuts):
    marks = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return [raw[start:end] for start, end in itertools.pairwise(marks)]


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 10_000), max_size=8))
@settings(deadline=None)
@pytest.mark.requirement("models:stream:split-anywhere")
def test_events_do_not_depend_on_where_the_bytes_were_split(lines, ending, cuts):
    raw = "".join(line + ending for line in lines).encode()
    whole, split = EventReader(), EventReader()
    expected = [*whole.feed(raw), *whole.finish()]
    found = [event for piece in pieces_of(raw, cuts) for event in split.feed(piece)]
    assert [*found, *split.finish()] == expected


def test_a_line_of_megabytes_in_small_chunks_is_read_in_reasonable_time():
    reader = EventReader()
    body = b"x" * (8 << 20)
    for start in range(0, len(body), 4096):
        assert list(reader.feed((b"data: " if start == 0 else b"") + body[start : start + 4096])) == []
    (event,) = reader.feed(b"\n\n")
    assert len(event.data) == 8 << 20


@given(st.text(), st.lists(st.integers(0, 1000), max_size=6))
def test_text_joined_from_halves_of_characters_is_whole(text, cuts):
    units = text.encode("utf-16-le", "surrogatepass")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    joiner = TextJoiner()
    shown = "".join(joiner.add(half) for half in halves)
    assert shown == joiner.text == whole_characters(text)
    joiner.text.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>a</think>b", "b"),
        ("  <THINK>\na < b</Think>\n\nb", "b"),
        ("<thinking>a</thinking>{}", "{}"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("plain </think> text", "plain </think> text"),
        ("< 3", "< 3"),
        ("<think>never closed", ""),
        ("", ""),
    ],
)
def test_a_leading_think_block_is_not_shown_however_it_is_cut(text, visible):
    for size in (1, 2, 3, 7, 100):
        shown = ThinkFilter()
        assert "".join(shown.feed(text[at : at + size]) for at in range(0, len(text), size)) == visible


def test_reasoning_is_separated_only_at_the_start():
    assert split_reasoning("<think>a</think><think>b</think>c") == ("c", "ab", False)
    assert split_reasoning('{"x": "</think>"}') == ('{"x": "</think>"}', "", False)
    assert split_reasoning("prompted open\n</think>\nc") == ("c", "prompted open\n", False)


@pytest.mark.parametrize("word", ["STOP", "End_Turn", "eos"])
def test_finish_words_are_known_in_any_letter_case(word):
    assert classify_sample("x", finish_reason=word, ended=True).outcome is Outcome.COMPLETE


@given(st.text(max_size=300))
def test_counts_of_tokens_keep_their_order(text):
    assert 0 <= tokens_at_least(text) <= tokens_at_most(text)
    assert bool(text) == bool(tokens_about(text))


def test_padding_is_not_taken_for_tokens_that_a_server_must_have_counted():
    assert tokens_at_least(" " * 50_000 + "=" * 50_000) == 0
    assert tokens_at_least("word " * 1000) == 1000
