"""Proven edits: a recipe's change is offered only when the changed file parses and no longer has the finding."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace as changed_copy

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Edit, Finding
from treewright.performers.static.python.analyse import analyse
from treewright.performers.static.python.fixes import blocks, bounds, calls, rights, statements, values, wraps
from treewright.performers.static.python.fixes.change import RECIPES, Change, RawEdit, apply, import_edits
from treewright.performers.static.python.source import FUNCTIONS, Fault, Source, parse

Judge = Callable[[dict[str, FileFacts]], list[Finding]]
"""Turns facts into findings; must not mend."""
_LOADED = (bounds, calls, statements, wraps, values, blocks, rights)
_OPEN = frozenset({"CONFIRMED", "MARGINAL"})
_WORK = 400_000
"""Lines that proving edits may analyse in one audit beside three times the project; counted in lines, not in seconds, so that
the same code always gets the same edits."""


class Mender:
    """Finds and proves edits for the findings of one audit.

    Args:
        facts: of every file. texts: of every file. libraries: which files others import.
        roots: first names of the project's modules. judge: facts to findings.
    """

    def __init__(
        self,
        facts: dict[str, FileFacts],
        texts: dict[str, str],
        libraries: dict[str, bool],
        roots: frozenset[str],
        judge: Judge,
    ) -> None:
        self.facts, self.texts, self.libraries, self.roots, self.judge = facts, texts, libraries, roots, judge
        self.parsed: dict[str, Source | Fault] = {}
        self.alone: dict[str, Counter[tuple[str, str]]] = {}
        self.together: Counter[tuple[str, str]] | None = None
        self.size = sum(file.lines for file in facts.values())
        self.work = _WORK + 3 * self.size
        self.imported = frozenset(
            name.partition(".")[0] for file in facts.values() for _, name, _ in file.imports
        )
        self.nodes: dict[str, dict[int, list[ast.AST]]] = {}

    def mend(self, finding: Finding, given: Change | None) -> None:
        """Give a finding its edits, if some can be proven.

        Args:
            given: what the check that found it proposes, or None.
        """
        path = finding.position.path
        source = self._source(path)
        if not isinstance(source, Source) or finding.place is None:
            return
        for change in self._candidates(source, finding, given):
            edits = [*change.edits, *import_edits(source, change.imports)]
            edits = _merged(edits)
            text = self._applied(path, edits)
            if text is not None and self._clears(finding, path, text):
                finding.edits = [_edit(path, source.lines, edit) for edit in edits]
                finding.edits_verified = True
                finding.scores = changed_copy(finding.scores, fixability=3)
                return

    def _source(self, path: str) -> Source | Fault:
        if path not in self.parsed:
            found = self.parsed[path] = parse(path, self.facts[path].module, self.texts[path])
            if isinstance(found, Source):
                found.drivers = self.imported
        return self.parsed[path]

    def _candidates(self, source: Source, finding: Finding, given: Change | None) -> Iterator[Change]:
        if given is not None and given.edits:
            yield given
        recipes = RECIPES.get(finding.rule, ())
        if not recipes:
            return
        for node in self._nodes_at(source, finding):
            for make in recipes:
                change = make(source, node)
                if change is not None and change.edits:
                    yield change

    def _nodes_at(self, source: Source, finding: Finding) -> list[ast.AST]:
        """The nodes that begin and end exactly where the finding stands, outermost first."""
        line, end, column, end_column = finding.place or (0, 0, 0, 0)
        path = finding.position.path
        if path not in self.nodes:
            by_line = self.nodes[path] = {}
            for node in source.parents:
                if hasattr(node, "lineno"):
                    by_line.setdefault(node.lineno, []).append(node)
        found = []
        for node in self.nodes[path].get(line, ()):
            if getattr(node, "end_lineno", None) == end:
                place = source.place(node)
                if (place.column, place.end_column) == (column, end_column):
                    found.append(node)
        if found:
            return found
        # Some findings stand at the head of a function.
        return [
            node
            for node in self.nodes[path].get(line, ())
            if isinstance(node, FUNCTIONS) and node.col_offset == column
        ]

    def _applied(self, path: str, edits: list[RawEdit]) -> str | None:
        """The text after the edits, or None when they do not fit or the result does not parse."""
        try:
            text = apply(self.texts[path], Change(edits))
            ast.parse(text.replace("\r\n", "\n"))
        except (SyntaxError, ValueError, IndexError):
            return None
        return text if text != self.texts[path] else None

    def _clears(self, finding: Finding, path: str, text: str) -> bool:
        """Analyse the changed file again: the finding is gone and no other has come."""
        self.work -= self.facts[path].lines
        if self.work < 0:
            return False
        new = analyse(path, text, "", self.roots, self.libraries[path])
        if new.fault:
            return False
        key = (finding.rule, finding.symbol)
        before = self.alone.get(path)
        if before is None:
            before = self.alone[path] = _count(self.judge({path: self.facts[path]}))
        if before[key]:
            after = _count(self.judge({path: new}))
        else:  # the way begins in another file
            if self.together is None:
                self.together = _count(self.judge(self.facts))
            before = self.together
            self.work -= self.size
            after = _count(self.judge({**self.facts, path: new}))
        grown = [one for one in after if after[one] > before[one]]
        return after[key] < before[key] and not grown


def _count(findings: list[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.rule, finding.symbol) for finding in findings if finding.verdict in _OPEN)


def _merged(edits: list[RawEdit]) -> list[RawEdit]:
    """Insertions at the same place as one; edits in order."""
    found: dict[tuple[int, int, int, int], str] = {}
    for start, column, end, end_column, new in edits:
        place = (start, column, end, end_column)
        found[place] = found[place] + new if place in found and place[:2] == place[2:] else new
    return sorted((*place, new) for place, new in found.items())


def _edit(path: str, lines: list[str], edit: RawEdit) -> Edit:
    start, column, end, end_column, new = edit
    padded = [*lines, ""]
    rows = padded[start - 1 : end]
    old = (
        rows[0][column:end_column]
        if start == end
        else "\n".join([rows[0][column:], *rows[1:-1], rows[-1][:end_column]])
    )
    return Edit(path, start, column, end, end_column, old, new)
