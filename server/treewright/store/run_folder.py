"""A run on disk: its folder, its journal, the tree folded from it.

    <run>/journal.jsonl     the only truth
    <run>/journal.snapshot  a picture of the fold, rebuildable
    <run>/journal.listing   a picture of its rows, for looking at without folding; rebuildable
    <run>/...               what the run puts out (`store.artifacts`)

`RunReader` follows a run without a lock, from any process. `RunWriter` holds the run's lock, folds each event as it is staged,
and makes staged events durable with one append.
"""

import gc
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from treewright.errors import StoreError
from treewright.store.journal import JournalWriter
from treewright.store.journal_reader import JournalReader
from treewright.store.locks import RunLock, clear_stop
from treewright.store.snapshot import load_snapshot, save_snapshot
from treewright.tree import snapshot as tree_snapshot
from treewright.tree.event import AnyEvent, Event, event_from_json, event_to_json
from treewright.tree.fold import Tree
from treewright.tree.soundness import fits

JOURNAL = "journal.jsonl"
SNAPSHOT = "journal.snapshot"
LISTING = "journal.listing"
_SCHEMA = f"tree-{tree_snapshot.FORMAT}"
_CACHED_EVENTS = 256


class _Places:
    """Where each event stands in the journal, by its number from 1: 16 bytes an event."""

    def __init__(self) -> None:
        self.offsets = array("Q", [0])
        self.lengths = array("Q", [0])

    def note(self, seq: int, offset: int, length: int) -> None:
        while len(self.offsets) <= seq:  # numbers may be missing where the journal was damaged
            self.offsets.append(0)
            self.lengths.append(0)
        self.offsets[seq], self.lengths[seq] = offset, length

    def dump(self) -> bytes:
        """Return the table as one line: its size, then both columns in hexadecimal."""
        return b"%d %b %b\n" % (
            len(self.offsets),
            self.offsets.tobytes().hex().encode(),
            self.lengths.tobytes().hex().encode(),
        )

    @classmethod
    def load(cls, line: bytes) -> "_Places":
        count, offsets, lengths = line.split()
        found = cls()
        found.offsets = array("Q", bytes.fromhex(offsets.decode()))
        found.lengths = array("Q", bytes.fromhex(lengths.decode()))
        if not len(found.offsets) == len(found.lengths) == int(count):
            raise tree_snapshot.SnapshotMismatchError("the table of places is cut")
        return found


class RunReader:
    """A run as it stands, readable by anybody at any time.

    Attributes:
        folder: the run's folder.
        tree: the fold of what was read so far; `refresh` reads on.
        unreadable: events of the journal that are none of this version, by number.
        orphans: events that rest on lost ones and were passed over, by number.
    """

    def __init__(self, folder: Path) -> None:
        """Open a run.

        Args:
            folder: holds `journal.jsonl`.

        Raises:
            StoreError: `journal_missing`, or the disk refused.
        """
        self.folder = folder
        self.tree = Tree()
        self.unreadable: list[int] = []
        self.orphans: list[int] = []
        self._places = _Places()
        self._cache: OrderedDict[int, AnyEvent] = OrderedDict()
        self._staged: dict[int, bytes] = {}
        self._reader = JournalReader(folder / JOURNAL)
        self._from_snapshot()
        self.refresh()

    def refresh(self) -> int:
        """Read on and return how many events were new.

        Raises:
            StoreError: `journal_replaced` when the file is another one now.
        """
        new = 0
        for line in self._reader.lines():
            self._places.note(line.seq, line.offset, line.length)
            try:
                event = event_from_json(line.payload)
            except ValidationError:
                self.unreadable.append(line.seq)
                continue
            if fits(self.tree, event):
                self.tree.apply(event, line.seq)
                new += 1
            else:
                self.orphans.append(line.seq)
        return new

    @property
    def damage(self) -> list[int]:
        """The numbers of the journal's damaged lines."""
        return sorted({each.number for each in self._reader.damage})

    @property
    def last(self) -> int:
        """The number of the last event read; 0 before the first."""
        return self._reader.mark.seq

    def save_listing(self, payload: Iterable[bytes], schema: str) -> None:
        """Write a picture of the tree's rows as they stand now; nothing where the journal is damaged.

        Args:
            payload: the rows, encoded.
            schema: names the encoding.

        Raises:
            StoreError: the disk refused; the former picture stands.
        """
        if self.damage or self.unreadable:
            return
        mark = self._reader.mark
        tail = self._reader.tail(mark)
        save_snapshot(self.folder / LISTING, payload, mark=mark, schema=schema, tail=tail)

    def grown(self) -> bool:
        """Tell cheaply whether `refresh` would find something new."""
        return self._reader.grown()

    def read(self, at: int) -> AnyEvent:
        """Return event number `at` (the engine's port `Bodies`).

        Raises:
            StoreError: `journal_damaged` when it cannot be read back.
        """
        if at in self._cache:
            self._cache.move_to_end(at)
            return self._cache[at]
        payload = self._staged.get(at)
        if payload is None:
            payload = self._reader.read_at(self._places.offsets[at], self._places.lengths[at]).payload
        event = event_from_json(payload)
        self._remember(at, event)
        return event

    def _remember(self, at: int, event: AnyEvent) -> None:
        self._cache[at] = event
        if len(self._cache) > _CACHED_EVENTS:
            self._cache.popitem(last=False)

    def _from_snapshot(self) -> None:
        found = load_snapshot(self.folder / SNAPSHOT, self._reader, schema=_SCHEMA)
        if found is None:
            return
        lines = iter(found.payload.splitlines(keepends=True))
        collecting = gc.isenabled()
        gc.disable()  # a hundred thousand nodes at once would set it off again and again, and none is garbage
        try:
            places = _Places.load(next(lines))
            self.tree = tree_snapshot.decode(lines)
        except (StopIteration, ValueError):
            self.tree = Tree()  # a picture that cannot be read is no picture; the journal is folded instead
            return
        finally:
            if collecting:
                gc.enable()
        self._places = places
        self._reader.mark = found.mark


class RunWriter(RunReader):
    """A run that this process drives. Holds the run's lock until closed."""

    def __init__(self, folder: Path, lock: RunLock) -> None:
        """Go on with a run; use `create` or `open`."""
        super().__init__(folder)
        if self.unreadable:
            lock.release()
            raise StoreError(
                "journal_newer",
                f"Event {self.unreadable[0]} of the run was written by another version of Treewright.",
                "Use the version that wrote it, or a newer one.",
                {"events": self.unreadable[:20]},
            )
        self._lock = lock
        try:
            self._journal = JournalWriter.continue_from(self._reader)
        except StoreError:
            lock.release()
            raise
        self._pending: list[bytes] = []

    @classmethod
    def create(cls, folder: Path, surface: str) -> Self:
        """Begin a run in an existing folder that holds none.

        Args:
            folder: the run's folder.
            surface: what this process is to the user: `cli`, `lsp`, `mcp`.

        Raises:
            StoreError: `journal_exists`, `run_locked`, or the disk refused.
        """
        lock = RunLock.take(folder, surface)
        try:
            JournalWriter.create(folder / JOURNAL).close()
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, folder: Path, surface: str) -> Self:
        """Go on with a run.

        Raises:
            StoreError: `journal_missing`, `run_locked` naming the holder, `journal_damaged` (recover first).
        """
        JournalReader(folder / JOURNAL)  # a missing run leaves no lock files behind
        lock = RunLock.take(folder, surface)
        try:
            clear_stop(folder)
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    @property
    def size(self) -> int:
        """Bytes of the journal."""
        return self._journal.mark.offset

    @property
    def ahead(self) -> bool:
        """Whether the tree holds events that are not durable: a commit is due, or the disk refused one."""
        return bool(self._pending)

    def stage(self, events: Iterable[Event]) -> None:
        """Fold events into the tree; they count for others once `commit` returns."""
        for event in events:
            stamped = event if event.at else event.model_copy(update={"at": _now()})
            seq = self._journal.mark.seq + 1 + len(self._pending)
            payload = event_to_json(stamped)
            self._pending.append(payload)
            self._staged[seq] = payload
            self._remember(seq, stamped)  # type: ignore[arg-type]  # every event class is in the union
            self.tree.apply(stamped, seq)

    def commit(self) -> None:
        """Make what was staged durable, all of it or nothing.

        Raises:
            StoreError: the disk refused. The tree in memory is then ahead of the journal: close, and open the run again.
        """
        places = self._journal.append_many(self._pending, encoded=True)
        for place in places:
            self._places.note(place.seq, place.offset, place.length)
        self._pending.clear()
        self._staged.clear()
        self._reader.mark = self._journal.mark

    def save_snapshot(self) -> None:
        """Write the picture that a later opening starts from; nothing while the tree is ahead of the journal.

        Raises:
            StoreError: the disk refused; the former picture stands.
        """
        if self.ahead:
            return
        save_snapshot(self.folder / SNAPSHOT, self._encoded(), mark=self._journal.mark, schema=_SCHEMA)

    def _encoded(self) -> Iterator[bytes]:
        yield self._places.dump()
        yield from tree_snapshot.encode(self.tree)

    def close(self) -> None:
        """Give the run back; may be called twice."""
        self._journal.close()
        self._lock.release()

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the run back."""
        self.close()


def first_event(folder: Path) -> AnyEvent | None:
    """Return a run's first event; None when there is none that can be read.

    Raises:
        StoreError: `journal_missing`, or the disk refused.
    """
    for line in JournalReader(folder / JOURNAL).lines():
        try:
            return event_from_json(line.payload)
        except ValidationError:
            return None
    return None


def load_listing(folder: Path, schema: str) -> tuple[bytes, JournalReader] | None:
    """Return the picture of a run's rows, and a reader of the journal that stands behind the last event in it.

    None when there is none that fits the journal. Costs three reads, whatever the run's size.
    """
    try:
        reader = JournalReader(folder / JOURNAL)
    except StoreError:
        return None
    found = load_snapshot(folder / LISTING, reader, schema=schema, whole=False)
    if found is None:
        return None
    reader.mark = found.mark
    return found.payload, reader


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
