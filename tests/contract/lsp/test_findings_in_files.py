"""Findings as diagnostics over the real wire: where they are, how they follow edits, when they go."""

from pathlib import Path

import pytest

from tests.contract.lsp.audits import Audit, workspace_of
from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL, PUBLISH, cut, edit, lines_of, open_text, published, uri_of
from treewright.tree.citation import Citation
from treewright.tree.run import Role

CODE = "import os\n\n\ndef run(arg):\n    os.system(arg)\n    return 1\n"


def write(workspace: Path, name: str, text: str) -> Path:
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


@pytest.mark.requirement("lsp:diagnostics:shape", "lsp:diagnostics:survive-restart", "lsp:diagnostics:push")
def test_a_finished_audit_is_shown_by_a_server_that_is_started_later(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        other = Citation(field="exploit_path", path="app.py", start=4, end=4, quote="def run(arg):")
        audit.finding("app.py", 5, statement="The argument reaches a shell. (app.py:5)", evidence=[other])
        audit.end()
    client = connect()
    capabilities = client.initialize(workspace, capabilities=FULL)
    assert "diagnosticProvider" not in capabilities
    (found,) = published(client, uri_of(path))
    assert cut(CODE, found["range"]) == "os.system(arg)"
    assert found["source"] == "treewright"
    assert found["severity"] == 1
    assert found["code"] == "D1"
    assert found["codeDescription"]["href"] == f"treewright:/run/{audit.run}/node/D1.md"
    assert found["message"] == "The argument reaches a shell."
    assert found["data"] == {"run": audit.run, "node": "D1"}
    (related,) = found["relatedInformation"]
    assert related["location"]["uri"] == uri_of(path)
    assert related["location"]["range"]["start"]["line"] == 3
    assert client.shut_down() == 0


@pytest.mark.requirement("lsp:anchors:move")
def test_a_finding_moves_with_its_text(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    open_text(client, uri, CODE)
    edit(client, uri, 2, (0, 0), (0, 0), "# one\n# two\n")
    assert lines_of(published(client, uri, 1)) == [6]


@pytest.mark.requirement("lsp:anchors:stale", "lsp:anchors:gone", "lsp:diagnostics:empty-list")
def test_changed_code_turns_a_finding_stale_and_removed_code_takes_it_away(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    open_text(client, uri, CODE)
    edit(client, uri, 2, (4, 4), (4, 13), "subprocess.run")
    (stale,) = published(client, uri, 1)
    assert stale["severity"] == 4
    assert stale["tags"] == [2]
    assert stale["range"]["start"]["line"] == 4
    edit(client, uri, 3, (4, 0), (5, 0), "")
    assert published(client, uri) == []
    # Undone: the code is back, and with it the finding.
    edit(client, uri, 4, (4, 0), (4, 0), "    os.system(arg)\n")
    assert lines_of(published(client, uri, 1)) == [4]


@pytest.mark.requirement("lsp:anchors:saved")
def test_what_is_stale_is_looked_at_again_when_the_file_is_saved(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    open_text(client, uri, CODE)
    edit(client, uri, 2, (4, 4), (4, 18), "run_safely(arg)")
    assert published(client, uri, 1)[0]["severity"] == 4
    # The lines around it go too: after saving nothing says any more where it would be.
    edit(client, uri, 3, (3, 0), (4, 0), "def other(value):\n")
    path.write_text("x", encoding="utf-8")
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert published(client, uri) == []


@pytest.mark.requirement("lsp:anchors:quote-only")
def test_a_finding_whose_code_changed_while_no_editor_looked_is_not_shown(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    write(workspace, "b.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.finding("b.py", 5)
        audit.end()
    path.write_text("import os\n\n\nprint(1)\nprint(2)\nprint(3)\n", encoding="utf-8")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    assert len(published(client, uri_of(workspace / "b.py"))) == 1
    assert not [m for m in client.seen if m.get("method") == PUBLISH and m["params"]["uri"] == uri_of(path)]


@pytest.mark.requirement("lsp:anchors:no-doubt")
def test_a_repeated_line_is_found_again_after_lines_were_put_above_it(
    connect: Connect, workspace: Path
) -> None:
    text = "def a(x):\n    go(x)\n\n\ndef b(x):\n    go(x)\n"
    path = write(workspace, "app.py", text)
    with Audit(workspace) as audit:
        audit.finding("app.py", 6)
        audit.end()
    first = connect()
    first.initialize(workspace, capabilities=FULL)
    assert lines_of(published(first, uri_of(path), 1)) == [5]
    first.shut_down()
    path.write_text("# new\n" + text, encoding="utf-8")
    second = connect()
    second.initialize(workspace, capabilities=FULL)
    assert lines_of(published(second, uri_of(path), 1)) == [6]


@pytest.mark.requirement("lsp:positions:utf-16", "lsp:positions:utf-8")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-32"])
def test_columns_are_right_after_emoji_and_ideographs(
    connect: Connect, workspace: Path, encoding: str
) -> None:
    text = "def f(x):\n    s = '😀😀 漢字'; go(x)  # héllo\n"
    path = write(workspace, "app.py", text)
    with Audit(workspace) as audit:
        audit.finding("app.py", 2)
        audit.end()
    client = connect()
    given = {**FULL, "general": {"positionEncodings": [encoding]}}
    assert client.initialize(workspace, capabilities=given)["positionEncoding"] == encoding
    uri = uri_of(path)
    (found,) = published(client, uri)
    assert cut(text, found["range"], encoding) == "s = '😀😀 漢字'; go(x)  # héllo"
    open_text(client, uri, text)
    units = {"utf-16": 2, "utf-8": 4, "utf-32": 1}[encoding]
    # One emoji is taken out, one character of code put behind the other.
    edit(client, uri, 2, (0, 0), (0, 0), "# 😀\n")
    edit(client, uri, 3, (0, 2), (0, 2 + units), "x")
    (moved,) = published(client, uri, 1)
    assert moved["range"]["start"]["line"] == 2
    assert cut("# x\n" + text, moved["range"], encoding) == "s = '😀😀 漢字'; go(x)  # héllo"


@pytest.mark.requirement("lsp:positions:crlf")
def test_windows_line_ends_change_no_line(connect: Connect, workspace: Path) -> None:
    text = CODE.replace("\n", "\r\n")
    path = write(workspace, "app.py", text)
    with Audit(workspace) as audit:
        audit.finding("app.py", 4, 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    (found,) = published(client, uri_of(path))
    assert cut(text, found["range"]) == "def run(arg):\n    os.system(arg)"
    open_text(client, uri_of(path), text)
    edit(client, uri_of(path), 2, (0, 0), (1, 0), "")
    assert lines_of(published(client, uri_of(path), 1)) == [2]


@pytest.mark.requirement("lsp:paths:encoded", "lsp:paths:spelling")
def test_paths_with_spaces_and_letters_of_any_script_come_back_as_the_client_writes_them(
    connect: Connect, tmp_path: Path
) -> None:
    workspace = workspace_of(tmp_path / "my föld #1 漢")
    path = write(workspace, "ünï%20 c:.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("ünï%20 c:.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    (found,) = published(client, uri_of(path))
    assert found["range"]["start"]["line"] == 4
    # Another spelling of the same address: what was said of the first one is taken back.
    spelled = uri_of(path).replace("%20%20", "%20%20").replace("c%3A", "c:").replace("c:", "c%3a")
    assert spelled != uri_of(path)
    open_text(client, spelled, CODE)
    assert published(client, uri_of(path)) == []
    assert lines_of(published(client, spelled, 1)) == [4]


@pytest.mark.requirement("lsp:documents:unsaved")
def test_the_editors_text_counts_and_the_disk_counts_again_once_it_is_closed(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    open_text(client, uri, "# unsaved\n" + CODE)
    assert lines_of(published(client, uri, 1)) == [5]
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert lines_of(published(client, uri, 1)) == [4]


@pytest.mark.requirement("lsp:documents:disk")
def test_files_that_change_or_go_on_the_disk_are_followed(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    path.write_text("# new\n" + CODE, encoding="utf-8")  # nobody tells: it is looked for
    assert lines_of(published(client, uri, 1)) == [5]
    path.unlink()
    assert published(client, uri) == []


@pytest.mark.requirement("lsp:documents:watched")
def test_a_client_that_watches_files_is_asked_to_and_heard(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    watching = {**FULL["workspace"], "didChangeWatchedFiles": {"dynamicRegistration": True}}
    client.initialize(workspace, capabilities={**FULL, "workspace": watching})
    uri = uri_of(path)
    published(client, uri, 1)
    path.write_text("\n" + CODE, encoding="utf-8")
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    assert lines_of(published(client, uri, 1)) == [5]


@pytest.mark.requirement("lsp:documents:renamed")
def test_findings_go_with_a_renamed_file(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "pkg/app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("pkg/app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    old = uri_of(path)
    published(client, old, 1)
    path.parent.rename(workspace / "lib")
    new = uri_of(workspace / "lib" / "app.py")
    client.notify(
        "workspace/didRenameFiles",
        {"files": [{"oldUri": uri_of(workspace / "pkg"), "newUri": uri_of(workspace / "lib")}]},
    )
    told = {}
    while len(told) < 2:
        params = client.notification(PUBLISH)
        told[params["uri"]] = params["diagnostics"]
    assert told[old] == []
    assert lines_of(told[new]) == [4]


@pytest.mark.requirement("lsp:diagnostics:cap")
def test_a_file_shows_only_so_many_findings_and_counts_the_rest(connect: Connect, workspace: Path) -> None:
    text = "".join(f"call_{n}()\n" for n in range(30))
    path = write(workspace, "app.py", text)
    with Audit(workspace) as audit:
        for line in range(1, 31):
            audit.finding("app.py", line, scores={"S": line % 4, "P": 3, "R": 3, "F": 3, "X": 3})
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL, options={"maxFindingsPerFile": 10})
    shown = published(client, uri_of(path), 10)
    assert {each["severity"] for each in shown} == {1}
    counted = client.notification("treewright/findingsChanged")
    assert counted == {"shown": 10, "hidden": 20}
    listed = client.request("treewright/findings", {"limit": 3})
    assert (len(listed["findings"]), listed["total"], listed["hidden"]) == (3, 10, 20)


@pytest.mark.requirement("lsp:diagnostics:marginal", "lsp:settings:live")
def test_only_confirmed_findings_show_until_the_others_are_asked_for(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.finding("app.py", 6, role=Role.KEPT)
        audit.finding("app.py", 4, role=Role.PRUNED)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    assert lines_of(published(client, uri_of(path))) == [4]
    client.notify("workspace/didChangeConfiguration", {"settings": {"treewright": {"showMarginal": True}}})
    assert lines_of(published(client, uri_of(path), 2)) == [4, 5]


@pytest.mark.requirement("lsp:decisions:respected", "lsp:decisions:reason")
def test_an_accepted_finding_is_gone_for_this_run_and_later_ones_until_it_is_reopened(
    connect: Connect, workspace: Path
) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri = uri_of(path)
    published(client, uri, 1)
    asked = {"run": audit.run, "node": "D1", "decision": "accepted"}
    assert client.error("treewright/decide", asked)["data"]["code"] == "reason_missing"
    client.request("treewright/decide", {**asked, "reason": "Only we call it."})
    assert published(client, uri) == []
    with Audit(workspace, run="b" * 12) as later:
        later.finding("app.py", 5)
        later.end()
    (decision,) = client.request("treewright/decisions")["decisions"]
    assert (decision["decision"], decision["reason"]) == ("accepted", "Only we call it.")
    client.notification("treewright/runChanged", lambda p: any(c["run"] == later.run for c in p["changes"]))
    client.begin("treewright/decide", {"run": later.run, "node": "D1", "decision": "reopened"})
    assert lines_of(published(client, uri, 1)) == [4]


@pytest.mark.requirement("lsp:audits:latest")
def test_the_latest_finished_audit_speaks_for_what_it_looked_at(connect: Connect, workspace: Path) -> None:
    one, two = write(workspace, "a/x.py", CODE), write(workspace, "b/y.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("a/x.py", 5)
        audit.finding("b/y.py", 5)
        audit.end()
    with Audit(workspace, run="b" * 12, root="b") as later:
        later.end()  # nothing is wrong in b any more
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    assert len(published(client, uri_of(one))) == 1
    assert client.request("treewright/findings", {"uri": uri_of(two)})["total"] == 0


@pytest.mark.requirement("lsp:folders:multi-root", "lsp:folders:live")
def test_folders_come_and_go(connect: Connect, tmp_path: Path) -> None:
    first, second = workspace_of(tmp_path / "one"), workspace_of(tmp_path / "two")
    for workspace, run in ((first, "a" * 12), (second, "b" * 12)):
        write(workspace, "app.py", CODE)
        with Audit(workspace, run=run) as audit:
            audit.finding("app.py", 5)
            audit.end()
    client = connect()
    client.initialize(first, capabilities=FULL)
    published(client, uri_of(first / "app.py"), 1)
    folder = {"uri": uri_of(second), "name": "two"}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
    published(client, uri_of(second / "app.py"), 1)
    gone = {"uri": uri_of(first), "name": "one"}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [gone]}})
    assert published(client, uri_of(first / "app.py")) == []


@pytest.mark.requirement("lsp:paths:other-schemes")
def test_texts_of_other_schemes_are_taken_and_left_alone(connect: Connect, workspace: Path) -> None:
    path = write(workspace, "app.py", CODE)
    with Audit(workspace) as audit:
        audit.finding("app.py", 5)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    published(client, uri_of(path), 1)
    for uri in ("untitled:Untitled-1", "git:/app.py?x", "vscode-vfs://github/a/app.py"):
        open_text(client, uri, CODE)
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert {m["params"]["uri"] for m in client.seen if m.get("method") == PUBLISH} == {uri_of(path)}


@pytest.mark.requirement("lsp:notebooks:cells")
def test_findings_in_a_notebook_show_in_its_open_cells_byte_for_byte(
    connect: Connect, workspace: Path
) -> None:
    source = '{\n "cells": [\n  {\n   "source": [\n    "%matplotlib inline\\n",\n    "os.system(arg)\\n"\n   ]\n  }\n ]\n}\n'
    path = write(workspace, "book.ipynb", source)
    with Audit(workspace) as audit:
        audit.finding("book.ipynb", 6)
        audit.end()
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    cell = f"vscode-notebook-cell:{uri_of(path)[7:]}#W0sZmlsZQ%3D%3D"
    text = "%matplotlib inline\nos.system(arg)\n"
    client.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": {
                "uri": uri_of(path),
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": 2, "document": cell}],
            },
            "cellTextDocuments": [{"uri": cell, "languageId": "python", "version": 1, "text": text}],
        },
    )
    (found,) = published(client, cell)
    assert cut(text, found["range"]) == "os.system(arg)"
    assert uri_of(path) not in {m["params"]["uri"] for m in client.seen if m.get("method") == PUBLISH}
    client.notify(
        "notebookDocument/didClose",
        {"notebookDocument": {"uri": uri_of(path)}, "cellTextDocuments": [{"uri": cell}]},
    )
    assert published(client, cell) == []
