"""What the static index tells a model about the code that it is shown."""

from pathlib import Path

import pytest

from tests.unit.performers.briefs import brief
from treewright.explore.tasks import TaskKind
from treewright.performers.model import compose
from treewright.performers.model.material import read_material
from treewright.performers.model.shapes import Style
from treewright.tree.run import RootSpec

APP = """import subprocess

from flask import Flask, request

app = Flask(__name__)


@app.route("/run")
def run():
    return start(request.args["name"])


def start(name):
    return subprocess.check_output("job " + name, shell=True)


def unused(rows):
    return sum(rows) / len(rows)
"""
TEST = "from app import start\n\n\ndef test_start():\n    assert start('x')\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_app.py").write_text(TEST, encoding="utf-8")
    (tmp_path / "tests" / "test_other.py").write_text("def unused(): ...\n", encoding="utf-8")
    return tmp_path


@pytest.mark.requirement("performers:model:index-feeds")
def test_entry_points_calls_callers_sinks_and_tests_of_what_is_shown_are_told(workspace: Path) -> None:
    spec = RootSpec(kind="code", path="app.py", workspace=str(workspace))
    material = read_material(spec)
    asked = brief(TaskKind.PROPOSE, "code-audit", workspace, root_spec=spec, letter="D")
    style = Style(close=True)
    excerpt = material.excerpt(asked, 700)
    facts = material.facts_for(asked, excerpt)
    task = compose.propose_task(asked, style)
    told = compose.messages(asked, style, task, excerpt, facts)[1].text
    assert "`run`; is a route `/run`" in told
    assert "calls `start`" in told
    assert "`start`; reaches `subprocess.check_output` in line 14; is called by `run` at app.py:10" in told
    assert "a test names it at tests/test_app.py:1." in told
    assert "`unused`; has no caller here; no test names it." in told


@pytest.mark.requirement("performers:model:index-feeds")
def test_a_finding_is_told_to_the_task_that_works_out_its_line_and_to_no_other(workspace: Path) -> None:
    spec = RootSpec(kind="code", path="app.py", workspace=str(workspace))
    material = read_material(spec)
    (lead,) = [each for each in material.leads if each.line == 14 and each.framing == "D"][:1]
    place = brief(TaskKind.DERIVE, "code-audit", workspace).proposal
    assert place is not None
    cited = place.citations[0].model_copy(update={"path": "app.py", "start": 14, "end": 14})
    near = place.model_copy(update={"citations": [cited]})
    far = place.model_copy(update={"citations": [cited.model_copy(update={"start": 10, "end": 10})]})
    asked = brief(TaskKind.DERIVE, "code-audit", workspace, root_spec=spec, proposal=near)
    assert lead in material.leads_for(asked)
    assert lead not in material.leads_for(asked.model_copy(update={"proposal": far}))
