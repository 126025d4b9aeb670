"""What happens to an exploration, as frozen events.

The journal of a run is a sequence of these and the only truth; everything else is a fold of it. A body (fields, citations,
proposals) stands in exactly one event. `VERSION` grows when an event's meaning changes; readers refuse newer ones.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from treewright.tree.body import ConditionState, Derivation, Draft, Examined, FieldValue, Proposal
from treewright.tree.citation import CheckedCitation, Citation, Frozen, NumericOutcome, Violation
from treewright.tree.run import Caps, Language, Role, RootSpec, RunKind, Status

VERSION = 1


class Event(Frozen):
    """Something that happened; `at` is UTC in ISO 8601, stamped by whoever journals it."""

    type: str
    at: str = ""


class RunStarted(Event):
    """A run began: what it starts from, who configures it, what caps and language it has."""

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
    """The root's terms were settled before the root was written, or the step was skipped."""

    type: Literal["glossary_settled"] = "glossary_settled"
    source: str
    skipped: bool = False
    terms: list[dict[str, Any]] = Field(default_factory=list)


class Grounded(Event):
    """The root was read and its fields filled; with violations it is asked for again."""

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
    """The root's citations were checked."""

    type: Literal["root_checked"] = "root_checked"
    citations: list[CheckedCitation] = Field(default_factory=list)


class NodeSeeded(Event):
    """An entry of a prior deliverable entered at depth 1, accepted and advancing."""

    type: Literal["node_seeded"] = "node_seeded"
    node: str
    statement: str
    position: str = ""
    source: str
    source_id: str
    body: str = ""


class RoundStarted(Event):
    """A round began: the nodes it expands and the framings it applies."""

    type: Literal["round_started"] = "round_started"
    number: int
    frontier: list[str]
    framings: str = "ABCDEFGHIJKL"
    held: int = 0


class FramingAnswered(Event):
    """A framing was answered: with proposals, a record of what was examined, or a reason for neither."""

    type: Literal["framing_answered"] = "framing_answered"
    node: str
    framing: str
    attempt: int
    proposals: list[Proposal] = Field(default_factory=list)
    examined: Examined | None = None
    reason: str = ""


class ProposalsChecked(Event):
    """The citations of a framing's proposals were checked; `usable` are the indexes that stand."""

    type: Literal["proposals_checked"] = "proposals_checked"
    node: str
    framing: str
    attempt: int
    citations: list[list[CheckedCitation]] = Field(default_factory=list)
    usable: list[int] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)


class FramingAdmitted(Event):
    """The usable proposals of a framing become children; in the order A to L, whatever the order of arrival."""

    type: Literal["framing_admitted"] = "framing_admitted"
    node: str
    framing: str
    drafts: list[Draft] = Field(default_factory=list)
    dropped: list[dict[str, Any]] = Field(default_factory=list)


class NodeDerived(Event):
    """A node was derived or revised; `violations` are those that its text shows by itself."""

    type: Literal["node_derived"] = "node_derived"
    node: str
    revision: int
    body: Derivation
    outlook: str = ""
    violations: list[Violation] = Field(default_factory=list)


class NodeChecked(Event):
    """A node's citations and numbers were checked; `violations` are all that are left."""

    type: Literal["node_checked"] = "node_checked"
    node: str
    revision: int
    citations: list[CheckedCitation] = Field(default_factory=list)
    numerics: list[NumericOutcome] = Field(default_factory=list)
    violations: list[Violation] = Field(default_factory=list)


class NodeBlocked(Event):
    """A node cannot be filled by its performer."""

    type: Literal["node_blocked"] = "node_blocked"
    node: str
    reasons: list[str] = Field(default_factory=list)


class VerdictGiven(Event):
    """A node was given its role."""

    type: Literal["verdict_given"] = "verdict_given"
    node: str
    role: Role
    label: str
    scores: list[int]
    reasons: list[str] = Field(default_factory=list)
    priority: float = 0.0


class ReroutesOpened(Event):
    """Blocked nodes are rerouted: to each an ordinal of framing E for its replacement."""

    type: Literal["reroutes_opened"] = "reroutes_opened"
    parent: str
    assigned: dict[str, int]


class RerouteVoided(Event):
    """A reroute brought nothing."""

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
    """A node was given up on (rule F8)."""

    type: Literal["node_unresolved"] = "node_unresolved"
    node: str
    reasons: list[str] = Field(default_factory=list)


class NodeMerged(Event):
    """A near-duplicate went into a sibling (rule F2)."""

    type: Literal["node_merged"] = "node_merged"
    node: str
    into: str
    similarity: float


class PassClosed(Event):
    """A node's expansion is complete; `void` says why the pass does not count."""

    type: Literal["pass_closed"] = "pass_closed"
    node: str
    void: str = ""


class ExternalProposed(Event):
    """The cross-check X named addresses to look at."""

    type: Literal["external_proposed"] = "external_proposed"
    node: str
    citations: list[Citation] = Field(default_factory=list)
    reason: str = ""


class ExternalChecked(Event):
    """The addresses of the cross-check X were fetched and checked."""

    type: Literal["external_checked"] = "external_checked"
    node: str
    citations: list[CheckedCitation] = Field(default_factory=list)


class RoundClosed(Event):
    """A round ended, with the state of all six conditions and, when the run ends, the status to come."""

    type: Literal["round_closed"] = "round_closed"
    number: int
    new_nodes: int
    new_converging: int
    conditions: list[ConditionState]
    ending: Status | None = None
    reason: str = ""


class Summarised(Event):
    """The narrative parts of the report."""

    type: Literal["summarised"] = "summarised"
    weirdest_branch: str = ""
    blind_spots: list[str] = Field(default_factory=list)
    next_steps: list[dict[str, Any]] = Field(default_factory=list)
    narrative: str = ""
    reason: str = ""


class StatusChanged(Event):
    """The run has another status."""

    type: Literal["status_changed"] = "status_changed"
    status: Status
    reason: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class CapsChanged(Event):
    """The user changed caps or options."""

    type: Literal["caps_changed"] = "caps_changed"
    caps: Caps
    options: dict[str, Any] = Field(default_factory=dict)


class SpendRecorded(Event):
    """A call to a model and what it used."""

    type: Literal["spend_recorded"] = "spend_recorded"
    task: str
    provider: str
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class TaskFailed(Event):
    """A performer could not fill in a task; `raw` is what a model said."""

    type: Literal["task_failed"] = "task_failed"
    task: str
    code: str
    message: str
    raw: str = ""


class Noted(Event):
    """Something for the record."""

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
