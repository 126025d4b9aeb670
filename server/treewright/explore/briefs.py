"""What a performer is told about a task. Nothing unverified is ever among the evidence that it is given."""

from typing import Any

from treewright.explore.convergence import conditions, terminal_count
from treewright.explore.materials import Materials
from treewright.explore.ports import Bodies
from treewright.explore.rules.f1_memory import holding
from treewright.explore.tasks import Brief, NodeView, Task, TaskKind
from treewright.presets.schema import Preset
from treewright.tree import event as e
from treewright.tree.body import FieldValue, Proposal
from treewright.tree.citation import CheckedCitation, Citation, Violation
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT, ancestors, sort_key
from treewright.tree.node import Node
from treewright.tree.run import Role

KNOWN_LIMIT = 40
"""Statements a performer is shown so that it does not repeat them."""


def brief(tree: Tree, materials: Materials, bodies: Bodies, task: Task) -> Brief:
    """Return what a performer needs for a ready task."""
    started = tree.started
    assert started is not None
    shared: dict[str, Any] = {
        "task": task,
        "preset": materials.preset,
        "mode": started.mode,
        "language": started.language,
        "root_spec": started.root,
        "glossary": _glossary(tree, bodies),
        "options": tree.options,
        "framing": materials.framings.get(task.framing),
        "framing_note": materials.preset.framing_notes.get(task.framing, ""),
        "profile_notes": materials.profile_notes.get(task.framing, ""),
    }
    match task.kind:
        case TaskKind.GROUND:
            return Brief(**shared, violations=_ground_violations(tree, bodies))
        case TaskKind.PROPOSE:
            return Brief(**shared, **_for_propose(tree, materials, bodies, task))
        case TaskKind.DERIVE | TaskKind.REVISE:
            return Brief(**shared, **_for_node(tree, materials, bodies, tree.nodes[task.node]))
        case TaskKind.EXTERNAL:
            node = tree.nodes[task.node]
            return Brief(
                **shared, root=_root(tree, bodies), lineage=_lineage(tree, materials, bodies, node, own=True)
            )
        case TaskKind.VERIFY:
            return Brief(**shared, **_for_verify(tree, bodies, task))
        case TaskKind.SUMMARISE:
            return Brief(**shared, root=_root(tree, bodies), outline=outline(tree, materials.preset))


def _ground_violations(tree: Tree, bodies: Bodies) -> list[Violation]:
    if tree.ground_faulty_at < 0:
        return []
    event = bodies.read(tree.ground_faulty_at)
    assert isinstance(event, e.Grounded)
    return event.violations


def _root(tree: Tree, bodies: Bodies) -> NodeView | None:
    if tree.grounded_at < 0:
        return None
    event = bodies.read(tree.grounded_at)
    assert isinstance(event, e.Grounded)
    evidence: list[Citation] = []
    if tree.root.checked_at >= 0:
        checked = bodies.read(tree.root.checked_at)
        assert isinstance(checked, e.RootChecked)
        evidence = holding(checked.citations)
    return NodeView(
        id=ROOT, statement=event.statement, fields=event.fields, evidence=evidence, facts=event.facts
    )


def _view(materials: Materials, bodies: Bodies, node: Node) -> NodeView:
    event = bodies.read(node.derived_at) if node.derived_at >= 0 else None
    fields: dict[str, FieldValue] = {}
    facts: dict[str, Any] = {}
    if isinstance(event, e.NodeDerived):
        fields, facts = event.body.fields, event.body.facts
    elif isinstance(event, e.NodeSeeded) and event.body:
        fields = {materials.preset.parts.subject: event.body}
    return NodeView(
        id=node.id,
        statement=node.statement,
        position=node.position,
        label=materials.preset.label(node.role) if node.role else "",
        scores=dict(zip(materials.preset.dim_keys(), node.scores, strict=False)),
        fields=fields,
        evidence=holding(_checked(bodies, node)),
        facts=facts,
    )


def _checked(bodies: Bodies, node: Node) -> list[CheckedCitation]:
    if node.checked_at < 0:
        return []
    event = bodies.read(node.checked_at)
    return event.citations if isinstance(event, e.NodeChecked) else []


def _lineage(tree: Tree, materials: Materials, bodies: Bodies, node: Node, *, own: bool) -> list[NodeView]:
    ids = [*ancestors(node.id)[1:], node.id] if own else ancestors(node.id)[1:]
    return [_view(materials, bodies, tree.nodes[n]) for n in ids if n != ROOT]


def _known(tree: Tree, parent: str) -> list[str]:
    near = [child.statement for child in tree.children(parent)]
    around = [n.statement for n in tree.children(ROOT)] if parent != ROOT else []
    return list(dict.fromkeys([*near, *around]))[:KNOWN_LIMIT]


def _for_propose(tree: Tree, materials: Materials, bodies: Bodies, task: Task) -> dict[str, Any]:
    node = tree.nodes[task.node]
    found: dict[str, Any] = {
        "root": _root(tree, bodies),
        "lineage": _lineage(tree, materials, bodies, node, own=True),
        "known": _known(tree, node.id),
    }
    if task.replaces:
        stuck = tree.nodes[task.replaces]
        found["obstacle"] = f"{stuck.statement}\n" + "\n".join(stuck.reasons)
        return found
    state = tree.passes[task.node].framings[task.framing]
    if state.reason:
        found["violations"] = [Violation(rule="proposal", message=state.reason)]
    return found


def proposal_of(bodies: Bodies, node: Node) -> Proposal | None:
    """Return the proposal that a node was drafted from; None for the root and seeds."""
    if node.answer_at < 0:
        return None
    event = bodies.read(node.answer_at)
    assert isinstance(event, e.FramingAnswered | e.NodeRerouted)
    return event.proposals[node.answer_index]


def _for_node(tree: Tree, materials: Materials, bodies: Bodies, node: Node) -> dict[str, Any]:
    parent = tree.nodes[node.parent or ROOT]
    found: dict[str, Any] = {
        "root": _root(tree, bodies),
        "lineage": _lineage(tree, materials, bodies, parent, own=True),
        "proposal": proposal_of(bodies, node),
        "known": [child.statement for child in tree.children(parent.id) if child.id != node.id][:KNOWN_LIMIT],
    }
    if node.derived_at >= 0:
        derived = bodies.read(node.derived_at)
        assert isinstance(derived, e.NodeDerived)
        found["previous"] = derived.body
    if node.checked_at >= 0:
        checked = bodies.read(node.checked_at)
        assert isinstance(checked, e.NodeChecked)
        found["violations"] = checked.violations
        found["proposal_citations"] = checked.citations
    return found


def _for_verify(tree: Tree, bodies: Bodies, task: Task) -> dict[str, Any]:
    if task.node == ROOT and not task.framing:
        event = bodies.read(tree.grounded_at)
        assert isinstance(event, e.Grounded)
        return {"checks": [event.citations]}
    if task.framing == "X":
        external = bodies.read(tree.nodes[task.node].external_at)
        assert isinstance(external, e.ExternalProposed)
        return {"checks": [external.citations]}
    if task.framing:
        answer = bodies.read(tree.passes[task.node].framings[task.framing].answer_at)
        assert isinstance(answer, e.FramingAnswered)
        return {"checks": [proposal.citations for proposal in answer.proposals]}
    derived = bodies.read(tree.nodes[task.node].derived_at)
    assert isinstance(derived, e.NodeDerived)
    return {"checks": [derived.body.citations], "numeric_checks": derived.body.numeric_checks}


def _glossary(tree: Tree, bodies: Bodies) -> dict[str, str]:
    if tree.glossary_at < 0:
        return {}
    event = bodies.read(tree.glossary_at)
    assert isinstance(event, e.GlossarySettled)
    return {str(term["term"]): str(term.get("meaning", "")) for term in event.terms}


def outline(tree: Tree, preset: Preset) -> dict[str, Any]:
    """Return the figures and the best nodes that a summary starts from."""
    standing = [node for node in tree.descendants() if node.counts]
    best = sorted(
        (node for node in standing if node.role is Role.ADVANCES), key=lambda n: (-n.total, sort_key(n.id))
    )
    return {
        "nodes": len(tree.nodes) - 1,
        "terminal": terminal_count(tree),
        "rounds": len(tree.rounds),
        "by_label": {preset.label(role): sum(1 for node in standing if node.role is role) for role in Role},
        "best": [{"id": n.id, "statement": n.statement, "score": n.total} for n in best[:10]],
        "void": [f"{r.node}.{r.framing}: {r.reason}" for r in tree.records if r.kind == "void"][:20],
        "conditions": [state.model_dump() for state in conditions(tree)],
    }
