"""What a resumed run goes on from, in figures and as a line for a person."""

from dataclasses import dataclass

from treewright.counted import counted
from treewright.tree.fold import Tree


@dataclass(frozen=True, slots=True)
class PickedUp:
    """What a resumed run goes on from.

    Attributes:
        kept: nodes that stand as they are.
        redone: tasks that were cut off and are asked again.
        to_do: nodes not yet expanded.
        grounded: whether the root had been read.
    """

    kept: int
    redone: int
    to_do: int
    grounded: bool

    def text(self) -> str:
        """Return it as a line for a person."""
        if not self.grounded:
            return "it had been reading its root, which begins anew"
        kept = (
            f"{counted(self.kept, 'node')} kept"
            if self.kept
            else "what it had read is kept, there was no node yet"
        )
        return f"{kept}, {counted(self.redone, 'task')} asked again, {counted(self.to_do, 'node')} to expand"


def picked_up_of(tree: Tree) -> PickedUp:
    """Return what a run goes on from."""
    waiting = sum(len(ids) for ids in tree.waiting.values())
    framings = sum(1 for p in tree.passes.values() for s in p.framings.values() if not s.step.final)
    kept = max(0, len(tree.nodes) - 1 - waiting)
    return PickedUp(kept, redone=waiting + framings, to_do=len(tree.frontier), grounded=tree.grounded_at >= 0)
