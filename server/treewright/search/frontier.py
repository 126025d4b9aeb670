"""Which branch to revise next: a tree, not a list.

`best_first` takes the branch that passes most checks and was revised least. `uct` weighs what a branch's
revisions have brought against how seldom it was tried (the usual upper confidence bound for trees).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from treewright.search.state import Branch

EXPLORATION = 1.0
"""Weight of how seldom a branch was tried, in shares of checks passed."""

Policy = Literal["best_first", "uct"]


def next_to_revise(branches: Sequence[Branch], policy: Policy, depth: int) -> Branch | None:
    """Pick the branch to revise.

    Args:
        branches: executed branches, duplicates left out.
        policy: see above.
        depth: most revisions in a row.

    Returns:
        None when no branch may be revised.
    """
    open_ones = [
        branch
        for branch in branches
        if branch.depth < depth and not branch.complete and branch.proposed.generator != "start"
    ]
    if not open_ones:
        return None
    if policy == "uct":
        return max(open_ones, key=lambda branch: (_bound(branch, branches), -branch.order))
    return min(open_ones, key=lambda branch: (branch.revised, -branch.passed, branch.depth, branch.order))


def _bound(branch: Branch, branches: Sequence[Branch]) -> float:
    below = _below(branch, branches)
    visits = 1 + len(below)
    value = max(_share(one) for one in [branch, *below])
    total = 1 + sum(1 for one in branches)
    return value + EXPLORATION * math.sqrt(math.log(total) / (visits + branch.revised))


def _below(branch: Branch, branches: Sequence[Branch]) -> list[Branch]:
    found: list[Branch] = []
    ids = {branch.id}
    for one in branches:
        if one.proposed.parent in ids and one.proposed.generator == "revise":
            ids.add(one.id)
            found.append(one)
    return found


def _share(branch: Branch) -> float:
    return branch.passed / max(len(branch.verdicts), 1)
