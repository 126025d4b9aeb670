"""A second real client: Neovim from the distribution, without a screen, shows findings and applies a fix."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.lsp.audits import Audit
from tests.contract.lsp.raw import COMPILED
from treewright.tree.citation import Edit

CODE = "import os\n\n\ndef run(arg):\n    s = '😀漢'; os.system(arg)\n    return 1\n"
SCRIPT = """
local out = {}
local function finish(what)
  out.error = what
  local file = io.open(vim.env.TW_OUT, "w")
  file:write(vim.fn.json_encode(out))
  file:close()
  vim.cmd("qa!")
end
local function waited(what, condition)
  if not vim.wait(25000, condition, 20) then finish("timed out: " .. what) end
end
local function found() return vim.diagnostic.get(0) end

vim.cmd("edit " .. vim.env.TW_FILE)
local client = vim.lsp.start_client({
  name = "treewright",
  cmd = { vim.env.TW_PYTHON, "-m", "treewright", "lsp" },
  root_dir = vim.env.TW_ROOT,
  workspace_folders = { { uri = vim.uri_from_fname(vim.env.TW_ROOT), name = "ws" } },
})
vim.lsp.buf_attach_client(0, client)
waited("a finding", function() return #found() == 1 end)
local first = found()[1]
out.shown = { line = first.lnum, column = first.col, message = first.message, source = first.source }

vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# above", "# again" })
waited("the finding to move", function() return #found() == 1 and found()[1].lnum == 6 end)
out.moved = found()[1].lnum

local at = { line = 6, character = 14 }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", {
  textDocument = { uri = vim.uri_from_bufnr(0) },
  range = { start = at, ["end"] = at },
  context = { diagnostics = {} },
}, 15000)
local actions = answer[client].result
out.actions = {}
for _, action in ipairs(actions) do table.insert(out.actions, action.title) end
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
out.fixed = vim.api.nvim_buf_get_lines(0, 6, 7, false)[1]

vim.api.nvim_buf_set_lines(0, 6, 7, false, {})
waited("the finding to go", function() return #found() == 0 end)
finish(vim.NIL)
"""


@pytest.mark.requirement("lsp:clients:neovim")
@pytest.mark.may_skip_in_ci("Neovim comes from the distribution: apt-get install neovim")
@pytest.mark.skipif(shutil.which("nvim") is None, reason="nvim is not installed (apt-get install neovim)")
def test_neovim_shows_a_finding_follows_it_and_applies_its_fix(
    isolated_home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = workspace / "app.py"
    path.write_text(CODE, encoding="utf-8")
    old, new = "    s = '😀漢'; os.system(arg)\n", "    s = '😀漢'; subprocess.run([arg])\n"
    with Audit(workspace) as audit:
        fix = Edit(path="app.py", start=5, end=5, old=old, new=new)
        audit.finding("app.py", 5, statement="The argument reaches a shell.", edits=[fix])
        audit.end()
    script, out = tmp_path / "client.lua", tmp_path / "out.json"
    script.write_text(SCRIPT, encoding="utf-8")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for name, value in {
        "TW_OUT": out,
        "TW_FILE": path,
        "TW_ROOT": workspace,
        "TW_PYTHON": sys.executable,
        "PYTHONPYCACHEPREFIX": COMPILED,
    }.items():
        monkeypatch.setenv(name, str(value))
    command = ["nvim", "--headless", "--clean", "-n", "-c", f"luafile {script}"]
    ran = subprocess.run(
        command, check=False, capture_output=True, timeout=100, stdin=subprocess.DEVNULL, cwd=workspace
    )
    assert out.exists(), ran.stderr.decode()
    told = json.loads(out.read_text(encoding="utf-8"))
    assert told["error"] is None, told
    # Neovim counts columns in bytes: four spaces.
    assert told["shown"] == {
        "line": 4,
        "column": 4,
        "message": "The argument reaches a shell.",
        "source": "treewright",
    }
    assert told["moved"] == 6
    assert told["actions"][0].startswith("Fix: ")
    assert told["fixed"] == new.rstrip("\n")
