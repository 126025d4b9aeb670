"""Node ids that show descent.

The root is `0`. Every other node is a path of segments, a letter and an ordinal each: `A1`, `A1.K2`; seeds are
`S1`, `S2` (contract: exploration, 3). Ids sort in the order framings are considered, A to L, then by ordinal.
"""

import re

ROOT = "0"
SEED = "S"
_SEGMENT = re.compile(r"[A-LS][1-9][0-9]*")


def is_node_id(text: str) -> bool:
    """Tell whether a text is a well-formed node id."""
    return text == ROOT or all(_SEGMENT.fullmatch(part) for part in text.split("."))


def child_id(parent: str, framing: str, ordinal: int) -> str:
    """Return the id of a child.

    Args:
        parent: the parent's id.
        framing: a letter A to L, or S for a seed.
        ordinal: 1 or more, counted per parent and framing.
    """
    segment = f"{framing}{ordinal}"
    return segment if parent == ROOT else f"{parent}.{segment}"


def parent_id(node: str) -> str | None:
    """Return the id of the parent, or None for the root."""
    if node == ROOT:
        return None
    head, _, _ = node.rpartition(".")
    return head or ROOT


def depth(node: str) -> int:
    """Return the number of segments below the root: 0 for the root, 1 for `A1`."""
    return 0 if node == ROOT else node.count(".") + 1


def framing_of(node: str) -> str:
    """Return the letter of the framing that brought the node; empty for the root."""
    return "" if node == ROOT else node.rpartition(".")[2][0]


def ordinal_of(node: str) -> int:
    """Return the ordinal of the last segment; 0 for the root."""
    return 0 if node == ROOT else int(node.rpartition(".")[2][1:])


def sort_key(node: str) -> tuple[tuple[str, int], ...]:
    """Return a key that orders ids by descent, then A to L, then ordinal; the root comes first."""
    if node == ROOT:
        return ()
    return tuple((part[0], int(part[1:])) for part in node.split("."))


def ancestors(node: str) -> list[str]:
    """Return the ids from the root down to the parent; empty for the root."""
    found: list[str] = []
    current = parent_id(node)
    while current is not None:
        found.append(current)
        current = parent_id(current)
    found.reverse()
    return found
