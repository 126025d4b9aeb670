"""When a run ends: six conditions, or a named cap (contract: exploration, 7). Pure functions of the tree."""

from dataclasses import dataclass

from treewright.counted import counted
from treewright.tree.body import ConditionState
from treewright.tree.fold import HIGH_RISK_TRIES, Tree
from treewright.tree.node import Node, Phase
from treewright.tree.run import Role, Status

MIN_NOVELTY_RATIO = 0.15
"""Share of converging nodes below which a round brings nothing new (contract: exploration, 7)."""
FRAMINGS = "ABCDEFGHIJKL"


@dataclass(frozen=True, slots=True)
class Ending:
    """The status a run ends or pauses with, and the reason."""

    status: Status
    reason: str = ""


def terminal_count(tree: Tree) -> int:
    """Return the width: kept and pruned nodes, and advanced ones whose expansion left no survivors.

    Merged, superseded and unresolved nodes do not count (contract: exploration, 3).
    """
    return sum(1 for node in tree.descendants() if _terminal(tree, node))


def _terminal(tree: Tree, node: Node) -> bool:
    if not node.counts or node.phase is not Phase.SETTLED:
        return False
    if node.role in (Role.KEPT, Role.PRUNED):
        return True
    survivors = (child for child in tree.children(node.id) if child.counts)
    return node.role is Role.ADVANCES and node.expanded and not any(survivors)


def expandable(tree: Tree) -> list[str]:
    """Return the frontier nodes that no depth cap holds back, in no particular order."""
    cap = tree.caps.depth
    return [node for node in tree.frontier if cap is None or tree.nodes[node].depth < cap]


def reached_caps(tree: Tree) -> list[str]:
    """Return the names of the caps that keep something from being expanded."""
    if not tree.frontier:
        return []
    found = []
    if tree.caps.width is not None and terminal_count(tree) >= tree.caps.width:
        found.append("width")
    if tree.caps.depth is not None and len(expandable(tree)) < len(tree.frontier):
        found.append("depth")
    if tree.caps.rounds is not None and len(tree.rounds) >= tree.caps.rounds:
        found.append("rounds")
    return found


def conditions(tree: Tree) -> list[ConditionState]:
    """Return the state of all six conditions with the figures behind them."""
    return [
        _no_blocked(tree),
        _low_novelty(tree),
        _all_framings(tree),
        _empty_frontier(tree),
        _high_risk(tree),
        _no_cap(tree),
    ]


def _no_blocked(tree: Tree) -> ConditionState:
    blocked = list(tree.waiting[Phase.BLOCKED]) + list(tree.waiting[Phase.REROUTING])
    return ConditionState(
        number=1,
        name="no blocked node",
        met=not blocked,
        figures={"blocked": len(blocked), "nodes": blocked[:10]},
    )


def _low_novelty(tree: Tree) -> ConditionState:
    ratio = float(tree.option("min_novelty_ratio", MIN_NOVELTY_RATIO))
    last = tree.rounds[-2:]
    shares = [round(r.new_converging / r.new_nodes, 4) if r.new_nodes else 0.0 for r in last]
    new = sum(r.new_nodes for r in last)
    share = sum(r.new_converging for r in last) / new if new else 0.0
    met = not tree.frontier or (len(last) == 2 and share < ratio)
    return ConditionState(
        number=2,
        name="little new in the last two rounds",
        met=met,
        figures={
            "share": round(share, 4),
            "below": ratio,
            "rounds": shares,
            "frontier_empty": not tree.frontier,
        },
    )


def _all_framings(tree: Tree) -> ConditionState:
    missing = [letter for letter in FRAMINGS if letter not in tree.root_fired]
    void = sorted(letter for letter, how in tree.root_fired.items() if how == "void")
    return ConditionState(
        number=3,
        name="all 12 framings fired on the root",
        met=not missing,
        figures={"fired": 12 - len(missing), "missing": missing, "void": void},
    )


def _empty_frontier(tree: Tree) -> ConditionState:
    return ConditionState(
        number=4,
        name="every advancing node was expanded",
        met=not tree.frontier,
        figures={"frontier": len(tree.frontier), "next": list(tree.frontier)[:10]},
    )


def _high_risk(tree: Tree) -> ConditionState:
    return ConditionState(
        number=5,
        name="a high-risk branch was derived",
        met=tree.high_risk,
        figures={"high_risk": tree.high_risk},
    )


def _no_cap(tree: Tree) -> ConditionState:
    found = reached_caps(tree)
    return ConditionState(
        number=6,
        name="no cap of the user's reached",
        met=not found,
        figures={"reached": found, "width": terminal_count(tree), "rounds": len(tree.rounds)},
    )


def ending(tree: Tree, states: list[ConditionState]) -> Ending | None:
    """Return how the run ends at the close of a round, or None when it goes on; the first match wins."""
    if all(state.met for state in states):
        return Ending(Status.CONVERGED)
    caps = reached_caps(tree)
    if "width" in caps:
        return Ending(
            Status.WIDTH_CAP_REACHED,
            f"{counted(terminal_count(tree), 'terminal node')}, cap {tree.caps.width}",
        )
    if "depth" in caps and not expandable(tree):
        return Ending(
            Status.DEPTH_CAP_REACHED, f"{counted(len(tree.frontier), 'node')} at depth {tree.caps.depth}"
        )
    if "rounds" in caps:
        return Ending(
            Status.ROUNDS_EXHAUSTED, f"{counted(len(tree.rounds), 'round')}, cap {tree.caps.rounds}"
        )
    given_up = tree.root_fired.get("K") == "void" or high_risk_rounds(tree) >= HIGH_RISK_TRIES
    if not tree.frontier and not tree.high_risk and given_up:
        return Ending(Status.EARLY_STOP, "no_high_risk_branch")
    return None


def high_risk_rounds(tree: Tree) -> int:
    """Return how many rounds have asked the root for a high-risk branch."""
    return sum(1 for r in tree.rounds if "0" in r.frontier and "K" in r.framings)
