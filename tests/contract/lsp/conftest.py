"""Servers and workspaces for the contract tests of the language server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.lsp.audits import workspace_of
from tests.contract.lsp.raw import RawClient

Connect = Callable[..., RawClient]


@pytest.fixture
def connect(isolated_home: Path) -> Iterator[Connect]:
    """Return a function that starts a server; every one is ended after the test."""
    clients: list[RawClient] = []

    def start(**given: Any) -> RawClient:
        client = RawClient(**given)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty workspace."""
    return workspace_of(tmp_path / "ws")
