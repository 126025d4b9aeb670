"""`make version V=x.y.z` sets the version wherever it stands, or nowhere (`tools/version.py`)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.repository.source import ROOT
from tools.version import CHANGELOG, LOCK, MANIFEST, MODULE, VersionError, current, set_version

FILES = (MODULE, MANIFEST, LOCK, CHANGELOG)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the files that hold the version, with something unreleased in the changelog."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    log = tmp_path / CHANGELOG
    text = log.read_text(encoding="utf-8").partition("## [")[0]
    log.write_text(f"{text}## [Unreleased]\n\n### Added\n\n- Fly.\n", encoding="utf-8")
    return tmp_path


def texts(root: Path) -> list[str]:
    """Return what the files say."""
    return [(root / name).read_text(encoding="utf-8") for name in FILES]


@pytest.mark.requirement("packages:version:one-place")
def test_a_new_version_stands_everywhere_and_the_changelog_is_dated(checkout: Path) -> None:
    before = json.loads((checkout / LOCK).read_text(encoding="utf-8"))
    assert set_version(checkout, "4.5.6", "2031-02-03") == list(FILES)
    assert current(checkout) == "4.5.6"
    assert json.loads((checkout / MANIFEST).read_text(encoding="utf-8"))["version"] == "4.5.6"
    after = json.loads((checkout / LOCK).read_text(encoding="utf-8"))
    assert (after["version"], after["packages"][""]["version"]) == ("4.5.6", "4.5.6")
    del before["packages"][""], after["packages"][""]
    assert before["packages"] == after["packages"]  # no other package's version was touched
    log = (checkout / CHANGELOG).read_text(encoding="utf-8")
    assert "## [Unreleased]\n\n## [4.5.6] - 2031-02-03\n\n### Added\n\n- Fly.\n" in log


def test_the_same_version_again_changes_nothing(checkout: Path) -> None:
    set_version(checkout, "4.5.6", "2031-02-03")
    assert set_version(checkout, "4.5.6", "2031-02-04") == []


@pytest.mark.parametrize("version", ["0.0.1", "1.0", "1.0.0rc1", "v2.0.0", "02.0.0", ""])
def test_a_lower_version_and_what_is_none_are_refused_and_nothing_is_written(
    checkout: Path, version: str
) -> None:
    before = texts(checkout)
    with pytest.raises(VersionError):
        set_version(checkout, version, "2031-02-03")
    assert texts(checkout) == before


def test_a_release_that_has_nothing_to_tell_is_refused_and_nothing_is_written(checkout: Path) -> None:
    set_version(checkout, "4.5.6", "2031-02-03")
    before = texts(checkout)
    with pytest.raises(VersionError, match="tells nothing"):
        set_version(checkout, "4.5.7", "2031-02-04")
    assert texts(checkout) == before


def test_the_command_says_the_version_that_treewright_says() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
        )
        for words in (("tools.version",), ("treewright", "--version"))
    ]
    assert said[1].stdout == f"treewright, version {said[0].stdout}"
