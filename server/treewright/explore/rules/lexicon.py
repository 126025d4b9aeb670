"""Finds hedges, skipped derivations and deferrals in prose, in nine languages (contract: exploration, 2).

The words are data: `data/lexicons/<language>.toml`. What is quoted or is code does not count: fenced and inline
code, quotation marks of every shipped language, block quotes, addresses, paths, places such as `a.py:3`,
identifiers and tags such as `[NEEDS_VERIFICATION]`. Auditing a file that holds `TODO` is no deferral.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from treewright.data import data_path

LexiconKind = Literal["hedge", "skip", "deferral"]
KINDS: tuple[LexiconKind, ...] = ("hedge", "skip", "deferral")
LANGUAGES = ("en", "zh", "ja", "ko", "es", "fr", "de", "pt", "ru")

# Latin and Cyrillic letters only: in mixed text a word may stand right beside a Chinese character, which
# `\b` would take for the same word.
_WORD = "0-9A-Za-z_\u00c0-\u024f\u0400-\u04ff"

_PROTECTED = re.compile(
    r"""
      ^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ ]{0,3}(?P=fence)[`~]*[ ]*(?:\n|\Z)
    | ^[ ]{0,3}(?:`{3,}|~{3,})[^\n]*\n.*\Z
    | (?P<ticks>`+)(?!`)(?:(?!\n[ ]*\n).)+?(?<!`)(?P=ticks)(?!`)
    | ^[ ]{0,3}>[^\n]*
    | https?://[^\s<>"]+
    | "(?:[^"\n]|\n(?![ ]*\n))*"
    | “[^”]*” | „[^“”]*[“”] | «[^»]*» | »[^«]*« | ‹[^›]*›
    | 「[^」]*」 | 『[^』]*』 | 《[^》]*》 | ‘[^’\n]*’(?![a-zA-Z])
    | (?<![0-9A-Za-z_])'(?=\S)[^'\n]*(?:'[a-zA-Z][^'\n]*)*(?<=\S)'(?![0-9A-Za-z_])
    | \[[A-Z][A-Z_]+(?:=[^\]\n]*)?\]
    | (?<![0-9A-Za-z_])(?:[~.]{0,2}/)?(?:[0-9A-Za-z_.@-]+[/\\])*[0-9A-Za-z_@-]+\.[A-Za-z][0-9A-Za-z_.]*
      (?::\d+(?:-\d+)?)?(?:\(\))?
    | (?<![0-9A-Za-z_])[~.]{0,2}/(?:[0-9A-Za-z_.@-]+/?)+
    | (?<![0-9A-Za-z_])(?:[0-9A-Za-z_.@-]+/){2,}[0-9A-Za-z_.@-]*
    | [0-9A-Za-z]*_[0-9A-Za-z_]+(?:\(\))?
    | (?<![0-9A-Za-z_])(?:[a-z][a-z0-9]*[A-Z][0-9A-Za-z]*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)
    | [0-9A-Za-z_]+\(\) | (?<![0-9A-Za-z_\u00c0-\u024f\u0400-\u04ff-])--?[a-z][a-z0-9-]+ | [@\#$][A-Za-z][0-9A-Za-z_-]*
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase that breaks a rule: `text[start:end]`, as it stands in the text."""

    start: int
    end: int
    phrase: str


@dataclass(frozen=True, slots=True)
class _Matcher:
    """The words of one kind and one language, the English ones included.

    Attributes:
        by_stem: a piece of text that a phrase cannot do without, to the pattern of all phrases with that piece. Most
            texts hold no stem at all, and a search for a piece of text is far cheaper than a pattern.
        exact: the phrases that count only as written, likewise.
        exceptions: wordings that contain a phrase and break no rule.
    """

    by_stem: dict[str, re.Pattern[str]]
    exact: dict[str, re.Pattern[str]]
    exceptions: re.Pattern[str] | None


def find(kind: LexiconKind, text: str, language: str = "en") -> list[Hit]:
    """Return the phrases of a kind, in the order of the text and without overlaps.

    Args:
        kind: `hedge` (F1), `skip` (F3) or `deferral` (F8).
        text: prose, Markdown allowed.
        language: the run's output language, a tag such as `de` or `pt-BR`; its lexicon and the English one apply.
            A language without a lexicon gets the English one alone.
    """
    return list(_found(kind, text, base_language(language)))


@lru_cache(maxsize=4096)
def _found(kind: LexiconKind, text: str, language: str) -> tuple[Hit, ...]:
    """Return the hits; kept, since nodes of one kind say the same in some of their fields."""
    matcher = _matcher(kind, language)
    low = _lower(text)
    spans = {
        match.span()
        for patterns, written in ((matcher.by_stem, low), (matcher.exact, text))
        for stem, pattern in patterns.items()
        if stem in written
        for match in pattern.finditer(written)
    }
    if not spans:
        return ()
    covered = [match.span() for match in _PROTECTED.finditer(text)]
    if matcher.exceptions:
        excused = [match.span() for match in matcher.exceptions.finditer(low)]
        spans = {span for span in spans if not any(e[0] <= span[0] and span[1] <= e[1] for e in excused)}
    kept = (span for span in spans if not any(c[0] < span[1] and span[0] < c[1] for c in covered))
    return tuple(Hit(start, end, text[start:end]) for start, end in _without_overlaps(kept))


def base_language(tag: str) -> str:
    """Return the lexicon's language for a tag: `zh` for `zh-Hant`, `en` where there is no lexicon."""
    base = re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]
    return base if base in LANGUAGES else "en"


def _without_overlaps(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order; of two that overlap, the longer one that starts first."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not out or start >= out[-1][1]:
            out.append((start, end))
    return out


def _lower(text: str) -> str:
    """Return the text in lower case with every character at its place, apostrophes made straight."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return low.replace("’", "'")


@cache
def _lexicon(language: str) -> dict[str, Any]:
    return tomllib.loads(data_path("lexicons", f"{language}.toml").read_text(encoding="utf-8"))


@cache
def _matcher(kind: LexiconKind, language: str) -> _Matcher:
    own = _lexicon(language)
    dropped = set(own[kind].get("not_from_en", ()))
    books = [(own, set[str]())] if language == "en" else [(own, set[str]()), (_lexicon("en"), dropped)]
    words, exact, exceptions = dict[str, list[str]](), dict[str, list[str]](), list[str]()
    for book, without in books:
        table, bounded = book[kind], book["boundaries"]
        for phrase in table.get("phrases", ()):
            if phrase not in without:
                words.setdefault(_stem(phrase), []).append(_phrase(phrase, bounded))
        for pattern in table.get("patterns", ()):
            for stem in pattern["needs"]:
                words.setdefault(stem, []).append(_bounded(pattern["match"]) if bounded else pattern["match"])
        for phrase in table.get("exact", ()):
            if phrase not in without:
                exact.setdefault(_stem(phrase), []).append(_phrase(phrase, True))
        exceptions += [_phrase(phrase, bounded) for phrase in table.get("exceptions", ())]
        exceptions += [f"(?:{pattern})" for pattern in table.get("exception_patterns", ())]
    return _Matcher(
        {stem: _any_of(patterns) for stem, patterns in words.items()},
        {stem: _any_of(patterns) for stem, patterns in exact.items()},
        _any_of(exceptions) if exceptions else None,
    )


def _stem(phrase: str) -> str:
    """Return the longest word of a phrase, which any text that holds the phrase holds too."""
    return max(phrase.split(), key=len)


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


def _phrase(phrase: str, bounded: bool) -> str:
    """Return the pattern of a phrase: any white space between words, words whole where the language has any."""
    pattern = r"\s+".join(re.escape(word) for word in phrase.split())
    return _bounded(pattern) if bounded else pattern


def _bounded(pattern: str) -> str:
    before = f"(?<![{_WORD}])" if re.match(r"\\?[\w(]", pattern) else ""
    after = f"(?![{_WORD}])" if re.search(r"[\w)]\Z", pattern) else ""
    return f"{before}(?:{pattern}){after}"
