"""The wire itself: the handshake, malformed messages, errors, leaving, and nothing but frames on stdout."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tests.contract.lsp.conftest import Connect
from tests.contract.lsp.raw import COMMAND, RawClient

HEAVY = {"mcp", "jupyter_client", "ipykernel", "zmq", "httpx", "httpx2", "click", "rich", "pydantic", "numpy"}


@pytest.mark.requirement("lsp:start:imports")
def test_nothing_heavy_is_loaded_when_initialize_has_been_answered(connect: Connect, workspace: Path) -> None:
    client = connect(command=(sys.executable, "-X", "importtime", "-m", "treewright", "lsp"))
    client.request("initialize", {"processId": None, "rootUri": workspace.as_uri(), "capabilities": {}})
    client.process.kill()
    client.process.wait(5)
    for reader in client._readers:
        reader.join(5)
    names = {line.split("|")[-1].strip().split(".")[0] for line in client.stderr.decode().splitlines()}
    assert "lsprotocol" in names
    assert not names & HEAVY


@pytest.mark.requirement("lsp:wire:malformed-answered")
@pytest.mark.parametrize(
    ("body", "code", "answered"),
    [
        (b"{nonsense", -32700, None),
        (b"[]", -32600, None),
        (b"[1, 2]", -32600, None),
        (b'"text"', -32600, None),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "shutdown"}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 5}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}', -32601, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "treewright/no"}', -32601, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover"}', -32602, 7),
        (
            b'{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": {"position": 3}}',
            -32602,
            7,
        ),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": [1]}', -32602, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "treewright/node", "params": {"run": 3}}', -32602, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "treewright/node", "params": [1]}', -32602, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"capabilities": {}}}', -32600, 7),
        ("\udcff".encode("utf-8", "surrogatepass"), -32700, None),
    ],
)
def test_a_malformed_request_gets_an_answer_and_the_next_one_works(
    connect: Connect, workspace: Path, body: bytes, code: int, answered: int | None
) -> None:
    client = connect()
    client.initialize(workspace)
    client.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    reply = client.until(lambda m: "error" in m)
    assert reply["error"]["code"] == code
    assert reply["id"] == answered
    assert "Traceback" not in json.dumps(reply)
    assert client.request("treewright/about")["version"]


@pytest.mark.requirement("lsp:wire:field-paths")
def test_an_unknown_or_unfit_parameter_is_told_by_the_path_of_its_field(
    connect: Connect, workspace: Path
) -> None:
    client = connect()
    client.initialize(workspace)
    error = client.error("treewright/children", {"run": "x", "filter": {"states": ["nice"], "colour": 1}})
    assert error["code"] == -32602
    fields = {fault["field"] for fault in error["data"]["faults"]}
    assert fields == {"filter.states.0", "filter.colour"}


@pytest.mark.requirement("lsp:wire:errors-translated")
def test_our_errors_arrive_as_code_sentence_and_data(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    error = client.error("treewright/run", {"run": "nothing"})
    assert error["data"]["code"] == "run_not_found"
    assert error["data"]["hint"]
    assert "Traceback" not in json.dumps(error)


@pytest.mark.requirement("lsp:wire:notifications-lenient")
def test_a_malformed_notification_is_passed_over(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    client.notify("textDocument/didChange", {"contentChanges": "x"})
    client.notify("textDocument/didOpen", {})
    client.notify("no/such", {})
    client.notify("$/cancelRequest", {"id": 9999})
    client.notify("window/workDoneProgress/cancel", {"token": "none"})
    assert client.request("treewright/about")["version"]


@pytest.mark.requirement("lsp:wire:order")
def test_nothing_is_answered_before_initialize_and_after_shutdown_but_a_refusal(
    connect: Connect, workspace: Path
) -> None:
    client = connect()
    assert client.error("treewright/runs")["code"] == -32002
    client.initialize(workspace)
    client.request("shutdown")
    assert client.error("treewright/runs")["code"] == -32600
    # A late answer to a question of the server's is taken and changes nothing.
    client.send({"jsonrpc": "2.0", "id": "s1", "result": None})
    client.send({"jsonrpc": "2.0", "id": "unknown", "error": {"code": 1, "message": "late"}})
    client.notify("exit")
    assert client.wait() == 0


@pytest.mark.requirement("lsp:wire:exit-codes")
def test_leaving_without_shutdown_is_an_unclean_end(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    client.notify("exit")
    assert client.wait() == 1


@pytest.mark.requirement("lsp:wire:framing")
def test_headers_in_any_case_and_order_are_read_and_an_unreadable_one_ends_the_session(
    connect: Connect, workspace: Path
) -> None:
    client = connect()
    client.initialize(workspace)
    body = b'{"jsonrpc": "2.0", "id": 70, "method": "treewright/about", "params": {}}'
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    client.send_bytes(b"%bcontent-length: %d\r\n\r\n%b" % (kind, len(body), body))
    assert client.answer_to(70)["result"]["version"]
    client.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
    reply = client.until(lambda m: "error" in m)
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert client.wait() == 1


@pytest.mark.requirement("lsp:wire:large")
def test_a_text_of_sixteen_megabytes_is_taken(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    item = {"uri": (workspace / "big.py").as_uri(), "languageId": "python", "version": 1, "text": "é" * 2**23}
    client.notify("textDocument/didOpen", {"textDocument": item})
    assert client.request("textDocument/documentSymbol", {"textDocument": {"uri": item["uri"]}}) == []


@pytest.mark.requirement("lsp:wire:stdout-protocol-only")
def test_whatever_prints_in_the_process_never_reaches_the_wire(connect: Connect, workspace: Path) -> None:
    noisy = textwrap.dedent(
        """
        import os, subprocess, sys, threading
        from treewright.surfaces.lsp import server, wire
        taken = wire.take_wire()
        class Noisy(server.TreewrightServer):
            async def serve(self, *given):
                print("a library says hello", flush=True)
                os.write(1, b"native code says hello\\n")
                subprocess.run(["sh", "-c", "echo a child says hello; cat"], timeout=5)
                return await super().serve(*given)
        server.TreewrightServer = Noisy
        sys.exit(server.serve_streams(*taken, 0))
        """
    )
    client = connect(command=(sys.executable, "-c", noisy))
    client.initialize(workspace)
    assert client.request("treewright/about")["version"]
    assert client.shut_down() == 0
    assert client.stderr.count(b"hello") == 3


@pytest.mark.requirement("lsp:life:client-dies")
def test_the_server_ends_when_the_client_is_gone(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    client.request("treewright/about")
    assert client.process.stdin
    client.process.stdin.close()
    assert client.process.wait(5) == 1


@pytest.mark.requirement("lsp:life:client-killed")
def test_the_server_ends_when_the_client_is_killed_though_its_pipes_stay_open(workspace: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = RawClient()
    try:
        params = {"processId": editor.pid, "rootUri": workspace.as_uri(), "capabilities": {}}
        client.request("initialize", params)
        client.notify("initialized")
        client.request("treewright/about")
        editor.send_signal(signal.SIGKILL)
        editor.wait(5)
        assert client.process.wait(5) == 1
    finally:
        editor.kill()
        editor.wait(5)
        client.close()


@pytest.mark.requirement("lsp:life:tcp")
def test_one_client_is_served_on_a_local_port_and_no_other_address_is_taken(
    isolated_home: Path, workspace: Path
) -> None:
    import socket

    process = subprocess.Popen([*COMMAND, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE)
    assert process.stderr
    try:
        port = int(process.stderr.readline().rsplit(b":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"processId":null}}'
            connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            assert connection.recv(16) == b"Content-Length: "
        assert process.wait(10) == 1
    finally:
        process.kill()
        process.wait(5)
        process.stderr.close()
    refused = subprocess.run(
        [*COMMAND, "--tcp", "0.0.0.0:0"],
        check=False,
        capture_output=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    assert refused.returncode == 2
    assert b"only an address of this machine" in refused.stderr


@pytest.mark.requirement("lsp:start:memory")
def test_an_idle_server_takes_less_than_eighty_megabytes(connect: Connect, workspace: Path) -> None:
    client = connect()
    client.initialize(workspace)
    client.request("treewright/runs")
    client.request("treewright/presets")
    end = time.monotonic() + 2
    resident = 0
    while time.monotonic() < end:
        resident = max(resident, psutil.Process(client.process.pid).memory_info().rss)
        client.request("treewright/about")
    assert resident < 80 * 2**20, f"{resident / 2**20:.0f} MB"
