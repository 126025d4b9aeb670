"""Audits with findings of the test's choice, grown by the real engine and checked by the real verifier."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from treewright.app.context import Context
from treewright.app.describe import entry_of
from treewright.explore.briefs import Materials
from treewright.explore.engine import Explorer
from treewright.explore.tasks import Brief, DeriveResult, ProposeResult, Result, TaskKind
from treewright.performers.scripted import ScriptedPerformer, SeededRule
from treewright.performers.verify import Verifier
from treewright.presets.framings import all_framings, framing
from treewright.presets.loader import load_preset
from treewright.runner import Runner
from treewright.store.run_folder import RunWriter
from treewright.tree.citation import Citation, Edit
from treewright.tree.event import Derivation, Examined, Proposal, RunStarted
from treewright.tree.run import Caps, Role, RootSpec, Status
from treewright.workspace.decode import Decoded, read_source, split_lines

PRESET = load_preset("code-audit")
FRAMINGS = {each.letter: each for each in all_framings()} | {"X": framing("X")}
SCORES = {
    Role.ADVANCES: {"S": 3, "P": 3, "R": 3, "F": 2, "X": 2},
    Role.KEPT: {"S": 1, "P": 3, "R": 2, "F": 2, "X": 0},
    Role.PRUNED: {"S": 1, "P": 1, "R": 1, "F": 1, "X": 1},
}


@dataclass(frozen=True)
class Spec:
    """A finding to be."""

    statement: str
    position: Citation
    scores: dict[str, int]
    facts: dict[str, str]
    edits: tuple[Edit, ...] = ()
    evidence: tuple[Citation, ...] = ()


class FindingsRule(SeededRule):
    """Brings given findings by framing D and nothing by any other."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        """Take what is to be found."""
        super().__init__("audit")
        self._specs = list(specs)

    def __call__(self, brief: Brief) -> Result:
        """Answer a task."""
        task = brief.task
        if task.kind is TaskKind.PROPOSE:
            if task.framing == "D" and task.node == "0" and self._specs:
                return ProposeResult(proposals=[self._proposal(n, s) for n, s in enumerate(self._specs)])
            return ProposeResult(
                examined=Examined(questions=["Is there more?"], sites=1, note="Nothing more.")
            )
        if task.kind in (TaskKind.DERIVE, TaskKind.REVISE):
            assert brief.proposal
            spec = self._specs[int(brief.proposal.facts["number"])]
            filled = self._derive(brief)
            fields = {**filled.fields, PRESET.parts.subject: spec.statement}
            body = Derivation(
                fields=fields,
                scores=spec.scores,
                citations=[spec.position, *spec.evidence, *self._cited(spec)],
                edits=list(spec.edits),
                cwe="CWE-78",
                facts=dict(spec.facts),
            )
            return DeriveResult(body=body)
        return super().__call__(brief)

    @staticmethod
    def _proposal(number: int, spec: Spec) -> Proposal:
        return Proposal(
            statement=spec.statement,
            position=spec.position.label(),
            evidence="As the lines say.",
            assumptions=["The line is executed."],
            predictions=["The line does what it says."],
            defense="Nothing stands before it.",
            citations=[spec.position],
            facts={"number": number},
        )

    @staticmethod
    def _cited(spec: Spec) -> list[Citation]:
        """Cite the position for every other field whose rule asks for a citation."""
        names = [name for name in PRESET.node_schema if PRESET.rule(name).must_cite]
        return [spec.position.model_copy(update={"field": name}) for name in names if name != "code_position"]


@dataclass
class Audit:
    """An audit of a folder: say what it finds, then have it end."""

    workspace: Path
    run: str = "a" * 12
    root: str = "."
    specs: list[Spec] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.workspace / ".treewright" / "code-audit" / f"2026-01-01__{self.run}"

    def finding(
        self,
        path: str,
        start: int,
        end: int = 0,
        *,
        statement: str = "",
        role: Role = Role.ADVANCES,
        scores: dict[str, int] | None = None,
        rule: str = "rule-one",
        symbol: str = "",
        quote: str = "",
        edits: Sequence[Edit] = (),
        evidence: Sequence[Citation] = (),
        title: str = "A title",
    ) -> str:
        """Add a finding and return its node id; the quote is taken from the file when none is given."""
        end = end or start
        number = len(self.specs) + 1
        if not quote:
            read = read_source(self.workspace / path)
            assert isinstance(read, Decoded)
            quote = "\n".join(split_lines(read.text)[start - 1 : end])
        # Statements that are alike are merged when their lines overlap.
        statement = statement or f"{_words(number)} in {path}."
        position = Citation(field="code_position", path=path, start=start, end=end, quote=quote)
        facts = {"rule": rule, "symbol": symbol, "title": title}
        self.specs.append(
            Spec(statement, position, scores or SCORES[role], facts, tuple(edits), tuple(evidence))
        )
        return f"D{number}"

    def end(self, status: Status = Status.ROUNDS_EXHAUSTED) -> None:
        """Grow the audit to its end and index it."""
        self.folder.mkdir(parents=True)
        with RunWriter.create(self.folder, "cli") as writer:
            explorer = Explorer(writer.tree, Materials(PRESET, FRAMINGS), writer)
            started = RunStarted(
                run=self.run,
                preset=PRESET.name,
                preset_digest=PRESET.digest,
                root=RootSpec(kind="code", path=self.root, workspace=str(self.workspace)),
                caps=Caps(rounds=1),
                mode=PRESET.root_schemas[0].mode,
                performer="static",
            )
            writer.stage(explorer.begin(started))
            writer.commit()
            runner = Runner(
                writer,
                explorer,
                ScriptedPerformer(FindingsRule(self.specs)),
                Verifier(self.workspace),
                concurrency=8,
            )
            ended = asyncio.run(runner.run())
            assert ended in (status, Status.CONVERGED), (ended, writer.tree.reason)
            for number, spec in enumerate(self.specs, 1):
                node = writer.tree.nodes[f"D{number}"]
                assert node.role is not Role.BLOCKED and node.citations[0], (node, spec)
            writer.save_snapshot()
            entry = entry_of(self.folder, writer.tree, _now(writer))
        assert entry
        Context("cli").index().put(entry)

    def __enter__(self) -> Self:
        """Return the audit."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left open."""


def _now(writer: RunWriter) -> str:
    return writer.read(writer.last).at


def _words(number: int) -> str:
    """Return a statement that is like no other."""
    digits = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return "Finding " + " ".join(digits[int(d)] for d in str(number))


def workspace_of(folder: Path) -> Path:
    """Make a folder a workspace."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    return folder
