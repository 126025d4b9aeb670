"""What can be done about a finding over the real wire: fixes, decisions, commands, hover, lenses, links, symbols."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.lsp.audits import Audit
from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL, edit, open_text, published, uri_of
from tests.contract.lsp.raw import RawClient
from treewright.tree.citation import Edit

CODE = "import os\n\n\ndef run(arg):\n    s = '😀'; os.system(arg)\n    return 1\n"
FIX = Edit(
    path="app.py",
    start=5,
    end=5,
    old="    s = '😀'; os.system(arg)\n",
    new="    s = '😀'; subprocess.run([arg])\n",
)


def shown(connect: Connect, workspace: Path, *edits: Edit, **given: Any) -> tuple[RawClient, str, str]:
    """Return a client that has a file with one finding open, the file's address, and the run."""
    path = workspace / "app.py"
    path.write_bytes(CODE.encode())
    with Audit(workspace) as audit:
        audit.finding(
            "app.py", 5, edits=edits, statement="The argument reaches a shell.", title="Shell command"
        )
        audit.end()
    client = connect()
    client.initialize(
        workspace,
        capabilities=given.get("capabilities", FULL),
        options=given.get("options"),
        locale=given.get("locale", "en"),
    )
    uri = uri_of(path)
    published(client, uri, 1)
    open_text(client, uri, CODE)
    return client, uri, audit.run


def actions(client: RawClient, uri: str, line: int = 4, **context: Any) -> list[dict[str, Any]]:
    """Ask for code actions at the start of a line's code."""
    at = {"line": line, "character": 6}
    found: list[dict[str, Any]] = client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": [], **context},
        },
    )
    return found


@pytest.mark.requirement("lsp:language:chinese")
def test_actions_are_titled_in_the_language_that_the_editor_is_used_in(
    connect: Connect, workspace: Path
) -> None:
    client, uri, _ = shown(connect, workspace, FIX, locale="zh-cn", options={"trusted": True})
    titles = [each["title"] for each in actions(client, uri)]
    assert titles[:3] == ["修复：Shell command", "搜索经验证的修复 (D1)", "打开发现 (D1)"]
    edit(client, uri, 2, (4, 10), (4, 10), "x")
    (stale,) = published(client, uri, 1)
    assert stale["message"].endswith("（代码此后已被修改）")


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Apply text edits as a client that counts in UTF-16 does."""
    lines = text.split("\n")
    for each in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"])):
        start, end = each["range"]["start"], each["range"]["end"]
        assert start["line"] == end["line"]
        raw = lines[start["line"]].encode("utf-16-le")
        new = each["newText"].encode("utf-16-le")
        raw = raw[: 2 * start["character"]] + new + raw[2 * end["character"] :]
        lines[start["line"]] = raw.decode("utf-16-le")
    return "\n".join(lines)


@pytest.mark.requirement("lsp:fix:applies", "lsp:fix:versioned", "lsp:fix:minimal")
def test_a_fix_is_a_minimal_edit_of_the_version_at_hand(connect: Connect, workspace: Path) -> None:
    client, uri, _ = shown(connect, workspace, FIX)
    edit(client, uri, 7, (0, 0), (0, 0), "# above\n")
    published(client, uri, 1)
    fix = actions(client, uri, 5)[0]
    assert fix["title"] == "Fix: Shell command"
    assert fix["isPreferred"] is True
    (change,) = fix["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 7}
    assert applied("# above\n" + CODE, change["edits"]) == "# above\n" + CODE.replace(
        "os.system(arg)", "subprocess.run([arg])"
    )
    assert sum(len(each["newText"]) for each in change["edits"]) < 25


@pytest.mark.requirement("lsp:fix:refused")
def test_no_fix_is_offered_once_the_text_that_it_replaces_has_changed(
    connect: Connect, workspace: Path
) -> None:
    client, uri, run = shown(connect, workspace, FIX)
    edit(client, uri, 2, (4, 4), (4, 5), "t")
    published(client, uri, 1)
    assert not [each for each in actions(client, uri) if "edit" in each]
    answer = client.request("treewright/fix", {"run": run, "node": "D1"})
    assert answer["edit"] is None
    assert answer["reason"]


@pytest.mark.requirement("lsp:fix:confirm-many")
def test_a_fix_of_two_files_asks_before_it_is_applied(connect: Connect, workspace: Path) -> None:
    (workspace / "other.py").write_text("a = 1\nb = 2\n", encoding="utf-8")
    second = Edit(path="other.py", start=2, end=2, old="b = 2\n", new="b = 3\n")
    client, uri, _ = shown(connect, workspace, FIX, second)
    fix = actions(client, uri)[0]["edit"]
    assert len(fix["documentChanges"]) == 2
    assert all("annotationId" in each for change in fix["documentChanges"] for each in change["edits"])
    assert all(each["needsConfirmation"] for each in fix["changeAnnotations"].values())
    versions = {
        change["textDocument"]["uri"]: change["textDocument"]["version"] for change in fix["documentChanges"]
    }
    assert versions == {uri: 1, uri_of(workspace / "other.py"): None}
    (workspace / "other.py").write_text("changed\n", encoding="utf-8")
    assert not [each for each in actions(client, uri) if "edit" in each]


@pytest.mark.requirement("lsp:fix:crlf")
def test_a_fix_keeps_windows_line_ends(connect: Connect, workspace: Path) -> None:
    text = "a = 1\r\nb = eval(x)\r\nc = 3\r\n"
    path = workspace / "app.py"
    path.write_bytes(text.encode())
    two = Edit(
        path="app.py", start=2, end=2, old="b = eval(x)\n", new="import ast\nb = ast.literal_eval(x)\n"
    )
    with Audit(workspace) as audit:
        audit.finding("app.py", 2, edits=[two])
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    published(client, uri_of(path), 1)
    open_text(client, uri_of(path), text)
    (change,) = actions(client, uri_of(path), 1)[0]["edit"]["documentChanges"]
    new = "".join(each["newText"] for each in change["edits"])
    assert new.count("\n") == new.count("\r\n") == 1


@pytest.mark.requirement("lsp:actions:all")
def test_every_action_is_offered_at_the_finding_and_none_elsewhere(connect: Connect, workspace: Path) -> None:
    client, uri, run = shown(connect, workspace, FIX)
    found = actions(client, uri)
    commands = {each["command"]["command"] for each in found if "command" in each}
    assert commands == {f"treewright.lsp.{name}" for name in ("open", "deeper", "accept", "dismiss", "issue")}
    assert found[1]["command"]["arguments"] == [{"run": run, "node": "D1"}]
    assert found[0]["diagnostics"][0]["code"] == "D1"
    assert actions(client, uri, 0) == []
    assert actions(client, uri, only=["source.organizeImports"]) == []
    assert actions(client, uri, only=["quickfix"])


@pytest.mark.requirement("lsp:actions:client-commands")
def test_a_client_with_commands_of_its_own_gets_these_named(connect: Connect, workspace: Path) -> None:
    client, uri, _ = shown(connect, workspace, options={"clientCommands": True})
    commands = {each["command"]["command"] for each in actions(client, uri)}
    assert "treewright.finding.accept" in commands
    assert not [name for name in commands if name.startswith("treewright.lsp.")]


@pytest.mark.requirement("lsp:commands:decide")
def test_without_a_box_for_words_reasons_are_offered_to_choose_from(
    connect: Connect, workspace: Path
) -> None:
    client, uri, run = shown(connect, workspace)
    client.on("window/showMessageRequest", lambda p: p["actions"][0])
    arguments = [{"run": run, "node": "D1"}]
    client.request("workspace/executeCommand", {"command": "treewright.lsp.dismiss", "arguments": arguments})
    assert published(client, uri) == []
    (decision,) = client.request("treewright/decisions")["decisions"]
    assert decision["decision"] == "dismissed"
    assert decision["reason"]


@pytest.mark.requirement("lsp:wire:cancel")
def test_a_cancelled_request_is_answered_as_cancelled_and_the_question_to_the_client_is_taken_back(
    connect: Connect, workspace: Path
) -> None:
    client, _, run = shown(connect, workspace)
    arguments = [{"run": run, "node": "D1"}]
    asked = client.begin(
        "workspace/executeCommand", {"command": "treewright.lsp.accept", "arguments": arguments}
    )
    client.hold("window/showMessageRequest")
    question = client.until(lambda m: m.get("method") == "window/showMessageRequest")
    client.notify("$/cancelRequest", {"id": asked})
    taken_back = client.notification("$/cancelRequest")
    assert taken_back["id"] == question["id"]
    assert client.answer_to(asked)["error"]["code"] == -32800
    assert client.request("treewright/about")["version"]


@pytest.mark.requirement("lsp:commands:unknown")
def test_an_unknown_command_and_unfit_arguments_are_refused(connect: Connect, workspace: Path) -> None:
    client, _, _ = shown(connect, workspace)
    error = client.error("workspace/executeCommand", {"command": "treewright.lsp.nothing"})
    assert error["data"]["code"] == "command_unknown"
    error = client.error(
        "workspace/executeCommand", {"command": "treewright.lsp.open", "arguments": [{"x": 1}]}
    )
    assert error["code"] == -32602


@pytest.mark.requirement("lsp:actions:open", "lsp:virtual:file-fallback")
def test_a_finding_opens_as_a_document_even_without_virtual_ones(connect: Connect, workspace: Path) -> None:
    client, _, run = shown(connect, workspace)
    opened: list[str] = []
    client.on("window/showDocument", lambda p: opened.append(p["uri"]) or {"success": True})
    arguments = [{"run": run, "node": "D1"}]
    result = client.request(
        "workspace/executeCommand", {"command": "treewright.lsp.open", "arguments": arguments}
    )
    assert "The argument reaches a shell." in result["text"]
    assert opened[0].startswith("file://")
    assert "The argument reaches a shell." in Path(opened[0][7:]).read_text(encoding="utf-8")


@pytest.mark.requirement("lsp:actions:issue")
def test_a_finding_can_be_copied_as_the_text_of_an_issue(connect: Connect, workspace: Path) -> None:
    client, _, run = shown(connect, workspace)
    text = client.request("treewright/issue", {"run": run, "node": "D1"})["text"]
    assert text.startswith("# The argument reaches a shell.")
    assert "app.py:5" in text
    assert run in text


@pytest.mark.requirement("lsp:hover:flagged", "lsp:lens:flagged", "lsp:symbols:flagged")
def test_flagged_code_tells_what_is_known_of_it(connect: Connect, workspace: Path) -> None:
    client, uri, run = shown(connect, workspace)
    here = {"textDocument": {"uri": uri}}
    hover = client.request("textDocument/hover", {**here, "position": {"line": 4, "character": 10}})
    assert "CONFIRMED" in hover["contents"]["value"]
    assert f"treewright:/run/{run}/node/D1.md" in hover["contents"]["value"]
    assert client.request("textDocument/hover", {**here, "position": {"line": 0, "character": 0}}) is None
    (lens,) = client.request("textDocument/codeLens", here)
    assert lens["range"]["start"]["line"] == 4
    assert lens["command"]["command"] == "treewright.lsp.open"
    (symbol,) = client.request("textDocument/documentSymbol", here)
    assert symbol["name"] == "CONFIRMED D1"


@pytest.mark.requirement("lsp:virtual:served", "lsp:links:node", "lsp:symbols:node", "lsp:lens:node")
def test_node_documents_are_served_with_links_lenses_and_symbols(connect: Connect, workspace: Path) -> None:
    virtual = {**FULL["workspace"], "textDocumentContent": {"dynamicRegistration": True}}
    client, _, run = shown(connect, workspace, capabilities={**FULL, "workspace": virtual})
    registered = [m for m in client.seen if m.get("method") == "client/registerCapability"]
    assert registered[0]["params"]["registrations"][0]["registerOptions"] == {"schemes": ["treewright"]}
    uri = f"treewright:/run/{run}/node/D1.md"
    text = client.request("workspace/textDocumentContent", {"uri": uri})["text"]
    assert text == client.request("treewright/document", {"uri": uri})["text"]
    open_text(client, uri, text, "markdown")
    here = {"textDocument": {"uri": uri}}
    targets = {link["target"] for link in client.request("textDocument/documentLink", here)}
    assert f"treewright:/run/{run}/node/0.md" in targets
    assert f"{uri_of(workspace / 'app.py')}#L5" in targets
    names = [symbol["name"] for symbol in client.request("textDocument/documentSymbol", here)]
    assert names[0] == "D1"
    assert "root_cause" in names
    titles = [lens["command"]["title"] for lens in client.request("textDocument/codeLens", here)]
    assert titles == ["Explore deeper", "Copy as issue text"]
    report = client.request("workspace/textDocumentContent", {"uri": f"treewright:/run/{run}/report.md"})[
        "text"
    ]
    assert report.startswith("# Report")
    error = client.error("workspace/textDocumentContent", {"uri": "treewright:/nonsense"})
    assert error["data"]["code"] == "document_not_found"


@pytest.mark.requirement("lsp:diagnostics:pull", "lsp:diagnostics:never-both")
def test_a_client_that_asks_for_diagnostics_is_never_sent_any(connect: Connect, workspace: Path) -> None:
    pulling = {
        "textDocument": {"diagnostic": {"dynamicRegistration": False}},
        "workspace": {"diagnostics": {"refreshSupport": True}},
    }
    path = workspace / "app.py"
    path.write_bytes(CODE.encode())
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    capabilities = client.initialize(workspace, capabilities=pulling)
    assert capabilities["diagnosticProvider"]["workspaceDiagnostics"] is True
    client.until(lambda m: m.get("method") == "workspace/diagnostic/refresh")
    uri = uri_of(path)
    first = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert first["kind"] == "full"
    assert len(first["items"]) == 1
    again = {"textDocument": {"uri": uri}, "previousResultId": first["resultId"]}
    assert client.request("textDocument/diagnostic", again)["kind"] == "unchanged"
    open_text(client, uri, CODE)
    edit(client, uri, 2, (0, 0), (0, 0), "# above\n")
    moved = client.request("textDocument/diagnostic", again)
    assert moved["items"][0]["range"]["start"]["line"] == 5
    edit(client, uri, 3, (5, 0), (6, 0), "")
    known = [{"uri": uri, "value": moved["resultId"]}]
    (report,) = client.request("workspace/diagnostic", {"previousResultIds": known})["items"]
    assert (report["uri"], report["kind"], report["items"]) == (uri, "full", [])
    assert not [m for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"]
