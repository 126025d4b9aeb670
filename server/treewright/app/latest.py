"""What `last` means: the latest run of the folder that one is in, never silently one of another project."""

from collections.abc import Iterable
from pathlib import Path

from treewright.app.context import Context
from treewright.errors import RunError
from treewright.store.index import IndexEntry
from treewright.store.paths import find_workspace


def latest_run(context: Context, entries: Iterable[IndexEntry]) -> IndexEntry:
    """Return the latest run that belongs here; where nothing does, the latest elsewhere if that can be told.

    Args:
        context: says where the user is, and how to tell something.
        entries: runs that exist, at least one.

    Raises:
        RunError: `run_not_found`: none belongs here, and nobody can be told that another is meant.
    """
    ordered = sorted(entries, key=lambda entry: entry.updated, reverse=True)
    folders = list(context.here()) if context.here is not None else [find_workspace(Path.cwd())]
    for entry in ordered:
        if belongs(entry, folders):
            return entry
    latest = ordered[0]
    told = f"No run belongs to this folder yet; the latest of all is {latest.id} ({latest.title[:60]}) in {latest.path}."
    if context.tell is None:
        raise RunError(
            "run_not_found",
            told,
            f"If that is the one, name it: {latest.id}. `treewright runs` lists all.",
            {"reference": "last", "latest": latest.id},
        )
    context.tell(told)
    return latest


def belongs(entry: IndexEntry, folders: Iterable[Path]) -> bool:
    """Say whether a run belongs to one of some folders: its workspace lies in one, holds one, or it has none."""
    if not entry.workspace:  # a deliberation is about no folder
        return True
    workspace = Path(entry.workspace)
    return any(workspace.is_relative_to(folder) or folder.is_relative_to(workspace) for folder in folders)
