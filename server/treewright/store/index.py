"""The index of runs and sessions: id to kind, absolute path, status, preset or mode, and times.

It makes finding quick and is the only thing that knows where a user moved a session to. It can be rebuilt: what can
be read of a damaged index is kept, and the folders are scanned for the rest.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treewright.errors import StoreError
from treewright.regular import LARGEST_STORED, read_regular
from treewright.store.durable import make_folder, replace_file, shown, storage_error, telling
from treewright.store.turns import exclusive

Kind = Literal["exploration", "deliberation", "search", "chain"]
Describe = Callable[[Path], "IndexEntry | None"]
"""Reads a run's folder or a session's file and says what the index should hold of it; None when it is neither."""

_ENTRY = re.compile(r'"((?:[^"\\]|\\.){1,200})"\s*:\s*(?=\{\s*"id")')


class IndexEntry(BaseModel):
    """What the index knows of one run or session.

    Attributes:
        id: the run's id.
        kind: what kind of run.
        path: its folder, or the session's file; absolute.
        status: the run's status word.
        preset: the preset's name, or the session's mode; may be empty.
        title: what it is about, in a few words.
        created: when it began, ISO 8601 in UTC.
        updated: when it last changed, ISO 8601 in UTC.
        workspace: the workspace it belongs to, absolute; may be empty.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    kind: Kind
    path: Path
    status: str
    preset: str = ""
    title: str = ""
    created: str
    updated: str
    workspace: str = ""


class IndexContent(NamedTuple):
    """The index as it was read.

    Attributes:
        entries: by id, oldest first.
        note: empty, or one sentence for the user: the index was damaged and what became of it.
    """

    entries: dict[str, IndexEntry]
    note: str = ""


class _File(BaseModel):
    format: Literal[1] = 1
    runs: dict[str, IndexEntry]


class Index:
    """The index file. Safe among threads and processes."""

    def __init__(self, path: Path, *, scan: Iterable[Path] = (), describe: Describe = lambda _: None) -> None:
        """Name an index; nothing is touched yet.

        Args:
            path: `Root.index`.
            scan: folders whose runs and sessions are looked up when the index must be rebuilt.
            describe: tells what a folder or file found there is.
        """
        self.path = path
        self._scan = tuple(scan)
        self._describe = describe

    def read(self) -> IndexContent:
        """Return every entry; rebuild the index first when it is damaged.

        Raises:
            StoreError: the disk refused.
        """
        entries = self._load()
        if entries is not None:
            return IndexContent(entries)
        with self._locked():
            return self._load_or_rebuild()

    def get(self, run: str) -> IndexEntry | None:
        """Return a run's entry by its id, or None."""
        return self.read().entries.get(run)

    def put(self, entry: IndexEntry) -> str:
        """Add or replace an entry.

        Returns:
            Empty, or the note of a rebuilt index; see `IndexContent`.

        Raises:
            StoreError: the disk refused; the index is what it was before.
        """
        return self._change(lambda entries: entries.__setitem__(entry.id, entry))

    def update(self, run: str, *, updated: str, status: str | None = None, path: Path | None = None) -> str:
        """Change what is known of a run; nothing happens when the index does not hold it.

        Returns:
            Empty, or the note of a rebuilt index.

        Raises:
            StoreError: the disk refused; the index is what it was before.
        """

        def change(entries: dict[str, IndexEntry]) -> None:
            if run in entries:
                given = {"status": status, "path": path, "updated": updated}
                known = {key: value for key, value in given.items() if value is not None}
                entries[run] = entries[run].model_copy(update=known)

        return self._change(change)

    def remove(self, run: str) -> str:
        """Forget a run; its files stay.

        Returns:
            Empty, or the note of a rebuilt index.

        Raises:
            StoreError: the disk refused; the index is what it was before.
        """

        def change(entries: dict[str, IndexEntry]) -> None:
            entries.pop(run, None)

        return self._change(change)

    def rebuild(self) -> IndexContent:
        """Scan the folders and add what the index lacks.

        Raises:
            StoreError: the disk refused.
        """
        with self._locked():
            content = self._load_or_rebuild()
            found = self._scanned() | content.entries
            self._save(found)
            return IndexContent(found, content.note)

    def _change(self, change: Callable[[dict[str, IndexEntry]], None]) -> str:
        with self._locked():
            entries, note = self._load_or_rebuild()
            change(entries)
            self._save(entries)
        return note

    def _locked(self) -> AbstractContextManager[None]:
        make_folder(self.path.parent, private=True)
        return exclusive(self.path.with_name(self.path.name + ".lock"))

    def _load(self) -> dict[str, IndexEntry] | None:
        """Return the entries, or None when the file is damaged."""
        try:
            return _File.model_validate_json(read_regular(self.path, LARGEST_STORED)).runs
        except FileNotFoundError:
            return {}
        except ValidationError:
            return None
        except OSError as fault:
            raise storage_error(fault, self.path, "read") from fault

    def _load_or_rebuild(self) -> IndexContent:
        entries = self._load()
        if entries is not None:
            return IndexContent(entries)
        with telling(self.path, "read"):
            saved = _salvage(read_regular(self.path, LARGEST_STORED).decode(errors="replace"))
        found = self._scanned() | saved
        aside = self.path.with_name(f"{self.path.name}.damaged-{secrets.token_hex(4)}")
        try:
            self.path.replace(aside)
        except OSError as fault:
            raise storage_error(fault, aside, "keep the damaged index as") from fault
        self._save(found)
        note = f"{shown(self.path)} was damaged and was rebuilt with {len(found)} entries; it is kept as {shown(aside)}."
        return IndexContent(found, note)

    def _scanned(self) -> dict[str, IndexEntry]:
        found = {}
        for folder in self._scan:
            for path in sorted(folder.glob("*")) if folder.is_dir() else ():
                entry = self._described(path)
                if entry:
                    found[entry.id] = entry
        return found

    def _described(self, path: Path) -> IndexEntry | None:
        try:
            return self._describe(path)
        except (StoreError, OSError, ValueError):
            return None  # one unreadable run must not hide the others

    def _save(self, entries: dict[str, IndexEntry]) -> None:
        try:
            encoded = _File(runs=entries).model_dump_json(indent=1).encode()
        except ValueError as fault:
            raise StoreError("not_storable", f"An index entry is no valid Unicode: {fault}.") from fault
        replace_file(self.path, [encoded], private=True)


def _salvage(text: str) -> dict[str, IndexEntry]:
    """Return every entry of a damaged index that still reads whole."""
    found = {}
    decoder = json.JSONDecoder()
    for match in _ENTRY.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, match.end())
            entry = IndexEntry.model_validate(value)
        except (ValueError, RecursionError):
            continue
        found[entry.id] = entry
    return found
