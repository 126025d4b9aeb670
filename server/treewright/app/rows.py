"""A node as a line of a list, and which of them are wanted."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from treewright.errors import RunError
from treewright.explore.reports.record import WAITING
from treewright.presets.schema import Preset
from treewright.tree.node import Node

Sort = Literal["tree", "score", "newest"]
LARGEST_PAGE = 1000
LISTED = "`treewright show RUN` lists its nodes."
"""Where a person finds the nodes that a run has."""
_STATEMENT = 240
STATES = ("root", "waiting", "merged", "superseded", "unresolved", "advances", "kept", "pruned", "blocked")
"""Every state key, see `NodeFilter`."""


class NodeFilter(BaseModel):
    """Which nodes are wanted; what is empty does not narrow.

    Attributes:
        states: role keys (`advances`, `kept`, `pruned`, `blocked`), or `waiting`, `merged`, `superseded`, `unresolved`.
        framings: letters A to L and S.
        text: words that all stand in the id, the statement, the position or the weakness, whatever their case.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    states: frozenset[
        Literal["advances", "kept", "pruned", "blocked", "waiting", "merged", "superseded", "unresolved"]
    ] = frozenset()
    framings: frozenset[str] = frozenset()
    text: str = Field(default="", max_length=500)

    @property
    def empty(self) -> bool:
        """Whether every node is wanted."""
        return not (self.states or self.framings or self.text.strip())


class NodeRow(NamedTuple):
    """A node as a line of a list.

    Attributes:
        id, parent: node ids; no parent for the root.
        statement: at most 240 characters of it.
        state: state key, see `NodeFilter`; `root` for the root.
        label: the verdict's label, the tag, or what the node waits for.
        role: the verdict's role; empty before it.
        total: sum of the scores, 0 to 15; -1 before there are any.
        framing: letter; empty for the root.
        depth: 0 for the root.
        round: that drafted it.
        position: where it applies; may be empty.
        cwe: weakness; may be empty.
        children: how many the same filter shows below it.
        matches: whether it matches itself, and is not only on the way to one that does.
    """

    id: str
    parent: str | None
    statement: str
    state: str
    label: str
    role: str
    total: int
    framing: str
    depth: int
    round: int
    position: str
    cwe: str
    children: int
    matches: bool


class Page(NamedTuple):
    """Some rows of a list: `total` in all, from `offset`; `revision` grows with the tree."""

    rows: list[NodeRow]
    total: int
    offset: int
    revision: int


class Rows(Protocol):
    """Where rows are had from: the folded tree, or what is kept of it beside the journal."""

    @property
    def size(self) -> int:
        """How many nodes there are, the root included."""

    @property
    def revision(self) -> int:
        """The number of the last event in them."""

    def select(self, wanted: NodeFilter) -> Any:
        """Return what a filter shows, in a form of its own."""

    def page(self, node: str | None, shown: Any, sort: Sort, offset: int, limit: int) -> Page:
        """Return a page of a node's children, or without a node of all that match, seen through a filter.

        Raises:
            RunError: `node_not_found`.
        """

    def row(self, node: str) -> NodeRow:
        """Return a node as a line.

        Raises:
            RunError: `node_not_found`.
        """

    def columns(self, limit: int) -> dict[str, list[Any]]:
        """Return at most so many nodes as columns, parents before children, the deepest left out first."""


def no_such_node(node: str, hint: str = "") -> RunError:
    """Return the error for a node that a run does not have; the hint says where those are that it has."""
    return RunError("node_not_found", f"The run has no node {node!r}.", hint, {"node": node})


def with_ways(matches: Iterable[str], parent_of: Callable[[str], str | None]) -> set[str]:
    """Return what matches, and everything on the ways up from it; `parent_of` gives None at the top."""
    shown: set[str] = set()
    for each in matches:
        step: str | None = each
        while step is not None and step not in shown:
            shown.add(step)
            step = parent_of(step)
    return shown


def sort_value(node: Node, preset: Preset) -> int | None:
    """Return what a node is sorted by when the highest score comes first; None while it is not scored."""
    keys = preset.dim_keys()
    if len(node.scores) != len(keys):
        return None
    return preset.output_artifacts.sort_value(dict(zip(keys, node.scores, strict=True)))


def state_of(node: Node) -> str:
    """Return a node's state key, see `NodeFilter`; `root` for the root."""
    if node.parent is None:
        return "root"
    if node.merged_into:
        return "merged"
    if node.superseded_by:
        return "superseded"
    if node.unresolved:
        return "unresolved"
    return node.role.value if node.role else "waiting"


def label_of(node: Node, preset: Preset) -> str:
    """Return what is said of a node: its tag, the verdict's label, or what it waits for."""
    if node.tag:
        return node.tag
    return preset.label(node.role) if node.role else WAITING.get(node.phase, "")


def short(text: str) -> str:
    """Return a statement on one line of at most 240 characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _STATEMENT else flat[: _STATEMENT - 1] + "…"
