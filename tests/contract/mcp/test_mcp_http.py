"""HTTP: this machine only, a token, Host and Origin."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.contract.mcp.raw import INITIALIZE
from tests.contract.mcp.serving import HTTP, LEGACY, LONG_S, call, connected, http_server

pytestmark = pytest.mark.asyncio

ASKED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def posted(url: str, headers: dict[str, str], body: Any = ASKED) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=LONG_S, trust_env=False) as client:
        return await client.post(url, headers={**ACCEPT, **headers}, content=json.dumps(body))


@pytest.mark.requirement("mcp:http:token")
async def test_a_request_without_the_right_token_is_refused(tmp_path: Path) -> None:
    async with http_server("--root", str(tmp_path)) as server:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Bearer {server.token[:-1]}"},
            {"Authorization": server.token},
            {"Authorization": f"Basic {server.token}"},
            {"Authorization": f"bearer  {server.token}"},
        ):
            refused = await posted(server.url, headers)
            assert refused.status_code == 401
            assert server.token not in refused.text
        assert (await posted(server.url + f"?token={server.token}", {})).status_code == 401
        assert (await posted(server.url, server.headers())).status_code == 200


@pytest.mark.requirement("mcp:http:host-origin")
async def test_a_wrong_host_and_a_wrong_origin_are_refused(tmp_path: Path) -> None:
    async with http_server("--root", str(tmp_path)) as server:
        port = server.url.rsplit(":", 1)[1].split("/")[0]
        assert (await posted(server.url, server.headers(Host="evil.example"))).status_code == 421
        assert (
            await posted(server.url, server.headers(Host=f"127.0.0.1.evil.example:{port}"))
        ).status_code == 421
        assert (await posted(server.url, server.headers(Origin="https://evil.example"))).status_code == 403
        assert (await posted(server.url, server.headers(Origin="null"))).status_code == 403
        assert (
            await posted(server.url, server.headers(Origin=f"http://127.0.0.1:{port}"))
        ).status_code == 200
        assert (await posted(server.url, server.headers(Host=f"localhost:{port}"))).status_code == 200


@pytest.mark.requirement("mcp:http:token")
async def test_it_listens_on_loopback_only_and_the_token_is_the_users_own(
    tmp_path: Path, isolated_home: Path
) -> None:
    async with http_server("--root", str(tmp_path)) as server:
        addresses = {
            connection.laddr.ip
            for connection in psutil.Process(server.process.pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        assert addresses == {"127.0.0.1"}
        assert stat.S_IMODE(os.stat(server.token_path).st_mode) == 0o600
        assert server.token_path.is_relative_to(isolated_home / "treewright")
        assert len(server.token) >= 40
        path = server.token_path
    assert not path.exists()


@pytest.mark.requirement("mcp:http:token")
async def test_each_start_has_a_token_of_its_own(tmp_path: Path) -> None:
    async with http_server() as one, http_server() as two:
        assert one.token != two.token
        assert (await posted(one.url, two.headers())).status_code == 401


@pytest.mark.requirement("mcp:wire:large")
async def test_a_body_that_is_too_large_is_refused_and_the_server_lives_on(tmp_path: Path) -> None:
    async with http_server("--root", str(tmp_path)) as server:
        large = {**ASKED, "params": {**INITIALIZE, "x": "y" * (17 * 1024 * 1024)}}
        assert (await posted(server.url, server.headers(), large)).status_code == 413
        assert (await posted(server.url, server.headers())).status_code == 200


async def test_two_clients_are_served_at_once(tmp_path: Path) -> None:
    async with connected(HTTP, LEGACY, tmp_path) as one, connected(HTTP, LEGACY, tmp_path) as two:
        replies = await asyncio.gather(call(one, "list_presets"), call(two, "list_presets"))
        assert [reply["ok"] for reply in replies] == [True, True]


async def test_garbage_is_answered_and_the_server_lives_on(tmp_path: Path) -> None:
    async with http_server("--root", str(tmp_path)) as server, httpx2.AsyncClient(trust_env=False) as client:
        for body in (b"", b"not json", b"[]", b'{"jsonrpc":"2.0"}', b"\xff\xfe"):
            told = await client.post(server.url, headers={**ACCEPT, **server.headers()}, content=body)
            assert 400 <= told.status_code < 500
        assert (
            await client.get(server.url.replace("/mcp", "/"), headers=server.headers())
        ).status_code == 404
        assert (await posted(server.url, server.headers())).status_code == 200
