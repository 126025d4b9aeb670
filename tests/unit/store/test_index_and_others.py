"""The index, decisions about findings, artifacts, and strict JSON."""

import errno
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.store.disks import mounted, remount
from treewright.data.codes import exit_class
from treewright.errors import StoreError
from treewright.store.artifacts import WritePacer, write_artifact
from treewright.store.decisions import Decision, Decisions, finding_key, workspace_hash
from treewright.store.durable import storage_error, sweep_temporaries, temporary_beside
from treewright.store.index import Index, IndexEntry
from treewright.store.strict_json import decode_json, encode_json, replace_surrogates


def entry(name: str, **given_values: Any) -> IndexEntry:
    values = {
        "id": name,
        "kind": "exploration",
        "path": Path("/runs") / name,
        "status": "running",
        "created": "2026-11-30T00:00:00Z",
        "updated": "2026-11-30T00:00:00Z",
    }
    return IndexEntry.model_validate(values | given_values)


# --- index ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:index:entries")
def test_entries_are_kept_changed_and_forgotten(tmp_path: Path) -> None:
    index = Index(tmp_path / "home" / "index.json")
    assert index.read().entries == {}
    index.put(entry("a", preset="attack"))
    index.put(entry("b"))
    index.update("a", updated="later", status="CONVERGED", path=Path("/moved/a"))
    index.update("nobody", updated="later")
    found = Index(index.path).read().entries
    assert list(found) == ["a", "b"]
    assert (found["a"].status, found["a"].path, found["a"].preset) == (
        "CONVERGED",
        Path("/moved/a"),
        "attack",
    )
    index.remove("b")
    index.remove("b")
    assert index.get("b") is None
    assert index.path.stat().st_mode & 0o777 == 0o600


def describe(path: Path) -> IndexEntry | None:
    if path.name == "broken":
        raise ValueError("broken")
    return entry(path.name, path=path) if path.is_dir() else None


@pytest.mark.requirement("store:index:rebuild")
@pytest.mark.parametrize("spoil", ["cut", "fragments", "empty", "zeros", "wrong"])
def test_a_damaged_index_is_rebuilt_kept_aside_and_told_of(tmp_path: Path, spoil: str) -> None:
    for name in ("scanned", "broken"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    index = Index(tmp_path / "index.json", scan=[tmp_path / "runs", tmp_path / "none"], describe=describe)
    index.put(entry("moved", kind="deliberation", path=Path("/usb/moved.json")))
    index.put(entry("other"))
    data = index.path.read_bytes()
    spoiled = {
        "cut": data[: data.rindex(b'"other"') + 20],
        "fragments": data + b'{"x',
        "empty": b"",
        "zeros": b"\0" * 100,
        "wrong": b"[]",
    }[spoil]
    index.path.write_bytes(spoiled)
    content = index.read()
    assert "damaged" in content.note
    assert "scanned" in content.entries
    assert ("moved" in content.entries) is (spoil in ("cut", "fragments"))
    assert [path.read_bytes() for path in tmp_path.glob("index.json.damaged-*")] == [spoiled]
    assert index.read().note == ""


def test_rebuilding_adds_what_the_folders_hold_and_keeps_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "runs" / "new").mkdir(parents=True)
    index = Index(tmp_path / "index.json", scan=[tmp_path / "runs"], describe=describe)
    index.put(entry("new", status="CONVERGED"))
    index.put(entry("elsewhere"))
    assert index.rebuild().entries["new"].status == "CONVERGED"
    assert set(index.read().entries) == {"new", "elsewhere"}


PUTTER = """
import sys
from pathlib import Path
from treewright.store.index import Index, IndexEntry
index = Index(Path(sys.argv[1]))
for n in range(40):
    index.put(IndexEntry(id=f"{sys.argv[2]}-{n}", kind="search", path=Path("/r"), status="s", created="c", updated="u"))
"""


@pytest.mark.requirement("store:index:concurrent")
def test_processes_that_write_the_index_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    children = [subprocess.Popen([sys.executable, "-c", PUTTER, str(path), str(n)]) for n in range(4)]
    assert [child.wait(60) for child in children] == [0] * 4
    assert len(Index(path).read().entries) == 160


def test_an_index_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        index = Index(disk / "index.json")
        index.put(entry("a"))
        remount(disk, "ro")
        with pytest.raises(StoreError) as fault:
            index.put(entry("b"))
        assert fault.value.code == "storage_read_only"
        assert set(index.read().entries) == {"a"}


def test_an_entry_that_is_no_valid_text_is_refused(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.json")
    index.put(entry("a"))
    with pytest.raises(StoreError) as fault:
        index.put(entry("b", path=Path("/x\udcff")))
    assert fault.value.code == "not_storable"
    assert set(index.read().entries) == {"a"}


# --- decisions -------------------------------------------------------------------------------------------------------


def decision(verdict: str, **given_values: Any) -> Decision:
    values = {
        "rule": "S1",
        "symbol": "A.f",
        "quote": "eval( x )",
        "verdict": verdict,
        "at": "2026-11-30T00:00:00Z",
    }
    return Decision.model_validate(values | given_values)


@pytest.mark.requirement("store:decisions:key")
def test_a_decision_is_found_by_rule_symbol_quote_and_ordinal(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "decisions", tmp_path)
    assert decisions.all() == {}
    decisions.record(decision("accepted", reason="known"))
    decisions.record(decision("dismissed", ordinal=1))
    found = decisions.all()
    assert found[finding_key("S1", "A.f", "eval(\n  x )")].reason == "known"
    assert found[finding_key("S1", "A.f", "eval( x )", 1)].verdict == "dismissed"
    for other in [("S2", "A.f", "eval( x )"), ("S1", "A.g", "eval( x )"), ("S1", "A.f", "eval( y )")]:
        assert finding_key(*other) not in found


def test_the_last_word_counts_and_a_reopened_finding_is_undecided(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "d", tmp_path)
    decisions.record(decision("accepted"))
    decisions.record(decision("refuted"))
    assert [each.verdict for each in decisions.all().values()] == ["refuted"]
    decisions.record(decision("reopened"))
    assert decisions.all() == {}


def test_decisions_belong_to_the_real_folder_of_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "ws")
    assert workspace_hash(tmp_path / "alias") == workspace_hash(tmp_path / "ws") != workspace_hash(tmp_path)


def test_damaged_decisions_are_mended_when_one_is_added_and_the_rest_still_hold(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "d", tmp_path)
    for number in range(4):
        decisions.record(decision("accepted", ordinal=number))
    data = bytearray(decisions.path.read_bytes())
    data[100] ^= 1
    decisions.path.write_bytes(bytes(data) + b'{"torn')
    assert len(decisions.all()) == 3
    assert "damaged" in decisions.record(decision("accepted", ordinal=9))
    assert len(decisions.all()) == 4
    assert decisions.record(decision("accepted", ordinal=10)) == ""


def test_a_decision_that_is_no_valid_text_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "d", tmp_path)
    decisions.record(decision("accepted"))
    with pytest.raises(StoreError) as fault:
        decisions.record(decision("accepted", quote="a\udcff"))
    assert fault.value.code == "not_storable"
    assert len(decisions.all()) == 1


# --- artifacts -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("store:artifact:whole")
def test_an_artifact_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out" / "tree.md"
    assert write_artifact(path, ["# é\n", b"x\r\n"]) == 8
    assert path.read_bytes() == "# é\nx\r\n".encode()

    def failing() -> Iterator[str]:
        yield "half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_artifact(path, failing())
    assert path.read_bytes() == "# é\nx\r\n".encode()
    assert [each.name for each in path.parent.iterdir()] == ["tree.md"]
    write_artifact(path, "odd \ud800 mark")
    assert path.read_text(encoding="utf-8") == "odd ? mark"


@pytest.mark.requirement("store:artifact:full-disk")
def test_a_full_disk_leaves_the_former_artifact_and_nothing_half_written(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        write_artifact(disk / "tree.json", "{}")
        with pytest.raises(StoreError) as fault:
            write_artifact(disk / "tree.json", ("x" * 5000 for _ in range(50)))
        assert fault.value.code == "storage_full"
        assert [(path.name, path.read_text(encoding="utf-8")) for path in disk.iterdir()] == [
            ("tree.json", "{}")
        ]


def test_an_artifact_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious", encoding="utf-8")
    (tmp_path / "tree.md").symlink_to(tmp_path / "precious")
    write_artifact(tmp_path / "tree.md", "x")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "precious"


def test_what_killed_processes_left_is_swept_after_an_hour(tmp_path: Path) -> None:
    left = temporary_beside(tmp_path / "tree.json")
    left.touch()
    (tmp_path / "mine").touch()
    now = time.time()
    assert sweep_temporaries(tmp_path, now=now) == 0
    assert sweep_temporaries(tmp_path, now=now + 3700) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.requirement("store:artifact:pace")
@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=30))
def test_writing_takes_at_most_a_twentieth_of_the_time(costs: list[float]) -> None:
    pacer = WritePacer()
    now = spent = 0.0
    for cost in costs:
        while not pacer.due(now):
            now += 0.01
        pacer.wrote(now, now + cost)
        now, spent = now + cost, spent + cost
    while not pacer.due(now):
        now += 1
    assert spent <= now / 20 + 1e-6


@pytest.mark.parametrize(
    ("number", "act", "expected"),
    [
        (errno.ENOSPC, "write", "storage_full"),
        (errno.EDQUOT, "write", "storage_full"),
        (errno.EROFS, "write", "storage_read_only"),
        (errno.EACCES, "write", "storage_read_only"),
        (errno.EACCES, "read", "storage_unreadable"),
        (errno.ENOENT, "write", "storage_missing"),
        (errno.EIO, "read", "storage_failed"),
    ],
)
def test_each_refusal_of_the_system_has_its_code_and_a_hint(number: int, act: str, expected: str) -> None:
    told = storage_error(OSError(number, "said"), Path("/x"), act)
    assert (told.code, told.message) == (expected, f"Could not {act} /x: said.")
    assert told.hint
    assert exit_class(told.code) == 5


# --- strict JSON -----------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_is_encoded_is_one_line_and_reads_back(value: Any) -> None:
    encoded = encode_json(value)
    assert b"\n" not in encoded
    assert decode_json(encoded) == value
    assert json.loads(encoded) == value


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_any_text_can_be_made_storable(text: str) -> None:
    cleaned = replace_surrogates({"t": [text]})
    assert decode_json(encode_json(cleaned)) == cleaned
    if text.isprintable():
        assert cleaned["t"][0] == text


def test_surrogates_that_belong_together_are_joined() -> None:
    assert replace_surrogates("\ud83d\ude42 \ud83d") == "🙂 \N{REPLACEMENT CHARACTER}"
