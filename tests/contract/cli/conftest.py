"""Fixtures: the command line as a real process, a project with one flaw."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.cli.terminal import FLAWED, Command, Ran, command


@pytest.fixture
def treewright(tmp_path: Path) -> Command:
    """Return a function that runs `treewright` in an empty folder, as a terminal user would without a terminal."""

    def run(*arguments: str | Path, cwd: Path | None = None, timeout: float = 60, **environ: str) -> Ran:
        done = subprocess.run(
            command(*arguments),
            cwd=cwd or tmp_path,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        return Ran(done)

    return run


@pytest.fixture
def flawed(tmp_path: Path) -> Path:
    """Return a project with one flaw."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text(FLAWED, encoding="utf-8")
    (project / "requirements.txt").write_text("flask==3.1.0\n", encoding="utf-8")
    (project / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
    return project
