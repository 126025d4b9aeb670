"""What happens to an exploration, as frozen events.

The journal of a run is a sequence of these and the only truth; everything else is a fold of it. A body (fields, citations,
proposals) stands in exactly one event. `VERSION` grows when an event's meaning changes; readers refuse newer ones.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from treewright.tree.citation import (
    CheckedCitation,
    Citation,
    Edit,
    Frozen,
    NumericCheck,
    NumericOutcome,
    Violation,
)
from treewright.tree.run import Caps, Language, Role, RootSpec, RunKind, Status

VERSION = 1

FieldValue = str | list[str]
"""A field is prose, or a list of items or steps."""


class Proposal(Frozen):
    """A child as a framing proposed it, before it is derived.

    Attributes:
        statement: the subject statement: one idea, critique, option or finding.
        position: where it applies; empty when the preset has no positions.
        evidence, defense: draft prose.
        assumptions, predictions: draft items.
        citations: pointers that the engine checks before the child counts.
        facts: what the performer needs to derive it later; opaque to the engine.
    """

    statement: str
    position: str = ""
    evidence: str = ""
    assumptions: list[str] = Field(default_factory=list)
    predictions: list[str] = Field(default_factory=list)
    defense: str = ""
    citations: list[Citation] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)


class Examined(Frozen):
    """What a framing looked at when its questions found nothing (contract: exploration, 10).

    Attributes:
        questions: the questions asked.
        sites: how many places were examined for them.
        guards: what stands in the way, each with its place.
        note: one sentence for the report.
    """

    questions: list[str] = Field(default_factory=list)
    sites: int = 0
    guards: list[str] = Field(default_factory=list)
    note: str = ""


class Derivation(Frozen):
    """A node's body as a performer derived it.

    Attributes:
        fields: the preset's fields by name.
        scores: the preset's dimensions by key, integers 0 to 3.
        citations: the evidence, each naming the field it supports.
        numeric_checks: the expressions behind numeric claims.
        defense_shown: a defense or mitigation was found; counts only with a citation in the defense field that holds.
        edits: the proposed fix as concrete changes.
        cwe: the weakness id such as `CWE-89`.
        facts: opaque to the engine, shown to later tasks and surfaces.
    """

    fields: dict[str, FieldValue]
    scores: dict[str, int]
    citations: list[Citation] = Field(default_factory=list)
    numeric_checks: list[NumericCheck] = Field(default_factory=list)
    defense_shown: bool = False
    edits: list[Edit] = Field(default_factory=list)
    cwe: str = ""
    facts: dict[str, Any] = Field(default_factory=dict)


class Event(Frozen):
    """Something that happened; `at` is UTC in ISO 8601, stamped by whoever journals it."""

    type: str
    at: str = ""


class RunStarted(Event):
    type: Literal["run_started"] = "run_started"
    version: int = VERSION
    run: str
    kind: RunKind = RunKind.EXPLORATION
    preset: str
    preset_digest: str
    preset_source: str = ""
    root: RootSpec
    caps: Caps = Caps()
    language: Language = Language()
    mode: str = ""
    field_profile: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    performer: str = ""


class GlossarySettled(Event):
    type: Literal["glossary_settled"] = "glossary_settled"
    source: str
    skipped: bool = False
    terms: list[dict[str, Any]] = Field(default_factory=list)


class Grounded(Event):
    type: Literal["grounded"] = "grounded"
    statement: str
    fields: dict[str, FieldValue]
    citations: list[Citation] = Field(default_factory=list)
    read: list[str] = Field(default_factory=list)
    unread: list[dict[str, str]] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)
    violations: list[Violation] = Field(default_factory=list)
    attempt: int = 1


class RootChecked(Event):
    type: Literal["root_checked"] = "root_checked"
    citations: list[CheckedCitation] = Field(default_factory=list)


class NodeSeeded(Event):
    type: Literal["node_seeded"] = "node_seeded"
    node: str
    statement: str
    position: str = ""
    source: str
    source_id: str
    body: str = ""


class RoundStarted(Event):
    type: Literal["round_started"] = "round_started"
    number: int
    frontier: list[str]
    framings: str = "ABCDEFGHIJKL"
    held: int = 0


class FramingAnswered(Event):
    type: Literal["framing_answered"] = "framing_answered"
    node: str
    framing: str
    attempt: int
    proposals: list[Proposal] = Field(default_factory=list)
    examined: Examined | None = None
    reason: str = ""


class ProposalsChecked(Event):
    type: Literal["proposals_checked"] = "proposals_checked"
    node: str
    framing: str
    attempt: int
    citations: list[list[CheckedCitation]] = Field(default_factory=list)
    usable: list[int] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)


class Draft(Frozen):
    """A child that a framing's answer brings: which proposal it is, and its id."""

    node: str
    index: int
    statement: str
    position: str = ""


class FramingAdmitted(Event):
    """The usable proposals of a framing become children; in the order A to L, whatever the order of arrival."""

    type: Literal["framing_admitted"] = "framing_admitted"
    node: str
    framing: str
    drafts: list[Draft] = Field(default_factory=list)
    dropped: list[dict[str, Any]] = Field(default_factory=list)


class NodeDerived(Event):
    type: Literal["node_derived"] = "node_derived"
    node: str
    revision: int
    body: Derivation
    violations: list[Violation] = Field(default_factory=list)


class NodeChecked(Event):
    type: Literal["node_checked"] = "node_checked"
    node: str
    revision: int
    citations: list[CheckedCitation] = Field(default_factory=list)
    numerics: list[NumericOutcome] = Field(default_factory=list)
    violations: list[Violation] = Field(default_factory=list)


class NodeBlocked(Event):
    type: Literal["node_blocked"] = "node_blocked"
    node: str
    reasons: list[str] = Field(default_factory=list)


class VerdictGiven(Event):
    type: Literal["verdict_given"] = "verdict_given"
    node: str
    role: Role
    label: str
    scores: list[int]
    reasons: list[str] = Field(default_factory=list)
    priority: float = 0.0


class ReroutesOpened(Event):
    type: Literal["reroutes_opened"] = "reroutes_opened"
    parent: str
    assigned: dict[str, int]


class RerouteVoided(Event):
    type: Literal["reroute_voided"] = "reroute_voided"
    node: str
    reason: str


class NodeRerouted(Event):
    """A sibling that can be filled replaces a blocked node (rule F8)."""

    type: Literal["node_rerouted"] = "node_rerouted"
    node: str
    by: str
    proposals: list[Proposal]


class NodeUnresolved(Event):
    type: Literal["node_unresolved"] = "node_unresolved"
    node: str
    reasons: list[str] = Field(default_factory=list)


class NodeMerged(Event):
    type: Literal["node_merged"] = "node_merged"
    node: str
    into: str
    similarity: float


class PassClosed(Event):
    type: Literal["pass_closed"] = "pass_closed"
    node: str
    void: str = ""


class ExternalProposed(Event):
    type: Literal["external_proposed"] = "external_proposed"
    node: str
    citations: list[Citation] = Field(default_factory=list)
    reason: str = ""


class ExternalChecked(Event):
    type: Literal["external_checked"] = "external_checked"
    node: str
    citations: list[CheckedCitation] = Field(default_factory=list)


class ConditionState(Frozen):
    """One of the six conditions at the close of a round, with the figures behind it."""

    number: int
    name: str
    met: bool
    figures: dict[str, Any] = Field(default_factory=dict)


class RoundClosed(Event):
    type: Literal["round_closed"] = "round_closed"
    number: int
    new_nodes: int
    new_converging: int
    conditions: list[ConditionState]
    ending: Status | None = None
    reason: str = ""


class Summarised(Event):
    type: Literal["summarised"] = "summarised"
    weirdest_branch: str = ""
    blind_spots: list[str] = Field(default_factory=list)
    next_steps: list[dict[str, Any]] = Field(default_factory=list)
    narrative: str = ""
    reason: str = ""


class StatusChanged(Event):
    type: Literal["status_changed"] = "status_changed"
    status: Status
    reason: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class CapsChanged(Event):
    type: Literal["caps_changed"] = "caps_changed"
    caps: Caps
    options: dict[str, Any] = Field(default_factory=dict)


class SpendRecorded(Event):
    type: Literal["spend_recorded"] = "spend_recorded"
    task: str
    provider: str
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class TaskFailed(Event):
    type: Literal["task_failed"] = "task_failed"
    task: str
    code: str
    message: str
    raw: str = ""


class Noted(Event):
    type: Literal["noted"] = "noted"
    text: str
    data: dict[str, Any] = Field(default_factory=dict)


AnyEvent = Annotated[
    RunStarted
    | GlossarySettled
    | Grounded
    | RootChecked
    | NodeSeeded
    | RoundStarted
    | FramingAnswered
    | ProposalsChecked
    | FramingAdmitted
    | NodeDerived
    | NodeChecked
    | NodeBlocked
    | VerdictGiven
    | ReroutesOpened
    | RerouteVoided
    | NodeRerouted
    | NodeUnresolved
    | NodeMerged
    | PassClosed
    | ExternalProposed
    | ExternalChecked
    | RoundClosed
    | Summarised
    | StatusChanged
    | CapsChanged
    | SpendRecorded
    | TaskFailed
    | Noted,
    Field(discriminator="type"),
]

_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


def event_from_json(data: bytes | str) -> AnyEvent:
    """Parse one event.

    Raises:
        pydantic.ValidationError: it is not an event of this version.
    """
    return _ADAPTER.validate_json(data)


def event_to_json(event: Event) -> bytes:
    """Return an event as one line of JSON: its `type` and what differs from the defaults."""
    body = event.model_dump_json(exclude_defaults=True)
    head = f'{{"type":"{event.type}"'
    return (head + "}" if body == "{}" else f"{head},{body[1:]}").encode()
