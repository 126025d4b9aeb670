"""Tasks that the engine emits and the results it accepts.

A task is light: an id, a kind, what it is about. What a performer needs to fill it in is its `Brief`, made when the task is
about to be performed. Ids are deterministic, so that after a crash the same tasks come back by themselves, and a result for a
task that is already done changes nothing.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from treewright.presets.framings import Framing
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation, Examined, FieldValue, Proposal
from treewright.tree.citation import (
    CheckedCitation,
    Citation,
    Frozen,
    NumericCheck,
    NumericOutcome,
    Violation,
)
from treewright.tree.run import Language, RootSpec


class TaskKind(StrEnum):
    """What is asked of a performer."""

    GROUND = "ground"
    PROPOSE = "propose"
    DERIVE = "derive"
    REVISE = "revise"
    EXTERNAL = "external"
    SUMMARISE = "summarise"
    VERIFY = "verify"
    """only our own code performs it"""


class Task(Frozen):
    """Something to be done.

    Attributes:
        id: deterministic, unique in the run.
        kind: what is asked.
        node: the node it is about; for `propose`, the parent of what is proposed.
        framing: for `propose` and the `verify` of proposals, the letter.
        attempt: from 1.
        replaces: for a reroute, the node that could not be filled.
    """

    id: str
    kind: TaskKind
    node: str
    framing: str = ""
    attempt: int = 1
    replaces: str = ""


class NodeView(Frozen):
    """A node as a performer sees it: what stands and what holds, nothing unverified among its evidence.

    Attributes:
        id, statement, position: of the node.
        label: the verdict's label; empty before it.
        scores: by dimension key.
        fields: its fields; empty when only the statement matters here.
        evidence: its citations that hold.
        facts: what its performer kept for itself.
    """

    id: str
    statement: str
    position: str = ""
    label: str = ""
    scores: dict[str, int] = Field(default_factory=dict)
    fields: dict[str, FieldValue] = Field(default_factory=dict)
    evidence: list[Citation] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)


class Brief(Frozen):
    """All that a performer needs to fill in a task.

    Attributes:
        task: the task.
        preset: the preset in force.
        mode: the brainstorm mode (`research` or `problem`); empty elsewhere.
        language: prose is written in `language.output`.
        root_spec: what the run starts from.
        root: the grounded root; None while it is being grounded.
        lineage: the nodes from depth 1 down to `task.node` (for derive and revise: down to the parent).
        framing: the framing to apply, for `propose` and the derivation of what it proposed.
        framing_note: what the preset adds to that framing.
        profile_notes: what the field profile adds to that framing or field.
        proposal: the child to derive, for `derive` and `revise`.
        proposal_citations: what checking the proposal's citations showed.
        previous: the body to mend, for `revise`.
        violations: what to mend: for `revise`, the node's; for a repeated `ground` or `propose`, the last answer's.
        obstacle: for a reroute, why the replaced node could not be filled.
        known: statements the tree already has around here, so that nothing is said twice.
        checks: for `verify`, what to check.
        numeric_checks: for `verify`, the numbers to check.
        outline: for `summarise`, the figures and the best nodes.
        glossary: settled terms and their meanings.
        options: the run's options (`online`, `max_framings`, `performer` settings).
    """

    task: Task
    preset: Preset
    mode: str = ""
    language: Language = Language()
    root_spec: RootSpec
    root: NodeView | None = None
    lineage: list[NodeView] = Field(default_factory=list)
    framing: Framing | None = None
    framing_note: str = ""
    profile_notes: str = ""
    proposal: Proposal | None = None
    proposal_citations: list[CheckedCitation] = Field(default_factory=list)
    previous: Derivation | None = None
    violations: list[Violation] = Field(default_factory=list)
    obstacle: str = ""
    known: list[str] = Field(default_factory=list)
    checks: list[list[Citation]] = Field(default_factory=list)
    numeric_checks: list[NumericCheck] = Field(default_factory=list)
    outline: dict[str, Any] = Field(default_factory=dict)
    glossary: dict[str, str] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)


class GroundResult(Frozen):
    """The root, read and filled.

    Attributes:
        statement: one sentence that says what the root is.
        fields: the preset's root fields.
        citations: evidence, each naming its root field.
        read: what was read (paths, addresses).
        unread: what was not, `{"path": ..., "reason": ...}` each.
        facts: kept for later tasks, opaque to the engine.
        failure: `root_unparseable`, `root_underspecified` or `tool_blocked`, when the root cannot be had.
        reason: why, for a failure.
    """

    statement: str = ""
    fields: dict[str, FieldValue] = Field(default_factory=dict)
    citations: list[Citation] = Field(default_factory=list)
    read: list[str] = Field(default_factory=list)
    unread: list[dict[str, str]] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)
    failure: str = ""
    reason: str = ""


class ProposeResult(Frozen):
    """What a framing brought: proposals, or a record of what was examined in vain, or a reason for neither."""

    proposals: list[Proposal] = Field(default_factory=list)
    examined: Examined | None = None
    reason: str = ""


class DeriveResult(Frozen):
    """A derived or revised node.

    Attributes:
        body: the fields, scores and evidence.
        refuses: why the performer cannot fill the node (a refusal, missing material); empty when it can.
    """

    body: Derivation
    refuses: str = ""


class ExternalResult(Frozen):
    """Addresses that the external cross-check proposes, each with the quote to be found there."""

    citations: list[Citation] = Field(default_factory=list)
    reason: str = ""


class SummariseResult(Frozen):
    """The narrative parts of the report.

    Attributes:
        weirdest_branch: the id of the branch least like the others, and why, in one sentence.
        blind_spots: what the tree did not look at.
        next_steps: 1 to 3, `{"text": ..., "node": <id whose evidence supports it>}` each.
        narrative: a short paragraph.
    """

    weirdest_branch: str = ""
    blind_spots: list[str] = Field(default_factory=list)
    next_steps: list[dict[str, Any]] = Field(default_factory=list)
    narrative: str = ""


class VerifyResult(Frozen):
    """What checking showed, in the order asked: one list a proposal, or one list for a node."""

    citations: list[list[CheckedCitation]] = Field(default_factory=list)
    numerics: list[NumericOutcome] = Field(default_factory=list)


Result = GroundResult | ProposeResult | DeriveResult | ExternalResult | SummariseResult | VerifyResult

RESULT_KINDS: dict[TaskKind, type[Result]] = {
    TaskKind.GROUND: GroundResult,
    TaskKind.PROPOSE: ProposeResult,
    TaskKind.DERIVE: DeriveResult,
    TaskKind.REVISE: DeriveResult,
    TaskKind.EXTERNAL: ExternalResult,
    TaskKind.SUMMARISE: SummariseResult,
    TaskKind.VERIFY: VerifyResult,
}
