"""What a power cut leaves of a real run's journal: cuts of every kind, lost pages, holes, written out of order.

A disk promises nothing of what was not synced: of the pages of the last append any may have been written and any not, in
whatever order, and the file may be as long as it would have been, or shorter. What was synced before stands. The same for
journals made of chance: `tests/unit/store/test_journal.py`; for session documents: `tests/unit/store/test_documents.py`.
"""

import datetime
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trust.conftest import Planted
from tests.trust.seeds import chance, examples
from treewright.store.journal_reader import JournalReader
from treewright.store.recover import recover_run
from treewright.store.run_folder import JOURNAL, RunReader, RunWriter
from treewright.tree import snapshot
from treewright.tree.event import Noted

PAGE = 4096


def picture(run: RunReader) -> bytes:
    """Return the whole state of a run, to be compared."""
    return b"".join(snapshot.encode(run.tree))


def payloads(folder: Path) -> list[bytes]:
    """Return the events of a journal as they stand there."""
    return [line.payload for line in JournalReader(folder / JOURNAL).lines()]


def appends(folder: Path) -> list[tuple[int, int]]:
    """Return where each append of a journal begins and ends."""
    reader = JournalReader(folder / JOURNAL)
    ends = [0]
    for _ in reader.lines():
        if reader.mark.offset != ends[-1]:
            ends.append(reader.mark.offset)
    return list(itertools.pairwise(ends))


def cuts(data: bytes) -> Iterator[int]:
    """Yield how much of an append is there: each kind of place within it, and the ends of its pages."""
    places = {1, len(data) // 2, len(data) - 1}
    for sign in (b'"crc"', b'"seq"', b'"left"', b'"event"', b"{", b"}", b"\\", b"\n", b'":"', b'",'):
        at = data.find(sign)
        if at >= 0:
            places |= {at, at + 1, at + len(sign)}
    places |= set(range(PAGE, len(data), PAGE))
    yield from sorted(place for place in places if 0 < place < len(data))


def states(data: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield what may stand on the disk when the append from `start` to `end` was never acknowledged."""
    before, append = data[:start], data[start:end]
    for cut in cuts(append):
        yield before + append[:cut]
        yield before + append[:cut] + bytes(len(append) - cut)  # the size was written, the rest was not
    first = start // PAGE * PAGE
    pages = list(range(max(first, start), end, PAGE)) or [start]
    for lost in pages:  # later pages written, an earlier one not
        until = min((lost // PAGE + 1) * PAGE, end)
        yield data[:lost] + bytes(until - lost) + data[until:end]
    yield before + bytes(len(append))
    yield before + bytes(PAGE)


@pytest.mark.slow
@pytest.mark.requirement("trust:power:journal")
def test_whatever_a_power_cut_leaves_of_a_run_it_opens_with_all_that_was_acknowledged(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    assert planted("audit", project, "--out", "run", "-q", "--concurrency", "1").code == 0
    data = (tmp_path / "run" / JOURNAL).read_bytes()
    spans = appends(tmp_path / "run")
    assert len(spans) > 10
    tried = reordered = 0
    some = chance("power").sample(spans[1:], min(len(spans) - 1, examples(6)))
    for number, (start, end) in enumerate(some):
        (tmp_path / f"sound{number}").mkdir()
        (tmp_path / f"sound{number}" / JOURNAL).write_bytes(data[:start])
        known, before = picture(RunReader(tmp_path / f"sound{number}")), payloads(tmp_path / f"sound{number}")
        for state in states(data, start, end):
            tried += 1
            folder = tmp_path / "cut"
            folder.mkdir()
            (folder / JOURNAL).write_bytes(state)
            found = RunReader(folder)
            if (
                found.damage
            ):  # later pages were written and earlier ones not: as after any damage, nothing is guessed
                reordered += 1
                recover_run(folder, "cli", now=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
            else:
                assert picture(found) == known, (start, end, tried)
            with RunWriter.open(folder, "cli") as writer:
                assert found.damage or picture(writer) == known
                writer.stage([Noted(text="it goes on")])
                writer.commit()
            assert payloads(folder)[: len(before)] == before
            assert not RunReader(folder).damage
            shutil.rmtree(folder)
    assert tried > 60
    assert reordered < tried / 2
