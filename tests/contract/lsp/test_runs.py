"""Runs over the real wire: started, shown, stopped, resumed, followed, and looked at page by page."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.lsp.audits import Audit
from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL, published, uri_of
from tests.contract.lsp.raw import RawClient
from tests.contract.lsp.slow_run import RUN

FLAWED = """import os
from flask import Flask, request

app = Flask(__name__)


@app.route("/run")
def run():
    os.system("ls " + request.args["p"])
    return "done"
"""


def ended(client: RawClient, run: str) -> dict[str, Any]:
    """Wait until a run does not grow any more and return its row."""

    def over(params: dict[str, Any]) -> bool:
        return any(
            c["run"] == run and c["row"] and c["row"]["status"] != "GROWING" for c in params["changes"]
        )

    params = client.notification("treewright/runChanged", over)
    found: dict[str, Any] = next(c["row"] for c in params["changes"] if c["run"] == run)
    return found


@pytest.mark.requirement("lsp:runs:start", "lsp:progress:shown", "lsp:runs:changed", "lsp:audits:offline")
def test_an_audit_runs_with_progress_and_its_findings_appear(connect: Connect, workspace: Path) -> None:
    path = workspace / "app.py"
    path.write_text(FLAWED, encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    started = client.request("treewright/start", {"root": uri_of(workspace)})
    row = ended(client, started["run"])
    assert row["status"] == "CONVERGED"
    kinds = [m["params"]["value"]["kind"] for m in client.seen if m.get("method") == "$/progress"]
    assert kinds[0] == "begin"
    seen = [m for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"]
    shown = seen[-1]["params"]["diagnostics"] if seen else published(client, uri_of(path))
    assert "os.system" in shown[0]["message"]
    figures = client.request("treewright/run", {"run": started["run"]})
    assert figures["performer"] == "static"
    assert [c["number"] for c in figures["conditions"]] == [1, 2, 3, 4, 5, 6]
    assert set(figures["framings"]) == set("ABCDEFGHIJKL")
    assert not list((workspace / ".treewright").glob("**/run.holder.json"))


@pytest.mark.requirement("lsp:commands:editors")
def test_an_editor_without_our_extension_audits_and_reads_the_report(
    connect: Connect, workspace: Path
) -> None:
    (workspace / "app.py").write_text(FLAWED, encoding="utf-8")
    client = connect()
    capabilities = client.initialize(workspace, capabilities=FULL)
    offered = capabilities["executeCommandProvider"]["commands"]
    assert {
        "treewright.lsp.audit",
        "treewright.lsp.resume",
        "treewright.lsp.stop",
        "treewright.lsp.report",
    } <= set(offered)
    client.on("window/showDocument", lambda _: {"success": True})
    command = {"command": "treewright.lsp.audit", "arguments": [uri_of(workspace)]}
    run = client.request("workspace/executeCommand", command)["run"]
    ended(client, run)
    command = {"command": "treewright.lsp.report", "arguments": [run]}
    assert client.request("workspace/executeCommand", command)["text"].startswith("# Report")
    error = client.error("workspace/executeCommand", {"command": "treewright.lsp.stop", "arguments": [run]})
    assert error["data"]["code"] == "run_idle"


def slow_workspace(workspace: Path) -> None:
    """Fill a workspace with so much code that auditing it takes a while."""
    for number in range(20):
        name = f"module_{number}.py"
        (workspace / name).write_text(FLAWED.replace("run", f"run_{number}") * 2, encoding="utf-8")


@pytest.mark.requirement("lsp:progress:cancel", "lsp:runs:stop", "lsp:runs:resume")
def test_cancelling_the_progress_stops_the_run_and_it_can_be_gone_on_with(
    connect: Connect, workspace: Path
) -> None:
    slow_workspace(workspace)
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    run = client.request("treewright/start", {"root": ".", "workDoneToken": "mine"})["run"]
    begun = client.notification("$/progress", lambda p: p["token"] == "mine")
    assert begun["value"]["cancellable"] is True
    client.notify("window/workDoneProgress/cancel", {"token": "mine"})
    assert ended(client, run)["status"] == "STOPPED"
    assert client.request("treewright/run", {"run": run})["reason"] == "by the user"
    resumed = client.request("treewright/resume", {"run": run})
    assert resumed["run"] == run
    assert client.request("treewright/stop", {"run": run})["holder"] == "this editor"
    ended(client, run)


SEEN_WITHIN_S = 1.0
"""Surfaces, 5: each sees the others' changes within a second."""
BUSY_S = 2.0
"""What the machine may add when other tests run beside."""


@pytest.mark.requirement(
    "lsp:together:followed", "lsp:together:refused", "lsp:together:stop", "lsp:runs:batched"
)
def test_a_run_of_another_process_is_followed_and_can_only_be_stopped_by_request(
    connect: Connect, workspace: Path
) -> None:
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    client.request("treewright/runs")
    other = subprocess.Popen(
        [sys.executable, "-m", "tests.contract.lsp.slow_run", str(workspace)], stdout=subprocess.PIPE
    )
    try:
        changed = client.notification("treewright/runChanged", lambda p: p["changes"][0]["run"] == RUN)
        seen = time.time()
        assert other.stdout
        assert seen - float(other.stdout.readline()) < SEEN_WITHIN_S + BUSY_S
        assert changed["changes"][0]["row"]["drivenBy"].startswith("cli ")
        client.request("treewright/children", {"run": RUN})
        grown = client.notification("treewright/runChanged", lambda p: "A1" in p["changes"][0]["nodes"])
        assert grown["changes"][0]["revision"] > 0
        assert client.request("treewright/children", {"run": RUN})["rows"][0]["id"] == "A1"
        error = client.error("treewright/resume", {"run": RUN})
        assert error["data"]["code"] == "run_locked"
        assert client.request("treewright/stop", {"run": RUN})["holder"].startswith("cli ")
        assert ended(client, RUN)["status"] == "STOPPED"
    finally:
        other.terminate()
        other.wait(10)
        if other.stdout:
            other.stdout.close()
    told = [m for m in client.seen if m.get("method") == "treewright/runChanged"]
    assert len(told) < 10 * (time.time() - seen + 1)


@pytest.mark.requirement("lsp:life:run-stopped")
def test_a_run_is_kept_when_the_client_dies_and_another_server_goes_on_with_it(
    connect: Connect, workspace: Path
) -> None:
    slow_workspace(workspace)
    first = connect()
    first.initialize(workspace, capabilities=FULL)
    run = first.request("treewright/start", {"root": "."})["run"]
    assert first.process.stdin
    first.process.stdin.close()
    first.process.wait(8)
    second = connect()
    second.initialize(workspace, capabilities=FULL)
    (row,) = second.request("treewright/runs")["runs"]
    assert (row["id"], row["status"], row["drivenBy"]) == (run, "STOPPED", "")
    assert second.request("treewright/resume", {"run": run})["run"] == run
    second.request("treewright/stop", {"run": run})
    ended(second, run)


@pytest.mark.requirement("lsp:children:paged", "lsp:children:filter", "lsp:children:sort", "lsp:map:columns")
def test_a_tree_is_looked_at_page_by_page(connect: Connect, workspace: Path) -> None:
    (workspace / "app.py").write_text("".join(f"call_{n}()\n" for n in range(40)), encoding="utf-8")
    with Audit(workspace) as audit:
        for line in range(1, 41):
            audit.finding("app.py", line, scores={"S": 3, "P": 3, "R": 1 + line % 3, "F": 2, "X": 2})
        audit.end()
    client = connect()
    client.initialize(workspace)
    run = audit.run
    first = client.request("treewright/children", {"run": run, "limit": 15})
    assert (first["total"], len(first["rows"])) == (40, 15)
    assert [row["id"] for row in first["rows"][:2]] == ["D1", "D2"]
    last = client.request("treewright/children", {"run": run, "limit": 15, "offset": 30})
    assert [row["id"] for row in last["rows"]] == [f"D{n}" for n in range(31, 41)]
    best = client.request("treewright/children", {"run": run, "sort": "score", "limit": 5})
    assert {row["total"] for row in best["rows"]} == {13}
    wanted = {"text": "FOUR app", "states": ["advances"], "framings": ["D"]}
    found = client.request("treewright/children", {"run": run, "filter": wanted})
    assert {row["id"] for row in found["rows"]} == {"D4", "D14", "D24", "D34", "D40"}
    flat = client.request("treewright/children", {"run": run, "flat": True, "filter": {"text": "nine"}})
    assert flat["total"] == 4
    none = client.request("treewright/children", {"run": run, "filter": {"states": ["pruned"]}})
    assert none["rows"] == []
    assert client.error("treewright/children", {"run": run, "node": "Z9"})["data"]["code"] == "node_not_found"
    columns = client.request("treewright/map", {"run": run})
    assert columns["id"][:2] == ["0", "D1"]
    assert columns["parent"][:2] == [-1, 0]
    assert {len(columns[name]) for name in ("id", "parent", "state", "score", "statement")} == {41}


@pytest.mark.requirement("lsp:node:whole", "lsp:compare:fields", "lsp:reports:named")
def test_nodes_are_read_and_compared_and_reports_are_named(connect: Connect, workspace: Path) -> None:
    (workspace / "app.py").write_text("one()\ntwo()\n", encoding="utf-8")
    with Audit(workspace) as audit:
        audit.finding("app.py", 1, statement="The first call is a finding.")
        audit.finding("app.py", 2, statement="Another thing altogether stands there.")
        audit.end()
    client = connect()
    client.initialize(workspace)
    node = client.request("treewright/node", {"run": audit.run, "node": "D1"})
    assert node["uri"] == f"treewright:/run/{audit.run}/node/D1.md"
    assert node["scores"] == {"S": 3, "P": 3, "R": 3, "F": 2, "X": 2}
    citation = node["citations"][0]
    assert (citation["state"], citation["location"]["uri"]) == ("verified", uri_of(workspace / "app.py"))
    assert (citation["location"]["start"], citation["location"]["end"]) == (1, 1)
    text = client.request("treewright/compare", {"run": audit.run, "left": "D1", "right": "D2"})["text"]
    assert "The first call is a finding." in text
    assert "Another thing altogether" in text
    for name, start in (("report", "# Report"), ("tree", "# "), ("findings.md", "# Findings")):
        assert client.request("treewright/report", {"run": audit.run, "name": name})["text"].startswith(start)
    sarif = client.request("treewright/report", {"run": audit.run, "name": "sarif"})
    assert (sarif["language"], '"version": "2.1.0"' in sarif["text"]) == ("json", True)
    error = client.error("treewright/report", {"run": audit.run, "name": "nothing.md"})
    assert "findings.md" in error["data"]["hint"]


@pytest.mark.requirement("lsp:catalogue:presets", "lsp:catalogue:models", "lsp:keys:memory-only")
def test_presets_and_models_are_listed_and_keys_are_only_kept_in_memory(
    connect: Connect, workspace: Path, isolated_home: Path
) -> None:
    client = connect()
    client.initialize(workspace, options={"editorModel": True})
    names = {preset["name"] for preset in client.request("treewright/presets")["presets"]}
    assert {"attack", "brainstorm", "code-audit", "design"} <= names
    models = client.request("treewright/models")["models"]
    assert [model["name"] for model in models] == ["static", "editor"]
    assert client.request("treewright/keys", {"keys": {"mine": "sk-secret-value"}}) == {"known": 1}
    assert client.request("treewright/keys", {"keys": {"mine": ""}}) == {"known": 0}
    error = client.error("treewright/keys", {"keys": {"mine": ["sk-secret-value"]}})
    assert "sk-secret-value" not in str(error)
    client.shut_down()
    held = [p for p in isolated_home.rglob("*") if p.is_file() and b"sk-secret-value" in p.read_bytes()]
    assert held == []


@pytest.mark.requirement("lsp:presets:made", "lsp:presets:validated")
def test_a_new_preset_is_made_from_a_shipped_one_and_is_valid(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    made = client.request("treewright/presetText", {"name": "mine", "like": "code-audit"})
    folder = Path(made["folder"])
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text(made["text"], encoding="utf-8")
    assert client.request("treewright/validate", {"target": uri_of(folder / "mine.md")})["faults"] == []
    (folder / "mine.md").write_text(made["text"].replace("name: mine", "name: yours", 1), encoding="utf-8")
    faults = client.request("treewright/validate", {"target": str(folder)})["faults"]
    assert faults[0]["uri"] == uri_of(folder / "mine.md")
    assert faults[0]["severity"] == "error"


@pytest.mark.requirement("lsp:trust:no-folder-config")
def test_an_untrusted_folder_configures_nothing(connect: Connect, workspace: Path) -> None:
    (workspace / "app.py").write_text(FLAWED, encoding="utf-8")
    (workspace / ".treewright.toml").write_text("nonsense = true\n", encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    run = client.request("treewright/start", {"root": "."})["run"]
    assert ended(client, run)["status"] == "CONVERGED"
    client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": True}})
    error = client.error("treewright/start", {"root": "."})
    assert ".treewright.toml" in error["message"]


@pytest.mark.requirement("lsp:settings:faults-told")
def test_a_setting_that_does_not_fit_is_told_and_the_rest_holds(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace, options={"maxFindingsPerFile": "many", "nonsense": 1, "trusted": True})
    told = client.notification("window/showMessage")["message"]
    assert "maxFindingsPerFile" in told
    assert "nonsense" in told
    assert client.request("treewright/about")["trusted"] is True


@pytest.mark.requirement("lsp:paths:normalised")
def test_a_root_typed_in_another_unicode_form_is_found_and_keeps_the_disks_spelling(
    connect: Connect, workspace: Path
) -> None:
    import unicodedata

    folder = workspace / unicodedata.normalize("NFD", "möbel")
    folder.mkdir()
    (folder / "app.py").write_text(FLAWED, encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    typed = str(workspace / unicodedata.normalize("NFC", "möbel"))
    run = client.request("treewright/start", {"root": typed, "base": str(workspace)})["run"]
    assert ended(client, run)["status"] == "CONVERGED"
    listed = client.request("treewright/findings")["findings"]
    assert {row["uri"] for row in listed} <= {uri_of(folder / "app.py")}


@pytest.mark.requirement("lsp:deeper:seeded")
def test_a_finding_is_gone_on_from_in_a_run_of_its_own(connect: Connect, workspace: Path) -> None:
    (workspace / "app.py").write_text(FLAWED, encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    run = client.request("treewright/start", {"root": "."})["run"]
    ended(client, run)
    node = client.request("treewright/children", {"run": run, "filter": {"states": ["advances"]}})["rows"][0]
    deeper = client.request("treewright/deeper", {"run": run, "node": node["id"], "rounds": 1})
    assert deeper["run"] != run
    ended(client, deeper["run"])
    assert client.error("treewright/deeper", {"run": run, "node": "0"})["data"]["code"] == "node_is_root"
