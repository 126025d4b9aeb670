"""Changes that may clear a finding, made by recipes from its place; `proving` tells which of them do."""

import ast
from collections.abc import Iterator

from treewright.performers.static.facts import FileFacts, Place
from treewright.performers.static.finding import Edit, Finding
from treewright.performers.static.python.fixes import (
    blocks,
    bounds,
    calls,
    rights,
    statements,
    switches,
    values,
    wraps,
)
from treewright.performers.static.python.fixes.change import RECIPES, Change, RawEdit, apply, import_edits
from treewright.performers.static.python.source import DRIVERS, FUNCTIONS, Fault, Source, parse

_LOADED = (bounds, calls, statements, wraps, values, blocks, rights, switches)


class Mender:
    """Finds edits for the findings of one audit.

    Args:
        facts: of every file. texts: of every file.
    """

    def __init__(self, facts: dict[str, FileFacts], texts: dict[str, str]) -> None:
        self.facts, self.texts = facts, texts
        self.parsed: dict[str, Source | Fault] = {}
        imported = {name.partition(".")[0] for file in facts.values() for _, name, _ in file.imports}
        self.drivers = frozenset(imported & DRIVERS)
        self.nodes: dict[str, dict[int, list[ast.AST]]] = {}
        self.given: dict[str, dict[tuple[str, Place], Change]] = {}

    def rests_on(self) -> str:
        """The databases that the project uses: they decide how a statement's values are written."""
        return " ".join(sorted(self.drivers))

    def tries(self, finding: Finding) -> Iterator[tuple[str, list[Edit]]]:
        """Every change that recipes make of a finding, with the text after it; those that do not parse are left out."""
        path = finding.position.path
        source = self._source(path)
        if not isinstance(source, Source) or finding.place is None:
            return
        for change in self._candidates(source, finding, self._given(finding)):
            edits = _merged([*change.edits, *import_edits(source, change.imports)])
            text = self._applied(path, edits)
            if text is not None:
                yield text, [_edit(path, source.lines, edit) for edit in edits]

    def _given(self, finding: Finding) -> Change | None:
        """What the check that found it proposes."""
        path = finding.position.path
        if path not in self.given:
            self.given[path] = {
                (match.rule, match.place): Change(list(match.edits), list(match.imports))
                for match in reversed(self.facts[path].matches)
            }
        return self.given[path].get((finding.rule, Place(*finding.place))) if finding.place else None

    def _source(self, path: str) -> Source | Fault:
        if path not in self.parsed:
            found = self.parsed[path] = parse(path, self.facts[path].module, self.texts[path])
            if isinstance(found, Source):
                found.drivers = self.drivers
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
