"""The wiring guide: every snippet is valid in its language, starts this server, and the server starts."""

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.mcp.raw import raw_server
from treewright.surfaces.mcp.cards import all_cards
from treewright.surfaces.mcp.launch import parser

DOCS = Path(__file__).parents[3] / "docs"
CLIENTS = (
    "claude-desktop",
    "claude-code",
    "cursor",
    "vscode",
    "continue",
    "librechat",
    "zed",
    "windsurf",
    "codex",
)
READERS: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
_SNIPPET = re.compile(r'^```(json|toml|yaml) title="([a-z-]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)


def snippets(page: str) -> dict[str, Any]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return {title: READERS[kind](body) for kind, title, body in _SNIPPET.findall(text)}


def server_of(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a snippet says about the server, whatever the client calls it."""
    for key in ("mcpServers", "servers", "context_servers", "mcp_servers"):
        servers = found.get(key)
        if isinstance(servers, dict):
            entry: dict[str, Any] = servers["treewright"]
            return entry
        if isinstance(servers, list):
            assert servers[0]["name"] == "Treewright"
            first: dict[str, Any] = servers[0]
            return first
    raise AssertionError(f"no server in {found}")


@pytest.mark.requirement("mcp:guide:snippets")
@pytest.mark.parametrize("page", ["agents.md", "agents.zh.md"])
@pytest.mark.parametrize("client", CLIENTS)
def test_each_snippet_starts_this_server(page: str, client: str, tmp_path: Path) -> None:
    server = server_of(snippets(page)[client])
    assert server["command"] == "treewright"
    assert server["args"][0] == "mcp"
    given = [str(tmp_path) if "/path/to" in each or "${" in each else each for each in server["args"][1:]]
    chosen = parser().parse_args(given)
    assert chosen.root in ([], [tmp_path.resolve()])


@pytest.mark.requirement("mcp:guide:snippets", "cli:servers:mcp")
def test_the_command_of_the_guide_is_answered(tmp_path: Path) -> None:
    assert set(snippets("agents.md")) == set(CLIENTS)
    installed = shutil.which("treewright", path=str(Path(sys.executable).parent))
    assert installed, "the command is installed beside the interpreter"
    code = f"import os, sys; os.execv({installed!r}, [{installed!r}, *sys.argv[1:]])"
    with raw_server("mcp", "--root", str(tmp_path), code=code) as server:
        assert server.start()["result"]["serverInfo"]["name"] == "treewright"
        assert server.ask("tools/list")["result"]["tools"]
        assert server.leave() == 0


def test_every_tool_that_the_guide_names_exists() -> None:
    text = (DOCS / "agents.md").read_text(encoding="utf-8")
    named = set(
        re.findall(
            r"`((?:tree|list|audit|validate|search|kernel|cap|export|import|render|start|next)_[a-z_]+)`",
            text,
        )
    )
    assert named <= set(all_cards())
    assert {
        name
        for name, card in all_cards().items()
        if card.group in ("explore", "search", "kernel") and not card.extra
    } <= named
