"""From facts to findings, a file at a time, each kept with the questions to the project that it rests on."""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from treewright.performers.static.cache import FactsCache
from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Finding
from treewright.performers.static.judge import CONFIRMED, MARGINAL, REFUTED, Setting
from treewright.performers.static.link import Linker
from treewright.performers.static.project import Project, Query, Replaced
from treewright.performers.static.report import Lines, Reporter

Counts = Counter[tuple[str, str]]
"""How many findings of a rule stand open in a symbol."""
Rows = list[tuple[str, str, str]]
"""Questions with their answers: kind, of what, answer."""
_OPEN = frozenset({CONFIRMED, MARGINAL})
_SNIPPET_LINES = 80
_MOST = {REFUTED: 12, MARGINAL: 5}
"""Findings of one rule kept of one file; more of the same say nothing new."""
_MOST_REFUTED = 3
"""Refuted ones of a rule kept of one function."""


class Outcome(NamedTuple):
    """What a file's facts lead to, settled, and the questions that it rests on."""

    findings: list[Finding]
    rows: Rows
    counts: Counts


class Judge:
    """Judges the files of one project.

    Args:
        facts: by path. libraries: which files belong to packages that others import. lines: gives a file's lines.
        cache: outcomes of earlier audits; None keeps none.
    """

    def __init__(
        self, facts: dict[str, FileFacts], libraries: dict[str, bool], lines: Lines,
        cache: FactsCache | None = None,
    ) -> None:  # fmt: skip
        self.facts, self.libraries, self.lines = facts, libraries, lines
        self.cache = cache or FactsCache(None)
        self.project = Project(facts, self.identity)
        self.imported = _beginnings(name for file in facts.values() for _, name, _ in file.imports)
        self._linker = Linker(self.project)
        self._reporter = Reporter(self._linker, lines, self.setting)
        self._outcomes: dict[str, Outcome] = {}
        self._answers: dict[Query, str] = {}
        self._keys: dict[int, str] = {}

    def all(self) -> list[Finding]:
        """Every finding, the strongest first."""
        self.cache.expect("outcome", (self.key(file) for file in self.facts.values() if _speaks(file)))
        return ordered(f for path in self.facts for f in self.outcome(path).findings)

    def identity(self, file: FileFacts) -> str:
        """Changes whenever a file's facts may."""
        own = ",".join(sorted(name for name, yes in file.asked.items() if yes))
        return f"{file.path}\n{file.digest}\n{self.libraries.get(file.path, False)}\n{own}\n{file.decoding}"

    def key(self, file: FileFacts) -> str:
        """Changes whenever what one of these files alone contributes to its outcome may."""
        known = self._keys.get(id(file))
        if known is None:
            matches = hashlib.sha256(repr(file.matches).encode("utf-8", "surrogatepass")).hexdigest()
            known = self._keys[id(file)] = f"{self.identity(file)}\n{self.setting(file)}\n{matches}"
        return known

    def setting(self, file: FileFacts) -> Setting:
        """Where a file stands."""
        library = self.libraries.get(file.path, False)
        return Setting(library, file.is_test, snippet=not library and self._alone(file))

    def _alone(self, file: FileFacts) -> bool:
        """A short file without entry points of its own that no other file of the project imports."""
        if file.lines > _SNIPPET_LINES or any(function.entry_strength > 1 for function in file.functions):
            return False
        return file.module not in self.imported

    def outcome(self, path: str) -> Outcome:
        """What a file's facts lead to: as it was kept when every question still has its answer, else worked out."""
        found = self._outcomes.get(path)
        if found is None:
            file = self.facts[path]
            found = (self._kept(file) or self._made(file)) if _speaks(file) else Outcome([], [], Counter())
            self._outcomes[path] = found
        return found

    def _kept(self, file: FileFacts) -> Outcome | None:
        kept: Any = self.cache.get("outcome", self.key(file))
        if not isinstance(kept, tuple) or len(kept) != 2:
            return None
        findings, rows = kept
        return Outcome(findings, rows, _count(findings)) if self.holds(rows) else None

    def _made(self, file: FileFacts) -> Outcome:
        self._linker.forget()
        findings = settle(_findings(file, self._reporter))
        rows = self.rows(self._linker.asked)
        self.cache.put("outcome", self.key(file), (findings, rows))
        return Outcome(findings, rows, _count(findings))

    def rows(self, asked: Iterable[Query]) -> Rows:
        """Questions with the answers that this project gives."""
        return [(*query, self._answer(query)) for query in sorted(asked)]

    def holds(self, rows: Rows) -> bool:
        """Whether every question still has its answer."""
        return all(self._answer((kind, of)) == answer for kind, of, answer in rows)

    def _answer(self, query: Query) -> str:
        known = self._answers.get(query)
        if known is None:
            known = self._answers[query] = self.project.answer(query)
        return known

    def replaced(self, file: FileFacts) -> tuple[Counts, set[Query]]:
        """The open findings of one file if its facts were these, and what was asked for that.

        Args:
            file: its path is one of the project's. Quotes are not right, since they come from the file as it is.
        """
        linker = Linker(Replaced(self.project, file))
        found = settle(_findings(file, Reporter(linker, self.lines, self.setting)))
        return _count(found), linker.asked


def _speaks(file: FileFacts) -> bool:
    return bool(file.matches) or any(function.sinks for function in file.functions)


def _findings(file: FileFacts, reporter: Reporter) -> list[Finding]:
    found: list[Finding] = []
    for function in file.functions:
        for hit in function.sinks:
            one = reporter.of_sink(file, function, hit)
            if one is not None:
                found.append(one)
    symbols = Symbols(file)
    found.extend(reporter.of_match(file, symbols.at(match.place.line), match) for match in file.matches)
    return found


def _count(findings: Iterable[Finding]) -> Counts:
    return Counter((finding.rule, finding.symbol) for finding in findings if finding.verdict in _OPEN)


def _beginnings(names: Iterable[str]) -> set[str]:
    """Dotted names with every beginning of theirs."""
    found: set[str] = set()
    for name in names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(".")[0]
    return found


class Symbols:
    """Names the innermost function or class around a line.

    Args:
        file: whose definitions they are.
    """

    def __init__(self, file: FileFacts) -> None:
        self.module = f"{file.module}.<module>"
        by_size = sorted(file.definitions, key=lambda entry: entry.place.line - entry.place.end)
        self.starts: list[int] = []
        self.names: list[str] = []
        changes: dict[int, str] = {}
        open_ones: list[tuple[int, str]] = []
        for entry in sorted(by_size, key=lambda entry: entry.place.line):  # the wider one first on a line
            while open_ones and open_ones[-1][0] < entry.place.line:
                end, _ = open_ones.pop()
                changes[end + 1] = open_ones[-1][1] if open_ones else self.module
            open_ones.append((entry.place.end, entry.qualified))
            changes[entry.place.line] = entry.qualified
        while open_ones:
            end, _ = open_ones.pop()
            changes[end + 1] = open_ones[-1][1] if open_ones else self.module
        for line in sorted(changes):
            self.starts.append(line)
            self.names.append(changes[line])

    def at(self, line: int) -> str:
        """The name around a line, 1-based."""
        index = bisect_right(self.starts, line) - 1
        return self.names[index] if index >= 0 else self.module


def settle(findings: list[Finding]) -> list[Finding]:
    """Of one file: one finding a rule and line; a few refuted and marginal ones a rule."""
    chosen: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.position.start)
        known = chosen.get(key)
        if known is None or (known.verdict == REFUTED, -known.scores.total) > (
            finding.verdict == REFUTED,
            -finding.scores.total,
        ):
            chosen[key] = finding
    counts: Counter[tuple[str, ...]] = Counter()
    kept = []
    for finding in chosen.values():
        pair = (finding.verdict, finding.rule)
        if finding.verdict == REFUTED:
            counts[*pair, finding.symbol] += 1
            if counts[*pair, finding.symbol] > _MOST_REFUTED:
                continue
        counts[pair] += 1
        if counts[pair] <= _MOST.get(finding.verdict, counts[pair]):
            kept.append(finding)
    return kept


_ORDER = {CONFIRMED: 0, MARGINAL: 1, REFUTED: 2, "PRUNED": 3}


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The strongest first."""
    return sorted(
        findings,
        key=lambda f: (
            _ORDER[f.verdict],
            -f.scores.severity * f.scores.likelihood,
            -f.scores.total,
            f.position.path,
            f.position.start,
            f.rule,
        ),
    )
