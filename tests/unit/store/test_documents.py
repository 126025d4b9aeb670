"""Session documents: every change is whole and durable, concurrent writers lose nothing, damage is recovered."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.store.disks import mounted, remount
from treewright.errors import StoreError
from treewright.store import moves
from treewright.store.documents import Document
from treewright.store.moves import move_document


def parse(data: bytes) -> dict[str, Any]:
    value = json.loads(data)
    if not isinstance(value, dict) or "n" not in value:
        raise ValueError("no session")
    return value


def encoded(value: dict[str, Any]) -> list[bytes]:
    return [json.dumps(value).encode()]


@pytest.fixture
def document(tmp_path: Path) -> Document:
    found = Document(tmp_path / "s" / "one.json", lock=tmp_path / "locks" / "one.lock")
    found.path.parent.mkdir()
    found.create(encoded({"n": 1}))
    return found


def change(document: Document, n: int) -> None:
    with document.change() as at_work:
        value = at_work.load(parse).value
        at_work.save(encoded({**value, "n": n}))


def names(document: Document) -> list[str]:
    return sorted(path.name for path in document.path.parent.iterdir())


def code(fault: pytest.ExceptionInfo[StoreError]) -> str:
    return fault.value.code


# --- changing ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:document:change")
def test_a_change_replaces_the_document_and_leaves_nothing_beside_it(document: Document) -> None:
    change(document, 2)
    assert document.load(parse).value == {"n": 2}
    assert names(document) == ["one.json"]
    assert document.path.stat().st_mode & 0o777 == 0o600


def test_a_change_that_is_not_saved_changes_nothing(document: Document) -> None:
    before = document.stamp()
    with document.change() as at_work:
        at_work.load(parse)
    with pytest.raises(ZeroDivisionError), document.change() as at_work:
        raise ZeroDivisionError
    assert document.stamp() == before


@pytest.mark.requirement("store:document:stamp")
def test_the_stamp_tells_whether_somebody_else_wrote(document: Document) -> None:
    stamps = {document.stamp()}
    for _ in range(200):
        with document.change() as at_work:
            assert at_work.stamp in stamps
            stamps.add(at_work.save(encoded({"n": 1})))
    assert len(stamps) == 201, "two saves within one clock tick, of equal size, are still told apart"


def test_while_the_new_state_is_being_written_the_old_one_is_kept_as_bak(document: Document) -> None:
    seen = []

    def parts() -> Iterable[bytes]:
        yield b'{"n": '
        seen.append(json.loads(document.backup.read_bytes()))
        seen.append(json.loads(document.path.read_bytes()))
        yield b"2}"

    with document.change() as at_work:
        at_work.save(parts())
    assert seen == [{"n": 1}, {"n": 1}]
    assert document.load(parse).value == {"n": 2}


def test_parts_that_fail_leave_the_document_as_it_was(document: Document) -> None:
    def parts() -> Iterable[bytes]:
        yield b"{"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), document.change() as at_work:
        at_work.save(parts())
    assert document.load(parse).value == {"n": 1}
    change(document, 2)
    assert names(document) == ["one.json"]


def test_a_document_is_not_created_over_another(document: Document) -> None:
    with pytest.raises(StoreError) as fault:
        document.create(encoded({"n": 9}))
    assert code(fault) == "document_exists"
    assert document.load(parse).value == {"n": 1}


def test_a_link_left_at_the_old_place_stays_a_link(document: Document, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.json"
    document.path.rename(moved)
    document.path.symlink_to(moved)
    change(Document(document.path, lock=document.lock), 7)
    assert document.path.is_symlink()
    assert json.loads(moved.read_bytes()) == {"n": 7}


# --- several processes ---------------------------------------------------------------------------------------------

WRITER = """
import json, sys
from pathlib import Path
from treewright.store.documents import Document
document = Document(Path(sys.argv[1]), lock=Path(sys.argv[2]))
for n in range(int(sys.argv[4])):
    with document.change() as change:
        value = change.load(json.loads).value
        value["log"].append(f"{sys.argv[3]}:{n}")
        change.save([json.dumps(value).encode()])
    print(n, flush=True)
"""


def writer(document: Document, name: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(document.path), str(document.lock), name, str(count)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.mark.slow
@pytest.mark.requirement("store:document:concurrent")
def test_eight_processes_with_two_hundred_changes_each_lose_none(tmp_path: Path) -> None:
    document = Document(tmp_path / "one.json", lock=tmp_path / "one.lock")
    document.create(encoded({"log": []}))
    children = [writer(document, str(name), 200) for name in range(8)]
    for child in children:
        child.communicate(timeout=100)
        assert child.returncode == 0
    log = json.loads(document.path.read_bytes())["log"]
    for name in range(8):
        assert [entry for entry in log if entry.startswith(f"{name}:")] == [f"{name}:{n}" for n in range(200)]
    turns = sum(one.split(":")[0] != other.split(":")[0] for one, other in itertools.pairwise(log))
    assert turns > 8, "the writers must have worked at the same time"


@pytest.mark.requirement("store:document:kill")
def test_killing_a_writer_loses_no_acknowledged_change(tmp_path: Path) -> None:
    document = Document(tmp_path / "one.json", lock=tmp_path / "one.lock")
    document.create(encoded({"log": []}))
    for round_ in range(5):
        with writer(document, str(round_), 10_000) as child:
            assert child.stdout
            for _ in range(3 + round_):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            acknowledged = 3 + round_ + len(child.stdout.read().split())
        log = document.load(json.loads).value["log"]
        ours = [entry for entry in log if entry.startswith(f"{round_}:")]
        assert len(ours) in (acknowledged, acknowledged + 1)
        assert ours == [f"{round_}:{n}" for n in range(len(ours))]


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:document:recover")
@pytest.mark.parametrize("spoiled", [b"", b'{"n": ', b"\0" * 50, b"[]", b"\xff"])
def test_a_damaged_document_is_recovered_from_its_bak_and_kept_aside(
    document: Document, spoiled: bytes
) -> None:
    os.link(document.path, document.backup)
    document.path.unlink()
    document.path.write_bytes(spoiled)
    found = document.load(parse)
    assert found.value == {"n": 1}
    assert "damaged" in found.note
    (aside,) = [name for name in names(document) if "damaged" in name]
    assert (document.path.parent / aside).read_bytes() == spoiled
    again = document.load(parse)
    assert (again.value, again.note) == ({"n": 1}, "")


def test_a_document_whose_new_state_never_came_is_recovered_from_its_bak(document: Document) -> None:
    document.path.rename(document.backup)
    assert document.load(parse).value == {"n": 1}
    assert names(document) == ["one.json"]


def test_a_left_over_bak_does_not_win_over_a_sound_document(document: Document) -> None:
    document.backup.write_bytes(b'{"n": 0}')
    assert document.load(parse).value == {"n": 1}
    change(document, 2)
    assert names(document) == ["one.json"]


def test_a_whole_object_followed_by_fragments_is_recovered(document: Document) -> None:
    document.path.write_bytes(b'{"n": 5}\n"fragment": 3}')
    found = document.load(parse)
    assert found.value == {"n": 5}
    assert "first whole object" in found.note
    assert json.loads(document.path.read_bytes()) == {"n": 5}
    assert len(names(document)) == 2


def test_a_damaged_document_without_anything_older_is_left_alone(document: Document) -> None:
    document.path.write_bytes(b'{"n')
    for load in (lambda: document.load(parse), lambda: change(document, 2)):
        with pytest.raises(StoreError) as fault:
            load()
        assert code(fault) == "document_damaged"
    assert document.path.read_bytes() == b'{"n'


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=30), st.none() | st.binary(max_size=30))
def test_whatever_the_files_hold_nothing_of_it_is_lost(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, old: bytes | None
) -> None:
    folder = tmp_path_factory.mktemp("d")
    document = Document(folder / "one.json", lock=folder / "one.lock")
    document.path.write_bytes(content)
    if old is not None:
        document.backup.write_bytes(old)
    try:
        value = document.load(parse).value
    except StoreError as fault:
        assert fault.code == "document_damaged"
        assert document.path.read_bytes() == content
    else:
        assert "n" in value
    kept = {path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}
    assert content in kept


def test_a_missing_document_is_said_to_be_missing(document: Document) -> None:
    document.path.unlink()
    with pytest.raises(StoreError) as fault:
        document.load(parse)
    assert code(fault) == "document_missing"
    assert document.stamp() is None


# --- disks ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:document:full-disk")
def test_a_full_or_read_only_disk_leaves_the_document_as_it_was(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        document = Document(disk / "one.json", lock=tmp_path / "one.lock")
        document.create(encoded({"n": 1}))
        with pytest.raises(StoreError) as fault, document.change() as at_work:
            at_work.save([b"x" * 10_000] * 20)
        assert code(fault) == "storage_full"
        assert document.load(parse).value == {"n": 1}
        change(document, 2)
        remount(disk, "ro")
        with pytest.raises(StoreError) as fault:
            change(document, 3)
        assert code(fault) == "storage_read_only"
        assert document.load(parse).value == {"n": 2}
        assert [path.name for path in disk.iterdir()] == ["one.json"]


@pytest.mark.requirement("store:document:cheap")
def test_a_change_of_a_document_of_four_megabytes_costs_about_a_plain_rewrite(tmp_path: Path) -> None:
    """Against a bare synced rewrite measured beside it, since disks differ; median of several."""
    parts = [json.dumps({"text": "x" * 4000}).encode() for _ in range(1000)]
    document = Document(tmp_path / "one.json", lock=tmp_path / "one.lock")
    document.create(parts)
    ours, bare = [], []
    for _ in range(9):
        began = time.perf_counter()
        with document.change() as at_work:
            at_work.save(parts)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        with (tmp_path / "bare").open("wb") as handle:
            handle.write(b"".join(parts))
            os.fsync(handle.fileno())
        (tmp_path / "bare").replace(tmp_path / "bare2")
        bare.append(time.perf_counter() - began)
    assert sorted(ours)[4] < 3 * sorted(bare)[4] + 0.010


# --- moving -----------------------------------------------------------------------------------------------------


def rewrite(data: bytes) -> Iterable[bytes]:
    return encoded({**parse(data), "moved": True})


@pytest.mark.requirement("store:move:moves")
def test_a_moved_document_stands_at_its_new_place_only(document: Document, tmp_path: Path) -> None:
    recorded: list[Path] = []
    target = tmp_path / "t.json"
    moved = move_document(document, target, rewrite, record=recorded.append)
    assert moved.document.load(parse).value == {"n": 1, "moved": True}
    assert (moved.warning, recorded) == ("", [target])
    assert names(document) == []
    change(moved.document, 2)
    back = move_document(moved.document, document.path, rewrite)
    assert back.document.load(parse).value == {"n": 2, "moved": True}


@pytest.mark.requirement("store:move:file-systems")
def test_a_document_moves_to_another_file_system(document: Document, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        moved = move_document(document, disk / "t.json", rewrite)
        assert moved.document.load(parse).value["moved"]
        assert not document.path.exists()
        back = move_document(moved.document, document.path, rewrite)
        assert back.document.load(parse).value["n"] == 1


@pytest.mark.requirement("store:move:refusals")
def test_each_impossible_move_has_its_code_and_changes_nothing(document: Document, tmp_path: Path) -> None:
    (tmp_path / "taken.json").write_text("precious", encoding="utf-8")
    (tmp_path / "alias.json").symlink_to(document.path)
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nothing")
    cases = {
        Path("relative.json"): "move_not_absolute",
        tmp_path / "s" / ".." / "x.json": "move_not_absolute",
        tmp_path: "move_is_folder",
        tmp_path / "none" / "x.json": "move_parent_missing",
        document.path: "move_same_file",
        tmp_path / "alias.json": "move_same_file",
        tmp_path / "taken.json": "move_exists",
        tmp_path / "dangling.json": "move_exists",
    }
    for target, expected in cases.items():
        for force in (False, True):
            if force and expected == "move_exists":
                continue
            with pytest.raises(StoreError) as fault:
                move_document(document, target, rewrite, force=force)
            assert code(fault) == expected, target
    assert document.load(parse).value == {"n": 1}
    assert (tmp_path / "taken.json").read_text(encoding="utf-8") == "precious"


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_done(
    document: Document, tmp_path: Path
) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        remount(disk, "ro")
        with pytest.raises(StoreError) as fault:
            move_document(document, disk / "t.json", rewrite)
        assert code(fault) == "move_parent_not_writable"
    assert document.load(parse).value == {"n": 1}


def test_force_replaces_a_file_but_a_failed_move_puts_it_back(document: Document, tmp_path: Path) -> None:
    taken = tmp_path / "taken.json"
    taken.write_text("precious", encoding="utf-8")

    def unrecorded(path: Path) -> None:
        raise StoreError("storage_full", "The index could not be written.")

    with pytest.raises(StoreError) as fault:
        move_document(document, taken, rewrite, force=True, record=unrecorded)
    assert code(fault) == "storage_full"
    assert taken.read_text(encoding="utf-8") == "precious"
    assert document.load(parse).value == {"n": 1}
    move_document(document, taken, rewrite, force=True)
    assert json.loads(taken.read_bytes())["moved"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["taken.json"]


@pytest.mark.requirement("store:move:never-zero-copies")
def test_a_copy_that_does_not_read_back_is_rolled_back(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t.json"
    monkeypatch.setattr(moves, "read_regular", lambda path, most: b"spoiled"[:most])
    with pytest.raises(StoreError) as fault:
        move_document(document, target, rewrite)
    assert code(fault) == "move_verify_failed"
    assert not target.exists()
    assert document.load(parse).value == {"n": 1}


def test_an_original_that_cannot_be_removed_is_a_warning(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path == document.path:
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    moved = move_document(document, tmp_path / "t.json", rewrite)
    assert "could not be removed" in moved.warning
    assert moved.document.load(parse).value["moved"]


def test_a_full_disk_at_the_destination_leaves_the_original_and_no_half_copy(
    document: Document, tmp_path: Path
) -> None:
    with document.change() as at_work:
        at_work.save(encoded({"n": 1, "text": "x" * 200_000}))
    with mounted(tmp_path / "disk", "size=64k") as disk:
        with pytest.raises(StoreError) as fault:
            move_document(document, disk / "t.json", rewrite)
        assert code(fault) == "storage_full"
        assert list(disk.iterdir()) == []
    assert document.load(parse).value["n"] == 1
