"""Reading a journal: from the start, from a known place, at a known place, or on and on while it grows.

A reader needs no lock. It hands out whole appends only, so that nobody sees half of one, and it never changes the
file: what it finds damaged it lists in `damage` and steps over.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

from treewright.errors import StoreError
from treewright.regular import open_regular
from treewright.store.durable import shown, storage_error, telling
from treewright.store.journal_line import LINE_START, MAX_LINE, Damage, Line, unframe

_CHUNK = 1 << 20
_TAIL = 1 << 14


class Mark(NamedTuple):
    """A place between two appends, and what stands before it.

    Attributes:
        offset: bytes before it.
        seq: number of the last event before it; 0 at the start.
        number: lines before it, blank and damaged ones counted.
        crc: CRC-32 of all the bytes before it.
    """

    offset: int = 0
    seq: int = 0
    number: int = 0
    crc: int = 0


class JournalReader:
    """Reads a journal's appends in order and remembers how far it came.

    Attributes:
        path: the journal.
        mark: the place up to which appends were handed out.
        damage: what was stepped over so far, in file order.
        torn: bytes behind the last whole append when the end was last reached: an append that was cut short,
            or one that another process is writing this moment.
    """

    def __init__(self, path: Path, after: Mark | None = None) -> None:
        """Open for reading.

        Args:
            path: the journal.
            after: begin here, with what stands before taken as known; see `holds`.

        Raises:
            StoreError: `journal_missing`, or the disk refused.
        """
        self.path = path
        self.mark = after or Mark()
        self.damage: list[Damage] = []
        self.torn = 0
        with self._open() as handle:
            self._identity = _identity(os.fstat(handle.fileno()))

    def lines(self) -> Iterator[Line]:
        """Hand out every line behind the mark, and move the mark on with each whole append.

        Call it again to get what was appended meanwhile.

        Raises:
            StoreError: `journal_replaced` when the file is another one now or was cut before the mark (by `recover`,
                or by a writer that took a failed append back): start over with a new reader.
        """
        with telling(self.path, "read"), self._open() as handle:
            found = os.fstat(handle.fileno())
            if not self.is_same_file(found) or found.st_size < self.mark.offset:
                raise StoreError(
                    "journal_replaced",
                    f"{shown(self.path)} was replaced while it was being read.",
                    "Read it again from the start.",
                    {"path": str(self.path)},
                )
            handle.seek(self.mark.offset)
            yield from self._appends(handle)

    def grown(self) -> bool:
        """Tell cheaply whether `lines` would have something new to look at (or would complain)."""
        try:
            found = self.path.stat()
        except OSError:
            return True
        behind = self.mark.offset + self.torn
        return found.st_size != behind or not self.is_same_file(found)

    def is_same_file(self, found: os.stat_result) -> bool:
        """Tell whether a file looked up is the one that was opened at first."""
        return _identity(found) == self._identity

    def holds(self, mark: Mark) -> bool:
        """Tell whether the file still begins with exactly the bytes that a mark covers.

        It reads them all (about 0.3 s for 300 MB that are in the page cache), so damage before the mark shows.
        """
        left, crc = mark.offset, 0
        with telling(self.path, "read"), self._open() as handle:
            while left:
                chunk = handle.read(min(left, _CHUNK))
                if not chunk:
                    return False
                crc = crc32(chunk, crc)
                left -= len(chunk)
        return crc == mark.crc

    def tail(self, mark: Mark) -> int:
        """Return a sum over the last bytes before a mark and how many stand before it; -1 when the file ends before it.

        The last line tells the number and a sum of its own of the event that it holds, so that two journals whose tails are
        equal are one journal, whatever was done to a file in between on purpose aside.
        """
        first = max(0, mark.offset - _TAIL)
        with telling(self.path, "read"), self._open() as handle:
            handle.seek(first)
            found = handle.read(mark.offset - first)
        return crc32(found, crc32(b"%d" % mark.offset)) if len(found) == mark.offset - first else -1

    def read_at(self, offset: int, length: int) -> Line:
        """Return the line at a known place.

        Args:
            offset: where the line starts, in bytes.
            length: its bytes without the line break.

        Raises:
            StoreError: `journal_damaged` when no undamaged line stands there.
        """
        with telling(self.path, "read"), self._open() as handle:
            handle.seek(offset)
            raw = handle.read(length + 1)
        found = unframe(raw[:length], 0, offset)
        if isinstance(found, Damage) or raw[length:] != b"\n":
            raise StoreError(
                "journal_damaged",
                f"The event at byte {offset} of {shown(self.path)} is damaged.",
                "Run `treewright recover` on the run.",
                {"path": str(self.path), "offset": offset},
            )
        return found

    def _open(self) -> BinaryIO:
        try:
            return open_regular(self.path, _CHUNK)
        except FileNotFoundError as fault:
            raise StoreError(
                "journal_missing",
                f"There is no journal at {shown(self.path)}.",
                "Check the run's folder; `treewright runs` lists the known ones.",
                {"path": str(self.path)},
            ) from fault
        except OSError as fault:
            raise storage_error(fault, self.path, "read") from fault

    def _appends(self, handle: BinaryIO) -> Iterator[Line]:
        """Walk the physical lines; hold lines back until their append is whole."""
        walk = _Walk(self.mark)
        for raw in iter(lambda: handle.readline(MAX_LINE + 1), b""):
            if walk.step(raw):
                # Mark and damage first, lines last: a consumer that stops early may go on from the mark.
                self.damage += walk.damage
                ready = walk.lines
                self.mark = walk.close()
                yield from ready
        self.torn = walk.offset - self.mark.offset
        if self.torn and not self.mark.offset and not walk.looks_torn:
            # Cutting this off would empty a file that never was a journal.
            self.damage.append(Damage(1, 0, self.torn, "unreadable"))
            self.mark, self.torn = walk.close(), 0


class _Walk:
    """What was seen behind the last whole append."""

    def __init__(self, mark: Mark) -> None:
        self.offset, self.seq, self.number, self.crc = mark
        self.lines: list[Line] = []
        self.damage: list[Damage] = []
        self._head = b""
        self._excused = 0
        self._oversized: tuple[int, int] | None = None

    def step(self, raw: bytes) -> bool:
        """Take in the next piece of the file: a line with its break, a torn one, or a part of an oversized one.

        Returns:
            Whether what was collected can be handed out.
        """
        start, ended = self.offset, raw.endswith(b"\n")
        self._head = self._head or raw[: len(LINE_START)]
        self.offset += len(raw)
        self.crc = crc32(raw, self.crc)
        if self._oversized or (not ended and len(raw) > MAX_LINE):
            return self._oversize(start, ended)
        self.number += 1
        if not ended:
            return False
        if raw.isspace():
            return not self.lines and not self.damage
        found = unframe(raw[:-1], self.number, start)
        if isinstance(found, Damage):
            # A hole of zero bytes is what a power cut leaves of an append: with nothing behind it, it is torn.
            return self._harm(found) and b"\0" not in raw
        return self._take(found)

    @property
    def looks_torn(self) -> bool:
        """Whether what was seen begins as an append does, or with a hole."""
        return LINE_START.startswith(self._head) or b"\0" in self._head

    def close(self) -> Mark:
        """Forget what was handed out and return the place behind it."""
        self.lines, self.damage = [], []
        return Mark(self.offset, self.seq, self.number, self.crc)

    def _harm(self, damage: Damage) -> bool:
        self.damage.append(damage)
        self._excused += 1
        return True

    def _take(self, line: Line) -> bool:
        if line.seq <= self.seq:
            reason = "repeated" if line.seq == self.seq else "out_of_order"
            self.damage.append(Damage(line.number, line.offset, line.length, reason))
            return True
        if line.seq - self.seq - 1 > self._excused:
            self.damage.append(Damage(line.number, line.offset, 0, "missing_before"))
        self._excused = 0
        self.seq = line.seq
        self.lines.append(line)
        return line.left == 0

    def _oversize(self, start: int, ended: bool) -> bool:
        if self._oversized is None:
            self.number += 1
            self._oversized = (start, self.number)
        if not ended:
            return False
        first, number = self._oversized
        self._oversized = None
        return self._harm(Damage(number, first, self.offset - first - 1, "oversized"))


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
