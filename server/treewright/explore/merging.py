"""Near-duplicates among siblings merge (rule F2).

Similarity is the cosine of character 3-gram counts of the statements alone; two siblings merge when it reaches `THRESHOLD` and
their positions are the same or overlap. Siblings that predict the very same are no new branch either: they merge from
`SAME_OUTLOOK` on. The higher score stays, the earlier id on a tie.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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


@lru_cache(maxsize=4096)
def trigrams(statement: str) -> Counter[str]:
    """Count the character 3-grams of a normalised statement; shorter statements count whole. Not to be changed."""
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
    (where, start, end), (other, other_start, other_end) = _place(left), _place(right)
    return where == other and start <= other_end and other_start <= end


@lru_cache(maxsize=4096)
def _place(position: str) -> tuple[str, int, int]:
    """Return path, first and last line; a position that is no lines of a file is a place of its own."""
    text = position.strip()
    lines = _LINES.match(text)
    if not lines:
        return f"\0{text}", 0, 0
    start = int(lines["start"])
    return lines["path"], start, max(start, int(lines["end"] or start))


def merges(siblings: Sequence[Node]) -> list[Merge]:
    """Return which siblings merge into which.

    Args:
        siblings: settled children of one parent that stand for themselves; any order.
    """
    ranked = sorted(siblings, key=lambda node: (-node.total, sort_key(node.id)))
    kept: defaultdict[str, list[Node]] = defaultdict(list)
    found: list[Merge] = []
    for node in ranked:
        near = kept[_place(node.position)[0]]
        for other in near:
            if not positions_overlap(node.position, other.position):
                continue
            similarity = cosine(trigrams(node.statement), trigrams(other.statement))
            same = bool(node.outlook) and node.outlook == other.outlook
            if similarity >= (SAME_OUTLOOK if same else THRESHOLD):
                found.append(Merge(node.id, other.id, round(similarity, 4)))
                break
        else:
            near.append(node)
    return found
