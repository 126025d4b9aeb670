"""The journal against a plain list: appends, crashes, reopenings and snapshots in any order."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from treewright.store.journal import JournalWriter
from treewright.store.journal_line import frame
from treewright.store.journal_reader import JournalReader
from treewright.store.snapshot import load_snapshot, save_snapshot


class JournalModel(RuleBasedStateMachine):
    """What was acknowledged is a list of numbers; the journal must always read as that list."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.jsonl"
        self.picture = Path(self.folder.name) / "snapshot.bin"
        self.writer = JournalWriter.create(self.path)
        self.follower = JournalReader(self.path)
        self.followed: list[int] = []
        self.acknowledged: list[int] = []

    def teardown(self) -> None:
        self.writer.close()
        self.folder.cleanup()

    @rule(count=st.integers(0, 4))
    def append(self, count: int) -> None:
        new = list(range(len(self.acknowledged), len(self.acknowledged) + count))
        places = self.writer.append_many([{"n": n} for n in new])
        self.acknowledged += new
        assert [place.seq for place in places] == [n + 1 for n in new]
        for n, place in zip(new, places, strict=True):
            assert self.follower.read_at(place.offset, place.length).event() == {"n": n}

    @rule()
    def save(self) -> None:
        payload = b",".join(b"%d" % n for n in self.acknowledged)
        save_snapshot(self.picture, [payload], mark=self.writer.mark, schema="model-1")

    @rule()
    def spoil_the_snapshot(self) -> None:
        if self.picture.exists():
            self.picture.write_bytes(self.picture.read_bytes()[:-1] + b"?")

    @rule(share=st.floats(0, 0.99), lines=st.integers(1, 3))
    def crash_while_appending(self, share: float, lines: int) -> None:
        """The process dies with any part of an append on the disk; the next one takes over."""
        self.writer.close()
        seq = len(self.acknowledged) + 1
        whole = b"".join(frame(b'{"n":-1}', seq + at, lines - 1 - at) for at in range(lines))
        with self.path.open("ab") as handle:
            handle.write(whole[: int(share * len(whole))])
        self.reopen()

    @rule()
    def reopen(self) -> None:
        self.writer.close()
        reader = JournalReader(self.path)
        found = load_snapshot(self.picture, reader, schema="model-1")
        state = [int(n) for n in found.payload.split(b",") if n] if found else []
        if found:
            reader = JournalReader(self.path, after=found.mark)
        state += [line.event()["n"] for line in reader.lines()]
        assert state == self.acknowledged
        self.writer = JournalWriter.continue_from(reader)

    @invariant()
    def a_follower_has_seen_every_acknowledged_event_once(self) -> None:
        self.followed += [line.event()["n"] for line in self.follower.lines()]
        assert self.followed == self.acknowledged
        assert not self.follower.damage
        assert self.follower.mark == self.writer.mark


TestJournalModel = JournalModel.TestCase
TestJournalModel.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestJournalModel.pytestmark = [pytest.mark.requirement("store:journal:kill", "store:snapshot:tail")]
