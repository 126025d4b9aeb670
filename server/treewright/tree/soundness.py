"""Whether an event fits the tree it comes to.

In a whole journal every event does. Where lines were lost, events that rested on them do not; they are passed over, so that the tree
stays one that the engine can go on from: what was lost is simply not done yet.
"""

from collections.abc import Callable
from typing import Any

from treewright.tree import event as e
from treewright.tree.fold import Tree
from treewright.tree.ids import parent_id
from treewright.tree.node import Phase
from treewright.tree.passes import FramingStep
from treewright.tree.run import Role


def fits(tree: Tree, event: e.Event) -> bool:
    """Tell whether everything that an event rests on is in the tree."""
    if tree.started is None:
        return isinstance(event, e.RunStarted | e.Noted)
    check = _CHECKS.get(type(event))
    return check is None or check(tree, event)


def _in_phase(*phases: Phase) -> Callable[[Tree, Any], bool]:
    def check(tree: Tree, event: Any) -> bool:
        node = tree.nodes.get(event.node)
        return node is not None and node.phase in phases

    return check


def _root_checked(tree: Tree, _event: e.RootChecked) -> bool:
    return tree.grounded_at >= 0


def _node_seeded(tree: Tree, event: e.NodeSeeded) -> bool:
    return event.node not in tree.nodes


def _round_started(tree: Tree, event: e.RoundStarted) -> bool:
    known = all(node in tree.nodes for node in event.frontier)
    return tree.root_checked and tree.round is None and event.number == len(tree.rounds) + 1 and known


def _step(tree: Tree, event: Any) -> FramingStep | None:
    home = tree.passes.get(event.node)
    state = home.framings.get(event.framing) if home else None
    return state.step if state else None


def _framing_answered(tree: Tree, event: e.FramingAnswered) -> bool:
    return _step(tree, event) is FramingStep.ASKED


def _proposals_checked(tree: Tree, event: e.ProposalsChecked) -> bool:
    return _step(tree, event) is FramingStep.ANSWERED


def _framing_admitted(tree: Tree, event: e.FramingAdmitted) -> bool:
    home = tree.passes.get(event.node)
    fresh = not any(draft.node in tree.nodes for draft in event.drafts)
    return home is not None and home.next_to_admit() == event.framing and fresh


def _node_derived(tree: Tree, event: e.NodeDerived) -> bool:
    node = tree.nodes.get(event.node)
    return (
        node is not None
        and node.phase in (Phase.DRAFTED, Phase.FAULTY)
        and event.revision == node.revision + 1
    )


def _node_checked(tree: Tree, event: e.NodeChecked) -> bool:
    node = tree.nodes.get(event.node)
    return node is not None and node.phase is Phase.DERIVED and event.revision == node.revision


def _reroutes_opened(tree: Tree, event: e.ReroutesOpened) -> bool:
    blocked = tree.waiting[Phase.BLOCKED]
    return event.parent in tree.passes and all(node in blocked for node in event.assigned)


def _node_rerouted(tree: Tree, event: e.NodeRerouted) -> bool:
    node = tree.nodes.get(event.node)
    ready = node is not None and node.phase is Phase.REROUTING
    return ready and event.by not in tree.nodes and parent_id(event.by) in tree.passes


def _node_unresolved(tree: Tree, event: e.NodeUnresolved) -> bool:
    node = tree.nodes.get(event.node)
    return node is not None and node.role is Role.BLOCKED


def _node_merged(tree: Tree, event: e.NodeMerged) -> bool:
    return event.node in tree.nodes and event.into in tree.nodes


def _pass_closed(tree: Tree, event: e.PassClosed) -> bool:
    return event.node in tree.quiet


def _round_closed(tree: Tree, event: e.RoundClosed) -> bool:
    return tree.round is not None and not tree.passes and event.number == len(tree.rounds)


def _summarised(tree: Tree, _event: e.Summarised) -> bool:
    return tree.ending is not None


def _status_changed(tree: Tree, event: e.StatusChanged) -> bool:
    """A run ends only where its last round said so, or before its first round."""
    return not event.status.final or tree.ending is event.status or not tree.rounds


_CHECKS: dict[type[e.Event], Callable[[Tree, Any], bool]] = {
    e.RootChecked: _root_checked,
    e.NodeSeeded: _node_seeded,
    e.RoundStarted: _round_started,
    e.FramingAnswered: _framing_answered,
    e.ProposalsChecked: _proposals_checked,
    e.FramingAdmitted: _framing_admitted,
    e.NodeDerived: _node_derived,
    e.NodeChecked: _node_checked,
    e.NodeBlocked: _in_phase(Phase.DRAFTED, Phase.FAULTY, Phase.DERIVED, Phase.CHECKED),
    e.VerdictGiven: _in_phase(Phase.CHECKED),
    e.ExternalProposed: _in_phase(Phase.EXTERNAL),
    e.ExternalChecked: _in_phase(Phase.EXTERNAL_CHECK),
    e.ReroutesOpened: _reroutes_opened,
    e.RerouteVoided: _in_phase(Phase.REROUTING),
    e.NodeRerouted: _node_rerouted,
    e.NodeUnresolved: _node_unresolved,
    e.NodeMerged: _node_merged,
    e.PassClosed: _pass_closed,
    e.RoundClosed: _round_closed,
    e.Summarised: _summarised,
    e.StatusChanged: _status_changed,
}
