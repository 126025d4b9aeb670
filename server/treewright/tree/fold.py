"""The tree as a fold of its events.

`Tree.apply` is total over `AnyEvent` and pure: the same events give the same tree, and folding a prefix and then the rest equals
folding all. Beside the nodes it keeps the indexes by which the engine finds what is ready in constant time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from treewright.tree import event as e
from treewright.tree.citation import CheckedCitation, CitationState
from treewright.tree.ids import ROOT
from treewright.tree.node import Node, Phase
from treewright.tree.passes import FramingState, FramingStep, Pass
from treewright.tree.run import Caps, Role, Status

FRAMING_TRIES = 2
"""A framing that returns nothing usable is asked again once, then void (contract: exploration, 3)."""
HIGH_RISK_TRIES = 3
"""Framing K is void only after three tries (contract: exploration, 7)."""
STEP_TRIES = 2
"""Failures of the performer on one step of a node before the node is blocked."""

_IDLE = (Phase.SETTLED, Phase.BLOCKED)
_STATES = (CitationState.VERIFIED, CitationState.CORRECTED, CitationState.WEAK, CitationState.UNVERIFIED)


@dataclass(slots=True)
class Round:
    """A round: the frontier it expands and what came of it.

    Attributes:
        number: from 1.
        frontier: the nodes expanded in it.
        framings: the letters applied.
        new_nodes: children that settled in it, merged and superseded ones left out.
        new_converging: those in the convergence role.
        conditions: the six conditions at its close; empty while it is open.
        closed: whether it has closed.
    """

    number: int
    frontier: list[str]
    framings: str
    new_nodes: int = 0
    new_converging: int = 0
    conditions: list[e.ConditionState] = field(default_factory=list)
    closed: bool = False


@dataclass(slots=True)
class Spend:
    """What a run has used: dollars, tokens, seconds, calls."""

    usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    calls: int = 0


@dataclass(slots=True)
class Record:
    """A framing that brought no child: what it examined or why it is void; the body is event `at`."""

    node: str
    framing: str
    kind: str
    reason: str
    at: int


class Tree:
    """A run's state.

    Attributes:
        started: the first event; None before it.
        status, reason, details: where the run stands.
        caps, options: as last set.
        nodes: by id; the root is there from the start.
        grounded_at: number of the event of the accepted root; -1 before.
        ground_attempts: answers to `ground` so far.
        root_checked: the root's citations were checked.
        passes: open passes by the node they expand.
        rounds: all rounds; the last may be open.
        frontier: advancing, not yet expanded nodes that stand for themselves.
        waiting: nodes by phase, in the order they came to it.
        draftable: passes that have an answer to admit.
        quiet: passes in which nothing is in progress.
        records: framings that brought no child.
        root_fired: letters answered or void at the root.
        void_passes: nodes whose pass is void, with the reason.
        high_risk: whether condition 5 holds.
        ending: the status decided at the last round's close; None before.
        summarised_at: number of the event of the summary; -1 before.
        failures, notes: numbers of the events of failed tasks and notes.
        glossary_at: number of the event of the settled glossary; -1 before.
        spend: totals.
        events: how many events were folded.
    """

    def __init__(self) -> None:
        self.started: e.RunStarted | None = None
        self.status = Status.GROWING
        self.reason = ""
        self.details: dict[str, Any] = {}
        self.caps = Caps()
        self.options: dict[str, Any] = {}
        self.nodes: dict[str, Node] = {ROOT: Node(id=ROOT, parent=None, phase=Phase.SETTLED)}
        self.grounded_at = -1
        self.ground_attempts = 0
        self.ground_faulty_at = -1
        self.root_checked = False
        self.passes: dict[str, Pass] = {}
        self.rounds: list[Round] = []
        self.frontier: dict[str, None] = {}
        self.waiting: dict[Phase, dict[str, None]] = {phase: {} for phase in Phase}
        self.draftable: dict[str, None] = {}
        self.quiet: dict[str, None] = {}
        self.records: list[Record] = []
        self.root_fired: dict[str, str] = {}
        self.void_passes: dict[str, str] = {}
        self.high_risk = False
        self.ending: Status | None = None
        self.ending_reason = ""
        self.summarised_at = -1
        self.summary_failures = 0
        self.failures: list[int] = []
        self.notes: list[int] = []
        self.glossary_at = -1
        self.spend = Spend()
        self.events = 0

    @property
    def root(self) -> Node:
        """The root node."""
        return self.nodes[ROOT]

    @property
    def round(self) -> Round | None:
        """The open round; None between rounds."""
        return self.rounds[-1] if self.rounds and not self.rounds[-1].closed else None

    @property
    def closed_rounds(self) -> int:
        """How many rounds have closed."""
        return len(self.rounds) - (1 if self.round else 0)

    def option(self, name: str, default: Any) -> Any:
        """Return an option of the run, or a default."""
        return self.options.get(name, default)

    def children(self, node: str) -> list[Node]:
        """Return a node's children in the order drafted."""
        return [self.nodes[child] for child in self.nodes[node].children]

    def descendants(self) -> Iterator[Node]:
        """Yield every node but the root, parents before children."""
        return (node for node in self.nodes.values() if node.parent is not None)

    def apply(self, event: e.Event, at: int) -> None:
        """Fold one event.

        Args:
            event: any of `AnyEvent`.
            at: the event's number in the journal, from 1; bodies are read back by it.
        """
        self.events += 1
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event, at)

    # nodes moving between phases

    def _move(self, node: Node, phase: Phase) -> None:
        self.waiting[node.phase].pop(node.id, None)
        home = self.passes.get(node.parent or "")
        if home is not None and node.id in home.members:
            home.active += (phase not in _IDLE) - (node.phase not in _IDLE)
            home.blocked += (phase is Phase.BLOCKED) - (node.phase is Phase.BLOCKED)
        node.phase = phase
        if phase is not Phase.SETTLED:
            self.waiting[phase][node.id] = None
        if home is not None:
            self._watch(home)

    def _add(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.nodes[node.parent or ROOT].children.append(node.id)
        home = self.passes[node.parent or ROOT]
        home.members[node.id] = None
        home.active += 1
        self.waiting[node.phase][node.id] = None
        self._watch(home)

    def _watch(self, home: Pass) -> None:
        _keep(self.draftable, home.node, home.next_to_admit() is not None)
        _keep(self.quiet, home.node, home.all_admitted() and home.active == 0)

    def _block(self, node: Node, reasons: Iterable[str]) -> None:
        node.role = Role.BLOCKED
        node.reasons = tuple(reasons)
        self._move(node, Phase.BLOCKED)

    def _high_risk(self, node: Node) -> None:
        if node.framing == "K" and node.scores and node.counts:
            self.high_risk = True


def _keep(index: dict[str, None], key: str, present: bool) -> None:
    if present:
        index[key] = None
    else:
        index.pop(key, None)


def count_states(citations: Iterable[CheckedCitation]) -> tuple[int, int, int, int]:
    """Count citations by state: verified, corrected, weak, unverified."""
    found = [0, 0, 0, 0]
    for checked in citations:
        found[_STATES.index(checked.state)] += 1
    return (found[0], found[1], found[2], found[3])


def _run_started(tree: Tree, event: e.RunStarted, _at: int) -> None:
    tree.started = event
    tree.caps = event.caps
    tree.options = dict(event.options)


def _glossary_settled(tree: Tree, _event: e.GlossarySettled, at: int) -> None:
    tree.glossary_at = at


def _grounded(tree: Tree, event: e.Grounded, at: int) -> None:
    tree.ground_attempts = event.attempt
    if event.violations:
        tree.ground_faulty_at = at
        return
    tree.grounded_at = at
    tree.root.statement = event.statement
    tree.root.derived_at = at


def _root_checked(tree: Tree, event: e.RootChecked, at: int) -> None:
    tree.root_checked = True
    tree.root.checked_at = at
    tree.root.citations = count_states(event.citations)


def _node_seeded(tree: Tree, event: e.NodeSeeded, at: int) -> None:
    node = Node(
        id=event.node,
        parent=ROOT,
        statement=event.statement,
        position=event.position,
        phase=Phase.SETTLED,
        role=Role.ADVANCES,
        seeded=True,
        derived_at=at,
    )
    tree.nodes[node.id] = node
    tree.root.children.append(node.id)
    tree.frontier[node.id] = None


def _round_started(tree: Tree, event: e.RoundStarted, _at: int) -> None:
    tree.rounds.append(Round(event.number, list(event.frontier), event.framings))
    tree.summarised_at = -1
    tree.summary_failures = 0
    for node in event.frontier:
        tree.passes[node] = Pass.opened(node, event.number, event.framings)
        tree.frontier.pop(node, None)


def _framing(tree: Tree, event: Any) -> tuple[Pass, FramingState] | None:
    home = tree.passes.get(event.node)
    state = home.framings.get(event.framing) if home else None
    return (home, state) if home and state else None


def _framing_answered(tree: Tree, event: e.FramingAnswered, at: int) -> None:
    if (found := _framing(tree, event)) is None:
        return
    home, state = found
    state.attempt = event.attempt
    state.answer_at = at
    if event.proposals:
        state.step = FramingStep.ANSWERED
    elif event.examined is not None:
        state.step = FramingStep.EXAMINED
        tree.records.append(Record(event.node, event.framing, "examined", event.examined.note, at))
        _fired(tree, event.node, event.framing, "examined")
        if event.framing == "K" and event.node == ROOT:
            tree.high_risk = True
    else:
        _fail_framing(tree, home, event.framing, event.reason or "no usable answer", at)
    tree._watch(home)


def _proposals_checked(tree: Tree, event: e.ProposalsChecked, at: int) -> None:
    if (found := _framing(tree, event)) is None:
        return
    home, state = found
    state.checked_at = at
    if event.usable:
        state.step = FramingStep.CHECKED
        _fired(tree, event.node, event.framing, "answered")
    else:
        _fail_framing(tree, home, event.framing, "; ".join(event.reasons) or "no usable proposal", at)
    tree._watch(home)


def _fail_framing(tree: Tree, home: Pass, letter: str, reason: str, at: int) -> None:
    """Count an unusable answer; after the last try the framing is void (contract: exploration, 3 and 7)."""
    state = home.framings[letter]
    tries = HIGH_RISK_TRIES if letter == "K" else FRAMING_TRIES
    state.fail(reason)
    if state.tries >= tries:
        state.step = FramingStep.VOID
        tree.records.append(Record(home.node, letter, "void", reason, at))
        _fired(tree, home.node, letter, "void")


def _fired(tree: Tree, node: str, framing: str, how: str) -> None:
    if node == ROOT and tree.root_fired.get(framing) != "answered":
        tree.root_fired[framing] = how


def _framing_admitted(tree: Tree, event: e.FramingAdmitted, _at: int) -> None:
    if (found := _framing(tree, event)) is None:
        return
    home, state = found
    state.admitted = True
    for draft in event.drafts:
        tree._add(
            Node(
                id=draft.node,
                parent=event.node,
                statement=draft.statement,
                position=draft.position,
                round=home.round,
                answer_at=state.answer_at,
                answer_index=draft.index,
            )
        )
    tree._watch(home)


def _node_derived(tree: Tree, event: e.NodeDerived, at: int) -> None:
    node = tree.nodes[event.node]
    node.derived_at = at
    node.revision = event.revision
    node.failures = 0
    node.cwe = event.body.cwe
    node.scores = tuple(event.body.scores.values())
    tree._move(node, Phase.DERIVED)


def _node_checked(tree: Tree, event: e.NodeChecked, at: int) -> None:
    node = tree.nodes[event.node]
    node.checked_at = at
    node.citations = count_states(event.citations)
    if not event.violations:
        tree._move(node, Phase.CHECKED)
    elif node.revision > int(tree.option("max_revisions", 3)):
        tree._block(node, [f"{v.rule} {v.field}: {v.message}" for v in event.violations])
    else:
        tree._move(node, Phase.FAULTY)


def _node_blocked(tree: Tree, event: e.NodeBlocked, _at: int) -> None:
    tree._block(tree.nodes[event.node], event.reasons)


def _verdict_given(tree: Tree, event: e.VerdictGiven, _at: int) -> None:
    node = tree.nodes[event.node]
    node.role = event.role
    node.scores = tuple(event.scores)
    node.reasons = tuple(event.reasons)
    node.priority = event.priority
    tree._high_risk(node)
    if event.role is Role.BLOCKED:
        tree._block(node, event.reasons)
        return
    if event.role is Role.ADVANCES:
        tree.frontier[node.id] = None
    tree._move(node, Phase.EXTERNAL if tree.option("online", False) else Phase.SETTLED)


def _external_proposed(tree: Tree, event: e.ExternalProposed, at: int) -> None:
    node = tree.nodes[event.node]
    node.external_at = at
    tree._move(node, Phase.EXTERNAL_CHECK if event.citations else Phase.SETTLED)


def _external_checked(tree: Tree, event: e.ExternalChecked, at: int) -> None:
    node = tree.nodes[event.node]
    node.external_at = at
    tree._move(node, Phase.SETTLED)


def _reroutes_opened(tree: Tree, event: e.ReroutesOpened, _at: int) -> None:
    home = tree.passes[event.parent]
    home.reroutes.update(event.assigned)
    for node in event.assigned:
        tree._move(tree.nodes[node], Phase.REROUTING)


def _reroute_voided(tree: Tree, event: e.RerouteVoided, _at: int) -> None:
    node = tree.nodes[event.node]
    node.reroutes += 1
    node.failures = 0
    tree._block(node, [*node.reasons, f"reroute {node.reroutes}: {event.reason}"])


def _node_rerouted(tree: Tree, event: e.NodeRerouted, at: int) -> None:
    old = tree.nodes[event.node]
    proposal = event.proposals[0]
    old.superseded_by = event.by
    tree._add(
        Node(
            id=event.by,
            parent=old.parent,
            statement=proposal.statement,
            position=proposal.position,
            round=old.round,
            answer_at=at,
            rerouted_from=old.id,
            reroutes=old.reroutes + 1,
        )
    )
    tree._move(old, Phase.SETTLED)


def _node_unresolved(tree: Tree, event: e.NodeUnresolved, _at: int) -> None:
    node = tree.nodes[event.node]
    node.unresolved = True
    node.reasons = tuple(event.reasons)
    tree._move(node, Phase.SETTLED)


def _node_merged(tree: Tree, event: e.NodeMerged, _at: int) -> None:
    node = tree.nodes[event.node]
    node.merged_into = event.into
    tree.frontier.pop(node.id, None)


def _pass_closed(tree: Tree, event: e.PassClosed, _at: int) -> None:
    tree.nodes[event.node].expanded = True
    if event.void:
        tree.void_passes[event.node] = event.void
    home = tree.passes.pop(event.node, None)
    tree.quiet.pop(event.node, None)
    tree.draftable.pop(event.node, None)
    if home and tree.rounds:
        current = tree.rounds[-1]
        metric = str(tree.option("convergence_metric", Role.ADVANCES.value))
        for child in map(tree.nodes.__getitem__, home.members):
            if child.counts:
                current.new_nodes += 1
                current.new_converging += child.role is not None and child.role.value == metric


def _round_closed(tree: Tree, event: e.RoundClosed, _at: int) -> None:
    current = tree.rounds[-1]
    current.closed = True
    current.conditions = list(event.conditions)
    tree.ending = event.ending
    tree.ending_reason = event.reason


def _summarised(tree: Tree, _event: e.Summarised, at: int) -> None:
    tree.summarised_at = at


def _status_changed(tree: Tree, event: e.StatusChanged, _at: int) -> None:
    tree.status = event.status
    tree.reason = event.reason
    tree.details = dict(event.details)


def _caps_changed(tree: Tree, event: e.CapsChanged, _at: int) -> None:
    tree.caps = event.caps
    tree.options.update(event.options)
    if tree.ending is not None and not tree.status.final:
        tree.ending = None
        tree.ending_reason = ""


def _spend_recorded(tree: Tree, event: e.SpendRecorded, _at: int) -> None:
    tree.spend.usd += event.usd
    tree.spend.prompt_tokens += event.prompt_tokens
    tree.spend.completion_tokens += event.completion_tokens
    tree.spend.seconds += event.seconds
    tree.spend.calls += 1


def _task_failed(tree: Tree, event: e.TaskFailed, at: int) -> None:
    tree.failures.append(at)
    kind, _, rest = event.task.partition("/")
    node_id = rest.split("/")[0]
    if kind == "ground":
        tree.ground_attempts += 1
    elif kind == "summarise":
        tree.summary_failures += 1
    elif kind == "propose" and (home := tree.passes.get(node_id)) is not None:
        letter = rest.split("/")[1]
        if letter in home.framings:
            _fail_framing(tree, home, letter, event.message, at)
            tree._watch(home)
    elif kind in ("derive", "revise") and (node := tree.nodes.get(node_id)) is not None:
        node.failures += 1
        if node.failures >= STEP_TRIES:
            tree._block(node, [*node.reasons, event.message])


def _noted(tree: Tree, _event: e.Noted, at: int) -> None:
    tree.notes.append(at)


_HANDLERS: dict[type[e.Event], Callable[[Tree, Any, int], None]] = {
    e.RunStarted: _run_started,
    e.GlossarySettled: _glossary_settled,
    e.Grounded: _grounded,
    e.RootChecked: _root_checked,
    e.NodeSeeded: _node_seeded,
    e.RoundStarted: _round_started,
    e.FramingAnswered: _framing_answered,
    e.ProposalsChecked: _proposals_checked,
    e.FramingAdmitted: _framing_admitted,
    e.NodeDerived: _node_derived,
    e.NodeChecked: _node_checked,
    e.NodeBlocked: _node_blocked,
    e.VerdictGiven: _verdict_given,
    e.ExternalProposed: _external_proposed,
    e.ExternalChecked: _external_checked,
    e.ReroutesOpened: _reroutes_opened,
    e.RerouteVoided: _reroute_voided,
    e.NodeRerouted: _node_rerouted,
    e.NodeUnresolved: _node_unresolved,
    e.NodeMerged: _node_merged,
    e.PassClosed: _pass_closed,
    e.RoundClosed: _round_closed,
    e.Summarised: _summarised,
    e.StatusChanged: _status_changed,
    e.CapsChanged: _caps_changed,
    e.SpendRecorded: _spend_recorded,
    e.TaskFailed: _task_failed,
    e.Noted: _noted,
}
