"""What the index holds of a run, read from its folder."""

from pathlib import Path

from treewright.errors import StoreError
from treewright.regular import open_regular
from treewright.store.index import IndexEntry
from treewright.store.run_folder import JOURNAL, RunReader
from treewright.tree.fold import Tree


def describe_run(folder: Path) -> IndexEntry | None:
    """Return a run's index entry, or None when the folder holds no run that can be read."""
    if is_search(folder):
        from treewright.app.search_store import describe_search

        return describe_search(folder)
    try:
        reader = RunReader(folder)
    except (StoreError, OSError):
        return None
    return entry_of(folder, reader.tree)


def is_search(folder: Path) -> bool:
    """Tell whether a folder holds a code-branch search, by the first line of its journal."""
    try:
        with open_regular(folder / JOURNAL) as stream:
            head = stream.readline(256)
    except OSError:
        return False
    return b'"event":{"opened":' in head


def entry_of(folder: Path, tree: Tree, updated: str = "") -> IndexEntry | None:
    """Return a tree's index entry, or None when the run was never started.

    Args:
        folder: the run's folder, absolute.
        tree: the folded state.
        updated: ISO 8601 in UTC; empty takes the start.
    """
    started = tree.started
    if started is None:
        return None
    return IndexEntry(
        id=started.run,
        kind=started.kind.value,
        path=folder.absolute(),
        status=tree.status.value,
        preset=started.preset,
        title=title_of(tree),
        created=started.at,
        updated=updated or started.at,
        workspace=started.root.workspace,
    )


def title_of(tree: Tree) -> str:
    """Return a run's title: its root's statement, else what it was asked, on one line of at most 120 characters."""
    started = tree.started
    asked = (started.root.text or started.root.path) if started else ""
    return " ".join((tree.root.statement or asked).split())[:120]
