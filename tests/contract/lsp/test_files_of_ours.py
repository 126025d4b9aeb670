"""Presets, profiles and lenses while they are written, over the real wire."""

from pathlib import Path

import pytest

from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.editing import FULL, PUBLISH, edit, open_text, published, uri_of
from treewright.data import shipped_path


def preset_in(folder: Path, name: str = "mine") -> tuple[str, str]:
    """Return the address and the valid text of a preset that is not on the disk."""
    (folder / "presets").mkdir(exist_ok=True)
    text = shipped_path("presets", "brainstorm.md").read_text(encoding="utf-8")
    return uri_of(folder / "presets" / f"{name}.md"), text.replace("name: brainstorm", f"name: {name}", 1)


@pytest.mark.requirement("exploration:validate:in-editor")
@pytest.mark.requirement("lsp:writing:diagnostics")
def test_a_preset_is_checked_while_it_is_typed(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri, text = preset_in(workspace)
    open_text(client, uri, text.replace("name: mine", "name: 😀 yours", 1), "markdown")
    faults = published(client, uri)
    named = next(each for each in faults if each["range"]["start"]["line"] == 1)
    assert named["severity"] == 1
    assert named["source"] == "treewright"
    assert named["range"]["start"]["character"] >= 6
    edit(client, uri, 2, (1, 0), (2, 0), "name: mine\n")
    assert published(client, uri) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.request("treewright/about")["version"]


@pytest.mark.requirement("lsp:writing:completion", "lsp:writing:hover")
def test_keys_values_and_their_meaning_are_offered(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    uri, text = preset_in(workspace)
    line = text.splitlines().index("root_kind: topic")
    text = text.replace("root_kind: topic", "root_kind: ", 1)
    open_text(client, uri, text, "markdown")
    at = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 11}}
    items = client.request("textDocument/completion", at)
    assert {item["label"] for item in items} == {"topic", "artifact", "code", "design-prompt"}
    assert items[0]["textEdit"]["range"] == {
        "start": {"line": line, "character": 11},
        "end": {"line": line, "character": 11},
    }
    hover = client.request("textDocument/hover", {**at, "position": {"line": line, "character": 3}})
    assert "root is" in hover["contents"]["value"]


@pytest.mark.requirement("lsp:writing:only-ours")
def test_other_markdown_is_left_alone(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    for name in ("README.md", "presets/notes.md"):
        uri = uri_of(workspace / name)
        open_text(client, uri, "---\ntitle: My notes\n---\n\n# Notes\n\n[link](nowhere.md)\n", "markdown")
        at = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 0}}
        assert client.request("textDocument/completion", at) == []
    assert not [m for m in client.seen if m.get("method") == PUBLISH and m["params"]["diagnostics"]]


@pytest.mark.requirement("lsp:writing:profile-lens")
@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("lenses", "---\nname: other\nattacks: Something.\nproduces: Something.\n---\n\n# A\n"),
        ("profiles", "---\nfield: other\ndescription: Something.\n---\n\n# A\n"),
    ],
)
def test_lenses_and_profiles_are_checked_too(
    connect: Connect, workspace: Path, folder: str, text: str
) -> None:
    (workspace / folder).mkdir()
    uri = uri_of(workspace / folder / "mine.md")
    client = connect()
    client.initialize(workspace, capabilities=FULL)
    open_text(client, uri, text, "markdown")
    assert [each for each in published(client, uri) if each["severity"] == 1]
