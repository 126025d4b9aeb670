"""Files that a repository plants: pipes, devices, links and damaged journals keep nobody waiting and hide nothing."""

import os
import shutil
from pathlib import Path

import pytest

from tests.contract.cli.terminal import Command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such files there")

READ_BESIDE = (
    ".gitignore",
    "requirements.txt",
    "CLAUDE.md",
    "FACTS.md",
    "glossary.md",
    "setup.cfg",
    ".treewright.toml",
)


@pytest.mark.parametrize("kind", ["pipe", "endless device"])
def test_a_pipe_or_a_device_in_place_of_a_file_keeps_nobody_waiting(
    treewright: Command, flawed: Path, tmp_path: Path, kind: str
) -> None:
    for name in (*READ_BESIDE, "package.json"):
        (flawed / name).unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(flawed / name)
        else:
            (flawed / name).symlink_to("/dev/zero")
    ran = treewright("audit", flawed, "--out", "out", timeout=30)
    assert ran.code == 0, ran.err
    report = (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")
    assert "(app.py:10)" in report
    assert "`.gitignore`: special: not honoured" in report


def test_damage_is_told_wherever_a_run_is_looked_at(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    treewright("audit", flawed, "--out", "out")
    journal = tmp_path / "out" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:20], lines[20].replace(b'"', b"'", 1), *lines[21:]]))
    for verb in ("show", "report"):
        ran = treewright(verb, "out")
        assert ran.code == 0
        assert "damaged at line 21" in ran.err
        assert "treewright recover out" in ran.err
    mended = treewright("recover", "out")
    assert "Damaged lines: 21." in mended.out
    assert "Damage(" not in mended.out
    assert treewright("show", "out").err == ""


def test_a_journal_whose_first_line_is_damaged_is_not_called_empty(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    treewright("audit", flawed, "--out", "out")
    whole = (tmp_path / "out" / "journal.jsonl").read_bytes()
    for name, data in {"mark": b"\xef\xbb\xbf" + whole, "ends": whole.replace(b"\n", b"\r\n")}.items():
        shutil.copytree(tmp_path / "out", tmp_path / name)
        (tmp_path / name / "journal.jsonl").write_bytes(data)
        ran = treewright("show", name)
        assert ran.code == 5
        assert "damaged at line 1," in ran.err
        assert treewright("recover", name).code == 0
        assert "D1 [CONFIRMED" in treewright("show", name).out
