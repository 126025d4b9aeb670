"""The offline performer of code audits: fills the engine's tasks from static evidence, without any model.

The audit is made once, when the first task comes, in a worker thread; every task is then answered from it. The same code gives the
same answers, so a run that was cut off goes on as if it had not been.
"""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from treewright.counted import counted
from treewright.errors import WorkspaceError
from treewright.explore.ports import Performance
from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    ExternalResult,
    GroundResult,
    ProposeResult,
    Result,
    SummariseResult,
    TaskKind,
)
from treewright.performers.static.audit import Sources, conclude, establish, read_sources
from treewright.performers.static.body import NOTHING, Located, derivation, proposal
from treewright.performers.static.cache import CACHE, FactsCache
from treewright.performers.static.finding import Audit, Finding
from treewright.performers.static.ground import ground
from treewright.performers.static.judge import CONFIRMED, PRUNED
from treewright.performers.static.notes import framing_notes
from treewright.tree.body import Derivation, Examined, Proposal
from treewright.tree.ids import ROOT
from treewright.workspace.git import changed_ranges

FIRST_ROUND = 25
"""Confirmed findings of one rule that the root brings; the rest are found by looking elsewhere in the second round."""
_NAMED = 3
"""Files named in a note; the rest are counted."""
WORST = "worst"
"""Marks the branch of framing K: it speaks about a finding that has a branch of its own."""


class StaticPerformer:
    """Answers tasks of a code audit.

    Attributes:
        name: `static`.
    """

    name = "static"

    def __init__(self, workspace: Path, cache: Path | None = None) -> None:
        """Prepare; nothing is read yet.

        Args:
            workspace: what paths are relative to.
            cache: folder for facts by content; None keeps none.
        """
        self._workspace = workspace
        self._cache = cache
        self._state: _State | None = None
        self._turn = asyncio.Lock()

    async def perform(self, brief: Brief) -> Performance:
        """Answer a task.

        Raises:
            WorkspaceError: `root_unparseable` when the code is gone, `revision_unknown` for `--changed-since`.
        """
        state = await self._established(brief)
        return Performance(result=state.answer(brief))

    async def _established(self, brief: Brief) -> "_State":
        async with self._turn:
            if self._state is None:
                self._state = await asyncio.to_thread(self._establish, brief)
            return self._state

    def _establish(self, brief: Brief) -> "_State":
        spec = brief.root_spec
        target = self._workspace / spec.path
        try:
            sources = read_sources(target)
        except FileNotFoundError as fault:
            raise WorkspaceError(
                "root_unparseable", f"{spec.path} is gone.", "Put it back, or start a new audit."
            ) from fault
        cache = FactsCache(self._cache / CACHE if self._cache else None)
        facts = establish(sources, cache)
        audit = conclude(sources, facts, cache)
        at = Located(Path(os.path.relpath(sources.root, self._workspace)).as_posix())
        if spec.changed_since:
            audit.findings = _changed(audit.findings, sources.root, spec.changed_since)
        notes = framing_notes(sources.root, facts, sources.texts, audit.findings)
        return _State(sources, audit, at, ground(sources, facts, audit, at), notes)


def _changed(findings: list[Finding], root: Path, revision: str) -> list[Finding]:
    """Keep the findings that a change since a revision touches, at their position or on their way."""
    ranges = changed_ranges(root, revision)
    if ranges is None:
        raise WorkspaceError(
            "revision_unknown",
            f"Git knows no revision {revision!r} here.",
            "Check --changed-since; the code must be in a git repository.",
        )

    def touched(item: Finding) -> bool:
        quotes = [item.position, *(step.quote for step in item.exploit_path)]
        return any(r.touches(q.start, q.end) for q in quotes for r in ranges.get(q.path, []))

    return [item for item in findings if touched(item)]


class _State:
    """An audit, ready to answer."""

    def __init__(
        self,
        sources: Sources,
        audit: Audit,
        at: Located,
        root: GroundResult,
        notes: dict[str, tuple[str, ...]],
    ) -> None:
        self.sources = sources
        self.audit = audit
        self.at = at
        self.root = root
        self.notes = notes
        self.by_fingerprint = {item.fingerprint: item for item in audit.findings}
        self.first, self.later = _rounds(audit.findings)

    def answer(self, brief: Brief) -> Result:
        match brief.task.kind:
            case TaskKind.GROUND:
                return self._ground()
            case TaskKind.PROPOSE:
                return self._propose(brief)
            case TaskKind.DERIVE | TaskKind.REVISE:
                return self._derive(brief)
            case TaskKind.EXTERNAL:
                return ExternalResult(reason="the static performer knows no addresses")
            case _:
                return self._summarise(brief)

    def _ground(self) -> GroundResult:
        failed = {path for path, _ in self.audit.not_read}
        if not self.audit.findings and failed.issuperset(self.sources.texts):
            why = "; ".join(f"{path}: {reason}" for path, reason in self.audit.not_read[:5])
            reason = "nothing in it can be audited offline" + (f" ({why})" if why else "")
            return GroundResult(failure="root_unparseable", reason=reason, unread=self.root.unread)
        return self.root

    def _propose(self, brief: Brief) -> ProposeResult:
        task = brief.task
        if task.replaces:
            return ProposeResult(reason="static evidence has no other way to put this finding")
        if task.node != ROOT:
            return self._elsewhere(brief)
        if task.framing == "K":
            return self._worst()
        items = self.first.get(task.framing, [])
        if items:
            found = [proposal(item, self.at) for item in items]
            return ProposeResult(proposals=found, examined=self._examined(task.framing))
        return ProposeResult(examined=self._examined(task.framing))

    def _examined(self, letter: str) -> Examined:
        record = next((r for r in self.audit.records if r.framing == letter), None)
        if record is None:
            return Examined(note="no question of this framing applies to the code")
        guards = [f"{counted(record.guards, 'guard')} in the code"] if record.guards else []
        looked = f"{counted(record.sites, 'place')} looked at" + (
            "" if record.findings else ", none of them a finding"
        )
        unread = self._unread() if letter == "L" else ()
        note = "; ".join((looked, *self.notes.get(letter, ()), *unread))
        return Examined(questions=list(record.questions), sites=record.sites, guards=guards, note=note)

    def _unread(self) -> tuple[str, ...]:
        """What the audit is blind to, for the framing that asks for it (contract: exploration, 10)."""
        names = [path for path, _ in self.audit.not_read]
        if not names:
            return ()
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return (f"could not be read: {counted(len(names), 'file')} ({', '.join(names[:_NAMED])}{more})",)

    def _elsewhere(self, brief: Brief) -> ProposeResult:
        """The second round: the same pattern elsewhere, under the framing that found it first."""
        known = str(brief.lineage[-1].facts.get("fingerprint", "")) if brief.lineage else ""
        item = self.by_fingerprint.get(known)
        if item is None or brief.task.framing != item.framing or brief.lineage[-1].facts.get(WORST):
            note = "only the framing that found it can say more about this finding"
            return ProposeResult(examined=Examined(note=note))
        later = self.later.get(item.fingerprint, [])
        if later:
            found = [proposal(each, self.at) for each in later]
            return ProposeResult(proposals=found, examined=Examined(sites=len(later)))
        same = sum(1 for each in self.audit.findings if each.rule == item.rule and each is not item)
        note = f"the same pattern stands at {counted(same, 'other place')}; each is in the tree"
        return ProposeResult(
            examined=Examined(questions=["Where else does this pattern stand?"], sites=same, note=note)
        )

    def _worst(self) -> ProposeResult:
        reachable = [f for f in self.audit.findings if f.verdict != PRUNED and f.scores.severity >= 2]
        if not reachable:
            return ProposeResult(examined=self._examined("K"))
        worst = max(reachable, key=lambda f: (f.scores.severity * f.scores.likelihood, f.scores.total))
        base = proposal(worst, self.at)
        before = "; ".join(m.why for m in worst.mitigations) or "nothing"
        entry = f"from the {worst.entry}" if worst.entry else "by running the code"
        statement = (
            f"High-risk branch: the most dangerous place of this code is {base.position} ({worst.title.lower()}), "
            f"reached {entry}; before it stands {before}."
        )
        facts = {**base.facts, WORST: True}
        return ProposeResult(proposals=[base.model_copy(update={"statement": statement, "facts": facts})])

    def _derive(self, brief: Brief) -> DeriveResult:
        wanted = brief.proposal.facts if brief.proposal else {}
        item = self.by_fingerprint.get(str(wanted.get("fingerprint", "")))
        if item is None or brief.proposal is None:
            empty = Derivation(fields={}, scores={})
            return DeriveResult(body=empty, refuses="the code has changed and the finding is no longer there")
        body = derivation(brief.preset, item, self.at, self.sources.lines)
        if not wanted.get(WORST):
            return DeriveResult(body=body)
        return DeriveResult(body=_as_worst(body, brief.proposal))

    def _summarise(self, brief: Brief) -> SummariseResult:
        blind = [f"{path}: {reason}" for path, reason in self.audit.not_read[:10]]
        if len(self.audit.not_read) > 10:
            blind.append(f"{len(self.audit.not_read) - 10} more files that were not read")
        blind.append("what only running the code would show: nothing was executed")
        best = brief.outline.get("best", [])
        steps = [
            {"text": f"Mend {entry['id']}: {entry['statement']}", "node": entry["id"]} for entry in best[:3]
        ]
        narrative = f"{counted(self.audit.files, 'file')}, {counted(self.audit.lines, 'line')}, judged by static evidence alone."
        return SummariseResult(narrative=narrative, blind_spots=blind, next_steps=steps)


def _as_worst(body: Derivation, wanted: Proposal) -> Derivation:
    """Speak about a finding from the side of what would be lost; its fix belongs to the finding's own branch."""
    fields = dict(body.fields)
    for name, value in (("finding_statement", wanted.statement), ("proposed_fix", NOTHING)):
        if name in fields:
            fields[name] = value
    return body.model_copy(update={"fields": fields, "edits": [], "facts": {**body.facts, WORST: True}})


def _rounds(findings: Iterable[Finding]) -> tuple[dict[str, list[Finding]], dict[str, list[Finding]]]:
    """Share findings out: what the root's framings bring, and what a confirmed finding's own expansion adds."""
    first: dict[str, list[Finding]] = {}
    later: dict[str, list[Finding]] = {}
    confirmed: dict[str, list[Finding]] = {}
    for item in findings:
        if item.verdict == PRUNED:
            continue
        if item.verdict != CONFIRMED:
            first.setdefault(item.framing, []).append(item)
            continue
        same = confirmed.setdefault(item.rule, [])
        if len(same) < FIRST_ROUND:
            first.setdefault(item.framing, []).append(item)
        else:
            later.setdefault(same[0].fingerprint, []).append(item)
        same.append(item)
    return first, later
