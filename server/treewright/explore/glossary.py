"""The glossary step: the root's terms are settled with the project's own words before the root is written.

Contract: exploration, 3. Exact matches and aliases are settled silently; what is missing or ambiguous is asked once, with at most three
options and a recommendation; a term that the glossary itself defines in two ways stops the run for a decision.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from treewright.data import data_path
from treewright.errors import RunError
from treewright.tree.event import GlossarySettled
from treewright.tree.visible import visible

FALLBACK_SOURCES = ("FACTS.md", "glossary.md", "CLAUDE.md")
"""Looked for after the preset's own paths (contract: exploration, 3)."""
MOST_TERMS = 12
MOST_OPTIONS = 3

_HEADING = re.compile(r"^#{2,6}\s+(?P<term>[^#].*?)\s*#*$")
_BOLD = re.compile(r"^\s*(?:[-*+]\s+)?\*\*(?P<term>[^*]{2,80})\*\*\s*(?:[:：—–-]\s*)?(?P<meaning>.*)$")
_ITEM = re.compile(r"^\s*[-*+]\s+(?P<term>[^:：*`|]{2,60}?)\s*(?:[:：]|\s[—–]\s)\s*(?P<meaning>\S.*)$")
_ROW = re.compile(r"^\|\s*(?P<term>[^|]{2,80}?)\s*\|\s*(?P<meaning>[^|]+?)\s*\|")
_ALIASES = re.compile(
    r"[(（]?\b(?:also(?: known as| called)?|aka|alias(?:es)?|synonyms?|abbr\.?)\s*[:：]?\s*(?P<names>[^)）.;。]+)[)）.;。]?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A term as the glossary defines it."""

    term: str
    meaning: str
    line: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Something to be asked once.

    Attributes:
        term: the root's term.
        why: `missing` or `ambiguous`.
        options: at most three; the recommended one first.
    """

    term: str
    why: str
    options: tuple[str, ...]


@dataclass(slots=True)
class Settled:
    """A settled term.

    Attributes:
        term: as the root has it.
        how: `exact`, `alias`, `asked`, `recommended`.
        anchor: the glossary's term, or the term itself.
        meaning: from the glossary, or empty.
        line: in the source, 0 when it is not there.
        note: what was recommended and taken, for a run that asked nobody.
    """

    term: str
    how: str
    anchor: str
    meaning: str = ""
    line: int = 0
    note: str = ""
    options: list[str] = field(default_factory=list)


@cache
def _stop_words() -> frozenset[str]:
    table = tomllib.loads(data_path("glossary.toml").read_text(encoding="utf-8"))
    return frozenset(str(table["stop_words"]).split())


Ask = Callable[[Question], int | None]
"""Returns the chosen option's index, or None to take the recommendation."""


def read_glossary(text: str) -> list[Entry]:
    """Return the terms that a Markdown text defines: headings, bold terms, list items, table rows."""
    found: list[Entry] = []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line)
        match = heading or _BOLD.match(line) or _ITEM.match(line) or _ROW.match(line)
        if not match:
            continue
        term = match["term"].strip(" *`:：")
        if set(term) <= set("-: ") or len(term.split()) > 6:
            continue
        meaning = _following(lines, number) if heading else match["meaning"]
        names = _ALIASES.search(meaning)
        aliases = (
            tuple(a.strip(" `*\"'") for a in re.split(r"[,，、/]|\bor\b", names["names"])) if names else ()
        )
        found.append(Entry(term, meaning.strip(), number, tuple(a for a in aliases if a)))
    return found


def _following(lines: Sequence[str], number: int) -> str:
    for line in lines[number : number + 4]:
        if line.strip():
            return "" if line.startswith("#") else line.strip()
    return ""


def root_terms(text: str) -> list[str]:
    """Return a root's multi-word technical terms, the most frequent first, at most `MOST_TERMS`."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for sentence in re.split(r"[.,;:!?()\[\]{}\n\"“”]|\s-\s|\s—\s", text):
        run: list[str] = []
        for word in [*_WORD.findall(sentence), ""]:
            if word and word.casefold() not in _stop_words() and not word.isdigit():
                run.append(word)
                continue
            if 2 <= len(run) <= 4:
                phrase = " ".join(run)
                counts[phrase.casefold()] += 1
                shown.setdefault(phrase.casefold(), phrase)
            run = []
    return [shown[key] for key, _ in counts.most_common(MOST_TERMS)]


def settle_terms(terms: Sequence[str], entries: Sequence[Entry], ask: Ask | None = None) -> list[Settled]:
    """Settle each term.

    Args:
        terms: of the root.
        entries: of the glossary.
        ask: asks a person; None takes every recommendation and says so.

    Raises:
        RunError: `glossary_conflict` when the glossary defines a term of the root in two ways.
    """
    return [_settle(term, entries, ask) for term in terms]


def _settle(term: str, entries: Sequence[Entry], ask: Ask | None) -> Settled:
    exact = [entry for entry in entries if _same(entry.term, term)]
    meanings = {_plain(entry.meaning) for entry in exact if entry.meaning}
    if len(meanings) > 1:
        places = ", ".join(f"line {entry.line}" for entry in exact)
        raise RunError(
            "glossary_conflict",
            f"The glossary defines “{term}” in {len(meanings)} ways ({places}).",
            "Decide for one and mend the glossary, or skip the step with --no-grill.",
            {"term": term, "lines": [entry.line for entry in exact]},
        )
    if exact:
        return Settled(term, "exact", exact[0].term, exact[0].meaning, exact[0].line)
    aliased = [entry for entry in entries if any(_same(alias, term) for alias in entry.aliases)]
    if len(aliased) == 1:
        return Settled(term, "alias", aliased[0].term, aliased[0].meaning, aliased[0].line)
    return _asked(term, aliased or _near(term, entries), bool(aliased), ask)


def _asked(term: str, candidates: list[Entry], ambiguous: bool, ask: Ask | None) -> Settled:
    offered = candidates[: MOST_OPTIONS - 1]
    options = (*(entry.term for entry in offered), f"{term} (as used in the root)")
    if not ambiguous and not offered:
        why = "missing"
    else:
        why = "ambiguous" if len(offered) > 1 or ambiguous else "missing"
    # A near miss is a guess; only what the glossary itself calls an alias is recommended over the root's own words.
    order = options if ambiguous else (options[-1], *options[:-1])
    question = Question(term, why, order)
    chosen = ask(question) if ask else None
    index = chosen if chosen is not None and 0 <= chosen < len(order) else 0
    entry = next((e for e in offered if e.term == order[index]), None)
    how = "asked" if chosen is not None else "recommended"
    note = "" if how == "asked" else f"{why}; took the recommendation “{order[index]}”"
    if entry:
        return Settled(term, how, entry.term, entry.meaning, entry.line, note, list(order))
    return Settled(term, how, term, "", 0, note, list(order))


def _near(term: str, entries: Sequence[Entry]) -> list[Entry]:
    words = set(_plain(term).split())
    scored = [(len(words & set(_plain(entry.term).split())), entry) for entry in entries]
    return [entry for score, entry in sorted(scored, key=lambda pair: -pair[0]) if score * 2 >= len(words)]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _same(left: str, right: str) -> bool:
    a, b = _plain(left), _plain(right)
    return bool(a) and (a == b or a.rstrip("s") == b.rstrip("s"))


def settled_event(source: str, settled: Sequence[Settled]) -> GlossarySettled:
    """Return the event that records the step."""
    return GlossarySettled(
        source=source,
        terms=[
            {
                "term": s.term,
                "how": s.how,
                "anchor": s.anchor,
                "meaning": s.meaning,
                "line": s.line,
                "note": s.note,
                "options": s.options,
            }
            for s in settled
        ],
    )


def anchors_markdown(event: GlossarySettled) -> str:
    """Return `glossary-anchors.md`: file and line for each term."""
    if event.skipped:
        return "# Glossary anchors\n\nThe glossary step was skipped.\n"
    lines = [
        "# Glossary anchors",
        "",
        f"Source: {event.source or 'none was found; terms are used as the root uses them'}",
        "",
    ]
    for term in event.terms:
        place = f"{event.source}:{term['line']}" if term["line"] else "not in the glossary"
        lines.append(f"- **{term['term']}** → {term['anchor']} ({term['how']}, {place})")
        if term["meaning"]:
            lines.append(f"  {term['meaning']}")
        if term["note"]:
            lines.append(f"  {term['note']}")
    if not event.terms:
        lines.append("The root has no multi-word terms.")
    return visible("\n".join(lines)) + "\n"
