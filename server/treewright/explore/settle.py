"""What follows from the state without anybody's help: verdicts, admissions, merges, rounds, endings.

`settle` returns the events of one step; the caller folds and journals them and asks again until nothing follows. Each step is
decided from the folded tree alone, so that a run cut off between two events goes on as if it had not been.
"""

from treewright.explore.convergence import (
    FRAMINGS,
    conditions,
    ending,
    expandable,
    terminal_count,
)
from treewright.explore.materials import Materials
from treewright.explore.merging import THRESHOLD, cosine, merges, normalised, positions_overlap, trigrams
from treewright.explore.ports import Bodies
from treewright.explore.ready import GROUND_TRIES, SUMMARY_TRIES
from treewright.explore.rules.f1_memory import dominated
from treewright.explore.rules.text import says_nothing
from treewright.explore.scoring import Evidence, decide
from treewright.presets.schema import Preset
from treewright.tree import event as e
from treewright.tree.body import Derivation, Draft, Proposal
from treewright.tree.citation import CheckedCitation
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT, child_id, ordinal_of, sort_key
from treewright.tree.node import Node, Phase
from treewright.tree.passes import FramingStep, Pass
from treewright.tree.run import Status

MAX_REROUTES = 2
"""Reroutes before a node is unresolved (contract: exploration, 2 F8)."""


def settle(tree: Tree, materials: Materials, bodies: Bodies, priority: "Priority") -> list[e.Event]:
    """Return the events that follow from the state, or none when only a task can move it on."""
    if tree.started is None or tree.status is not Status.GROWING:
        return []
    if not tree.root_checked:
        if tree.grounded_at < 0 and tree.ground_attempts >= GROUND_TRIES:
            return [e.StatusChanged(status=Status.EARLY_STOP, reason="root_underspecified")]
        return []
    if (checked := next(iter(tree.waiting[Phase.CHECKED]), None)) is not None:
        return [_verdict(tree.nodes[checked], materials.preset, bodies, priority)]
    if (ripe := next(iter(tree.draftable), None)) is not None:
        return [_admit(tree, materials, tree.passes[ripe], bodies)]
    if (quiet := next(iter(tree.quiet), None)) is not None:
        return _quiet_pass(tree, tree.passes[quiet])
    if tree.passes:
        return []
    return _between_rounds(tree)


class Priority:
    """How much a node is moved up in the frontier; a field profile supplies another one."""

    def of(self, node: Node, body: Derivation) -> float:  # noqa: ARG002 - the seam for profiles
        """Return what is added to the node's score when the frontier is ordered; 0 leaves it."""
        return 0.0


def _verdict(node: Node, preset: Preset, bodies: Bodies, priority: Priority) -> e.Event:
    derived = bodies.read(node.derived_at)
    checked = bodies.read(node.checked_at)
    assert isinstance(derived, e.NodeDerived)
    assert isinstance(checked, e.NodeChecked)
    scores = {key: derived.body.scores[key] for key in preset.dim_keys()}
    evidence = Evidence(
        defense_shown=defense_shown(preset, derived.body, checked.citations),
        missing=frozenset(
            name for name in preset.node_schema if says_nothing(derived.body.fields.get(name, ""))
        ),
        dominated=bool(checked.citations) and dominated(checked.citations),
        failed_numbers=sum(1 for outcome in checked.numerics if outcome.state == "failed"),
    )
    verdict = decide(preset, scores, evidence)
    return e.VerdictGiven(
        node=node.id,
        role=verdict.role,
        label=preset.label(verdict.role),
        scores=list(scores.values()),
        reasons=list(verdict.reasons),
        priority=priority.of(node, derived.body),
    )


def defense_shown(preset: Preset, body: Derivation, citations: list[CheckedCitation]) -> bool:
    """Tell whether a defense was shown: claimed, and with a citation in the defense field that holds."""
    field = preset.parts.defense
    return body.defense_shown and any(c.state.holds and c.citation.field == field for c in citations)


def _admit(tree: Tree, materials: Materials, home: Pass, bodies: Bodies) -> e.Event:
    letter = home.next_to_admit()
    assert letter is not None
    state = home.framings[letter]
    if state.step is not FramingStep.CHECKED:
        return e.FramingAdmitted(node=home.node, framing=letter)
    answer = bodies.read(state.answer_at)
    checked = bodies.read(state.checked_at)
    assert isinstance(answer, e.FramingAnswered)
    assert isinstance(checked, e.ProposalsChecked)
    known = {(normalised(n.statement), n.position.strip()) for n in tree.children(home.node)}
    framing = materials.framings.get(letter)
    new_branch = framing is not None and framing.requirement.new_branch
    room = _room(tree, home, letter)
    ordinal = next_ordinal(tree, home.node, letter)
    drafts: list[Draft] = []
    dropped: list[dict[str, object]] = []
    for index in checked.usable:
        proposal = answer.proposals[index]
        key = (normalised(proposal.statement), proposal.position.strip())
        if key in known:
            dropped.append({"index": index, "reason": "same statement and position as a sibling"})
        elif new_branch and (like := _alike(tree, home.node, proposal)):
            dropped.append({"index": index, "reason": f"no new branch: {like} says it already"})
        elif room is not None and len(drafts) >= room:
            dropped.append({"index": index, "reason": f"max_branches {tree.caps.max_branches}"})
        else:
            known.add(key)
            node = child_id(home.node, letter, ordinal + len(drafts))
            drafts.append(
                Draft(node=node, index=index, statement=proposal.statement, position=proposal.position)
            )
    return e.FramingAdmitted(node=home.node, framing=letter, drafts=drafts, dropped=dropped)


def _alike(tree: Tree, parent: str, proposal: Proposal) -> str:
    """Return the sibling that a proposal repeats; empty when it brings something that the tree does not have."""
    grams = trigrams(proposal.statement)
    for sibling in tree.children(parent):
        overlap = positions_overlap(sibling.position, proposal.position)
        if overlap and cosine(grams, trigrams(sibling.statement)) >= THRESHOLD:
            return sibling.id
    return ""


def _room(tree: Tree, home: Pass, letter: str) -> int | None:
    """How many children a framing may bring: each framing after it keeps a place (rule F4)."""
    if tree.caps.max_branches is None:
        return None
    later = sum(1 for other in home.framings if other > letter)
    return max(1, tree.caps.max_branches - len(home.members) - later)


def next_ordinal(tree: Tree, parent: str, letter: str) -> int:
    """Return the first free ordinal of a framing below a node."""
    taken = [ordinal_of(child.id) for child in tree.children(parent) if child.framing == letter]
    return max(taken, default=0) + 1


def _quiet_pass(tree: Tree, home: Pass) -> list[e.Event]:
    blocked = [tree.nodes[n] for n in home.members if tree.nodes[n].phase is Phase.BLOCKED]
    if blocked:
        blocked.sort(key=lambda node: sort_key(node.id))
        spent = [node for node in blocked if node.reroutes >= MAX_REROUTES]
        if spent:
            return [e.NodeUnresolved(node=node.id, reasons=list(node.reasons)) for node in spent]
        first = max(next_ordinal(tree, home.node, "E"), max(home.reroutes.values(), default=0) + 1)
        return [
            e.ReroutesOpened(
                parent=home.node, assigned={node.id: first + offset for offset, node in enumerate(blocked)}
            )
        ]
    standing = [tree.nodes[n] for n in home.members if tree.nodes[n].counts]
    void = home.framings.get("K")
    reason = f"framing K: {void.reason}" if void and void.step is FramingStep.VOID else ""
    return [
        *(e.NodeMerged(node=m.node, into=m.into, similarity=m.similarity) for m in merges(standing)),
        e.PassClosed(node=home.node, void=reason),
    ]


def _between_rounds(tree: Tree) -> list[e.Event]:
    current = tree.round
    if current is not None:
        states = conditions(tree)
        end = ending(tree, states)
        return [
            e.RoundClosed(
                number=current.number,
                new_nodes=current.new_nodes,
                new_converging=current.new_converging,
                conditions=states,
                ending=end.status if end else None,
                reason=end.reason if end else "",
            )
        ]
    if tree.ending is None:
        return _open_round(tree)
    if tree.summarised_at >= 0:
        details = {"strong": not tree.option("no_grill", False)} if tree.ending is Status.CONVERGED else {}
        return [e.StatusChanged(status=tree.ending, reason=tree.ending_reason, details=details)]
    if tree.summary_failures >= SUMMARY_TRIES:
        return [e.Summarised(reason="the performer gave no usable summary")]
    return []


def _open_round(tree: Tree) -> list[e.Event]:
    number = len(tree.rounds) + 1
    if not tree.rounds:
        seeds = sorted(tree.frontier, key=sort_key)
        return [e.RoundStarted(number=number, frontier=[ROOT, *seeds])]
    end = ending(tree, conditions(tree))
    if end is not None:
        return [e.StatusChanged(status=end.status, reason=end.reason)]
    order = sorted(
        expandable(tree),
        key=lambda n: (-(tree.nodes[n].total + tree.nodes[n].priority), sort_key(n)),
    )
    if not order:
        return [e.RoundStarted(number=number, frontier=[ROOT], framings="K")]
    if tree.caps.width is not None:
        left = tree.caps.width - terminal_count(tree)
        order = order[: max(1, -(-left // len(FRAMINGS)))]
    return [e.RoundStarted(number=number, frontier=order, held=len(tree.frontier) - len(order))]
