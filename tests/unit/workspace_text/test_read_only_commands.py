"""Commands whose output may stand as evidence: they read what the repository holds, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from treewright.workspace.commands import read_only_command


def git(folder: Path, *arguments: str) -> None:
    """Run git with an author, in a folder."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a workspace that is one folder of a repository, with a secret beside it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.txt").write_text("the secret\n", encoding="utf-8")
    (inside / "app.py").write_text("one = 1\ntwo = 2\n", encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "the first commit")
    (inside / "app.py").write_text("one = 1\ntwo = 3\n", encoding="utf-8")
    git(tmp_path, "commit", "-qam", "the second commit")
    return inside


@pytest.mark.parametrize(
    ("command", "quote"),
    [
        ("git log --oneline", "the second commit"),
        ("git log -1 -p app.py", "+two = 3"),
        ("git log -L1,2:app.py", "two = 2"),
        ("git log --format=%s HEAD~1", "the first commit"),
        ("git show HEAD~1:./app.py", "two = 2"),
        ("git show HEAD", "-two = 2"),
        ("git blame -s -L2,2 app.py", "two = 3"),
        ("git grep -n 'two ='", "app.py:2:two = 3"),
        ("git grep -n two HEAD~1", "HEAD~1:app.py:2:two = 2"),
        ("git ls-files", "app.py"),
        ("git shortlog -s", "2"),
    ],
)
def test_what_the_repository_holds_is_read(project: Path, command: str, quote: str) -> None:
    assert quote in (read_only_command(project, command) or "")


@pytest.mark.parametrize(
    "command",
    [
        "",
        "git",
        "rm -rf .",
        "git commit -m x",
        "git log --output=stolen",
        "git log; touch owned",
        "git log $(touch owned)",
        "git -c core.pager=x log",
        "git --git-dir=/tmp log",
        "git grep -O'touch owned' one",
        "git diff --ext-diff",
        "git log ../secret.txt",
        "git log -- ../secret.txt",
        "git log -- :/secret.txt",
        "git log -- ':(top)secret.txt'",
        "git log -L1,1:../secret.txt",
        "git show HEAD:secret.txt",
        "git show HEAD:./../secret.txt",
        "git blame /etc/passwd",
        "git show 'HEAD' 'unbalanced",
        "git log nowhere",
        "git log " + "x" * 3000,
    ],
)
def test_anything_else_is_not_run(project: Path, command: str) -> None:
    before = sorted(path.name for path in (*project.iterdir(), *project.parent.iterdir()))
    assert read_only_command(project, command) is None
    assert sorted(path.name for path in (*project.iterdir(), *project.parent.iterdir())) == before


@pytest.mark.parametrize("command", ["git log -p", "git show HEAD~1", "git grep secret", "git ls-files"])
def test_what_lies_outside_the_workspace_is_left_out(project: Path, command: str) -> None:
    assert "secret" not in (read_only_command(project, command) or "")


def test_no_program_that_the_repository_names_runs(project: Path) -> None:
    owned = project / "owned"
    program = f"touch {owned}"
    for key in (
        "gpg.program",
        "diff.x.command",
        "diff.x.textconv",
        "core.pager",
        "core.fsmonitor",
        "diff.external",
    ):
        git(project, "config", key, program)
    git(project, "config", "format.pretty", "%G? %s")
    git(project, "config", "log.showSignature", "true")
    (project / ".gitattributes").write_text("*.py diff=x\n", encoding="utf-8")
    for command in (
        "git log -p",
        "git show HEAD",
        "git blame app.py",
        "git grep two",
        "git log --format=%GG",
    ):
        read_only_command(project, command)
    assert not owned.exists()
