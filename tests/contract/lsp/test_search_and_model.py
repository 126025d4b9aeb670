"""A verified fix searched for, and the editor's own model asked, over the real wire."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.lsp.audits import Audit
from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL, open_text, published, uri_of
from tests.contract.lsp.test_runs import ended
from tests.patience import within

WRONG = "def total(values):\n    result = 0\n    for value in values:\n        result -= value\n    return result\n"
TESTS = "from sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n"


def project(workspace: Path) -> Path:
    """Write a function with a fault and a test that shows it."""
    (workspace / "sums.py").write_text(WRONG, encoding="utf-8")
    (workspace / "test_sums.py").write_text(TESTS, encoding="utf-8")
    return workspace / "sums.py"


@pytest.mark.requirement("lsp:fix:searched")
@pytest.mark.leaves_children  # a killed branch's parent is reaped a moment after the search has ended
def test_a_search_offers_a_program_only_because_it_passed_the_tests(
    connect: Connect, workspace: Path
) -> None:
    path = project(workspace)
    client = connect()
    client.initialize(workspace, capabilities=FULL, options={"trusted": True})
    open_text(client, uri_of(path), WRONG, version=4)
    begun = client.request("treewright/searchFix", {"uri": uri_of(path), "line": 3, "timeLimitS": 60})
    assert begun["function"] == "total"
    assert begun["checks"] == [str(workspace / "test_sums.py")]
    told = client.until(lambda m: m.get("method") == "treewright/searchEnded", within(90))["params"]
    assert told["verified"] is True, told
    assert "+        result += value" in told["diff"]
    (change,) = told["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri_of(path), "version": 4}
    assert [each["newText"] for each in change["edits"]] == ["+"]
    assert path.read_text(encoding="utf-8") == WRONG


@pytest.mark.requirement("lsp:trust:nothing-executed")
def test_nothing_is_executed_in_an_untrusted_folder(connect: Connect, workspace: Path) -> None:
    path = project(workspace)
    (workspace / "test_sums.py").write_text(
        f"open({str(workspace / 'ran')!r}, 'w')\n{TESTS}", encoding="utf-8"
    )
    with Audit(workspace) as audit:
        audit.finding("sums.py", 4)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    published(client, uri_of(path), 1)
    open_text(client, uri_of(path), WRONG)
    error = client.error("treewright/searchFix", {"run": audit.run, "node": "D1"})
    assert error["data"]["code"] == "untrusted"
    here = {"line": 3, "character": 8}
    params: dict[str, Any] = {
        "textDocument": {"uri": uri_of(path)},
        "range": {"start": here, "end": here},
        "context": {"diagnostics": []},
    }
    offered = client.request("textDocument/codeAction", params)
    assert not [each for each in offered if each["command"]["command"].endswith(".search")]
    client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": True}})
    offered = client.request("textDocument/codeAction", params)
    assert [each for each in offered if each["command"]["command"].endswith(".search")]
    run = client.request("treewright/start", {"root": "."})["run"]
    ended(client, run)
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"line": 99}, "no_function"), ({"line": 3}, "not_saved")],
)
def test_a_search_that_cannot_begin_says_why(
    connect: Connect, workspace: Path, asked: dict[str, Any], code: str
) -> None:
    path = project(workspace)
    client = connect()
    client.initialize(workspace, options={"trusted": True})
    if code == "not_saved":
        open_text(client, uri_of(path), WRONG + "\n")
    error = client.error("treewright/searchFix", {"uri": uri_of(path), **asked})
    assert error["data"]["code"] == code


@pytest.mark.requirement("lsp:model:bridge")
def test_the_editors_model_is_asked_and_its_refusal_pauses_the_run(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace, capabilities=FULL, options={"editorModel": True})
    asked: list[dict[str, Any]] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"error": {"code": "NoPermissions", "message": "The user said no."}}

    client.on("treewright/model/complete", answer)
    run = client.request("treewright/start", {"preset": "brainstorm", "root": "queues", "model": "editor"})[
        "run"
    ]
    row = ended(client, run)
    assert row["status"] == "PAUSED"
    assert asked[0]["maxTokens"] > 0
    assert {message["role"] for message in asked[0]["messages"]} <= {"system", "user", "assistant"}
    assert "The user said no." in client.request("treewright/run", {"run": run})["reason"]


@pytest.mark.requirement("lsp:virtual:live")
def test_an_open_report_is_refreshed_while_its_run_grows(connect: Connect, workspace: Path) -> None:
    (workspace / "app.py").write_text("import os\n\n\ndef f(x):\n    os.system(x)\n", encoding="utf-8")
    virtual = {**FULL["workspace"], "textDocumentContent": {"dynamicRegistration": True}}
    client = connect()
    client.initialize(workspace, capabilities={**FULL, "workspace": virtual})
    run = client.request("treewright/start", {"root": "."})["run"]
    uri = f"treewright:/run/{run}/report.md"
    client.request("workspace/textDocumentContent", {"uri": uri})
    asked = client.until(lambda m: m.get("method") == "workspace/textDocumentContent/refresh")
    assert asked["params"] == {"uri": uri}
    while client.request("treewright/run", {"run": run})["row"]["status"] == "GROWING":
        client.next()
    assert "CONVERGED" in client.request("workspace/textDocumentContent", {"uri": uri})["text"]


@pytest.mark.requirement("lsp:audits:on-request")
def test_saving_a_file_starts_no_audit(connect: Connect, workspace: Path) -> None:
    path = project(workspace)
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    open_text(client, uri_of(path), WRONG)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(path)}})
    assert client.request("treewright/runs")["runs"] == []


@pytest.mark.requirement("lsp:audits:on-request")
@pytest.mark.parametrize(
    ("name", "language", "text"),
    [
        ("sums.py", "python", WRONG),
        ("page.js", "javascript", "eval(location.hash);\n"),
        ("page.ts", "typescript", "const made: string = 'x';\neval(made);\n"),
    ],
)
def test_saving_audits_the_file_where_the_settings_say_so(
    connect: Connect, workspace: Path, name: str, language: str, text: str
) -> None:
    path = workspace / name
    path.write_text(text, encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL, options={"auditOnSave": True})
    open_text(client, uri_of(path), text, language)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(path)}})
    changed = client.notification("treewright/runChanged")
    assert ended(client, changed["changes"][0]["run"])["status"] == "CONVERGED"
