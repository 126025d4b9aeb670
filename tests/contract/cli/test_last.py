"""`last` is the latest run of the folder that one is in (contract: surfaces, 3)."""

from pathlib import Path

import pytest

from tests.contract.cli.conftest import Command

pytestmark = pytest.mark.requirement("cli:runs:last-is-here")


def project(folder: Path, name: str) -> Path:
    """Make a project with one flawed file."""
    made = folder / name
    made.mkdir()
    (made / "pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    (made / "a.py").write_text("import sys\n\neval(sys.argv[1])\n", encoding="utf-8")
    return made


def audited(treewright: Command, folder: Path) -> str:
    """Audit a project and return its run's id."""
    ran = treewright("audit", ".", "--format", "json", "-q", cwd=folder)
    return str(ran.json()["run"])


def test_last_is_the_latest_run_of_this_folder_even_when_another_project_has_a_later_one(
    treewright: Command, tmp_path: Path
) -> None:
    first, second = project(tmp_path, "first"), project(tmp_path, "second")
    here = audited(treewright, first)
    later = audited(treewright, second)
    assert treewright("show", "last", "--format", "json", cwd=first).json()["run"] == here
    assert treewright("show", "last", "--format", "json", cwd=second).json()["run"] == later
    assert treewright("show", "last", "--format", "json", cwd=tmp_path).json()["run"] == later


def test_where_no_run_is_what_only_reads_shows_the_latest_of_all_and_says_so(
    treewright: Command, tmp_path: Path
) -> None:
    run = audited(treewright, project(tmp_path, "first"))
    elsewhere = project(tmp_path, "second")
    shown = treewright("show", "last", "--format", "json", cwd=elsewhere)
    assert shown.json()["run"] == run
    assert "No run belongs to this folder yet" in shown.err and run in shown.err


def test_where_no_run_is_what_changes_a_run_is_refused_and_names_the_one_it_may_have_meant(
    treewright: Command, tmp_path: Path
) -> None:
    run = audited(treewright, project(tmp_path, "first"))
    refused = treewright("resume", "last", cwd=project(tmp_path, "second"))
    assert refused.code == 4
    assert "No run belongs to this folder yet" in refused.err and run in refused.err
