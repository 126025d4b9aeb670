"""The rows of a folded tree: everything is answered from the nodes in memory, bodies stay in the journal."""

from collections.abc import Callable
from typing import Any, NamedTuple

from treewright.app.rows import (
    LARGEST_PAGE,
    NodeFilter,
    NodeRow,
    Page,
    Sort,
    label_of,
    no_such_node,
    short,
    sort_value,
    state_of,
    with_ways,
)
from treewright.presets.schema import Preset
from treewright.store.run_folder import RunReader
from treewright.tree.fold import Tree
from treewright.tree.ids import sort_key
from treewright.tree.node import Node


class Shown(NamedTuple):
    """The ids that a filter shows: those that match, and those on the way to one that does."""

    matches: frozenset[str]
    shown: frozenset[str]


class FoldedRows:
    """Rows of a run that is read on while it grows.

    Args:
        reader: of the run.
        preset: the run's.
    """

    def __init__(self, reader: RunReader, preset: Preset) -> None:
        """Look at a run."""
        self._reader = reader
        self._preset = preset

    @property
    def _tree(self) -> Tree:
        return self._reader.tree

    @property
    def size(self) -> int:
        """How many nodes there are, the root included."""
        return len(self._tree.nodes)

    @property
    def revision(self) -> int:
        """The number of the last event read."""
        return self._reader.last

    def page(self, node: str | None, shown: Shown | None, sort: Sort, offset: int, limit: int) -> Page:
        """Return a page of rows; see `Rows`."""
        if node is not None:
            own = self._node(node).children
            ids = own if shown is None else [child for child in own if child in shown.shown]
        else:
            ids = [n.id for n in self._tree.descendants() if shown is None or n.id in shown.matches]
        nodes = [self._tree.nodes[each] for each in ids]
        nodes.sort(key=self._order(sort))
        part = nodes[offset : offset + min(limit, LARGEST_PAGE)]
        return Page([self._row(n, shown) for n in part], len(nodes), offset, self.revision)

    def row(self, node: str) -> NodeRow:
        """Return a node as a line; see `Rows`."""
        return self._row(self._node(node), None)

    def columns(self, limit: int) -> dict[str, list[Any]]:
        """Return the nodes as columns; see `Rows`."""
        nodes = list(self._tree.nodes.values())
        if len(nodes) > limit:
            nodes = sorted(nodes, key=lambda n: n.depth)[:limit]
        at = {node.id: number for number, node in enumerate(nodes)}
        return {
            "id": [n.id for n in nodes],
            "parent": [at.get(n.parent, -1) if n.parent is not None else -1 for n in nodes],
            "state": [state_of(n) for n in nodes],
            "total": [n.total if n.scores else -1 for n in nodes],
            "statement": [short(n.statement) for n in nodes],
        }

    def select(self, wanted: NodeFilter) -> Shown:
        """Return what a filter shows."""
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
        shown = with_ways(matches, lambda each: nodes[each].parent)
        return Shown(frozenset(matches), frozenset(shown))

    def _node(self, node: str) -> Node:
        found = self._tree.nodes.get(node)
        if found is None:
            raise no_such_node(node)
        return found

    def _order(self, sort: Sort) -> Callable[[Node], Any]:
        if sort == "newest":
            places = {node: number for number, node in enumerate(self._tree.nodes)}
            return lambda node: -places[node.id]
        if sort == "tree":
            return lambda node: sort_key(node.id)

        def by_score(node: Node) -> Any:
            value = sort_value(node, self._preset)
            if value is None:
                return (1, 0, 0, sort_key(node.id))
            return (0, -value, -node.total, sort_key(node.id))

        return by_score

    def _row(self, node: Node, shown: Shown | None) -> NodeRow:
        children = len(node.children)
        if shown is not None and children:
            children = sum(child in shown.shown for child in node.children)
        return NodeRow(
            id=node.id,
            parent=node.parent,
            statement=short(node.statement),
            state=state_of(node),
            label=label_of(node, self._preset),
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
