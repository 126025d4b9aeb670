"""A tree as JSON: `tree.json`, and a node or a run as other programs see them."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from treewright.explore.convergence import conditions, terminal_count
from treewright.explore.ports import Bodies
from treewright.explore.reports.record import NodeRecord, in_tree_order, node_record, verified_share
from treewright.presets.schema import Preset
from treewright.tree.fold import Tree
from treewright.tree.run import Role

FORMAT = 1


def node_json(record: NodeRecord) -> dict[str, Any]:
    """Return a node with its bodies as plain values."""
    node = record.node
    return {
        "id": node.id,
        "parent": node.parent,
        "framing": node.framing,
        "round": node.round,
        "statement": node.statement,
        "position": node.position,
        "state": record.state,
        "verdict": record.label,
        "role": node.role.value if node.role else None,
        "tag": node.tag,
        "reasons": list(node.reasons),
        "scores": record.scores,
        "sum": node.total,
        "cwe": node.cwe,
        "fields": record.fields,
        "citations": [c.model_dump(mode="json") for c in record.citations],
        "external": [c.model_dump(mode="json") for c in record.external],
        "numeric_checks": [n.model_dump(mode="json") for n in record.numerics],
        "violations": [v.model_dump(mode="json") for v in record.violations],
        "edits": [edit.model_dump(mode="json") for edit in record.edits],
        "facts": record.facts,
        "children": node.children,
    }


def run_json(tree: Tree, preset: Preset) -> dict[str, Any]:
    """Return a run's figures as plain values: status, counts, conditions, spend."""
    started = tree.started
    holds, cited = verified_share(tree)
    counted = [n for n in tree.descendants() if n.counts]
    return {
        "format": FORMAT,
        "run": started.run if started else "",
        "preset": preset.name,
        "performer": started.performer if started else "",
        "root": started.root.model_dump(mode="json") if started else {},
        "language": started.language.model_dump() if started else {},
        "status": tree.status.value,
        "reason": tree.reason,
        "details": tree.details,
        "caps": tree.caps.model_dump(),
        "nodes": len(tree.nodes) - 1,
        "terminal": terminal_count(tree),
        "verdicts": {preset.label(role): sum(1 for n in counted if n.role is role) for role in Role},
        "merged": sum(1 for n in tree.descendants() if n.merged_into),
        "superseded": sum(1 for n in tree.descendants() if n.superseded_by),
        "unresolved": sum(1 for n in tree.descendants() if n.unresolved),
        "frontier": len(tree.frontier),
        "rounds": [
            {
                "number": r.number,
                "frontier": r.frontier,
                "new_nodes": r.new_nodes,
                "new_converging": r.new_converging,
                "closed": r.closed,
            }
            for r in tree.rounds
        ],
        "conditions": [state.model_dump(mode="json") for state in conditions(tree)],
        "framings": tree.root_fired,
        "citations": {"held": holds, "all": cited},
        "spend": asdict(tree.spend),
    }


def tree_json(tree: Tree, preset: Preset, bodies: Bodies) -> Iterator[str]:
    """Yield `tree.json` piece by piece: the run's figures, then every node."""
    head = json.dumps(run_json(tree, preset), ensure_ascii=False, indent=1)
    yield head[:-2] + ',\n "tree": [\n'
    first = True
    for node in in_tree_order(tree):
        text = json.dumps(node_json(node_record(preset, bodies, node)), ensure_ascii=False)
        yield text if first else ",\n" + text
        first = False
    yield "\n ]\n}\n"
