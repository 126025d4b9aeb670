"""The tree as a fold of its events.

`Tree.apply` is total over `AnyEvent` and pure: the same events give the same tree, and folding a prefix and then the rest equals
folding all.
"""

from collections.abc import Callable, Iterable
from typing import Any

from treewright.tree import event as e
from treewright.tree.citation import CheckedCitation, CitationState
from treewright.tree.ids import ROOT
from treewright.tree.node import Node, Phase
from treewright.tree.passes import FramingState, FramingStep, Pass
from treewright.tree.run import Role
from treewright.tree.state import Record, Round, TreeState

FRAMING_TRIES = 2
"""A framing that returns nothing usable is asked again once, then void (contract: exploration, 3)."""
HIGH_RISK_TRIES = 3
"""Framing K is void only after three tries (contract: exploration, 7)."""
STEP_TRIES = 2
"""Failures of the performer on one step of a node before the node is blocked."""

_STATES = (CitationState.VERIFIED, CitationState.CORRECTED, CitationState.WEAK, CitationState.UNVERIFIED)


class Tree(TreeState):
    """A run's state, with the fold."""

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


def count_states(citations: Iterable[CheckedCitation]) -> tuple[int, int, int, int]:
    """Count citations by state: verified, corrected, weak, unverified."""
    found = [0, 0, 0, 0]
    for checked in citations:
        found[_STATES.index(checked.state)] += 1
    return (found[0], found[1], found[2], found[3])


def _run_started(tree: TreeState, event: e.RunStarted, _at: int) -> None:
    tree.started = event
    tree.caps = event.caps
    tree.options = dict(event.options)


def _glossary_settled(tree: TreeState, _event: e.GlossarySettled, at: int) -> None:
    tree.glossary_at = at


def _grounded(tree: TreeState, event: e.Grounded, at: int) -> None:
    tree.ground_attempts = event.attempt
    if event.violations:
        tree.ground_faulty_at = at
        return
    tree.grounded_at = at
    tree.root.statement = event.statement
    tree.root.derived_at = at


def _root_checked(tree: TreeState, event: e.RootChecked, at: int) -> None:
    tree.root_checked = True
    tree.root.checked_at = at
    tree.root.citations = count_states(event.citations)


def _node_seeded(tree: TreeState, event: e.NodeSeeded, at: int) -> None:
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


def _round_started(tree: TreeState, event: e.RoundStarted, _at: int) -> None:
    tree.rounds.append(Round(event.number, list(event.frontier), event.framings))
    tree.summarised_at = -1
    tree.summary_failures = 0
    for node in event.frontier:
        tree.passes[node] = Pass.opened(node, event.number, event.framings)
        tree.frontier.pop(node, None)
        for letter in event.framings:
            tree.ask(tree.passes[node], letter)


def _framing(tree: TreeState, event: Any) -> tuple[Pass, FramingState] | None:
    home = tree.passes.get(event.node)
    state = home.framings.get(event.framing) if home else None
    return (home, state) if home and state else None


def _framing_answered(tree: TreeState, event: e.FramingAnswered, at: int) -> None:
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
    tree.ask(home, event.framing)


def _proposals_checked(tree: TreeState, event: e.ProposalsChecked, at: int) -> None:
    if (found := _framing(tree, event)) is None:
        return
    home, state = found
    state.checked_at = at
    if event.usable:
        state.step = FramingStep.CHECKED
        _fired(tree, event.node, event.framing, "answered")
    else:
        _fail_framing(tree, home, event.framing, "; ".join(event.reasons) or "no usable proposal", at)
    tree.ask(home, event.framing)


def _fail_framing(tree: TreeState, home: Pass, letter: str, reason: str, at: int) -> None:
    """Count an unusable answer; after the last try the framing is void (contract: exploration, 3 and 7)."""
    state = home.framings[letter]
    tries = HIGH_RISK_TRIES if letter == "K" else FRAMING_TRIES
    state.fail(reason)
    if state.tries >= tries:
        state.step = FramingStep.VOID
        tree.records.append(Record(home.node, letter, "void", reason, at))
        _fired(tree, home.node, letter, "void")


def _fired(tree: TreeState, node: str, framing: str, how: str) -> None:
    if node == ROOT and tree.root_fired.get(framing) != "answered":
        tree.root_fired[framing] = how


def _framing_admitted(tree: TreeState, event: e.FramingAdmitted, _at: int) -> None:
    if (found := _framing(tree, event)) is None:
        return
    home, state = found
    state.admitted = True
    for draft in event.drafts:
        tree.add(
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
    tree.watch(home)


def _node_derived(tree: TreeState, event: e.NodeDerived, at: int) -> None:
    node = tree.nodes[event.node]
    node.derived_at = at
    node.revision = event.revision
    node.failures = 0
    node.cwe = event.body.cwe
    node.outlook = event.outlook
    node.scores = tuple(event.body.scores.values())
    tree.move(node, Phase.DERIVED)


def _node_checked(tree: TreeState, event: e.NodeChecked, at: int) -> None:
    node = tree.nodes[event.node]
    node.checked_at = at
    node.citations = count_states(event.citations)
    if not event.violations:
        tree.move(node, Phase.CHECKED)
    elif node.revision > int(tree.option("max_revisions", 3)):
        tree.block(node, [f"{v.rule} {v.field}: {v.message}" for v in event.violations])
    else:
        tree.move(node, Phase.FAULTY)


def _node_blocked(tree: TreeState, event: e.NodeBlocked, _at: int) -> None:
    tree.block(tree.nodes[event.node], event.reasons)


def _verdict_given(tree: TreeState, event: e.VerdictGiven, _at: int) -> None:
    node = tree.nodes[event.node]
    node.role = event.role
    node.scores = tuple(event.scores)
    node.reasons = tuple(event.reasons)
    node.priority = event.priority
    tree.note_high_risk(node)
    if event.role is Role.BLOCKED:
        tree.block(node, event.reasons)
        return
    if event.role is Role.ADVANCES:
        tree.frontier[node.id] = None
    tree.move(node, Phase.EXTERNAL if tree.option("online", False) else Phase.SETTLED)


def _external_proposed(tree: TreeState, event: e.ExternalProposed, at: int) -> None:
    node = tree.nodes[event.node]
    node.external_at = at
    tree.move(node, Phase.EXTERNAL_CHECK if event.citations else Phase.SETTLED)


def _external_checked(tree: TreeState, event: e.ExternalChecked, at: int) -> None:
    node = tree.nodes[event.node]
    node.external_at = at
    tree.move(node, Phase.SETTLED)


def _reroutes_opened(tree: TreeState, event: e.ReroutesOpened, _at: int) -> None:
    home = tree.passes[event.parent]
    home.reroutes.update(event.assigned)
    for node in event.assigned:
        tree.move(tree.nodes[node], Phase.REROUTING)


def _reroute_voided(tree: TreeState, event: e.RerouteVoided, _at: int) -> None:
    node = tree.nodes[event.node]
    node.reroutes += 1
    node.failures = 0
    tree.block(node, [*node.reasons, f"reroute {node.reroutes}: {event.reason}"])


def _node_rerouted(tree: TreeState, event: e.NodeRerouted, at: int) -> None:
    old = tree.nodes[event.node]
    proposal = event.proposals[0]
    old.superseded_by = event.by
    tree.add(
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
    tree.move(old, Phase.SETTLED)


def _node_unresolved(tree: TreeState, event: e.NodeUnresolved, _at: int) -> None:
    node = tree.nodes[event.node]
    node.unresolved = True
    node.reasons = tuple(event.reasons)
    tree.move(node, Phase.SETTLED)


def _node_merged(tree: TreeState, event: e.NodeMerged, _at: int) -> None:
    node = tree.nodes[event.node]
    node.merged_into = event.into
    tree.frontier.pop(node.id, None)


def _pass_closed(tree: TreeState, event: e.PassClosed, _at: int) -> None:
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


def _round_closed(tree: TreeState, event: e.RoundClosed, _at: int) -> None:
    current = tree.rounds[-1]
    current.closed = True
    current.conditions = list(event.conditions)
    tree.ending = event.ending
    tree.ending_reason = event.reason


def _summarised(tree: TreeState, _event: e.Summarised, at: int) -> None:
    tree.summarised_at = at


def _status_changed(tree: TreeState, event: e.StatusChanged, _at: int) -> None:
    tree.status = event.status
    tree.reason = event.reason
    tree.details = dict(event.details)


def _caps_changed(tree: TreeState, event: e.CapsChanged, _at: int) -> None:
    tree.caps = event.caps
    tree.options.update(event.options)
    if tree.ending is not None and not tree.status.final:
        tree.ending = None
        tree.ending_reason = ""


def _spend_recorded(tree: TreeState, event: e.SpendRecorded, _at: int) -> None:
    tree.spend.usd += event.usd
    tree.spend.prompt_tokens += event.prompt_tokens
    tree.spend.completion_tokens += event.completion_tokens
    tree.spend.seconds += event.seconds
    tree.spend.calls += 1


def _task_failed(tree: TreeState, event: e.TaskFailed, at: int) -> None:
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
            tree.ask(home, letter)
    elif kind in ("derive", "revise") and (node := tree.nodes.get(node_id)) is not None:
        node.failures += 1
        if node.failures >= STEP_TRIES:
            tree.block(node, [*node.reasons, event.message])


def _noted(tree: TreeState, _event: e.Noted, at: int) -> None:
    tree.notes.append(at)


_HANDLERS: dict[type[e.Event], Callable[[TreeState, Any, int], None]] = {
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
