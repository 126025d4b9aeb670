"""Where each node of a radial picture stands: rings are depth, sectors descent, in the order of ids.

Angles are shared out by the size of what hangs below, dampened; rings are wide enough for the nodes that stand on them.
"""

import math
from dataclasses import dataclass

from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT, sort_key

MIN_RING = 90.0
"""Least distance between two rings, in picture units."""
ROOM = 16.0
"""Length of arc that a node takes up, in picture units."""


_DAMPING = 0.75
"""Exponent that keeps a large branch from squeezing its siblings out of sight."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands.

    Attributes:
        x, y: from the centre, in picture units; y grows downwards.
        angle: in radians, clockwise from the top.
        radius: of its ring.
    """

    x: float
    y: float
    angle: float
    radius: float


def layout(tree: Tree) -> dict[str, Place]:
    """Return each node's place."""
    weights: dict[str, float] = {}
    for node in _post_order(tree):
        children = tree.nodes[node].children
        weights[node] = max(1.0, sum(weights[child] for child in children) ** _DAMPING)
    angles, gaps = _angles(tree, weights)
    radii = _radii(gaps)
    return {
        node: Place(
            radii[tree.nodes[node].depth] * math.sin(angle),
            -radii[tree.nodes[node].depth] * math.cos(angle),
            angle,
            radii[tree.nodes[node].depth],
        )
        for node, angle in angles.items()
    }


def _angles(tree: Tree, weights: dict[str, float]) -> tuple[dict[str, float], dict[int, list[float]]]:
    """Return each node's angle, and the widths of the sectors on each ring."""
    angles: dict[str, float] = {}
    gaps: dict[int, list[float]] = {}
    stack = [(ROOT, 0.0, 2 * math.pi)]
    while stack:
        node, start, end = stack.pop()
        angles[node] = (start + end) / 2
        gaps.setdefault(tree.nodes[node].depth, []).append(end - start)
        children = sorted(tree.nodes[node].children, key=sort_key)
        shared = sum(weights[child] for child in children)
        at = start
        for child in children:
            width = (end - start) * weights[child] / shared
            stack.append((child, at, at + width))
            at += width
    return angles, gaps


def _radii(gaps: dict[int, list[float]]) -> dict[int, float]:
    """Return each ring's radius: wide enough for its narrow sectors, within three times an even spread."""
    radii = {0: 0.0}
    for depth in range(1, max(gaps) + 1):
        widths = sorted(gaps[depth])
        narrow = widths[len(widths) // 10]
        even = len(widths) * ROOM / (2 * math.pi)
        radii[depth] = max(radii[depth - 1] + MIN_RING, even, min(ROOM / narrow, 3 * even))
    return radii


def _post_order(tree: Tree) -> list[str]:
    found: list[str] = []
    stack = [ROOT]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(tree.nodes[node].children)
    found.reverse()
    return found
