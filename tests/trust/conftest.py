"""Fixtures of the fault matrix: a flawed project, and the command line as a process with a fault planted in it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trust.planting import PROJECT, Done, run_planted

Planted = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a small project with a flaw of each of two kinds, so that an audit has some rounds of work."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in PROJECT.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    """Return a function that runs the command line with a prelude; see `run_planted`."""

    def run(*arguments: object, prelude: str = "", timeout: float = 110, **environ: str) -> Done:
        return run_planted(*arguments, prelude=prelude, cwd=tmp_path, timeout=timeout, **environ)

    return run
