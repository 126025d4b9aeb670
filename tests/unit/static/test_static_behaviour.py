"""Samples with a test of their own: an edit that is offered clears its finding and leaves that test passing."""

import contextlib
import io
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.static.cases import FIXTURES
from treewright.performers.static.audit import audit
from treewright.performers.static.finding import Edit, Finding

_BLOCK = re.compile(r"^## ([^\n]+)\n\n```python\n(.*?)^```\n\n```check\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAMPLES = _BLOCK.findall((FIXTURES / "behaviour" / "samples.md").read_text(encoding="utf-8"))


def edited(code: str, edits: list[Edit]) -> str:
    """The code with edits made, the last first."""
    lines = code.split("\n")
    for edit in sorted(edits, key=lambda e: (e.start_line, e.start_column), reverse=True):
        before = lines[edit.start_line - 1][: edit.start_column]
        after = lines[edit.end_line - 1][edit.end_column :]
        lines[edit.start_line - 1 : edit.end_line] = (before + edit.new + after).split("\n")
    return "\n".join(lines)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Run in a folder of its own."""
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def passes(code: str, check: str, folder: Path) -> bool:
    """Whether the sample's own test passes on the code."""
    names: dict[str, object] = {}
    with inside(folder), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, "sample.py", "exec"), names)
            exec(compile(check, "check.py", "exec"), names)
        except (Exception, SystemExit):  # noqa: BLE001 whatever stops it: the test does not pass
            return False
    return True


def judged(tmp_path: Path) -> list[tuple[str, Finding, bool]]:
    """Every confirmed finding with its sample's title, and whether its edit keeps the test green."""
    found = []
    for index, (title, code, check) in enumerate(SAMPLES):
        assert passes(code, check, tmp_path / f"before{index}"), title
        folder = tmp_path / f"sample{index}"
        folder.mkdir()
        (folder / "sample.py").write_text(code, encoding="utf-8")
        for number, finding in enumerate(
            f for f in audit(folder, workers=1).findings if f.verdict == "CONFIRMED"
        ):
            green = finding.edits_verified and passes(
                edited(code, finding.edits), check, tmp_path / f"after{index}.{number}"
            )
            found.append((title, finding, green))
    return found


@pytest.mark.requirement("audit:edits:behaviour-kept")
def test_edits_clear_their_finding_and_keep_the_samples_own_tests_green(tmp_path: Path) -> None:
    assert len(SAMPLES) >= 40
    found = judged(tmp_path)
    broken = [
        (title, f.rule, [e.new for e in f.edits])
        for title, f, green in found
        if f.edits_verified and not green
    ]
    kept = sum(green for _, _, green in found)
    assert not broken
    assert kept >= 0.7 * len(found), (kept, len(found))
