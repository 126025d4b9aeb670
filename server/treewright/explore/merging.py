"""Near-duplicates among siblings merge (rule F2).

Similarity is the cosine of character 3-gram counts of the statements alone; two siblings merge when it reaches `THRESHOLD` and
their positions are the same or overlap. Siblings that predict the very same are no new branch either: they merge from
`SAME_OUTLOOK` on. The higher score stays, the earlier id on a tie.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treewright.tree.ids import sort_key
from treewright.tree.node import Node

THRESHOLD = 0.85
"""Cosine from which siblings merge (contract: exploration, 2 F2)."""
SAME_OUTLOOK = 0.6
"""Cosine from which siblings with equal predictions merge: a new branch differs in what it predicts (F2)."""

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


def outlook(predictions: str) -> str:
    """Return a digest of predictions, equal when they are the same up to case and white space; empty for none."""
    text = normalised(predictions)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12] if text else ""


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
            same = bool(node.outlook) and node.outlook == other.outlook
            if similarity >= (SAME_OUTLOOK if same else THRESHOLD):
                found.append(Merge(node.id, other.id, round(similarity, 4)))
                break
        else:
            kept.append((node, grams))
    return found
