"""Snapshots are trusted only when they cover the journal as it is; recovering keeps the original and every event."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.store.disks import mounted, remount
from treewright.errors import StoreError
from treewright.store.journal import JournalWriter
from treewright.store.journal_reader import JournalReader
from treewright.store.locks import RunLock
from treewright.store.paths import RunFolder
from treewright.store.recover import recover_run
from treewright.store.snapshot import load_snapshot, save_snapshot

NOW = datetime.datetime(2026, 11, 30, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    files = RunFolder(tmp_path / "run")
    files.folder.mkdir()
    with JournalWriter.create(files.journal) as writer:
        for n in range(1, 7):
            writer.append({"n": n, "text": "x" * 30})
        save_snapshot(files.snapshot, [b"fold", b"ed"], mark=writer.mark, schema="test-1")
    return files


def events(run: RunFolder) -> list[Any]:
    reader = JournalReader(run.journal)
    found = [line.event()["n"] for line in reader.lines()]
    assert not reader.damage
    return found


def rewrite(run: RunFolder, order: list[int]) -> None:
    lines = run.journal.read_bytes().split(b"\n")
    run.journal.write_bytes(b"".join(lines[at] + b"\n" for at in order))


# --- snapshots ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:snapshot:tail")
def test_with_a_snapshot_only_what_came_after_it_is_replayed(run: RunFolder) -> None:
    reader = JournalReader(run.journal)
    list(reader.lines())
    with JournalWriter.continue_from(reader) as writer:
        writer.append({"n": 7})
    reader = JournalReader(run.journal)
    snapshot = load_snapshot(run.snapshot, reader, schema="test-1")
    assert snapshot
    assert snapshot.payload == b"folded"
    after = JournalReader(run.journal, after=snapshot.mark)
    assert [line.event()["n"] for line in after.lines()] == [7]
    with JournalWriter.continue_from(after) as writer:
        assert writer.append({"n": 8}).seq == 8
    assert events(run) == list(range(1, 9))


@pytest.mark.requirement("store:snapshot:distrust")
@pytest.mark.parametrize(
    "spoil", ["journal", "shorter", "payload", "header", "cut", "empty", "schema", "missing"]
)
def test_a_snapshot_that_does_not_cover_the_journal_is_not_used(run: RunFolder, spoil: str) -> None:
    target = run.journal if spoil in ("journal", "shorter") else run.snapshot
    data = bytearray(target.read_bytes())
    if spoil in ("journal", "payload", "header"):
        data[{"journal": 100, "payload": -2, "header": 20}[spoil]] ^= 1
    if spoil in ("shorter", "cut", "empty"):
        del data[{"shorter": -30, "cut": -1, "empty": 0}[spoil] :]
    target.write_bytes(bytes(data))
    if spoil == "missing":
        run.snapshot.unlink()
    reader = JournalReader(run.journal)
    schema = "test-2" if spoil == "schema" else "test-1"
    assert load_snapshot(run.snapshot, reader, schema=schema) is None


def test_a_snapshot_that_cannot_be_written_leaves_the_former(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=128k") as disk:
        run = RunFolder(disk)
        with JournalWriter.create(run.journal) as writer:
            writer.append({"n": 1})
            save_snapshot(run.snapshot, [b"one"], mark=writer.mark, schema="test-1")
            with pytest.raises(StoreError) as fault:
                save_snapshot(run.snapshot, [b"x" * 10_000] * 50, mark=writer.mark, schema="test-1")
            assert fault.value.code == "storage_full"
            found = load_snapshot(run.snapshot, JournalReader(run.journal), schema="test-1")
            assert found
            assert found.payload == b"one"
            assert sorted(path.name for path in disk.iterdir()) == sorted(
                ["journal.jsonl", run.snapshot.name]
            )


# --- recovering --------------------------------------------------------------------------------------------------


def test_a_sound_journal_is_left_as_it_is(run: RunFolder) -> None:
    before = run.journal.read_bytes()
    done = recover_run(run.folder, "cli", now=NOW)
    assert (done.kept, done.original, done.lost) == (6, None, ())
    assert run.journal.read_bytes() == before
    assert run.snapshot.exists()


@pytest.mark.requirement("store:recover:keeps")
def test_recovering_keeps_the_original_beside_it_and_every_undamaged_event(run: RunFolder) -> None:
    data = bytearray(run.journal.read_bytes())
    data[run.journal.read_bytes().index(b'"n":3') + 4] = ord("9")
    run.journal.write_bytes(bytes(data))
    done = recover_run(run.folder, "cli", now=NOW)
    assert done.original == run.folder / "journal.damaged-20261130T120000Z.jsonl"
    assert done.original.read_bytes() == bytes(data)
    assert (done.kept, done.lost, [each.number for each in done.damage]) == (5, (3,), [3])
    assert events(run) == [1, 2, 4, 5, 6]
    assert not run.snapshot.exists(), "it shows a state that is no more"
    reader = JournalReader(run.journal)
    list(reader.lines())
    with JournalWriter.continue_from(reader) as writer:
        writer.append({"n": 7})
    again = recover_run(run.folder, "cli", now=NOW)
    assert again.original is None


@pytest.mark.requirement("store:recover:order")
@pytest.mark.parametrize(
    ("order", "kept", "lost"),
    [([0, 2, 1, 3, 3, 5], [1, 2, 3, 4, 6], (5,)), ([5, 4, 3, 2, 1, 0], [1, 2, 3, 4, 5, 6], ())],
)
def test_reordered_and_repeated_events_are_put_right(
    run: RunFolder, order: list[int], kept: list[int], lost: tuple[int, ...]
) -> None:
    rewrite(run, order)
    done = recover_run(run.folder, "cli", now=NOW)
    assert events(run) == kept
    assert done.lost == lost


def test_lines_that_ran_into_each_other_are_taken_apart(run: RunFolder) -> None:
    lines = run.journal.read_bytes().split(b"\n")
    run.journal.write_bytes(
        b"\n".join([lines[0], lines[1] + lines[2], b"#" + lines[3], lines[4] + b"}}junk", lines[5], b""])
    )
    done = recover_run(run.folder, "cli", now=NOW)
    assert events(run) == [1, 2, 3, 4, 5, 6]
    assert (done.kept, done.rescued, done.lost) == (6, 4, ())


def test_an_unfinished_append_is_dropped_and_said_to_be(run: RunFolder) -> None:
    with run.journal.open("ab") as handle:
        handle.write(b'{"crc":"00')
    done = recover_run(run.folder, "cli", now=NOW)
    assert (done.torn, done.kept) == (10, 6)
    assert events(run) == list(range(1, 7))


def test_a_run_that_is_being_written_is_not_recovered(run: RunFolder) -> None:
    with RunLock.take(run.folder, "lsp"), pytest.raises(StoreError) as fault:
        recover_run(run.folder, "cli", now=NOW)
    assert fault.value.code == "run_locked"


def test_recovering_what_is_no_run_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as fault:
        recover_run(tmp_path, "cli", now=NOW)
    assert fault.value.code == "journal_missing"
    assert list(tmp_path.iterdir()) == []


def test_recovering_on_a_read_only_disk_changes_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=128k") as disk:
        run = RunFolder(disk)
        run.journal.write_bytes(b"garbage\n")
        remount(disk, "ro")
        with pytest.raises(StoreError) as fault:
            recover_run(disk, "cli", now=NOW)
        assert fault.value.code == "storage_read_only"
        assert run.journal.read_bytes() == b"garbage\n"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_after_recovering_any_damage_the_journal_is_sound_and_no_good_event_is_missing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    run = RunFolder(tmp_path_factory.mktemp("r"))
    with JournalWriter.create(run.journal) as writer:
        for n in range(1, 5):
            writer.append({"n": n})
    content = run.journal.read_bytes()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        until = data.draw(st.integers(at, min(len(content), at + 12)))
        content = content[:at] + data.draw(st.binary(max_size=6)) + content[until:]
    run.journal.write_bytes(content)
    reader = JournalReader(run.journal)
    readable = [line.event()["n"] for line in reader.lines()]
    done = recover_run(run.folder, "cli", now=NOW)
    mended = events(run)
    assert set(readable) <= set(mended)
    assert mended == sorted(set(mended))
    assert done.kept == len(mended)
    assert done.original is None or done.original.read_bytes() == content
