"""A tree as bytes and back, so that a long run opens without folding every event again.

The form is JSON lines: a header with everything but the nodes, then one array a node. It is a cache: whoever finds it of another
`FORMAT`, or at odds with the journal, folds the journal instead.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from treewright.parsing import load_json
from treewright.tree import event as e
from treewright.tree.body import ConditionState
from treewright.tree.fold import Tree
from treewright.tree.node import Node, Phase
from treewright.tree.passes import FramingState, FramingStep, Pass
from treewright.tree.run import Caps, Role, Status
from treewright.tree.state import Record, Round, Spend

FORMAT = 2
_SCALARS = (
    "reason",
    "details",
    "options",
    "grounded_at",
    "ground_attempts",
    "ground_faulty_at",
    "root_checked",
    "root_fired",
    "void_passes",
    "high_risk",
    "ending_reason",
    "summarised_at",
    "summary_failures",
    "failures",
    "notes",
    "glossary_at",
    "events",
)
_ORDERS = ("frontier", "draftable", "quiet")
_NODE_FIELDS = tuple(spec.name for spec in fields(Node))


class SnapshotMismatchError(ValueError):
    """The bytes are no snapshot of this format; fold the journal instead."""


def encode(tree: Tree) -> Iterator[bytes]:
    """Yield the snapshot's lines, newline included."""
    yield _line(_header(tree))
    for node in tree.nodes.values():
        yield _line([getattr(node, name) for name in _NODE_FIELDS])


def decode(lines: Iterator[bytes]) -> Tree:
    """Return the tree that `encode` wrote.

    Raises:
        SnapshotMismatchError: other format, or damaged.
    """
    try:
        header = load_json(next(lines))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise SnapshotMismatchError("another format")
        tree = _tree(header)
        tree.nodes.clear()
        for line in lines:
            node = _node(load_json(line))
            tree.nodes[node.id] = node
        if len(tree.nodes) != header["nodes"]:
            raise SnapshotMismatchError("nodes are missing")
        return tree
    except (StopIteration, KeyError, TypeError, ValueError) as fault:
        raise SnapshotMismatchError(str(fault)) from fault


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _header(tree: Tree) -> dict[str, Any]:
    header: dict[str, Any] = {name: getattr(tree, name) for name in _SCALARS}
    header |= {name: list(getattr(tree, name)) for name in _ORDERS}
    header |= {
        "asking": list(tree.asking),
        "format": FORMAT,
        "nodes": len(tree.nodes),
        "started": tree.started.model_dump(mode="json") if tree.started else None,
        "status": tree.status,
        "caps": tree.caps.model_dump(),
        "ending": tree.ending,
        "waiting": {phase: list(ids) for phase, ids in tree.waiting.items() if ids},
        "passes": [_pass(home) for home in tree.passes.values()],
        "rounds": [_round(item) for item in tree.rounds],
        "records": [[r.node, r.framing, r.kind, r.reason, r.at] for r in tree.records],
        "spend": asdict(tree.spend),
    }
    return header


def _pass(home: Pass) -> dict[str, Any]:
    return {
        "node": home.node,
        "round": home.round,
        "framings": {
            letter: [s.step, s.attempt, s.tries, s.answer_at, s.checked_at, s.reason, s.admitted]
            for letter, s in home.framings.items()
        },
        "members": list(home.members),
        "active": home.active,
        "blocked": home.blocked,
        "reroutes": home.reroutes,
    }


def _round(item: Round) -> dict[str, Any]:
    return {
        "number": item.number,
        "frontier": item.frontier,
        "framings": item.framings,
        "new_nodes": item.new_nodes,
        "new_converging": item.new_converging,
        "conditions": [c.model_dump(mode="json") for c in item.conditions],
        "closed": item.closed,
    }


def _tree(header: dict[str, Any]) -> Tree:
    tree = Tree()
    for name in _SCALARS:
        setattr(tree, name, header[name])
    for name in _ORDERS:
        setattr(tree, name, dict.fromkeys(header[name]))
    tree.asking = dict.fromkeys((node, letter) for node, letter in header["asking"])
    tree.started = e.RunStarted.model_validate(header["started"]) if header["started"] else None
    tree.status = Status(header["status"])
    tree.caps = Caps.model_validate(header["caps"])
    tree.ending = Status(header["ending"]) if header["ending"] else None
    for phase, ids in header["waiting"].items():
        tree.waiting[Phase(phase)] = dict.fromkeys(ids)
    for row in header["passes"]:
        tree.passes[row["node"]] = _read_pass(row)
    for row in header["rounds"]:
        tree.rounds.append(
            Round(**{**row, "conditions": [ConditionState.model_validate(c) for c in row["conditions"]]})
        )
    tree.records = [Record(*row) for row in header["records"]]
    tree.spend = Spend(**header["spend"])
    return tree


def _read_pass(row: dict[str, Any]) -> Pass:
    framings = {
        letter: FramingState(FramingStep(values[0]), *values[1:])
        for letter, values in row["framings"].items()
    }
    return Pass(
        row["node"],
        row["round"],
        framings,
        dict.fromkeys(row["members"]),
        row["active"],
        row["blocked"],
        row["reroutes"],
    )


def _node(values: list[Any]) -> Node:
    node = Node(*values)
    node.phase = Phase(node.phase)
    node.role = Role(node.role) if node.role else None
    node.scores = tuple(node.scores)
    node.citations = tuple(node.citations)  # type: ignore[assignment]  # four counts, as written
    node.reasons = tuple(node.reasons)
    return node
