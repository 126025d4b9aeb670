"""Proven edits: a change is offered only when the changed file parses and the analysis no longer has the finding."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace as changed_copy

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Edit, Finding
from treewright.performers.static.javascript.analyse import analyse
from treewright.performers.static.javascript.fixes import RawEdit, candidates
from treewright.performers.static.javascript.source import Source, parse

Judge = Callable[[dict[str, FileFacts]], list[Finding]]
"""Turns facts into findings; must not mend."""
_OPEN = frozenset({"CONFIRMED", "MARGINAL"})
_TRIES = 6
_MOST = 30
"""Findings of one file that edits are searched for; each try analyses the file again."""


class Mender:
    """Finds and proves edits for the findings of one audit.

    Args:
        facts: of every file. texts: of every file. libraries: which files others import. judge: facts to findings.
    """

    def __init__(
        self, facts: dict[str, FileFacts], texts: dict[str, str], libraries: dict[str, bool], judge: Judge
    ) -> None:  # fmt: skip
        self.facts, self.texts, self.libraries, self.judge = facts, texts, libraries, judge
        self.parsed: dict[str, Source] = {}
        self.alone: dict[str, Counter[tuple[str, str]]] = {}
        self.whole: Counter[tuple[str, str]] | None = None

    def mend_all(self, findings: list[Finding]) -> None:
        """Give each finding its edits, if some can be proven."""
        count: Counter[str] = Counter()
        for finding in findings:
            path = finding.position.path
            count[path] += 1
            if count[path] <= _MOST and not path.endswith((".vue", ".svelte")):
                self.mend(finding)

    def mend(self, finding: Finding) -> None:
        """Give a finding its edits, if some can be proven."""
        path = finding.position.path
        source = self.parsed.get(path)
        if source is None:
            source = self.parsed[path] = parse(path, self.texts[path])
        in_page = not re.search(r"\brequire\(|module\.exports|\bexports\.|process\.|from ['\"](node:|express|koa|fastify|fs|crypto|http)", source.text)  # fmt: skip
        for number, edits in enumerate(candidates(source, finding, in_page)):
            if number >= _TRIES:
                return
            text = applied(self.texts[path], edits)
            if text != self.texts[path] and self._clears(finding, path, text, source):
                finding.edits = [_edit(path, source.lines, edit) for edit in sorted(edits)]
                finding.edits_verified = True
                finding.scores = changed_copy(finding.scores, fixability=3)
                return

    def _clears(self, finding: Finding, path: str, text: str, source: Source) -> bool:
        """Analyse the changed file again: the finding is gone and no other has come."""
        again = parse(path, text)
        if again.broken and not source.broken:
            return False
        new = analyse(path, text, "", self.libraries[path])
        key = (finding.rule, finding.symbol)
        before = self.alone.get(path)
        if before is None:
            before = self.alone[path] = _count(self.judge({path: self.facts[path]}))
        if before[key]:
            after = _count(self.judge({path: new}))
        else:  # the way begins in another file
            if self.whole is None:
                self.whole = _count(self.judge(self.facts))
            before = self.whole
            after = _count(self.judge({**self.facts, path: new}))
        grown = [one for one in after if after[one] > before[one]]
        return after[key] < before[key] and not grown


def applied(text: str, edits: list[RawEdit]) -> str:
    """The text after edits that do not overlap; line ends stay as they are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    for start, column, end, end_column, new in sorted(edits, reverse=True):
        joined = lines[start - 1][:column] + new.replace("\n", newline) + lines[end - 1][end_column:]
        lines[start - 1 : end] = joined.split(newline)
    return newline.join(lines)


def _count(findings: list[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.rule, finding.symbol) for finding in findings if finding.verdict in _OPEN)


def _edit(path: str, lines: list[str], edit: RawEdit) -> Edit:
    start, column, end, end_column, new = edit
    rows = [*lines, ""][start - 1 : end]
    if start == end:
        old = rows[0][column:end_column]
    else:
        old = "\n".join([rows[0][column:], *rows[1:-1], rows[-1][:end_column]])
    return Edit(path, start, column, end, end_column, old, new)
