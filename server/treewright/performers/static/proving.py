"""Edits for confirmed findings: offered only when the changed file is analysed again and no longer has the finding.

What was proven is kept by what the proof rests on: the file, and the questions to the project that were asked with the file as it is
and as it would be. Nothing is proven twice for the same code.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace as changed_copy
from itertools import islice
from typing import Any, Protocol

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Edit, Finding
from treewright.performers.static.judge import CONFIRMED, label
from treewright.performers.static.judging import Counts, Judge, Rows
from treewright.performers.static.languages import analyse, is_javascript

Try = tuple[str, list[Edit]]
"""A file's text after a change, and the change."""
_LINES = 200_000
"""Lines that proving the edits of one file may analyse, shared by its findings. Counted in lines, not in seconds, so that the same
code always gets the same edits; for one file, so that no other file changes them."""
_TRIES = 8


class Mender(Protocol):
    """Finds changes that may clear a finding."""

    def tries(self, finding: Finding) -> Iterator[Try]:
        """Every change worth a try, the likeliest first."""

    def rests_on(self) -> str:
        """What its changes depend on besides the file, as a text that differs when it does."""


class Prover:
    """Proves edits for the findings of one audit.

    Args:
        judge: of the files as they are. texts: by path. roots: first names of the project's Python modules.
    """

    def __init__(self, judge: Judge, texts: dict[str, str], roots: frozenset[str]) -> None:
        self.judge, self.texts, self.roots = judge, texts, roots
        self.cache = judge.cache
        self._alone: dict[str, Counts] = {}
        self._rows: Rows | None = None

    def mend_all(self, findings: list[Finding]) -> None:
        """Give each confirmed finding its edits, or take unproven ones back."""
        by_path: dict[str, list[Finding]] = {}
        for finding in findings:
            if finding.verdict == CONFIRMED:
                by_path.setdefault(finding.position.path, []).append(finding)
        menders = {False: self._python(), True: self._javascript()}
        work = [
            (finding, menders[is_javascript(path)], most)
            for path, group in by_path.items()
            for finding, most in zip(group, _shares(len(group), self.judge.facts[path].lines), strict=True)
        ]
        self.cache.expect("proof", [self._key(*row) for row in work])
        for finding, mender, most in work:
            if most:
                self._mend(finding, mender, most)
            _unproven(finding)

    def _python(self) -> Mender:
        from treewright.performers.static.python.mend import Mender as Python

        return Python(self.judge.facts, self.texts)

    def _javascript(self) -> Mender:
        from treewright.performers.static.javascript.mend import Mender as Script

        return Script(self.texts)

    def _key(self, finding: Finding, mender: Mender, most: int) -> str:
        file = self.judge.facts[finding.position.path]
        return f"{finding.rule}\n{finding.symbol}\n{finding.place}\n{most}\n{mender.rests_on()}\n{self.judge.key(file)}"

    def _mend(self, finding: Finding, mender: Mender, most: int) -> None:
        key = self._key(finding, mender, most)
        if self._take(finding, self.cache.get("proof", key)):
            return
        self._rows = []
        proven: list[Edit] = []
        for text, edits in islice(mender.tries(finding), most):
            if self._clears(finding, text):
                proven = edits
                break
        _give(finding, proven)
        if self._rows is not None:
            self.cache.put("proof", key, (proven, self._rows))

    def _take(self, finding: Finding, kept: Any) -> bool:
        """Give a finding what was proven before, if that still holds."""
        if not isinstance(kept, tuple) or len(kept) != 2:
            return False
        edits, rows = kept
        lines = self.judge.lines(finding.position.path)
        if not self.judge.holds(rows) or not all(stands(edit, lines) for edit in edits):
            return False
        _give(finding, edits)
        return True

    def _clears(self, finding: Finding, text: str) -> bool:
        """Analyse the changed file again: the finding is gone and no other has come."""
        path = finding.position.path
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        new = analyse(path, text, digest, self.roots, self.judge.libraries.get(path, False))
        if new.fault:
            return False
        key = (finding.rule, finding.symbol)
        before = self._by_itself(path)
        if before[key]:
            after = self._judged_alone(new)
        else:  # the way begins in another file
            outcome = self.judge.outcome(path)
            before = outcome.counts
            after, asked = self.judge.replaced(new)
            if self._rows is not None and self._same_names(self.judge.facts[path], new):
                self._rows = sorted({*self._rows, *outcome.rows, *self.judge.rows(asked)})
            else:
                self._rows = None
        return after[key] < before[key] and all(after[one] <= before[one] for one in after)

    def _by_itself(self, path: str) -> Counts:
        found = self._alone.get(path)
        if found is None:
            found = self._alone[path] = self._judged_alone(self.judge.facts[path])
        return found

    def _judged_alone(self, file: FileFacts) -> Counts:
        return Judge({file.path: file}, self.judge.libraries, self.judge.lines).outcome(file.path).counts

    def _same_names(self, old: FileFacts, new: FileFacts) -> bool:
        """Whether a change leaves alone what names mean in the project: then the answers that the project gives without the change
        decide what it would answer with the change."""
        own = self.roots
        imports = {(local, name) for local, name, _ in old.imports} ^ {
            (local, name) for local, name, _ in new.imports
        }
        return (
            {f.name for f in old.functions} == {f.name for f in new.functions}
            and {(d.qualified, d.kind) for d in old.definitions} == {(d.qualified, d.kind) for d in new.definitions}
            and old.bases == new.bases
            and not any(name.partition(".")[0] in own for _, name in imports)
            and _callees(new) <= _callees(old)
        )  # fmt: skip


def _callees(file: FileFacts) -> set[str]:
    return {call.callee for function in file.functions for call in function.calls}


def _shares(findings: int, lines: int) -> list[int]:
    """How many tries each finding of a file gets."""
    total = max(2, _LINES // max(lines, 1))
    each = max(1, min(_TRIES, total // findings))
    return [each if number * each < total else 0 for number in range(findings)]


def _give(finding: Finding, edits: list[Edit]) -> None:
    if edits:
        finding.edits, finding.edits_verified = edits, True
        finding.scores = changed_copy(finding.scores, fixability=3)


def _unproven(finding: Finding) -> None:
    """Take back edits that were not proven, and what they were worth."""
    if not finding.edits_verified:
        finding.edits = []
        finding.scores = changed_copy(finding.scores, fixability=min(finding.scores.fixability, 2))
        finding.verdict = label(finding.scores, bool(finding.mitigations), bool(finding.fix))


def stands(edit: Edit, lines: list[str]) -> bool:
    """Whether the edit's old text is what its place holds now."""
    rows = [*lines[edit.start_line - 1 : edit.end_line], ""]
    if edit.start_line == edit.end_line:
        return rows[0][edit.start_column : edit.end_column] == edit.old
    rows = rows[: edit.end_line - edit.start_line + 1]
    return "\n".join([rows[0][edit.start_column :], *rows[1:-1], rows[-1][: edit.end_column]]) == edit.old
