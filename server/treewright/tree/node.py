"""A node as the tree holds it in memory.

Bodies (fields, citations, proposals) stay in the journal and are read when needed, by the event numbers kept here, so that a
tree of 100,000 nodes is small. What the engine decides by (phase, role, scores, statement) is always at hand.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from treewright.tree.ids import depth, framing_of
from treewright.tree.run import Role


class Phase(StrEnum):
    """What a node waits for."""

    DRAFTED = "drafted"
    """waits to be derived"""
    DERIVED = "derived"
    """waits for its citations and numbers to be checked"""
    CHECKED = "checked"
    """waits for its verdict"""
    FAULTY = "faulty"
    """waits to be revised"""
    BLOCKED = "blocked"
    """waits to be rerouted"""
    REROUTING = "rerouting"
    """a sibling that can be filled has been asked for"""
    EXTERNAL = "external"
    """waits for addresses of the external cross-check (X)"""
    EXTERNAL_CHECK = "external_check"
    """waits for those addresses to be fetched and checked"""
    SETTLED = "settled"
    """has a verdict, or is superseded or unresolved"""


@dataclass(slots=True)
class Node:
    """One point of a tree.

    Attributes:
        id: shows descent, see `tree.ids`.
        parent: the parent's id; None for the root.
        statement: the subject statement.
        position: where it applies (`path:start-end`, a section); empty when the preset has none.
        round: the round that drafted it.
        phase: what it waits for.
        role: the verdict's role once given.
        scores: five integers 0 to 3 in the preset's order, once derived.
        revision: how often it was derived, 0 before the first.
        failures: performer failures on the current step.
        answer_at: number of the event that holds its proposal; -1 when it has none.
        answer_index: which proposal of that event.
        derived_at, checked_at, external_at: numbers of the events with the latest bodies; -1 before.
        children: ids in the order drafted.
        expanded: its pass has closed.
        seeded: entered as accepted from a prior deliverable.
        merged_into, superseded_by: ids, once so tagged.
        rerouted_from: the node this one replaces.
        reroutes: how many reroutes led to or were spent on it.
        unresolved: given up on (rule F8): never a leaf, never evidence.
        citations: how many are verified, corrected, weak, unverified.
        reasons: why the verdict is what it is, short.
        cwe: the weakness id such as `CWE-89`; empty when there is none.
        outlook: digest of its predictions; equal for nodes that predict the same.
        priority: orders the frontier beside the score; 0 unless a field profile says otherwise.
    """

    id: str
    parent: str | None
    statement: str = ""
    position: str = ""
    round: int = 0
    phase: Phase = Phase.DRAFTED
    role: Role | None = None
    scores: tuple[int, ...] = ()
    revision: int = 0
    failures: int = 0
    answer_at: int = -1
    answer_index: int = 0
    derived_at: int = -1
    checked_at: int = -1
    external_at: int = -1
    children: list[str] = field(default_factory=list)
    expanded: bool = False
    seeded: bool = False
    merged_into: str = ""
    superseded_by: str = ""
    rerouted_from: str = ""
    reroutes: int = 0
    unresolved: bool = False
    citations: tuple[int, int, int, int] = (0, 0, 0, 0)
    reasons: tuple[str, ...] = ()
    cwe: str = ""
    outlook: str = ""
    priority: float = 0.0

    @property
    def total(self) -> int:
        """The sum of the scores, 0 to 15."""
        return sum(self.scores)

    @property
    def depth(self) -> int:
        """Segments below the root."""
        return depth(self.id)

    @property
    def framing(self) -> str:
        """The letter of the framing that brought it."""
        return framing_of(self.id)

    @property
    def counts(self) -> bool:
        """Whether it stands for itself: not merged, superseded or unresolved."""
        return not (self.merged_into or self.superseded_by or self.unresolved)

    @property
    def tag(self) -> str:
        """The tag that explains why it does not stand for itself; empty when it does."""
        if self.merged_into:
            return f"MERGED_INTO={self.merged_into}"
        if self.superseded_by:
            return f"SUPERSEDED_BY={self.superseded_by}"
        return "UNRESOLVED" if self.unresolved else ""
