"""Where things are kept."""

import datetime
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.store.disks import mounted, remount
from treewright.errors import StoreError
from treewright.store.durable import shown
from treewright.store.paths import (
    Root,
    RunFolder,
    find_root,
    find_workspace,
    home_folder,
    new_run_folder,
    slug,
)

DAY = datetime.date(2026, 11, 30)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return find_root({"TREEWRIGHT_HOME": str(tmp_path / "home")})


def new(root: Root, workspace: Path, out: Path | None = None, title: str = "A topic") -> RunFolder:
    return new_run_folder(out=out, workspace=workspace, preset="attack", title=title, root=root, day=DAY)


@pytest.mark.requirement("store:paths:private")
def test_what_is_made_in_the_root_is_for_its_user_only(root: Root) -> None:
    for folder in (root.sessions, root.ledger, root.cache, root.locks):
        assert root.prepare(folder).stat().st_mode & 0o777 == 0o700
    assert root.folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(StoreError) as fault:
        (root.folder / "runs").write_text("", encoding="utf-8")
        root.prepare(root.runs)
    assert fault.value.code == "storage_missing"


def test_without_variable_and_home_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(StoreError) as fault:
        home_folder({})
    assert fault.value.code == "no_home"


@pytest.mark.requirement("store:paths:workspace")
@pytest.mark.parametrize("sign", [".git", "pyproject.toml", "package.json"])
def test_the_workspace_is_the_nearest_folder_above_with_a_sign(tmp_path: Path, sign: str) -> None:
    deep = tmp_path / "ws" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "f.py").touch()
    assert find_workspace(deep / "f.py") == deep
    (tmp_path / "ws" / sign).touch()
    assert find_workspace(deep / "f.py") == find_workspace(deep) == tmp_path / "ws"
    (deep / sign).mkdir()
    assert find_workspace(deep) == deep


def test_without_a_path_the_workspace_is_found_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_workspace(None) == tmp_path


@pytest.mark.requirement("store:paths:run-folder")
def test_a_run_gets_a_new_dated_folder_in_its_workspace(root: Root, tmp_path: Path) -> None:
    base = tmp_path / "ws" / ".treewright" / "attack"
    (tmp_path / "ws").mkdir()
    found = [new(root, tmp_path / "ws", title="Why? Because: it's ../hard").folder for _ in range(3)]
    name = "2026-11-30__why-because-it-s-hard"
    assert found == [base / name, base / f"{name}-2", base / f"{name}-3"]
    assert not root.folder.exists()


def test_runs_that_begin_at_once_never_share_a_folder(root: Root, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(new(root, tmp_path / "ws").folder)) for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(set(found)) == 10


def test_the_folder_that_the_user_names_is_used_as_it_is(root: Root, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert new(root, tmp_path, out).folder == out
    assert new(root, tmp_path, out).folder == out
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError) as fault:
            new(root, tmp_path, bad)
        assert fault.value.code == "storage_missing"


@pytest.mark.requirement("store:paths:read-only-workspace")
def test_where_the_workspace_cannot_be_written_to_the_run_goes_to_the_root(
    root: Root, tmp_path: Path
) -> None:
    with mounted(tmp_path / "ws", "size=16k") as workspace:
        remount(workspace, "ro")
        folder = new(root, workspace).folder
        assert folder == root.runs / "attack" / "2026-11-30__a-topic"
        assert folder.stat().st_mode & 0o777 == 0o700
        with pytest.raises(StoreError) as fault:
            new(root, workspace, workspace / "out")
        assert fault.value.code == "storage_read_only"
        with pytest.raises(StoreError) as fault:
            new(root, tmp_path, workspace)
        assert fault.value.code == "storage_read_only"


def test_a_link_in_the_workspace_does_not_lead_a_run_out_of_it(root: Root, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "ws" / ".treewright").symlink_to(tmp_path / "outside")
    assert new(root, tmp_path / "ws").folder.is_relative_to(root.runs)
    assert list((tmp_path / "outside").iterdir()) == []


@given(st.text(max_size=200))
def test_every_title_gives_a_safe_name(title: str) -> None:
    name = slug(title)
    assert 1 <= len(name) <= 48
    assert len(os.fsencode(name)) <= 120
    assert not set(name) & set('/\\:*?"<>|\0. \n')
    assert name == slug(name) or not name.isascii()


def test_titles_of_any_script_stay_readable() -> None:
    assert slug("量子 纠错") == "量子-纠错"
    assert slug("Straße / ÖL") == "strasse-öl"
    assert slug("...") == "run"


def test_messages_do_not_name_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert shown(tmp_path / "a") == "~/a"
    assert shown(tmp_path) == "~"
    assert shown(f"{tmp_path}x/a") == f"{tmp_path}x/a"
    with pytest.raises(StoreError) as fault:
        new(find_root({"TREEWRIGHT_HOME": str(tmp_path)}), tmp_path, Path("/proc/none/x"))
    assert str(tmp_path) not in fault.value.message
