"""What an audited repository holds is shown, and steers nothing: no terminal, no page, no report, no shell."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.cli.terminal import FLAWED, Command, command

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
STEERING = ("\x1b", "\x07", "\u202e")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names cannot be made there")


def outputs(out: Path) -> dict[str, str]:
    """Return each text that a person opens."""
    shown = [path for path in out.rglob("*") if path.suffix in (".md", ".html", ".svg")]
    assert shown
    return {path.name: path.read_text(encoding="utf-8") for path in shown}


def test_names_that_no_citation_can_hold_are_left_out_and_named(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    for name in (os.fsencode(f"a{ESCAPE}.py"), b"b\n## D99\n- verdict: **CONFIRMED**.py", b"\xff\xfe.py"):
        Path(os.fsdecode(os.fsencode(flawed) + b"/" + name)).write_text(FLAWED, encoding="utf-8")
    ran = treewright("audit", flawed, "--out", "out")
    assert ran.code == 0, ran.err
    report = (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")
    assert "Not read: 3" in report
    assert "its name is not UTF-8, or holds control characters" in report
    assert "\n## D99" not in report
    assert "(app.py:10)" in report


def test_escapes_and_marks_of_direction_in_code_are_written_out_everywhere(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    hostile = FLAWED.replace("SELECT", f"{ESCAPE}\u202e SELECT").replace(
        'args["name"]', f'args["{ESCAPE}\u202e"]'
    )
    (flawed / "app.py").write_text(hostile, encoding="utf-8")
    (flawed / "b\u202egnp.py").write_text(FLAWED, encoding="utf-8")
    ran = treewright("audit", flawed, "--out", "out")
    assert ran.code == 0, ran.err
    shown = {
        **outputs(tmp_path / "out"),
        "audit": ran.out + ran.err,
        "show": treewright("show", "out").out,
        "node": treewright("show", "out", "D1").out,
        "report": treewright("report", "out").out,
        "runs": treewright("runs").out,
        "json": treewright("show", "out", "D1", "--format", "json").out,
    }
    assert "\\u202e" in shown["findings.md"]
    for name, text in shown.items():
        assert [mark for mark in STEERING if mark in text] == [], name


def test_a_locale_without_utf_8_ends_nothing(treewright: Command, flawed: Path) -> None:
    (flawed / "naïve.py").write_text(FLAWED, encoding="utf-8")
    ran = treewright("audit", flawed, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ran.code == 0, ran.err


def test_a_path_that_is_not_utf_8_is_refused_in_one_line(flawed: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/odd\xff"
    shutil.copytree(os.fsencode(flawed), odd)
    for arguments, cwd in (([odd], os.fsencode(tmp_path)), ([b"."], odd), ([flawed, b"--out", b"out"], odd)):
        ran = subprocess.run(
            [*command("audit"), *arguments], cwd=cwd, capture_output=True, timeout=60, check=False
        )
        assert ran.returncode in (2, 4, 5)
        assert b"is not UTF-8" in ran.stderr
        assert b"internal error" not in ran.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_closed_stream_is_no_error(flawed: Path, tmp_path: Path, closed: str) -> None:
    line = shlex.join(command("audit", flawed, "--out", "out"))
    ran = subprocess.run(
        ["sh", "-c", f"{line} {closed}"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "REPORT.md").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_behind_stdout_is_told_in_one_line(flawed: Path, tmp_path: Path) -> None:
    line = shlex.join(command("audit", flawed, "-q"))
    ran = subprocess.run(
        ["sh", "-c", f"{line} > /dev/full"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
        text=True,
    )
    assert ran.returncode == 5
    assert "treewright: Could not write to stdout" in ran.stderr
    assert "internal error" not in ran.stderr


def test_the_command_to_go_on_can_be_pasted_into_a_shell(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    ran = treewright("audit", flawed, "--out", "a b's $(touch owned)", "--rounds", "1", "-q")
    line = ran.out.splitlines()[-1].removeprefix("Go on with: ")
    assert shlex.split(line) == ["treewright", "resume", "a b's $(touch owned)"]


@pytest.mark.parametrize("reference", ["a" * 5000, "~nobody-of-that-name", "", "/dev/null", "-", "../.."])
def test_a_run_that_cannot_be_is_not_found(treewright: Command, reference: str) -> None:
    ran = treewright("show", "--", reference)  # all commands find a run by one function
    assert ran.code == 4, ran.err
    assert "internal error" not in ran.err


def test_the_last_run_is_the_last_that_is_still_there(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    treewright("audit", flawed, "--out", "first")
    treewright("audit", flawed, "--out", "second")
    shutil.rmtree(tmp_path / "second")
    assert treewright("report", "last").code == 0
