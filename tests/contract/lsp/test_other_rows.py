"""Searches and sessions unfold as trees do: branches, stages, thoughts and rounds, each with its document."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL
from tests.contract.lsp.test_search_and_model import project
from tests.patience import within
from treewright.app.search_request import SearchRequest
from treewright.app.treewright import Treewright

SCORES = "correctness: 0.8, evidence: 0.7, novelty: 0.5, clarity: 0.9, bias_resistance: 0.6, actionability: 0.7, coverage: 0.6"


@pytest.mark.slow
@pytest.mark.requirement("lsp:children:searches")
def test_a_search_unfolds_into_its_branches(connect: Connect, workspace: Path) -> None:
    path = project(workspace)
    right = path.read_text(encoding="utf-8").replace("-=", "+=")
    asked = SearchRequest(
        base=str(workspace),
        file=str(path),
        function="total",
        check_files=(str(workspace / "test_sums.py"),),
        candidate_texts=(right,),
        generators=("given",),
    )
    outcome = asyncio.run(Treewright("cli").search(asked).drive())
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    found = client.request("treewright/children", {"run": outcome.run})
    assert [row["id"] for row in found["rows"]] == ["b0", "b1"][: found["total"]]
    (chosen,) = [row for row in found["rows"] if row["label"].startswith("chosen, ")]
    assert chosen["state"] == "advances"
    assert chosen["label"].endswith("checks")
    assert chosen["statement"] == "given"
    passed = {"run": outcome.run, "filter": {"states": ["advances"]}, "flat": True}
    assert client.request("treewright/children", passed)["total"] == 1
    text = client.request(
        "treewright/document", {"uri": f"treewright:/run/{outcome.run}/node/{chosen['id']}.md"}
    )["text"]
    assert "result += value" in text
    error = client.error("treewright/children", {"run": outcome.run, "node": "b99"})
    assert error["data"]["code"] == "node_not_found"


@pytest.mark.slow
@pytest.mark.requirement("lsp:children:sessions")
def test_a_session_unfolds_into_stages_thoughts_and_rounds(
    connect: Connect, workspace: Path, tmp_path: Path
) -> None:
    script = tmp_path / "model.json"
    rules = [
        {"when": "(?i)score", "text": SCORES, "times": None},
        {"text": "Cache the reads that repeat; measure first.", "times": None},
    ]
    script.write_text(json.dumps(rules), encoding="utf-8")
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "treewright",
                "deliberate",
                "Should we cache?",
                "--model",
                f"scripted:{script}",
            ),
            *("--stages", "Analysis, Conclusion", "--format", "json"),
        ],
        cwd=workspace,
        capture_output=True,
        encoding="utf-8",
        timeout=within(60),
        check=True,
    )
    run = json.loads(done.stdout)["session_id"]
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    stages = client.request("treewright/children", {"run": run})["rows"]
    assert [row["statement"] for row in stages] == ["Analysis", "Conclusion"]
    (thought,) = client.request("treewright/children", {"run": run, "node": stages[0]["id"]})["rows"]
    assert thought["state"] == "advances"
    assert thought["statement"] == "Cache the reads that repeat; measure first."
    rounds = client.request("treewright/children", {"run": run, "node": thought["id"]})["rows"]
    assert len(rounds) == thought["children"] > 0
    wanted = {"run": run, "filter": {"text": "measure first"}, "flat": True}
    assert thought["id"] in [row["id"] for row in client.request("treewright/children", wanted)["rows"]]
    for row in (stages[0], thought, rounds[0]):
        uri = f"treewright:/run/{run}/node/{row['id']}.md"
        assert client.request("treewright/document", {"uri": uri})["text"].startswith("# ")
