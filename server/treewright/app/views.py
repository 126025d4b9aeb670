"""Looking at a tree piece by piece: pages of children, filtered and sorted, without ever handing the whole tree out.

A filtered tree shows the nodes that match and the way down to each. A large run is looked at by the rows that lie beside its
journal until something is asked for that only the folded tree knows.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from treewright.app.context import Context
from treewright.app.describe import entry_of
from treewright.app.folded import FoldedRows
from treewright.app.listing import Listing, keep_listing, read_listing
from treewright.app.materials import load_for
from treewright.app.rows import NodeFilter, NodeRow, Page, Rows, Sort
from treewright.app.runs import RunView, find_run
from treewright.errors import StoreError
from treewright.presets.schema import Preset
from treewright.store.index import IndexEntry
from treewright.store.locks import run_holder
from treewright.tree.event import RunStarted
from treewright.tree.ids import ROOT

_MOST_NAMED = 500
"""Changed nodes that are named one by one; of more it is only said that there are many."""
_FILTERS_KEPT = 8
"""A few are in use together at most: one a view."""


class Grown(NamedTuple):
    """What reading on brought: the nodes touched, in no order; `many` when they are too many to be named."""

    nodes: frozenset[str]
    many: bool
    revision: int


class Figures(NamedTuple):
    """A run's figures: `run_json`, its index entry, damaged lines, the number of the last event in them."""

    summary: dict[str, Any]
    entry: IndexEntry
    damaged: list[int]
    revision: int


class TreeView:
    """A run to look at while it grows. Safe among threads."""

    def __init__(self, context: Context, reference: str, *, late: bool = False) -> None:
        """Open a run.

        Args:
            context: the surroundings.
            reference: see `find_run`.
            late: rows that were kept before the run grew further will do at first; `complete` brings the rest.

        Raises:
            RunError: it cannot be found, or was cut off before it began.
            StoreError: it cannot be read.
        """
        self._context = context
        self._turn = threading.RLock()
        self._folding = threading.Lock()
        self._whole: RunView | None = None
        self._late = late
        self._skipped = False
        self._filtered: dict[NodeFilter, tuple[Rows, int, Any]] = {}
        self.folder: Path = find_run(context, reference).folder
        listing = read_listing(self.folder)
        if listing is not None and (late or not listing.late):
            self._rows: Rows = listing
        else:
            self._whole = RunView(context, reference)
            self._rows = FoldedRows(self._whole.reader, self._whole.preset)
            self._keep()

    @property
    def partial(self) -> bool:
        """Whether only the kept rows are at hand, not the folded tree."""
        return self._whole is None

    @property
    def late(self) -> bool:
        """Whether what is at hand is known to be older than the run."""
        return isinstance(self._rows, Listing) and self._rows.late

    @cached_property
    def started(self) -> RunStarted:
        """How the run began."""
        if isinstance(self._rows, Listing):
            return RunStarted.model_validate(self._rows.about["started"])
        begun = self._folded().reader.tree.started
        assert begun is not None  # a view is only open on a run that was started
        return begun

    @cached_property
    def preset(self) -> Preset:
        """The run's preset."""
        if self._whole is not None:
            return self._whole.preset
        root = self._context.configuration().root.folder
        return load_for(self.started, root, to_look=True).materials.preset

    @property
    def run(self) -> str:
        """The run's id."""
        return self.started.run

    @property
    def size(self) -> int:
        """How many nodes there are, the root included."""
        return self._rows.size

    @property
    def revision(self) -> int:
        """The number of the last event known."""
        return self._rows.revision

    def complete(self) -> None:
        """Fold the tree where only kept rows were at hand; takes seconds for a large run, others look on meanwhile.

        Raises:
            StoreError: it cannot be read.
        """
        self._folded()

    def grow(self) -> Grown:
        """Read on, and say what changed.

        Raises:
            StoreError: the journal is another file now; open the run again.
        """
        if self.late and not self._late:
            self._folded()
        with self._turn:
            if self._whole is None:
                return Grown(frozenset(), many=False, revision=self.revision)
            reader = self._whole.reader
            before, skipped, self._skipped = reader.last, self._skipped, False
            if not reader.grown() or not reader.refresh():
                return Grown(frozenset(), many=skipped, revision=before)
            if skipped or reader.last - before > 4 * _MOST_NAMED:
                return Grown(frozenset(), many=True, revision=reader.last)
            touched: set[str] = set()
            missing = set(reader.unreadable)
            for at in range(before + 1, reader.last + 1):
                if at not in missing:
                    touched.update(_touched(reader.read(at)))
            named = frozenset(touched & reader.tree.nodes.keys())
            many = len(named) > _MOST_NAMED
            return Grown(frozenset() if many else named, many=many, revision=reader.last)

    def with_view(self, look: Callable[[RunView], Any]) -> Any:
        """Return what a look at the whole run gives, while nothing changes it."""
        whole = self._folded()
        with self._turn:
            return look(whole)

    def figures(self) -> Figures:
        """Return the run's figures."""
        rows = self._rows
        if isinstance(rows, Listing):
            entry = IndexEntry.model_validate(rows.about["entry"])
            return Figures(rows.about["figures"], entry, [], rows.revision)

        def look(view: RunView) -> Figures:
            entry = entry_of(view.folder, view.reader.tree)
            assert entry is not None  # a view is only open on a run that was started
            return Figures(view.summary(), entry, view.reader.damage, view.reader.last)

        found: Figures = self.with_view(look)
        return found

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
            return self._rows.page(node, self._select(wanted), sort, offset, limit)

    def matching(self, wanted: NodeFilter, sort: Sort = "score", offset: int = 0, limit: int = 200) -> Page:
        """Return a page of the nodes that match, wherever they are in the tree."""
        with self._turn:
            return self._rows.page(None, self._select(wanted), sort, offset, limit)

    def row(self, node: str) -> NodeRow:
        """Return a node as a line.

        Raises:
            RunError: `node_not_found`.
        """
        with self._turn:
            return self._rows.row(node)

    def columns(self, limit: int) -> dict[str, list[Any]]:
        """Return the nodes as columns, parents before children: what a map of the whole tree needs.

        Args:
            limit: at most so many; deeper nodes are left out first.
        """
        with self._turn:
            return self._rows.columns(limit)

    def _select(self, wanted: NodeFilter | None) -> Any:
        if wanted is None or wanted.empty:
            return None
        rows, revision = self._rows, self._rows.revision
        known = self._filtered.get(wanted)
        if known and known[0] is rows and known[1] == revision:
            return known[2]
        found = rows.select(wanted)
        if len(self._filtered) >= _FILTERS_KEPT:
            self._filtered.clear()
        self._filtered[wanted] = (rows, revision, found)
        return found

    def _folded(self) -> RunView:
        """Return the whole run, folded outside the turn of those who look at rows meanwhile."""
        with self._folding:
            if self._whole is None:
                whole = RunView(self._context, str(self.folder))
                with self._turn:
                    self._skipped = whole.reader.last != self.revision
                    self._whole, self._rows = whole, FoldedRows(whole.reader, whole.preset)
            return self._whole

    def _keep(self) -> None:
        """Keep the rows of a run that nobody drives, so that it opens at once the next time."""
        if self._whole is not None and run_holder(self.folder) is None:
            with contextlib.suppress(StoreError):  # a folder that is only to be read stays as it is
                keep_listing(self._whole.reader, self._whole.preset)


def _touched(event: Any) -> Iterable[str]:
    """Yield the ids of the nodes that an event changes the look of."""
    for name in ("node", "into", "by", "parent"):
        if value := getattr(event, name, ""):
            yield value
            if value != ROOT:
                yield value.rpartition(".")[0] or ROOT
    for draft in getattr(event, "drafts", ()):
        yield draft.node
