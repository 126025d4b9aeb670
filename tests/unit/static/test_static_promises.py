"""What an offline audit promises of its index, its scores, framing K and what it could not read (contract: exploration, 10)."""

import asyncio
import json
import tomllib
from pathlib import Path

import pytest

from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.data import data_path
from treewright.performers.static.audit import audit, establish, read_sources

WEB = """import os
import click
from flask import Flask, request
import tools

app = Flask(__name__)


@app.route("/ping")
def ping():
    return tools.run(request.args["host"])


@click.command()
@click.argument("host")
def local(host):
    os.system("ping " + host)


def helper(host):
    os.system("ping " + host)


def _inner():
    return 1
"""
TOOLS = 'import os\n\n\ndef run(host):\n    os.system("ping " + host)\n    return "ok"\n'


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """Return a project whose shell command is reached from the network, the command line and by callers."""
    (tmp_path / "web.py").write_text(WEB, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


@pytest.mark.requirement("exploration:offline:index")
def test_the_index_knows_definitions_imports_calls_and_entry_points(web: Path) -> None:
    facts = establish(read_sources(web), workers=1)["web.py"]
    assert {each.qualified for each in facts.definitions} == {
        "web.ping", "web.local", "web.helper", "web._inner",
    }  # fmt: skip
    assert ("request", "flask.request", 3) in facts.imports
    functions = {each.name: each for each in facts.functions}
    assert [(call.callee, call.line) for call in functions["web.ping"].calls] == [("tools.run", 11)]
    entries = {name: each.entry for name, each in functions.items() if each.entry}
    assert entries == {
        "web.ping": "route `/ping`",
        "web.local": "command line of `local`",
        "web.helper": "public function `helper`",
    }


@pytest.mark.requirement("exploration:offline:scores-from-reach")
def test_reproducibility_and_likelihood_are_the_tables_for_how_a_place_is_reached(web: Path) -> None:
    table = tomllib.loads(data_path("static", "scoring.toml").read_text(encoding="utf-8"))
    program = table["flow"]["hard"]["program"]
    found = {
        each.position.where: [each.scores.reproducibility, each.scores.likelihood]
        for each in audit(web, workers=1).findings
        if each.rule == "shell-command-from-input"
    }
    assert found == {
        "tools.py:5": program["remote"],
        "web.py:17": program["local"],
        "web.py:21": program["convention"],
    }
    severities = {
        each.scores.severity
        for each in audit(web, workers=1).findings
        if each.rule == "shell-command-from-input"
    }
    assert severities == {3}


@pytest.mark.requirement("exploration:offline:k-worst-sink")
def test_framing_k_derives_the_most_dangerous_reachable_sink(web: Path) -> None:
    growing = Treewright("cli").start(ExplorationRequest(preset="code-audit", root=".", base=str(web)))
    asyncio.run(growing.drive())
    told = [node.statement for node in growing.writer.tree.nodes.values() if node.framing == "K"]
    assert len(told) == 1
    assert "tools.py:5" in told[0] and "route `/ping`" in told[0]


@pytest.mark.requirement("exploration:offline:k-worst-sink")
def test_framing_k_records_that_nothing_dangerous_can_be_reached(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
    growing = Treewright("cli").start(ExplorationRequest(preset="code-audit", root=".", base=str(tmp_path)))
    asyncio.run(growing.drive())
    tree = growing.writer.tree
    assert [node for node in tree.nodes.values() if node.framing == "K"] == []
    assert tree.root_fired["K"] == "examined"


@pytest.mark.requirement("exploration:offline:unparsed-told")
def test_framing_l_tells_what_could_not_be_parsed(web: Path) -> None:
    (web / "broken.py").write_text("def f(:\n", encoding="utf-8")
    growing = Treewright("cli").start(ExplorationRequest(preset="code-audit", root=".", base=str(web)))
    asyncio.run(growing.drive())
    lines = (growing.folder / "REPORT.md").read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line.startswith("- L: ")]
    assert len(said) == 1
    assert "could not be read: 1 file (broken.py)" in said[0]


@pytest.mark.requirement("exploration:language:not-translated")
def test_names_labels_statuses_files_and_quotations_are_the_same_in_another_language(web: Path) -> None:
    def grown(language: str) -> tuple[list[str], dict[str, object]]:
        request = ExplorationRequest(
            preset="code-audit", root=".", base=str(web), lang=language, out=str(web.parent / language)
        )
        growing = Treewright("cli").start(request)
        outcome = asyncio.run(growing.drive())
        return outcome.outputs, json.loads((growing.folder / "tree.json").read_text(encoding="utf-8"))

    names, english = grown("en")
    others, chinese = grown("zh")
    assert others == names
    assert chinese["language"] == {"request": "zh", "output": "zh", "source": "explicit"}
    assert shape(chinese) == shape(english)


def shape(document: object) -> object:
    """Return what no language changes of a run's document: keys, identifiers, labels, statuses and quotations."""
    fixed = {
        "id",
        "framing",
        "verdict",
        "role",
        "status",
        "step",
        "path",
        "excerpt",
        "kind",
        "position",
        "preset",
    }
    if isinstance(document, dict):
        return {
            key: shape(value) if isinstance(value, (dict, list)) else value if key in fixed else None
            for key, value in document.items()
        }
    return [shape(each) for each in document] if isinstance(document, list) else None
