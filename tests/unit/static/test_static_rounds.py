"""The second round of an audit, and what the framings H and J note of a project around its code."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.performers.static.audit import audit, establish, read_sources
from treewright.performers.static.notes import framing_notes
from treewright.performers.static.performer import FIRST_ROUND
from treewright.tree.run import Role

SHELL = "import os\n\n\ndef work{number}(host):\n    os.system('ping -c {number} ' + host)\n"
VIEWS = """from flask import Flask, request

app = Flask(__name__)


@app.route("/tested")
def tested():
    return {}


@app.route("/forgotten")
def forgotten():
    return {}
"""
TESTS = """import pytest
from views import tested


def test_tested():
    assert tested() == {}


@pytest.mark.skip
def test_later():
    assert False
"""


@pytest.mark.requirement("exploration:offline:second-round")
def test_the_same_pattern_elsewhere_comes_in_the_second_round_under_the_finding_it_is_like(
    tmp_path: Path,
) -> None:
    for number in range(FIRST_ROUND + 3):
        (tmp_path / f"part{number:02}.py").write_text(SHELL.format(number=number), encoding="utf-8")
    growing = Treewright("cli").start(ExplorationRequest(preset="code-audit", root=".", base=str(tmp_path)))
    asyncio.run(growing.drive())
    shells = [
        node
        for node in growing.writer.tree.nodes.values()
        if node.role is Role.ADVANCES and "os.system" in node.statement and "High-risk" not in node.statement
    ]
    later = [node for node in shells if node.depth == 2]
    assert len(later) == 3, [(node.id, node.statement) for node in shells]
    assert len({node.id.rpartition(".")[0] for node in later}) == 1
    assert not {node.position for node in later} & {node.position for node in shells if node.depth == 1}


@pytest.mark.requirement("exploration:offline:project-notes", "exploration:offline:lints")
def test_untested_entries_skipped_tests_and_loose_pins_are_noted_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "views.py").write_text(VIEWS, encoding="utf-8")
    (tmp_path / "test_views.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text(
        "# pins\nflask==3.0.0\nrequests>=2\npytest\n", encoding="utf-8"
    )
    sources = read_sources(tmp_path)
    facts = establish(sources, workers=1)
    notes = framing_notes(tmp_path, facts, sources.texts, audit(tmp_path, workers=1).findings)
    assert notes["H"] == ("entry points that no test names: 1 (`forgotten` (views.py:12))",)
    said = "; ".join(notes["J"])
    assert (
        "requirements not pinned to a version: 2 (`requests` (requirements.txt:3), `pytest` (requirements.txt:4))"
        in said
    )
    assert "tests that are skipped or expected to fail: 1 (test_views.py:9)" in said
    assert "commits" not in said


@pytest.mark.requirement("exploration:offline:project-notes", "exploration:offline:lints")
def test_the_files_that_change_most_often_are_noted(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for number in range(4):
        (tmp_path / "hot.py").write_text(f"A = {number}\n", encoding="utf-8")
        (tmp_path / "cold.py").write_text("B = 1\n", encoding="utf-8")
        git("add", "hot.py", "cold.py")
        git("commit", "-q", "-m", f"change {number}")
    sources = read_sources(tmp_path)
    notes = framing_notes(tmp_path, establish(sources, workers=1), sources.texts, ())
    assert notes["J"] == ("changed most often in the last 400 commits: `hot.py` (4 times)",)
    assert notes["H"] == ()
