"""The same server under pytest-lsp's client, which checks what it gets against what it said it can do."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.contract.lsp.audits import Audit

CODE = "import os\n\n\ndef run(arg):\n    os.system(arg)\n"


@pytest_asyncio.fixture
async def client(isolated_home: Path, workspace: Path) -> AsyncIterator[LanguageClient]:
    """Return an initialized client with the capabilities of VS Code."""
    (workspace / "app.py").write_text(CODE, encoding="utf-8")
    with Audit(workspace) as audit:
        await asyncio.to_thread(audit.finding, "app.py", 5)
        await asyncio.to_thread(audit.end)
    config = ClientServerConfig(
        server_command=[sys.executable, "-m", "treewright", "lsp"], server_env=dict(os.environ)
    )
    started = await config.start()
    assert isinstance(started, LanguageClient)
    started.feature(types.CLIENT_REGISTER_CAPABILITY)(_registered)
    params = types.InitializeParams(
        capabilities=client_capabilities("visual-studio-code"),
        workspace_folders=[types.WorkspaceFolder(uri=workspace.as_uri(), name="ws")],
    )
    await started.initialize_session(params)
    yield started
    await started.shutdown_session()
    await started.stop()


def _registered(_params: types.RegistrationParams) -> None:
    """Take a registration; the client's capabilities say that it can, the kit has no handler for it."""


@pytest.mark.requirement("lsp:clients:checked")
@pytest.mark.asyncio
async def test_everything_sent_fits_what_the_client_can_do(client: LanguageClient, workspace: Path) -> None:
    uri = (workspace / "app.py").as_uri()
    while not client.diagnostics.get(uri):
        await asyncio.wait_for(client.wait_for_notification("textDocument/publishDiagnostics"), 20)
    (found,) = client.diagnostics[uri]
    assert found.range.start.line == 4
    item = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=CODE)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    identifier = types.TextDocumentIdentifier(uri=uri)
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=identifier, range=found.range, context=types.CodeActionContext(diagnostics=[found])
        )
    )
    assert actions
    hover = await client.text_document_hover_async(
        types.HoverParams(text_document=identifier, position=types.Position(line=4, character=8))
    )
    assert hover
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(text_document=identifier))
    assert lenses
    symbols = await client.text_document_document_symbol_async(
        types.DocumentSymbolParams(text_document=identifier)
    )
    assert symbols
