"""The journal: what is acknowledged is kept, what is torn is cut, what is damaged is named."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.store.disks import mounted, remount
from treewright.errors import StoreError
from treewright.store.journal import JournalWriter
from treewright.store.journal_line import Damage, Line, frame, unframe
from treewright.store.journal_reader import JournalReader, Mark


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def write(path: Path, *appends: list[dict[str, Any]]) -> Mark:
    with JournalWriter.create(path) as writer:
        for events in appends:
            writer.append_many(events)
        return writer.mark


def read(path: Path) -> tuple[list[Any], JournalReader]:
    reader = JournalReader(path)
    return [line.event()["n"] for line in reader.lines()], reader


def singles(count: int) -> list[list[dict[str, Any]]]:
    return [[{"n": n, "text": "é" * 20}] for n in range(1, count + 1)]


def damage(reader: JournalReader) -> list[tuple[int, str]]:
    return [(each.number, each.reason) for each in reader.damage]


def code(fault: pytest.ExceptionInfo[StoreError]) -> str:
    return fault.value.code


# --- whole journals ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:journal:one-line-an-event")
def test_each_event_is_one_line_of_json_on_the_disk_before_append_returns(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        for n in range(3):
            place = writer.append({"n": n, "text": "a\nb\u2028c"})
            lines = path.read_bytes().split(b"\n")[:-1]
            assert len(lines) == n + 1
            assert json.loads(lines[n])["event"] == {"n": n, "text": "a\nb\u2028c"}
            assert (place.seq, place.length) == (n + 1, len(lines[n]))


def test_events_may_be_given_as_json_bytes(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        writer.append(b'{"n": 1}')
        writer.append(b'{\n"n": 2}')
    assert read(path)[0] == [1, 2]


@pytest.mark.requirement("store:journal:random-access")
def test_an_event_is_read_back_at_the_place_that_append_returned(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        places = [*writer.append_many([{"n": 1}, {"n": 2}]), writer.append({"n": 3})]
    reader = JournalReader(path)
    for place in places:
        line = reader.read_at(place.offset, place.length)
        assert (line.event()["n"], line.seq) == (place.seq, place.seq)
    for offset, length in [
        (places[1].offset + 1, places[1].length),
        (0, 5),
        (10**9, 5),
        (0, places[0].length - 1),
    ]:
        with pytest.raises(StoreError) as fault:
            reader.read_at(offset, length)
        assert code(fault) == "journal_damaged"


def test_a_journal_is_not_begun_twice_and_a_missing_one_is_said_to_be_missing(path: Path) -> None:
    JournalWriter.create(path).close()
    with pytest.raises(StoreError) as fault:
        JournalWriter.create(path)
    assert code(fault) == "journal_exists"
    with pytest.raises(StoreError) as fault:
        JournalReader(path.with_name("other"))
    assert code(fault) == "journal_missing"


def test_a_closed_journal_takes_no_more_events(path: Path) -> None:
    writer = JournalWriter.create(path)
    writer.close()
    writer.close()
    with pytest.raises(StoreError) as fault:
        writer.append({"n": 1})
    assert code(fault) == "journal_closed"


def test_threads_that_append_at_once_lose_nothing(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        threads = [
            threading.Thread(target=lambda base=base: [writer.append({"n": base + n}) for n in range(25)])
            for base in range(0, 200, 25)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    found, reader = read(path)
    assert sorted(found) == list(range(200))
    assert not reader.damage


@pytest.mark.requirement("store:json:strict")
@pytest.mark.parametrize(
    ("event", "at"),
    [
        ({"scores": {"a": [1, float("nan")]}}, "$.scores.a[1]"),
        ({"x": float("inf")}, "$.x"),
        ({"x": "a\ud800"}, "$.x"),
        ({"\udc00": 1}, "$"),
        ({"x": {1, 2}}, "$.x"),
    ],
)
def test_what_is_not_strict_json_is_refused_and_nothing_is_written(path: Path, event: Any, at: str) -> None:
    with JournalWriter.create(path) as writer:
        writer.append({"n": 1})
        with pytest.raises(StoreError) as fault:
            writer.append_many([{"n": 2}, event])
        assert (code(fault), fault.value.details["path"]) == ("not_storable", at)
        writer.append({"n": 3})
    assert read(path)[0] == [1, 3]


@pytest.mark.parametrize("event", [b"[1]", b'{"n": NaN}', b'{"n": 1', b'"\xff"', b""])
def test_bytes_that_are_no_strict_json_object_are_refused(path: Path, event: bytes) -> None:
    with JournalWriter.create(path) as writer:
        with pytest.raises(StoreError) as fault:
            writer.append(event)
        assert code(fault) == "not_storable"
    assert path.read_bytes() == b""


def test_nesting_that_could_not_be_read_back_is_refused(path: Path) -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"d": deep}
    with JournalWriter.create(path) as writer, pytest.raises(StoreError) as fault:
        writer.append(deep)
    assert code(fault) == "not_storable"


# --- torn ends --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:journal:torn-line")
def test_an_append_torn_anywhere_is_cut_off_on_opening_and_the_rest_is_kept(path: Path) -> None:
    mark = write(path, *singles(3))
    whole = path.read_bytes()
    last_line = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for size in range(last_line, mark.offset):
        path.write_bytes(whole[:size])
        found, reader = read(path)
        assert (found, reader.damage, reader.torn) == ([1, 2], [], size - last_line)
        with JournalWriter.continue_from(reader) as writer:
            assert writer.cut == size - last_line
            writer.append({"n": 9})
        assert read(path)[0] == [1, 2, 9]


@pytest.mark.requirement("store:journal:all-or-none")
def test_an_append_of_many_is_there_whole_or_not_at_all(path: Path) -> None:
    write(path, [{"n": 1}], [{"n": 2}, {"n": 3}, {"n": 4}])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        found, reader = read(path)
        assert (found, reader.damage) == ([1], [])
        JournalWriter.continue_from(reader).close()
        assert path.stat().st_size == first


@pytest.mark.parametrize("tail", [b"\0" * 100, b'{"crc":"0000\0\0\0\0\0\n', b"\0\0\n\0\0\n"])
def test_a_hole_that_a_power_cut_left_at_the_end_is_cut_off(path: Path, tail: bytes) -> None:
    write(path, *singles(2))
    with path.open("ab") as handle:
        handle.write(tail)
    found, reader = read(path)
    assert (found, reader.damage, reader.torn) == ([1, 2], [], len(tail))


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:journal:damaged-line")
def test_a_damaged_line_is_named_by_number_and_everything_else_is_read(path: Path) -> None:
    write(path, *singles(5))
    lines = path.read_bytes().split(b"\n")
    for spoiled, reason in [
        (lines[2][:-3] + b"x}}", "checksum"),
        (b"garbage", "unreadable"),
        (b"{}", "unreadable"),
    ]:
        path.write_bytes(b"\n".join([*lines[:2], spoiled, *lines[3:]]))
        found, reader = read(path)
        assert found == [1, 2, 4, 5]
        assert damage(reader) == [(3, reason)]
        with pytest.raises(StoreError) as fault:
            JournalWriter.continue_from(reader)
        assert code(fault) == "journal_damaged"
        assert fault.value.details["lines"] == [3]


def test_a_damaged_last_line_that_is_whole_is_damage_and_not_cut(path: Path) -> None:
    write(path, *singles(3))
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(bytes(data))
    found, reader = read(path)
    assert (found, damage(reader), reader.torn) == ([1, 2], [(3, "checksum")], 0)


def test_blank_lines_are_ignored_but_counted(path: Path) -> None:
    write(path, *singles(3))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([b"", lines[0], b"  ", b"\r", lines[1], b"bad", lines[2], b""]))
    found, reader = read(path)
    assert found == [1, 2, 3]
    assert damage(reader) == [(6, "unreadable")]


@pytest.mark.requirement("store:journal:order")
@pytest.mark.parametrize(
    ("order", "expected", "faults"),
    [
        ([0, 1, 1, 2], [1, 2, 3], [(3, "repeated")]),
        ([0, 2], [1, 3], [(2, "missing_before")]),
        ([1, 2], [2, 3], [(1, "missing_before")]),
        ([0, 2, 1, 3], [1, 3, 4], [(2, "missing_before"), (3, "out_of_order")]),
    ],
)
def test_lost_repeated_and_reordered_lines_are_noticed(
    path: Path, order: list[int], expected: list[int], faults: list[tuple[int, str]]
) -> None:
    write(path, *singles(4))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"".join(lines[at] + b"\n" for at in order))
    found, reader = read(path)
    assert (found, damage(reader)) == (expected, faults)


def test_damage_within_an_append_of_many_does_not_hide_its_other_events(path: Path) -> None:
    write(path, [{"n": 1}, {"n": 2}, {"n": 3}], [{"n": 4}])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"?", *lines[2:]]))
    found, reader = read(path)
    assert (found, damage(reader)) == ([1, 3, 4], [(2, "unreadable")])


def test_a_line_that_is_longer_than_any_event_is_one_damaged_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treewright.store.journal_reader.MAX_LINE", 200)
    write(path, *singles(3))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"x" * 1000, *lines[1:]]))
    found, reader = read(path)
    assert (found, damage(reader)) == ([1, 2, 3], [(2, "oversized")])
    path.write_bytes(b"\n".join([*lines[:3], b"x" * 1000]))
    found, reader = read(path)
    assert (found, damage(reader), reader.torn) == ([1, 2, 3], [], 1000)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(1, 5), st.integers(0, 5))
def test_no_line_is_taken_for_an_event_by_accident(noise: bytes, seq: int, left: int) -> None:
    line = frame(b'{"n":1}', seq, left)[:-1]
    opened = unframe(line, 1, 0)
    assert isinstance(opened, Line)
    assert (opened.seq, opened.left, opened.payload) == (seq, left, b'{"n":1}')
    assert isinstance(unframe(noise, 1, 0), Damage)


@settings(max_examples=300, deadline=None)
@given(st.data())
@pytest.mark.requirement("store:journal:any-byte")
def test_any_changed_bytes_cost_at_most_the_lines_they_are_in(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    whole = b"".join(frame(b'{"n":%d,"text":"\xc3\xa9"}' % n, n) for n in range(1, 7))
    content = bytearray(whole)
    hit: set[int] = set()
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
        if content[at] != whole[at]:
            number = whole.count(b"\n", 0, at) + 1
            hit |= {number, number + 1} if whole[at] == 10 else {number}
    path.write_bytes(bytes(content))
    found, reader = read(path)
    assert set(range(1, 7)) - set(found) <= hit
    assert found == sorted(set(found))
    assert len(found) == 6 or reader.damage or reader.torn


@pytest.mark.requirement("store:journal:not-a-journal")
@pytest.mark.parametrize("content", [b"dear diary", b'{"name": "x"}', b"one\ntwo", b" "])
def test_a_file_that_never_was_a_journal_is_never_cut(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    found, reader = read(path)
    assert (found, reader.torn) == ([], 0 if b"\n" not in content else 3)
    with pytest.raises(StoreError) as fault:
        JournalWriter.continue_from(reader)
    assert code(fault) == "journal_damaged"
    assert path.read_bytes() == content


def test_a_journal_that_is_a_link_is_not_written_through(path: Path) -> None:
    write(path, *singles(1))
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    _, reader = read(link)
    with pytest.raises(StoreError) as fault:
        JournalWriter.continue_from(reader)
    assert code(fault) == "storage_link"


def test_the_first_append_torn_anywhere_is_cut(path: Path) -> None:
    write(path, *singles(1))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        found, reader = read(path)
        assert (found, reader.damage, reader.torn) == ([], [], size)
        JournalWriter.continue_from(reader).close()
        assert path.read_bytes() == b""


@settings(max_examples=150, deadline=None)
@given(st.data())
@pytest.mark.requirement("store:journal:power-cut")
def test_whatever_a_power_cut_leaves_of_an_append_what_was_acknowledged_before_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The file may have any length by then, and any blocks of the append may not have been written."""
    path = tmp_path_factory.mktemp("p") / "journal.jsonl"
    before = b"".join(frame(b'{"n":%d}' % n, n + 1) for n in range(3))
    texts = [b"x" * data.draw(st.integers(0, 90)) for _ in range(4)]
    last = b"".join(
        frame(b'{"n":%d,"text":"%b"}' % (n + 3, text), n + 4, 3 - n) for n, text in enumerate(texts)
    )
    kept = len(before)
    size = data.draw(st.integers(kept, kept + len(last)))
    content = bytearray((before + last)[:size])
    block = data.draw(st.sampled_from([16, 64, 200]))
    for start in range(kept, size, block):
        if data.draw(st.booleans()):
            content[start : start + block] = bytes(min(block, size - start))
    path.write_bytes(bytes(content))
    found, reader = read(path)
    assert found[:3] == [0, 1, 2]
    assert len(found) in (3, 7) or reader.damage
    if not reader.damage:
        with JournalWriter.continue_from(reader) as writer:
            writer.append({"n": 99})
        assert read(path)[0] == [*found, 99]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"\n", b"\0", b'{"crc":"', b"}", b"x", b" ", frame(b'{"n":1}', 1)]), max_size=12
    )
)
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("f") / "journal.jsonl"
    path.write_bytes(b"".join(pieces))
    found, reader = read(path)
    assert found in ([], [1])
    assert reader.mark.offset + reader.torn == path.stat().st_size
    assert list(reader.lines()) == []


# --- several processes --------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:journal:follow")
def test_a_reader_follows_a_growing_journal_and_sees_whole_appends_only(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        reader = JournalReader(path)
        assert not reader.grown()
        for n in range(0, 30, 3):
            writer.append_many([{"n": n}, {"n": n + 1}, {"n": n + 2}])
            assert reader.grown()
            assert [line.event()["n"] for line in reader.lines()] == [n, n + 1, n + 2]
            assert not reader.grown()
            assert reader.mark == writer.mark
        half = frame(b'{"n":99}', 31)
        with path.open("ab") as other:
            other.write(half[:10])
        assert list(reader.lines()) == []
        assert (reader.torn, reader.damage) == (10, [])
        with path.open("ab") as other:
            other.write(half[10:])
        assert [line.event()["n"] for line in reader.lines()] == [99]


def test_a_reader_that_stops_early_goes_on_where_an_append_ended(path: Path) -> None:
    write(path, *singles(4))
    reader = JournalReader(path)
    assert next(reader.lines()).seq == 1
    assert [line.seq for line in reader.lines()] == [2, 3, 4]


def test_a_reader_notices_that_the_journal_was_replaced_or_cut(path: Path) -> None:
    write(path, *singles(4))
    _, reader = read(path)
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)
    assert reader.grown()
    with pytest.raises(StoreError) as fault:
        list(reader.lines())
    assert code(fault) == "journal_replaced"
    _, reader = read(path)
    os.truncate(path, 10)
    with pytest.raises(StoreError) as fault:
        list(reader.lines())
    assert code(fault) == "journal_replaced"


def test_a_writer_refuses_when_something_else_wrote_cut_or_removed_the_journal(path: Path) -> None:
    with JournalWriter.create(path) as writer:
        writer.append({"n": 1})
        with path.open("ab") as handle:
            handle.write(b"x")
        with pytest.raises(StoreError) as fault:
            writer.append({"n": 2})
        assert code(fault) == "journal_changed"
        os.truncate(path, writer.mark.offset)
        writer.append({"n": 2})
        path.unlink()
        with pytest.raises(StoreError) as fault:
            writer.append({"n": 3})
        assert code(fault) == "journal_gone"


def test_a_writer_does_not_go_on_from_a_reader_that_is_behind(path: Path) -> None:
    mark = write(path, *singles(2))
    _, reader = read(path)
    with path.open("ab") as handle:
        handle.write(frame(b'{"n":3}', mark.seq + 1))
    with pytest.raises(StoreError) as fault:
        JournalWriter.continue_from(reader)
    assert code(fault) == "journal_changed"


APPENDER = """
import sys
from pathlib import Path
from treewright.store.journal import JournalWriter
from treewright.store.journal_reader import JournalReader
path = Path(sys.argv[1])
reader = JournalReader(path)
n = sum(1 for _ in reader.lines())
writer = JournalWriter.continue_from(reader)
while True:
    writer.append_many([{"n": n, "text": "x" * 3000}, {"n": n + 1, "text": "y" * 9000}])
    n += 2
    print(n, flush=True)
"""


@pytest.mark.requirement("store:journal:kill")
def test_killing_the_writer_loses_nothing_acknowledged_and_repeats_nothing(path: Path) -> None:
    JournalWriter.create(path).close()
    for acknowledged_before_kill in (1, 3, 7, 2, 5, 4):
        with subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(path)], stdout=subprocess.PIPE, encoding="utf-8"
        ) as child:
            assert child.stdout
            acknowledged = [int(child.stdout.readline()) for _ in range(acknowledged_before_kill)]
            child.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in child.stdout.read().splitlines() if line]
        found, reader = read(path)
        assert not reader.damage
        assert len(found) >= acknowledged[-1]
        assert found == list(range(len(found)))
        assert len(found) % 2 == 0


# --- disks --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:disk:full")
def test_a_full_disk_leaves_the_journal_at_its_last_event_and_the_writer_usable(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=256k") as disk:
        path = disk / "journal.jsonl"
        with JournalWriter.create(path) as writer:
            count = 0
            with pytest.raises(StoreError) as fault:
                while True:
                    writer.append({"n": count, "text": "x" * 20_000})
                    count += 1
            assert code(fault) == "storage_full"
            found, reader = read(path)
            assert found == list(range(count))
            assert (reader.damage, reader.torn) == ([], 0)
            remount(disk, "size=1m")
            writer.append({"n": count})
        assert read(path)[0] == list(range(count + 1))


@pytest.mark.requirement("store:disk:read-only")
def test_a_read_only_disk_gives_one_clear_error(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=256k") as disk:
        path = disk / "journal.jsonl"
        write(path, *singles(2))
        remount(disk, "ro")
        found, reader = read(path)
        assert found == [1, 2]
        with pytest.raises(StoreError) as fault:
            JournalWriter.continue_from(reader)
        assert code(fault) == "storage_read_only"
        with pytest.raises(StoreError) as fault:
            JournalWriter.create(disk / "other.jsonl")
        assert code(fault) == "storage_read_only"


def test_after_a_failed_sync_the_writer_is_done_and_the_journal_ends_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with JournalWriter.create(path) as writer:
        writer.append({"n": 1})
        with monkeypatch.context() as patch:
            patch.setattr("treewright.store.journal.sync_file", failing)
            with pytest.raises(StoreError) as fault:
                writer.append({"n": 2})
            assert code(fault) == "storage_failed"
        with pytest.raises(StoreError) as fault:
            writer.append({"n": 2})
        assert code(fault) == "journal_closed"
    assert read(path)[0] == [1]
