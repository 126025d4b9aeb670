"""Looking at a tree piece by piece: pages of children, filtered and sorted, without ever handing the whole tree out.

A filtered tree shows the nodes that match and the way down to each; everything is answered from the folded tree in
memory, bodies stay in the journal.
"""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from treewright.app.context import Context
from treewright.app.runs import RunView
from treewright.errors import RunError
from treewright.explore.reports.record import WAITING
from treewright.presets.schema import Preset
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT, sort_key
from treewright.tree.node import Node

Sort = Literal["tree", "score", "newest"]
LARGEST_PAGE = 1000
_STATEMENT = 240
_MOST_NAMED = 500
"""Changed nodes that are named one by one; of more it is only said that there are many."""


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


class Grown(NamedTuple):
    """What reading on brought: the nodes touched, in no order; `many` when they are too many to be named."""

    nodes: frozenset[str]
    many: bool
    revision: int


class _Shown(NamedTuple):
    matches: frozenset[str]
    shown: frozenset[str]


class TreeView:
    """A run to look at while it grows. Safe among threads."""

    def __init__(self, context: Context, reference: str) -> None:
        """Open a run.

        Raises:
            RunError: it cannot be found, or was cut off before it began.
            StoreError: it cannot be read.
        """
        self._turn = threading.RLock()
        self._view = RunView(context, reference)
        self._filtered: dict[NodeFilter, tuple[int, _Shown]] = {}

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._view.folder

    @property
    def preset(self) -> Preset:
        """The run's preset."""
        return self._view.preset

    @property
    def run(self) -> str:
        """The run's id."""
        started = self._tree.started
        return started.run if started else ""

    @property
    def _tree(self) -> Tree:
        return self._view.reader.tree

    def grow(self) -> Grown:
        """Read on, and say what changed.

        Raises:
            StoreError: the journal is another file now; open the run again.
        """
        with self._turn:
            reader = self._view.reader
            before = reader.last
            if not reader.grown() or not reader.refresh():
                return Grown(frozenset(), many=False, revision=before)
            if reader.last - before > 4 * _MOST_NAMED:
                return Grown(frozenset(), many=True, revision=reader.last)
            touched: set[str] = set()
            missing = set(reader.unreadable)
            for at in range(before + 1, reader.last + 1):
                if at not in missing:
                    touched.update(_touched(reader.read(at)))
            named = frozenset(touched & self._tree.nodes.keys())
            many = len(named) > _MOST_NAMED
            return Grown(frozenset() if many else named, many=many, revision=reader.last)

    def with_view(self, look: Callable[[RunView], Any]) -> Any:
        """Return what a look at the whole run gives, while nothing changes it."""
        with self._turn:
            return look(self._view)

    def children(
        self,
        node: str = ROOT,
        wanted: NodeFilter | None = None,
        sort: Sort = "tree",
        offset: int = 0,
        limit: int = 200,
    ) -> Page:
        """Return a page of a node's children: those that match, and those on the way to one that does.

        Raises:
            RunError: `node_not_found`.
        """
        with self._turn:
            shown = self._select(wanted)
            own = self._node(node).children
            ids = own if shown is None else [child for child in own if child in shown.shown]
            return self._page(ids, shown, sort, offset, limit)

    def matching(self, wanted: NodeFilter, sort: Sort = "score", offset: int = 0, limit: int = 200) -> Page:
        """Return a page of the nodes that match, wherever they are in the tree."""
        with self._turn:
            shown = self._select(wanted)
            ids = [n.id for n in self._tree.descendants() if shown is None or n.id in shown.matches]
            return self._page(ids, shown, sort, offset, limit)

    def row(self, node: str) -> NodeRow:
        """Return a node as a line.

        Raises:
            RunError: `node_not_found`.
        """
        with self._turn:
            return self._row(self._node(node), None)

    def columns(self, limit: int) -> dict[str, list[Any]]:
        """Return the nodes as columns, parents before children: what a map of the whole tree needs.

        Args:
            limit: at most so many; deeper nodes are left out first.
        """
        with self._turn:
            nodes = list(self._tree.nodes.values())
            if len(nodes) > limit:
                nodes = sorted(nodes, key=lambda n: n.depth)[:limit]
            at = {node.id: number for number, node in enumerate(nodes)}
            return {
                "id": [n.id for n in nodes],
                "parent": [at.get(n.parent, -1) if n.parent is not None else -1 for n in nodes],
                "state": [state_of(n) for n in nodes],
                "total": [n.total if n.scores else -1 for n in nodes],
                "statement": [_short(n.statement) for n in nodes],
            }

    def _node(self, node: str) -> Node:
        found = self._tree.nodes.get(node)
        if found is None:
            raise RunError("node_not_found", f"The run has no node {node!r}.", "", {"node": node})
        return found

    def _page(self, ids: list[str], shown: _Shown | None, sort: Sort, offset: int, limit: int) -> Page:
        nodes = [self._tree.nodes[each] for each in ids]
        nodes.sort(key=self._order(sort))
        part = nodes[offset : offset + min(limit, LARGEST_PAGE)]
        return Page([self._row(n, shown) for n in part], len(nodes), offset, self._view.reader.last)

    def _order(self, sort: Sort) -> Callable[[Node], Any]:
        if sort == "newest":
            places = {node: number for number, node in enumerate(self._tree.nodes)}
            return lambda node: -places[node.id]
        if sort == "tree":
            return lambda node: sort_key(node.id)
        keys, artifacts = self.preset.dim_keys(), self.preset.output_artifacts

        def by_score(node: Node) -> Any:
            if len(node.scores) != len(keys):
                return (1, 0, 0, sort_key(node.id))
            value = artifacts.sort_value(dict(zip(keys, node.scores, strict=True)))
            return (0, -value, -node.total, sort_key(node.id))

        return by_score

    def _row(self, node: Node, shown: _Shown | None) -> NodeRow:
        children = len(node.children)
        if shown is not None and children:
            children = sum(child in shown.shown for child in node.children)
        return NodeRow(
            id=node.id,
            parent=node.parent,
            statement=_short(node.statement),
            state=state_of(node),
            label=self._label(node),
            role=node.role.value if node.role else "",
            total=node.total if node.scores else -1,
            framing=node.framing,
            depth=node.depth,
            round=node.round,
            position=node.position,
            cwe=node.cwe,
            children=children,
            matches=shown is None or node.id in shown.matches,
        )

    def _label(self, node: Node) -> str:
        if node.tag:
            return node.tag
        return self.preset.label(node.role) if node.role else WAITING.get(node.phase, "")

    def _select(self, wanted: NodeFilter | None) -> _Shown | None:
        if wanted is None or wanted.empty:
            return None
        revision = self._view.reader.last
        known = self._filtered.get(wanted)
        if known and known[0] == revision:
            return known[1]
        found = self._matching(wanted)
        if len(self._filtered) >= 8:  # a few are in use together at most: one a view
            self._filtered.clear()
        self._filtered[wanted] = (revision, found)
        return found

    def _matching(self, wanted: NodeFilter) -> _Shown:
        words = wanted.text.casefold().split()
        states, framings, nodes = wanted.states, wanted.framings, self._tree.nodes
        matches = []
        for node in self._tree.descendants():
            if states and state_of(node) not in states:
                continue
            if framings and node.framing not in framings:
                continue
            if words:
                text = f"{node.id}\n{node.statement}\n{node.position}\n{node.cwe}".casefold()
                if not all(word in text for word in words):
                    continue
            matches.append(node.id)
        shown: set[str] = set()
        for each in matches:
            step: str | None = each
            while step is not None and step not in shown:
                shown.add(step)
                step = nodes[step].parent
        return _Shown(frozenset(matches), frozenset(shown))


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


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _STATEMENT else flat[: _STATEMENT - 1] + "…"


def _touched(event: Any) -> Iterable[str]:
    """Yield the ids of the nodes that an event changes the look of."""
    for name in ("node", "into", "by", "parent"):
        if value := getattr(event, name, ""):
            yield value
            if value != ROOT:
                yield value.rpartition(".")[0] or ROOT
    for draft in getattr(event, "drafts", ()):
        yield draft.node
