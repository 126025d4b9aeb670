"""Near-duplicates among siblings merge (rule F2).

Similarity is the cosine of character 3-gram counts of the statements alone; two siblings merge when it reaches `THRESHOLD` and
their positions are the same or overlap. The higher score stays, the earlier id on a tie.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treewright.tree.ids import sort_key
from treewright.tree.node import Node

THRESHOLD = 0.85
"""Cosine from which siblings merge (contract: exploration, 2 F2)."""

_SPACE = re.compile(r"\s+")
_LINES = re.compile(r"^(?P<path>.*?):(?P<start>\d+)(?:-(?P<end>\d+))?$")


@dataclass(frozen=True, slots=True)
class Merge:
    """One sibling goes into another."""

    node: str
    into: str
    similarity: float


def normalised(statement: str) -> str:
    """Return a statement in lower case with single spaces and without a closing full stop."""
    return _SPACE.sub(" ", statement).strip().casefold().rstrip(".。")


def trigrams(statement: str) -> Counter[str]:
    """Count the character 3-grams of a normalised statement; shorter statements count whole."""
    text = normalised(statement)
    if len(text) < 3:
        return Counter([text])
    return Counter(text[i : i + 3] for i in range(len(text) - 2))


def cosine(left: Counter[str], right: Counter[str]) -> float:
    """Return the cosine of two count vectors, 0 to 1."""
    if len(left) > len(right):
        left, right = right, left
    dot = sum(count * right[gram] for gram, count in left.items() if gram in right)
    norm = math.sqrt(sum(c * c for c in left.values())) * math.sqrt(sum(c * c for c in right.values()))
    return min(1.0, dot / norm) if norm else 0.0


def positions_overlap(left: str, right: str) -> bool:
    """Tell whether two positions are the same or share lines; two empty ones are the same."""
    if left.strip() == right.strip():
        return True
    a, b = _LINES.match(left.strip()), _LINES.match(right.strip())
    if not a or not b or a["path"] != b["path"]:
        return False
    a_start, b_start = int(a["start"]), int(b["start"])
    return a_start <= int(b["end"] or b_start) and b_start <= int(a["end"] or a_start)


def merges(siblings: Sequence[Node]) -> list[Merge]:
    """Return which siblings merge into which.

    Args:
        siblings: settled children of one parent that stand for themselves; any order.
    """
    ranked = sorted(siblings, key=lambda node: (-node.total, sort_key(node.id)))
    kept: list[tuple[Node, Counter[str]]] = []
    found: list[Merge] = []
    for node in ranked:
        grams = trigrams(node.statement)
        for other, other_grams in kept:
            if not positions_overlap(node.position, other.position):
                continue
            similarity = cosine(grams, other_grams)
            if similarity >= THRESHOLD:
                found.append(Merge(node.id, other.id, round(similarity, 4)))
                break
        else:
            kept.append((node, grams))
    return found
