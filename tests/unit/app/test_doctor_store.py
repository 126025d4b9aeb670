"""The doctor names what is wrong with settings, folders and runs, and the command that mends it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treewright.app import doctor_store
from treewright.app.checkup import Checkup
from treewright.app.context import Context
from treewright.store.index import IndexEntry
from treewright.store.locks import RunLock
from treewright.store.run_folder import JOURNAL

pytestmark = pytest.mark.requirement("cli:doctor:mends")

NOW = "2031-02-03T04:05:06Z"
Look = Callable[[Context], Iterator[Checkup]]


def looked(look: Look) -> Checkup:
    """Return the first thing that one look finds."""
    return next(look(Context()))


def settings(home: Path, text: str) -> None:
    """Write the user's settings."""
    (home / "treewright").mkdir(exist_ok=True)
    (home / "treewright" / "config.toml").write_text(text, encoding="utf-8")


def kept(home: Path, status: str, journal: bytes | None) -> Path:
    """Keep a run and return its folder."""
    folder = home / "treewright" / "runs" / "r"
    folder.mkdir(parents=True)
    if journal is not None:
        (folder / JOURNAL).write_bytes(journal)
    entry = IndexEntry(
        id="abcd1234", kind="exploration", path=folder, status=status, created=NOW, updated=NOW
    )
    Context().index().put(entry)
    return folder


def test_settings_that_cannot_be_read_are_told_with_the_line_and_the_store_is_looked_at_all_the_same(
    isolated_home: Path,
) -> None:
    settings(isolated_home, "[explore]\nconcurency = 3\n")
    found = looked(doctor_store.configuration)
    assert found.state == "missing"
    assert "config.toml:2" in found.detail
    assert "concurrency" in found.mend
    assert looked(doctor_store.store).state == "good"


def test_a_key_that_others_can_read_is_told_with_the_command(isolated_home: Path) -> None:
    settings(isolated_home, '[providers.x]\nkind = "openai"\napi_key = "sk-canary-123456"\n')
    (isolated_home / "treewright" / "config.toml").chmod(0o644)
    found = looked(doctor_store.configuration)
    assert found.mend.startswith("chmod 600 ")
    assert "canary" not in found.detail + found.mend


def test_what_a_project_may_not_set_is_told(
    isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".treewright.toml").write_text("[kernels]\nnetwork = true\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = looked(doctor_store.project_settings)
    assert (found.name, found.state) == ("project settings", "missing")
    assert ".treewright.toml:2" in found.detail


def test_a_home_that_cannot_be_written_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEWRIGHT_HOME", "/proc/nowhere")
    found = looked(doctor_store.store)
    assert found.state == "missing"
    assert "TREEWRIGHT_HOME" in found.mend


def test_a_disk_with_no_room_is_told(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_store, "LEAST_FREE_MIB", 1 << 40)
    _, disk = doctor_store.store(Context())
    assert (disk.name, disk.state) == ("disk", "missing")
    assert "Make room" in disk.mend


def test_a_damaged_journal_is_told_with_its_line_and_the_command(isolated_home: Path) -> None:
    kept(isolated_home, "CONVERGED", b"no event\nnone either\n")
    found = looked(doctor_store.runs)
    assert (found.state, found.mend) == ("missing", "treewright recover abcd1234")
    assert "line 1" in found.detail


def test_a_run_that_was_cut_off_is_told_with_the_command_that_goes_on(isolated_home: Path) -> None:
    kept(isolated_home, "GROWING", b"")
    found = looked(doctor_store.runs)
    assert (found.state, found.mend) == ("optional", "treewright resume abcd1234")


def test_a_run_that_is_being_written_is_told_with_who_does_it_and_a_dead_holder_is_nobody(
    isolated_home: Path,
) -> None:
    folder = kept(isolated_home, "GROWING", b"")
    with RunLock.take(folder, "mcp"):
        found = looked(doctor_store.runs)
        assert str(os.getpid()) in found.detail
        holder = (folder / ".run.holder.json").read_bytes()
    # The file of a holder that was killed stays behind.
    (folder / ".run.holder.json").write_bytes(holder.replace(str(os.getpid()).encode(), b"4194304"))
    assert looked(doctor_store.runs).mend == "treewright resume abcd1234"


def test_a_run_whose_folder_is_gone_is_told_and_nothing_is_missing(isolated_home: Path) -> None:
    kept(isolated_home, "CONVERGED", None).rmdir()
    gone, summary = doctor_store.runs(Context())
    assert (gone.state, summary.state) == ("optional", "good")


def test_an_index_that_was_damaged_is_told(isolated_home: Path) -> None:
    kept(isolated_home, "CONVERGED", None)
    (isolated_home / "treewright" / "index.json").write_text("{ torn", encoding="utf-8")
    assert "index" in looked(doctor_store.runs).detail


def test_nothing_kept_yet_is_no_fault(isolated_home: Path) -> None:
    assert looked(doctor_store.runs).detail == "none yet"
