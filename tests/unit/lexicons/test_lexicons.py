"""Hedges, skipped derivations and deferrals: what is missed, and what is a false alarm."""

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.data import data_path
from treewright.explore.rules.lexicon import KINDS, LANGUAGES, LexiconKind, base_language, find

CASES = {
    language: tomllib.loads(
        (Path(__file__).parent / "cases" / f"{language}.toml").read_text(encoding="utf-8")
    )
    for language in LANGUAGES
}


def phrases(text: str, kind: LexiconKind, language: str = "en") -> list[str]:
    return [hit.phrase for hit in find(kind, text, language)]


@pytest.mark.requirement("presets:lexicons:misses", "exploration:rules:lexicons-nine-languages")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_ordinary_prose_that_breaks_the_rule_is_found(language: str, kind: LexiconKind) -> None:
    assert [text for text in CASES[language][kind]["found"] if not find(kind, text, language)] == []


@pytest.mark.requirement("presets:lexicons:false-alarms", "exploration:rules:lexicons-skip-quoted")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_that_only_looks_like_it_is_left_alone(language: str, kind: LexiconKind) -> None:
    left = {text: phrases(text, kind, language) for text in CASES[language][kind]["left"]}
    assert {text: found for text, found in left.items() if found} == {}


@pytest.mark.requirement("presets:lexicons:false-alarms")
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_breaks_one_rule_is_not_told_as_another(language: str) -> None:
    for kind in KINDS:
        for text in CASES[language][kind]["found"]:
            others = {other: phrases(text, other, language) for other in KINDS if other != kind}
            assert not any(others.values()), (text, others)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_lexicon_names_its_language_and_every_phrase_of_it_is_found(language: str) -> None:
    book = tomllib.loads(data_path("lexicons", f"{language}.toml").read_text(encoding="utf-8"))
    assert book["language"] == language
    for kind in KINDS:
        table = book[kind]
        listed = [*table.get("phrases", []), *table.get("exact", [])]
        assert len(set(listed)) == len(listed)
        missed = [phrase for phrase in listed if not find(kind, f"… {phrase} …", language)]
        assert missed == []
        for pattern in table.get("exception_patterns", []):
            re.compile(pattern)


def test_the_english_lexicon_applies_beside_the_run_s_own_and_others_do_not() -> None:
    text = "Das ist probably so. Quizás nicht. 大概。"
    assert phrases(text, "hedge", "de") == ["probably"]
    assert phrases(text, "hedge", "zh") == ["probably", "大概"]


@pytest.mark.parametrize(
    ("tag", "base"),
    [("zh-Hant", "zh"), ("pt_BR", "pt"), ("DE", "de"), ("nl", "en"), ("", "en"), (" ja ", "ja")],
)
def test_a_tag_is_reduced_to_the_language_of_its_lexicon(tag: str, base: str) -> None:
    assert base_language(tag) == base


def test_a_hit_is_the_place_of_the_phrase_as_written() -> None:
    text = "İ 😀 I\n  BELIEVE it is PROBABLY so."
    hits = find("hedge", text)
    assert [text[h.start : h.end] for h in hits] == [h.phrase for h in hits] == ["I\n  BELIEVE", "PROBABLY"]


def test_overlapping_phrases_are_told_once() -> None:
    assert phrases("It is obvious that it is clear that x.", "skip") == ["obvious", "it is clear that"]
    assert phrases("Further research is needed in future work.", "deferral") == [
        "Further research is needed",
        "future work",
    ]


@pytest.mark.requirement("exploration:rules:lexicons-skip-quoted")
@pytest.mark.parametrize(
    "text",
    [
        "`TODO`", "``a ` TODO``", "\"TODO\"", "“TODO”", "„TODO“", "«TODO»", "»TODO«", "‹TODO›", "「TODO」", "『TODO』", "《TODO》", "'TODO x'",
        "‘TODO’", "TODO_x", "x.TODO", "TODO.md", "a/TODO.md:3-4", "./TODO", "TODO()", "@TODO", "#TODO", "https://x.org/TODO", "[TODO_LATER]",
        "\"two\nlines TODO\"", "\n```\nTODO\n```\n", "\n~~~py\nTODO\n~~~\n", "\n```\nTODO", "\n> TODO\n",
    ],
)  # fmt: skip
def test_quotations_code_paths_and_identifiers_do_not_count(text: str) -> None:
    assert phrases(f"It holds {text}", "deferral") == []


@pytest.mark.parametrize(
    "text",
    [
        "the reviewer's list, TODO, isn't done", "others' TODO is the users' own", "5\" wide TODO", "\"a\" TODO \"b\"", "`a` TODO `b`", "「a」TODO「b」",
        "```\nx\n```\nTODO", "\"open TODO\n\nnext", "> quoted\n\nTODO", "and/or TODO", "TODO: x", "(TODO)", "**TODO**", "它是TODO。",
    ],
)  # fmt: skip
def test_what_stands_beside_a_quotation_does_count(text: str) -> None:
    assert phrases(text, "deferral") == ["TODO"]


@given(st.text(max_size=200), st.sampled_from(KINDS), st.sampled_from(LANGUAGES))
def test_hits_lie_in_the_text_in_order_and_apart(text: str, kind: LexiconKind, language: str) -> None:
    hits = find(kind, text + " probably obvious TODO " + text, language)
    assert all(
        text_end <= after.start for text_end, after in zip((h.end for h in hits), hits[1:], strict=False)
    )
    assert all(h.phrase and h.end - h.start == len(h.phrase) for h in hits)


@given(st.sampled_from(["`", '"', "“", "「", ">", "```\n", "'", "x/", "."]), st.integers(1, 3000))
def test_no_text_takes_long(piece: str, times: int) -> None:
    find("deferral", piece * times + " TODO", "en")


@pytest.mark.requirement("presets:lexicons:fast")
@pytest.mark.parametrize("language", ["en", "zh", "ru"])
def test_a_hundred_thousand_fields_take_seconds(language: str) -> None:
    text = (
        "The loader reads the whole file at config.py:31 and hands each row to the parser, which raises on an empty one. "
        * 2
    )
    for kind in KINDS:
        find(kind, text, language)
    started = time.process_time()
    for _ in range(1000):
        for kind in KINDS:
            find(kind, text, language)
    assert (time.process_time() - started) * 100 < 30, "seconds for 100,000 fields"
