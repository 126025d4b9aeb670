"""Bad input gets one clear line, the right exit code, and nothing half-written."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.cli.terminal import Command


def one_line(err: str) -> str:
    """Return the one line that says what went wrong; a hint may follow it, indented."""
    lines = [line for line in err.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("  ")]
    assert len(said) == 1, err
    assert "Traceback" not in err
    return said[0]


@pytest.mark.requirement("cli:commands:unknown-flag")
def test_an_unknown_flag_names_the_nearest_one(treewright: Command) -> None:
    ran = treewright("audit", "--widht", "3")
    assert ran.code == 2
    assert "--width" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.requirement("cli:errors:missing-target")
@pytest.mark.requirement("exploration:flow:root-unparseable")
def test_a_missing_path_is_not_found_and_leaves_nothing(treewright: Command, tmp_path: Path) -> None:
    ran = treewright("audit", "nowhere", "--out", "out")
    assert ran.code == 4
    assert "root_unparseable" in one_line(ran.err)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("exploration:flow:root-unparseable")
def test_an_empty_folder_is_refused_and_left_empty(treewright: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = treewright("audit", "empty")
    assert ran.code == 4
    assert "it is empty" in one_line(ran.err)
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_preset_that_needs_a_model_says_so_before_anything_is_written(
    treewright: Command, tmp_path: Path
) -> None:
    ran = treewright("brainstorm", "faster", "builds", "--out", "out")
    assert ran.code == 6
    assert "needs a language model" in one_line(ran.err)
    assert not (tmp_path / "out").exists()


def test_a_cap_below_the_floor_is_refused(treewright: Command, flawed: Path) -> None:
    assert treewright("audit", flawed, "--min-frameworks", "11").code == 2
    assert treewright("audit", flawed, "--max-branches", "5").code == 2


def test_a_full_disk_is_told_in_one_line_with_the_storage_code(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        ran = treewright("audit", flawed, "--out", small / "out", "-q")
        assert ran.code == 5, ran.err
        assert "full" in one_line(ran.err)
        leftovers = [path.name for path in small.rglob("*") if ".tmp" in path.name]
        assert leftovers == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_read_only_output_folder_is_told_in_one_line(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    fixed = tmp_path / "fixed"
    fixed.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(fixed)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a read-only file system cannot be mounted here")
    try:
        ran = treewright("audit", flawed, "--out", fixed / "out", "-q")
        assert ran.code == 5, ran.err
        one_line(ran.err)
    finally:
        subprocess.run(["umount", str(fixed)], check=True)


def test_a_workspace_that_cannot_be_written_to_gets_its_run_below_the_root(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    over = subprocess.run(["mount", "--bind", str(flawed), str(flawed)], check=False, capture_output=True)
    if over.returncode:
        pytest.skip("a read-only file system cannot be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(flawed)], check=True)
        ran = treewright("audit", flawed, "--format", "json")
        assert ran.code == 0, ran.err
        assert Path(os.environ["TREEWRIGHT_HOME"]) in Path(ran.json()["folder"]).parents
    finally:
        subprocess.run(["umount", str(flawed)], check=True)


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_unknown_run_is_not_found(treewright: Command, form: str) -> None:
    ran = treewright("show", "feedbeef", "--format", form)
    assert ran.code == 4
    assert "feedbeef" in one_line(ran.err)


def test_a_closed_pipe_is_no_crash(flawed: Path) -> None:
    from tests.contract.cli.terminal import command

    line = " ".join(command("audit", str(flawed), "--format", "json", "-q")) + " | head -c 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("cli:audit:nothing-to-audit")
@pytest.mark.parametrize(
    ("name", "text"),
    [("notes.txt", "Call the bank.\n"), ("main.rs", "fn main() {}\n"), ("broken.py", "def f(:\n")],
)
def test_an_audit_of_what_cannot_be_audited_says_so_and_does_not_pass(
    treewright: Command, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    ran = treewright("audit", tmp_path / name, "--out", tmp_path / "out")
    assert ran.code == 1
    assert "nothing in it can be audited offline" in ran.out and name in ran.out
    assert "nothing in it can be audited offline" in (tmp_path / "out" / "REPORT.md").read_text(
        encoding="utf-8"
    )
