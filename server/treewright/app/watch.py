"""Following runs that other processes, or this one, are growing: cheap looks at the index and at journals."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from treewright.app.context import Context
from treewright.store.index import Index, IndexEntry
from treewright.store.run_folder import JOURNAL
from treewright.tree.run import Status

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RunChange:
    """Something happened to a run.

    Attributes:
        run: its id.
        kind: `listed` (new to the index, or its entry changed), `grown` (its journal did), `gone` (forgotten).
        entry: what the index holds of it; None when it is gone.
    """

    run: str
    kind: Literal["listed", "grown", "gone"]
    entry: IndexEntry | None


class Follower:
    """Looks for changes. Used by one thread at a time.

    A look costs one `stat` for the index and one for each run that grows or is followed.
    """

    def __init__(self, context: Context) -> None:
        """Follow the runs of a root; what is there already is no change.

        Raises:
            StoreError: the configuration or the index cannot be read.
        """
        self._context = context
        self._index: Index = context.index()
        self._stamp = _stamp(self._index.path)
        self._entries = dict(self._index.read().entries)
        self._journals: dict[Path, Stamp | None] = {}
        self._followed: dict[str, Path] = {}

    @property
    def entries(self) -> dict[str, IndexEntry]:
        """The index as it was last seen."""
        return self._entries

    @property
    def busy(self) -> bool:
        """Whether a run grows, as far as is known."""
        return any(entry.status == Status.GROWING.value for entry in self._entries.values())

    def follow(self, run: str, folder: Path) -> None:
        """Look at a run's journal too, whatever its status."""
        if run not in self._followed:
            self._followed[run] = folder
            self._journals.setdefault(folder / JOURNAL, _stamp(folder / JOURNAL))

    def unfollow(self, run: str) -> None:
        """Look at a run only while it grows."""
        self._followed.pop(run, None)

    def look(self) -> list[RunChange]:
        """Return what changed since the last look.

        Raises:
            StoreError: the index cannot be read.
        """
        changes = self._index_changes()
        listed = {change.run for change in changes}
        for run, folder in self._watched():
            path = folder / JOURNAL
            now = _stamp(path)
            if path in self._journals and self._journals[path] != now and run not in listed:
                changes.append(RunChange(run, "grown" if now else "gone", self._entries.get(run)))
            self._journals[path] = now
        return changes

    def _watched(self) -> list[tuple[str, Path]]:
        growing = [
            (entry.id, entry.path)
            for entry in self._entries.values()
            if entry.status == Status.GROWING.value and entry.kind != "deliberation"
        ]
        return list(dict([*growing, *self._followed.items()]).items())

    def _index_changes(self) -> list[RunChange]:
        now = _stamp(self._index.path)
        if now == self._stamp:
            return []
        fresh = self._index.read().entries
        before, self._entries, self._stamp = self._entries, dict(fresh), now
        changes = [
            RunChange(run, "listed", entry) for run, entry in fresh.items() if before.get(run) != entry
        ]
        changes += [RunChange(run, "gone", None) for run in before if run not in fresh]
        return changes


class DecisionsWatch:
    """Tells when a decision about a finding was recorded, by whoever. Used by one thread at a time; a look lists one folder."""

    def __init__(self, context: Context) -> None:
        """Watch a root; what is decided already is no change.

        Raises:
            StoreError: the configuration cannot be read.
        """
        self._folder = context.configuration().root.decisions
        self._seen = self._now()

    def changed(self) -> bool:
        """Tell whether something was decided since the last look."""
        before, self._seen = self._seen, self._now()
        return before != self._seen

    def _now(self) -> dict[str, Stamp | None]:
        try:
            return {path.name: _stamp(path) for path in self._folder.glob("*.jsonl")}
        except OSError:
            return {}


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
