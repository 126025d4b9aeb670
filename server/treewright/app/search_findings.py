"""A search for a verified fix of a finding: the file is the start, the checks are the tests that reach the place, and that the
offline audit no longer finds it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treewright.app.findings import Finding
from treewright.app.search_hosts import SearchHosts
from treewright.app.search_request import Audited
from treewright.app.search_sources import StartFile, plain_ends
from treewright.performers.static.audit import establish, read_sources, root_names
from treewright.performers.static.cache import CACHE, FactsCache
from treewright.performers.static.facts import FileFacts
from treewright.performers.static.judging import Counts, Judge
from treewright.performers.static.languages import analyse
from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan
from treewright.search.functions import lines_of
from treewright.search.plain import encode
from treewright.search.ports import BranchOutcome
from treewright.workspace.decode import Decoded, read_source

MOST_TEST_FILES, _MOST_LOOKED_AT = 8, 2000
_AUDIT = "__treewright_audit__"
_SKIPPED = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", ".treewright", "build", "dist", ".tox"}
)


@dataclass(slots=True)
class AuditCheck:
    """Judges programs by the offline audit; see `search_hosts.Extra`.

    Attributes:
        judge: of the files as the search found them.
        path: the program's file, from the audit's root.
        audited: the finding.
        roots: first names of the project's modules.
    """

    judge: Judge
    path: str
    audited: Audited
    roots: frozenset[str] = frozenset()

    def check(self) -> Check:
        """Return the check that the audit no longer finds it: it reproduces the finding, and needs no kernel."""
        rule, symbol = self.audited.rule, self.audited.symbol
        return Check(
            id="c0",
            kind=CheckKind.VALUE,
            source=f"the audit no longer finds {rule} in {symbol or 'the module'}, and nothing new",
            evaluate=f"{_AUDIT}({rule!r}, {symbol!r})",
            expected=True,
        )

    def wants(self, check: Check) -> bool:
        """Whether a check is of this kind."""
        return check.evaluate.startswith(f"{_AUDIT}(")

    def observe(self, program: str, check: Check) -> Observation:
        """Analyse a program in its file's place."""
        return Observation(check_id=check.id, status=ObservedStatus.VALUE, value=encode(self.clears(program)))

    def reproduces(self) -> bool:
        """Whether the audit finds it in the file as it stands."""
        return self._before()[self.audited.rule, self.audited.symbol] > 0

    def clears(self, program: str) -> bool:
        """Whether a program no longer has the finding, and has no other that the file had not."""
        new = self.analysed(program)
        if new.fault:
            return False
        before, after = self._before(), self.judge.replaced(new)[0]
        key = (self.audited.rule, self.audited.symbol)
        return after[key] < before[key] and not any(after[one] > before[one] for one in after)

    def analysed(self, program: str) -> FileFacts:
        """Return the facts of a program in its file's place."""
        return analyse(self.path, program, "", self.roots, self.judge.libraries.get(self.path, False))

    def _before(self) -> Counts:
        """The open findings of the file as it was; other files matter for the ways that lead into it."""
        return self.judge.outcome(self.path).counts


def audit_of(audited: Audited, path: Path, start: str, cache: Path) -> AuditCheck | None:
    """Return the check by audit for a finding, or None when the offline audit does not find it by itself.

    Args:
        audited: the finding.
        path: its file.
        start: that file's text when the search began.
        cache: folder for facts by content.
    """
    try:
        sources = read_sources(Path(audited.root))
    except FileNotFoundError:
        return None
    name = os.path.relpath(path, sources.root.resolve()).replace(os.sep, "/")
    if name not in sources.texts:
        return None
    roots = frozenset(root_names(sources.texts))
    facts = establish(sources, FactsCache(cache / CACHE))
    facts[name] = analyse(name, start, "", roots, sources.libraries.get(name, False))
    sources.texts[name] = start
    # Most findings show in their file alone, which is judged in milliseconds; a way from elsewhere needs every file.
    for known in ({name: facts[name]}, facts):
        found = AuditCheck(Judge(known, sources.libraries, sources.lines), name, audited, roots)
        if found.reproduces():
            return found
    return None


def proposed(finding: Finding, begun: StartFile) -> str:
    """Return the file with the finding's own proposed change, or empty when there is none that still fits."""
    lines = begun.text.splitlines(keepends=True)
    edits = [one for one in finding.edits if one.path == finding.path]
    if not edits or len(edits) < len(finding.edits):
        return ""
    for one in sorted(edits, key=lambda edit: edit.start, reverse=True):
        old = plain_ends(one.old)
        if "".join(lines[one.start - 1 : one.end]).rstrip("\n") != old.rstrip("\n"):
            return ""
        new = plain_ends(one.new)
        lines[one.start - 1 : one.end] = [new if new.endswith("\n") or not new else f"{new}\n"]
    return "".join(lines)


def place_of(finding: Finding, begun: StartFile) -> int:
    """Return the line, from 1, where a finding's quote stands now; where it was, when the quote is gone."""
    wanted = " ".join(finding.quote.split("\n")[0].split())
    rows = [" ".join(row.split()) for row in begun.text.split("\n")]
    places = [number for number, row in enumerate(rows, 1) if wanted and wanted in row]
    return min(places, key=lambda number: abs(number - finding.start), default=finding.start)


def likely_tests(path: Path, function: str, workspace: Path) -> list[Path]:
    """Return files of tests that name a program's module, or the function, those that name both and lie nearest first."""
    module, name = path.stem, function.rpartition(".")[2]
    wanted = [re.compile(rf"\b{re.escape(word)}\b") for word in (module, name) if word]
    found: list[tuple[int, int, str, Path]] = []
    for number, test in enumerate(_test_files(workspace)):
        if number >= _MOST_LOOKED_AT:
            break
        read = read_source(test)
        hits = sum(1 for word in wanted if word.search(read.text)) if isinstance(read, Decoded) else 0
        if hits and test != path:
            found.append((-hits, module not in test.stem, str(test), test))
    return [test for *_, test in sorted(found)[:MOST_TEST_FILES]]


def _test_files(folder: Path) -> Iterator[Path]:
    for at, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
                yield Path(at) / name


def reaching(hosts: SearchHosts, program: str, plan: Plan, function: str) -> Plan:
    """Keep the checks that execute a line of the function, as seen in one branch with the program as it stands.

    Args:
        hosts: executes it.
        program: the starting program.
        plan: every check that might.
        function: dotted name; empty for the whole module, whose checks are all kept.
    """
    inside = lines_of(program, function) if function else None
    if not plan.checks or inside is None:
        return plan
    trace = hosts.run_branch(program, plan.model_copy(update={"trace_lines": True}))
    if trace.outcome is not BranchOutcome.FINISHED:
        return plan
    touched = {one.check_id for one in trace.observations if any(line in inside for line in one.lines)}
    return plan.model_copy(update={"checks": tuple(one for one in plan.checks if one.id in touched)})


def numbered(plan: Plan, more: list[Check]) -> Plan:
    """Return a plan with further checks, ids in order."""
    checks = [
        one.model_copy(update={"id": f"c{number}"}) for number, one in enumerate([*plan.checks, *more], 1)
    ]
    return plan.model_copy(update={"checks": tuple(checks)})
