"""The findings of a folder's audits as data, for editors: which count, where they were, what is proposed.

The latest audit that ended by itself speaks for what it looked at; one that still grows, or was stopped, only adds to
it. What the user decided about a finding holds for every later run.
"""

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from treewright.app.context import Context
from treewright.app.rows import no_such_node
from treewright.app.runs import RunView, list_runs
from treewright.app.standing import SHOWN_ROLES, position_of
from treewright.errors import PresetError, RunError, StoreError
from treewright.explore.reports.record import node_record
from treewright.explore.reports.sarif import rule_id
from treewright.explore.rules.text import as_text
from treewright.store.decisions import Decisions, FindingKey, finding_key
from treewright.store.index import IndexEntry
from treewright.store.run_folder import JOURNAL, first_event
from treewright.tree import event as e
from treewright.tree.citation import Citation, Edit
from treewright.tree.node import Node, Phase
from treewright.tree.run import Role, Status

SPEAKING = frozenset(
    {Status.CONVERGED, Status.WIDTH_CAP_REACHED, Status.DEPTH_CAP_REACHED, Status.ROUNDS_EXHAUSTED}
)
"""An audit that ended so has looked at everything it was asked to; former ones of the same files are history."""
MOST_AUDITS = 30
"""Audits of a folder that are looked at, the latest first."""

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A further citation of a finding: its place, and which field it supports."""

    path: str
    start: int
    end: int
    field: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as an editor shows it.

    Attributes:
        run, node: where it stands in full.
        workspace: the folder that `path` is relative to.
        path: POSIX, relative to the workspace.
        start, end: lines when it was checked, from 1, inclusive.
        quote: the text of these lines.
        checked_at: when, in seconds since 1970; 0 when unknown.
        statement: the finding in one or two sentences.
        title: the rule's title; may be empty.
        label: the verdict's label.
        role: `advances` (confirmed) or `kept`.
        severity: 0 to 3.
        total: sum of the scores.
        cwe: weakness id; may be empty.
        key: how it is known again.
        cause: why it is one, in a few sentences.
        fix: the proposed fix in words.
        edits: the proposed fix as changes; may be empty.
        evidence: further citations that hold.
    """

    run: str
    node: str
    workspace: Path
    path: str
    start: int
    end: int
    quote: str
    checked_at: float
    statement: str
    title: str
    label: str
    role: Role
    severity: int
    total: int
    cwe: str
    key: FindingKey
    cause: str = ""
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def file(self) -> Path:
        """The file's absolute path."""
        return self.workspace / self.path


@dataclass(slots=True)
class _Audit:
    stamp: Stamp
    view: RunView
    known: dict[str, tuple[int, int, Finding | None]] = field(default_factory=dict)


class FindingSource:
    """Reads the findings of folders. Safe among threads; audits stay open between calls and are only read on."""

    def __init__(self, context: Context) -> None:
        """Nothing is read yet."""
        self._context = context
        self._turn = threading.Lock()
        self._audits: dict[Path, _Audit | None] = {}

    def of_folder(self, folder: Path) -> list[Finding]:
        """Return the findings of files in a folder, decided ones left out, in no order.

        Raises:
            StoreError: the index or the decisions cannot be read. A single run that cannot is passed over.
        """
        with self._turn:
            found: dict[tuple[Path, FindingKey], Finding] = {}
            spoken: list[tuple[Path, str]] = []
            for audit in self._latest(folder):
                tree = audit.view.reader.tree
                started = tree.started
                if started is None:
                    continue
                workspace = Path(started.root.workspace)
                decided = Decisions(self._context.configuration().root.decisions, workspace).all()
                for finding in self._findings(audit, workspace):
                    file = finding.file
                    if not file.is_relative_to(folder) or finding.key in decided:
                        continue
                    if not any(_covers(scope, workspace, finding.path) for scope in spoken):
                        found.setdefault((file, finding.key), finding)
                if tree.status in SPEAKING and not started.root.changed_since:
                    spoken.append((workspace, started.root.path))
                    if _whole(started.root.path) and folder.is_relative_to(workspace):
                        break
            return list(found.values())

    def _latest(self, folder: Path) -> Iterator[_Audit]:
        entries = {entry.path: entry for entry in list_runs(self._context)}
        entries.update({entry.path: entry for entry in list_runs(self._context, folder)})
        ours = [e for e in entries.values() if e.kind == "exploration" and _concerns(e, folder)]
        ours.sort(key=lambda entry: entry.created, reverse=True)
        seen = 0
        for entry in ours:
            audit = self._audit(entry.path)
            if audit is not None:
                yield audit
                seen += 1
                if seen >= MOST_AUDITS:
                    return

    def _audit(self, folder: Path) -> _Audit | None:
        stamp = _stamp(folder / JOURNAL)
        known = self._audits.get(folder)
        if folder in self._audits and known is None:
            return None  # no audit of code; that never changes
        if stamp is None:
            self._audits.pop(folder, None)
            return None
        try:
            if known is None and not _of_code(folder):
                self._audits[folder] = None
            elif known is None:
                known = self._audits[folder] = _Audit(stamp, RunView(self._context, str(folder)))
            elif known.stamp != stamp:
                known.view.reader.refresh()
                known.stamp = stamp
        except (RunError, StoreError, PresetError):
            self._audits.pop(
                folder, None
            )  # cut off before it began, damaged, replaced: looked at anew next time
            return None
        return known

    def _findings(self, audit: _Audit, workspace: Path) -> list[Finding]:
        found = []
        for node in audit.view.reader.tree.descendants():
            if node.role in SHOWN_ROLES and node.counts and node.phase is Phase.SETTLED:
                known = audit.known.get(node.id)
                if known is None or known[:2] != (node.derived_at, node.checked_at):
                    known = (node.derived_at, node.checked_at, _finding(audit.view, node, workspace))
                    audit.known[node.id] = known
                if known[2] is not None:
                    found.append(known[2])
        return _numbered(found)


def one_finding(context: Context, run: str, node: str) -> Finding:
    """Return one finding of a run, decided or not.

    Raises:
        RunError: `run_not_found`, `node_not_found`, or `no_finding` when the node names no place that holds.
    """
    view = RunView(context, run)
    source = FindingSource(context)
    tree = view.reader.tree
    workspace = Path(tree.started.root.workspace) if tree.started else view.folder
    if node not in tree.nodes:
        raise no_such_node(node)
    stamp = _stamp(view.folder / JOURNAL) or (0, 0)
    for finding in source._findings(_Audit(stamp, view), workspace):
        if finding.node == node:
            return finding
    raise RunError(
        "no_finding",
        f"{node} is no finding with a place that holds.",
        "Open the node instead.",
        {"node": node},
    )


def _finding(view: RunView, node: Node, workspace: Path) -> Finding | None:
    """Return a node as a finding, or None when no citation of it says for certain where it is."""
    preset = view.preset
    record = node_record(preset, view.reader, node)
    position = position_of(record, preset.parts.position or "")
    if position is None:
        return None
    others = [
        Evidence(c.citation.path, c.citation.start, max(c.citation.start, c.citation.end), c.citation.field)
        for c in record.citations
        if c.citation.kind == "file"
        and c.state.holds
        and c.citation.start
        and not _same(c.citation, position)
    ]
    rule = rule_id(record)
    return Finding(
        run=view.reader.tree.started.run if view.reader.tree.started else "",
        node=node.id,
        workspace=workspace,
        path=PurePosixPath(position.path).as_posix(),
        start=position.start,
        end=max(position.start, position.end),
        quote=position.quote,
        checked_at=_checked_at(view, node),
        statement=_without_place(" ".join(node.statement.split()), position),
        title=str(record.facts.get("title") or ""),
        label=record.label,
        role=node.role or Role.KEPT,
        severity=record.scores.get("S", 1),
        total=node.total,
        cwe=node.cwe,
        key=finding_key(rule, str(record.facts.get("symbol") or ""), position.quote),
        cause=as_text(record.fields.get(preset.parts.evidence or "root_cause", "")),
        fix=as_text(record.fields.get(preset.parts.fix or "", "")),
        edits=tuple(record.edits),
        evidence=tuple(dict.fromkeys(others)),
    )


def _without_place(statement: str, position: Citation) -> str:
    """Return a statement without the line number at its end: it grows old with the first edit, the marked place does not."""
    return re.sub(rf"\s*\({re.escape(position.path)}:\d+(?:-\d+)?\)\Z", "", statement) or statement


def _same(one: Citation, other: Citation) -> bool:
    return (one.path, one.start, one.end) == (other.path, other.start, other.end)


def _checked_at(view: RunView, node: Node) -> float:
    if node.checked_at < 0:
        return 0.0
    event = view.reader.read(node.checked_at)
    assert isinstance(event, e.NodeChecked)
    try:
        return datetime.fromisoformat(event.at).timestamp()
    except ValueError:
        return 0.0


def _numbered(findings: list[Finding]) -> list[Finding]:
    """Give equal findings their ordinals, in the order of their places; several at one place are the same one."""
    places: dict[FindingKey, dict[tuple[str, int, int], int]] = {}
    numbered = []
    for finding in sorted(
        findings, key=lambda f: (f.path, f.start, f.end, f.role is not Role.ADVANCES, f.node)
    ):
        known = places.setdefault(finding.key, {})
        ordinal = known.setdefault((finding.path, finding.start, finding.end), len(known))
        if ordinal:
            finding = replace(finding, key=finding.key._replace(ordinal=ordinal))
        numbered.append(finding)
    return numbered


def _covers(scope: tuple[Path, str], workspace: Path, path: str) -> bool:
    return scope[0] == workspace and (
        _whole(scope[1]) or PurePosixPath(path).is_relative_to(PurePosixPath(scope[1]))
    )


def _whole(path: str) -> bool:
    return path in ("", ".")


def _concerns(entry: IndexEntry, folder: Path) -> bool:
    if not entry.workspace:
        return False
    own = Path(entry.workspace)
    return own.is_relative_to(folder) or folder.is_relative_to(own)


def _of_code(folder: Path) -> bool:
    """Tell whether a run is an audit of code, by its first event: a large tree of another kind is never opened for that.

    Raises:
        RunError: it was cut off before it began.
        StoreError: its beginning cannot be read.
    """
    started = first_event(folder)
    if not isinstance(started, e.RunStarted):
        raise RunError("run_empty", "This run was cut off before it began.")
    return started.root.kind == "code"


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size


def by_file(findings: Iterable[Finding]) -> dict[Path, list[Finding]]:
    """Return findings by file, the most severe first."""
    found: dict[Path, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.file, []).append(finding)
    for each in found.values():
        each.sort(key=lambda f: (f.role is not Role.ADVANCES, -f.severity, -f.total, f.start, f.node))
    return found
