"""Mending a damaged journal. The original is kept beside it, and no undamaged event is lost.

Events are put back into the order of their numbers, repeated ones are dropped, and lines that ran into each other
are taken apart again. What stays lost is named.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from treewright.errors import StoreError
from treewright.regular import open_regular
from treewright.store.durable import replacing, telling
from treewright.store.journal_line import LINE_START, MAX_LINE, Damage, Line, frame, unframe
from treewright.store.journal_reader import JournalReader
from treewright.store.locks import RunLock
from treewright.store.paths import RunFolder

_SALVAGE_BYTES = 16 << 20
"""Bytes that taking one damaged line apart may look at in a direction, so that nonsense cannot keep it busy."""


class Recovery(NamedTuple):
    """What recovering a run did.

    Attributes:
        kept: events in the mended journal.
        rescued: events among them that stood in damaged or misplaced lines.
        lost: numbers of events that are gone.
        damage: what was found, in file order.
        torn: bytes of an unfinished append that were dropped.
        original: where the damaged journal is kept; None when there was nothing to mend.
    """

    kept: int
    rescued: int
    lost: tuple[int, ...]
    damage: tuple[Damage, ...]
    torn: int
    original: Path | None


def recover_run(folder: Path, surface: str, *, now: datetime.datetime) -> Recovery:
    """Mend a run's journal, so that it can be written to again.

    Args:
        folder: the run's folder.
        surface: what this process is to the user: `cli`, `lsp`, `mcp`.
        now: the present in UTC, for the name of the kept original.

    Raises:
        StoreError: `run_locked` while the run is being written, `journal_missing`, or the disk refused; the journal is
            what it was before.
    """
    files = RunFolder(folder)
    JournalReader(files.journal)  # nothing is made in a folder that holds no run
    with RunLock.take(folder, surface):
        done = mend_journal(files.journal, now=now)
        if done.original:
            files.snapshot.unlink(missing_ok=True)
            files.listing.unlink(missing_ok=True)
    return done


def mend_journal(journal: Path, *, now: datetime.datetime) -> Recovery:
    """Mend a journal whose lock is held.

    Args:
        journal: the file.
        now: the present in UTC, for the name of the kept original.

    Raises:
        StoreError: `journal_missing`, or the disk refused; the journal is what it was before.
    """
    reader = JournalReader(journal)
    read = sum(1 for _ in reader.lines())
    if not reader.damage and not reader.torn:
        return Recovery(read, 0, (), (), 0, None)
    with telling(journal, "mend"):
        events = _collect(journal, reader.mark.offset)
        original = _keep(journal, now)
        _rewrite(journal, events)
    expected = range(1, max(events, default=0) + 1)
    return Recovery(
        kept=len(events),
        rescued=max(0, len(events) - read),
        lost=tuple(seq for seq in expected if seq not in events)[:1000],
        damage=tuple(reader.damage),
        torn=reader.torn,
        original=original,
    )


class _Spot(NamedTuple):
    """Where an undamaged event stands: events are re-read from there, since a journal may be larger than memory."""

    offset: int
    length: int


def _collect(path: Path, end: int) -> dict[int, _Spot]:
    """Return the place of every undamaged event before `end` by its number; the first of repeated ones."""
    found: dict[int, _Spot] = {}
    for line in _salvaged(path, end):
        found.setdefault(line.seq, _Spot(line.offset, line.length))
    return found


def _salvaged(path: Path, end: int) -> Iterator[Line]:
    offset = 0
    with open_regular(path, 1 << 20) as handle:
        while offset < end:
            raw = handle.readline(MAX_LINE + 1)
            found = unframe(raw.rstrip(b"\r\n"), 0, offset)
            if isinstance(found, Line):
                yield found
            else:
                yield from _within(raw, offset)
            offset += len(raw)


def _within(raw: bytes, offset: int) -> Iterator[Line]:
    """Look for whole lines in one that is damaged: a line break may be lost, or another writer's line lie inside."""
    starts = list(_finds(raw, LINE_START))
    ends = [at + 1 for at in _finds(raw, b"}")]
    tries = max(2, min(100, _SALVAGE_BYTES // len(raw)))
    for place, start in enumerate(starts[:tries]):
        following = starts[place + 1] if place + 1 < len(starts) else len(raw)
        for end in reversed([end for end in ends if start < end <= following][-tries:]):
            found = unframe(raw[start:end], 0, offset + start)
            if isinstance(found, Line):
                yield found
                break


def _finds(raw: bytes, part: bytes) -> Iterator[int]:
    at = raw.find(part)
    while at >= 0:
        yield at
        at = raw.find(part, at + 1)


def _keep(journal: Path, now: datetime.datetime) -> Path:
    """Give the damaged journal a second name, so that replacing it loses nothing."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    for count in range(1, 1000):
        name = f"journal.damaged-{stamp}.jsonl" if count == 1 else f"journal.damaged-{stamp}-{count}.jsonl"
        original = journal.with_name(name)
        try:
            original.hardlink_to(journal)
        except FileExistsError:
            continue
        except OSError:
            _copy(journal, original)
        return original
    raise StoreError("storage_failed", f"There are too many kept journals in {journal.parent.name}.")


def _copy(journal: Path, original: Path) -> None:
    """Keep by copying, where the file system knows no links."""
    with open_regular(journal) as source, replacing(original) as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)


def _rewrite(journal: Path, events: dict[int, _Spot]) -> None:
    """Write the undamaged events in order, numbered anew without gaps."""
    mode = journal.stat().st_mode & 0o077
    with open_regular(journal) as source, replacing(journal, private=mode == 0) as target:
        for seq, old in enumerate(sorted(events), start=1):
            spot = events[old]
            source.seek(spot.offset)
            line = unframe(source.read(spot.length), 0, spot.offset)
            if isinstance(line, Line):
                target.write(frame(line.payload, seq))
