"""Writing a journal: append-only, one JSON line an event, on the disk before the call returns.

The journal is the only truth about a run (contract: design, "The store"). An append costs one write and one sync,
whatever the journal's size. Whoever writes holds the run's lock (`locks.RunLock`); as a second guard a writer
notices when the file was changed, cut or removed under it and refuses rather than adding to the harm.
"""

import errno
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from zlib import crc32

from treewright.errors import StoreError
from treewright.store.durable import PRIVATE_FILE, shown, storage_error, sync_file, sync_folder, write_all
from treewright.store.journal_line import MAX_LINE, frame
from treewright.store.journal_reader import JournalReader, Mark
from treewright.store.strict_json import decode_object, encode_json

Event = Mapping[str, Any] | bytes
"""An event as plain values, or as the bytes of one JSON object."""


class Place(NamedTuple):
    """Where an event stands: `JournalReader.read_at(offset, length)` finds it again.

    Attributes:
        seq: the event's number in the journal, from 1.
        offset: where its line starts, in bytes.
        length: the line's bytes without the line break.
    """

    seq: int
    offset: int
    length: int


class JournalWriter:
    """Appends events to a journal. Safe to call from several threads.

    Attributes:
        path: the journal.
        mark: the place behind the last append; what a snapshot is saved with.
        cut: bytes of a torn append that were cut off on opening; 0 when there was none.
    """

    def __init__(self, path: Path, descriptor: int, mark: Mark, cut: int) -> None:
        """Take over an open file; use `create` or `continue_from`."""
        self.path = path
        self.mark = mark
        self.cut = cut
        self._descriptor = descriptor
        self._fault: str = ""
        self._turn = threading.Lock()

    @classmethod
    def create(cls, path: Path, *, private: bool = False) -> Self:
        """Begin a new, empty journal.

        Args:
            path: where; its folder exists.
            private: readable by this user only (mode 0600).

        Raises:
            StoreError: `journal_exists`, or the disk refused.
        """
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags, PRIVATE_FILE if private else 0o666)
            sync_folder(path.parent)
        except FileExistsError as fault:
            raise StoreError(
                "journal_exists",
                f"{shown(path)} holds a run already.",
                "Resume it, or choose another folder with --out.",
                {"path": str(path)},
            ) from fault
        except OSError as fault:
            raise storage_error(fault, path, "make") from fault
        return cls(path, descriptor, Mark(), 0)

    @classmethod
    def continue_from(cls, reader: JournalReader) -> Self:
        """Go on behind what a reader has read, after cutting off a torn append.

        Args:
            reader: has read to the end (`lines` exhausted) under the run's lock.

        Raises:
            StoreError: `journal_damaged` (recover first), `journal_changed` when the file is not as the reader left
                it, or the disk refused.
        """
        refuse_damaged(reader)
        path, mark = reader.path, reader.mark
        try:
            # A cloned repository may carry a journal that is a link to some file of the user's.
            flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags)
        except OSError as fault:
            raise storage_error(fault, path, "open") from fault
        writer = cls(path, descriptor, mark, reader.torn)
        try:
            found = os.fstat(descriptor)
            if found.st_size != mark.offset + reader.torn or not reader.is_same_file(found):
                raise writer._changed()
            if reader.torn:
                os.ftruncate(descriptor, mark.offset)
                sync_file(descriptor)
        except OSError as fault:
            writer.close()
            raise storage_error(fault, path, "mend the end of") from fault
        except StoreError:
            writer.close()
            raise
        reader.torn = 0
        return writer

    def append(self, event: Event) -> Place:
        """Add an event; it is on the disk when this returns.

        Raises:
            StoreError: `not_storable`, `journal_changed`, `journal_gone`, `journal_closed`, or the disk refused; the
                journal then ends with the last event acknowledged.
        """
        return self.append_many([event])[0]

    def append_many(self, events: Sequence[Event], *, encoded: bool = False) -> list[Place]:
        """Add events as one: with one write and one sync, and after a crash all of them are there or none.

        Args:
            events: in order; may be empty.
            encoded: whether they are bytes that our own encoder made, which need not be read again.

        Raises:
            StoreError: as `append`.
        """
        if not events:
            return []
        payloads = [_payload(event, encoded=encoded) for event in events]
        with self._turn:
            self._check()
            places, lines = [], []
            offset = self.mark.offset
            for position, payload in enumerate(payloads):
                seq = self.mark.seq + 1 + position
                line = frame(payload, seq, len(payloads) - 1 - position)
                places.append(Place(seq, offset, len(line) - 1))
                lines.append(line)
                offset += len(line)
            data = b"".join(lines)
            self._write(data)
            self.mark = Mark(
                offset, places[-1].seq, self.mark.number + len(lines), crc32(data, self.mark.crc)
            )
        return places

    def close(self) -> None:
        """Close the file; everything acknowledged is on the disk already. May be called twice."""
        with self._turn:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
                self._fault = self._fault or "it was closed"

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def _write(self, data: bytes) -> None:
        """Write and sync, or leave the file ending where it ended."""
        written = False
        try:
            write_all(self._descriptor, data)
            written = True
            sync_file(self._descriptor)
        except OSError as fault:
            # After a failed sync nobody knows what the disk holds, so such a writer is done for good.
            self._take_back(final=written or fault.errno == errno.EIO)
            raise storage_error(fault, self.path, "append to") from fault
        except BaseException:
            self._take_back(final=True)
            raise

    def _take_back(self, *, final: bool) -> None:
        try:
            os.ftruncate(self._descriptor, self.mark.offset)
        except OSError:
            final = True  # a torn end stays; the next opening cuts it
        if final:
            self._fault = "an earlier append failed"

    def _check(self) -> None:
        """Refuse when the file is not as the last append left it."""
        if self._fault:
            raise StoreError(
                "journal_closed",
                f"{shown(self.path)} takes no more events: {self._fault}.",
                "Open the run again.",
                {"path": str(self.path)},
            )
        found = os.fstat(self._descriptor)
        if found.st_nlink == 0:
            raise StoreError(
                "journal_gone",
                f"{shown(self.path)} was removed or replaced while the run was growing.",
                "Open the run again, or start a new one.",
                {"path": str(self.path)},
            )
        if found.st_size != self.mark.offset:
            raise self._changed()

    def _changed(self) -> StoreError:
        return StoreError(
            "journal_changed",
            f"{shown(self.path)} was changed by something else.",
            "Close other programs that write to it, then open the run again.",
            {"path": str(self.path)},
        )


def refuse_damaged(reader: JournalReader) -> None:
    """Raise unless a reader met no damage.

    Raises:
        StoreError: `journal_damaged`, naming the lines by number.
    """
    if not reader.damage:
        return
    numbers = sorted({each.number for each in reader.damage})
    named = ", ".join(str(number) for number in numbers[:5]) + (" and more" if len(numbers) > 5 else "")
    raise StoreError(
        "journal_damaged",
        f"{shown(reader.path)} is damaged at line {named}; it can be read but not added to.",
        "Run `treewright recover` on the run; it keeps the original beside the mended journal.",
        {
            "path": str(reader.path),
            "lines": numbers,
            "reasons": sorted({each.reason for each in reader.damage}),
        },
    )


def _payload(event: Event, *, encoded: bool = False) -> bytes:
    if encoded and isinstance(event, bytes):
        payload = event
    elif isinstance(event, bytes):
        try:
            decode_object(event)
        except ValueError as fault:
            raise StoreError("not_storable", f"An event cannot be stored: {fault}.") from fault
        payload = event if b"\n" not in event else encode_json(decode_object(event))
    else:
        payload = encode_json(event)
    if len(payload) > MAX_LINE - 100:
        raise StoreError(
            "not_storable",
            f"An event of {len(payload)} bytes is too long to be stored.",
            f"Events may have up to {MAX_LINE - 100} bytes.",
        )
    return payload
