"""A node as reports show it: what the tree holds in memory and the bodies that stay in the journal, together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from treewright.explore.ports import Bodies
from treewright.presets.schema import Preset
from treewright.tree import event as e
from treewright.tree.body import FieldValue
from treewright.tree.citation import CheckedCitation, CitationState, Edit, NumericOutcome, Violation
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT, sort_key
from treewright.tree.node import Node, Phase
from treewright.tree.run import Role

WAITING = {
    Phase.DRAFTED: "waits to be derived",
    Phase.DERIVED: "waits to be checked",
    Phase.CHECKED: "waits for its verdict",
    Phase.FAULTY: "waits to be revised",
    Phase.BLOCKED: "waits to be rerouted",
    Phase.REROUTING: "is being rerouted",
    Phase.EXTERNAL: "waits for the external cross-check",
    Phase.EXTERNAL_CHECK: "waits for the external cross-check",
}


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """All there is about a node.

    Attributes:
        node: its state.
        label: the verdict's label; empty before it.
        fields: by name, in the preset's order.
        scores: by dimension key.
        citations: with their states.
        external: what the cross-check X brought.
        numerics: numeric checks and what they gave.
        violations: of its latest check.
        edits: the proposed fix as concrete changes.
        facts: what its performer kept.
    """

    node: Node
    label: str
    fields: dict[str, FieldValue] = field(default_factory=dict)
    scores: dict[str, int] = field(default_factory=dict)
    citations: list[CheckedCitation] = field(default_factory=list)
    external: list[CheckedCitation] = field(default_factory=list)
    numerics: list[NumericOutcome] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node.id

    @property
    def state(self) -> str:
        """The label, the tag that overrides it, or what the node waits for."""
        return self.node.tag or self.label or WAITING.get(self.node.phase, "")


def node_record(preset: Preset, bodies: Bodies, node: Node) -> NodeRecord:
    """Return a node with its bodies read back.

    Raises:
        StoreError: a body cannot be read.
    """
    derived = bodies.read(node.derived_at) if node.derived_at >= 0 else None
    checked = bodies.read(node.checked_at) if node.checked_at >= 0 else None
    external = bodies.read(node.external_at) if node.external_at >= 0 else None
    found: dict[str, Any] = {"label": preset.label(node.role) if node.role else ""}
    if isinstance(derived, e.NodeDerived):
        body = derived.body
        found |= {"fields": body.fields, "edits": body.edits, "facts": body.facts}
        found["scores"] = {key: body.scores[key] for key in preset.dim_keys() if key in body.scores}
    elif isinstance(derived, e.Grounded):
        found |= {"fields": derived.fields, "facts": derived.facts}
    elif isinstance(derived, e.NodeSeeded):
        found["fields"] = {preset.parts.subject: derived.body or derived.statement}
        found["facts"] = {"source": derived.source, "source_id": derived.source_id}
    if isinstance(checked, e.NodeChecked):
        found |= {
            "citations": checked.citations,
            "numerics": checked.numerics,
            "violations": checked.violations,
        }
    elif isinstance(checked, e.RootChecked):
        found["citations"] = checked.citations
    if isinstance(external, e.ExternalChecked):
        found["external"] = external.citations
    return NodeRecord(node=node, **found)


def in_tree_order(tree: Tree) -> Iterator[Node]:
    """Yield every node, each before its children, children in the order of their ids."""
    stack = [ROOT]
    while stack:
        node = tree.nodes[stack.pop()]
        yield node
        stack.extend(sorted(node.children, key=sort_key, reverse=True))


def standing(tree: Tree, role: Role) -> list[Node]:
    """Return the settled nodes of a role that stand for themselves."""
    return [n for n in tree.descendants() if n.role is role and n.counts and n.phase is Phase.SETTLED]


def ranked(preset: Preset, nodes: list[Node]) -> list[Node]:
    """Return nodes sorted by the preset's key, highest first, then by sum, then by id."""
    keys = preset.dim_keys()

    def order(node: Node) -> tuple[int, int, tuple[tuple[str, int], ...]]:
        if len(node.scores) != len(keys):
            return (0, 0, sort_key(node.id))
        value = preset.output_artifacts.sort_value(dict(zip(keys, node.scores, strict=True)))
        return (-value, -node.total, sort_key(node.id))

    return sorted(nodes, key=order)


def verified_share(tree: Tree) -> tuple[int, int]:
    """Return how many citations hold (verified or corrected) and how many there are, the root's included."""
    holds = total = 0
    for node in tree.nodes.values():
        holds += node.citations[0] + node.citations[1]
        total += sum(node.citations)
    return holds, total


STATE_MARKS = {
    CitationState.VERIFIED: "verified",
    CitationState.CORRECTED: "corrected",
    CitationState.WEAK: "weak",
    CitationState.UNVERIFIED: "unverified [NEEDS_VERIFICATION]",
}
