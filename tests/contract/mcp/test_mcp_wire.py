"""Stdin and stdout: protocol only, UTF-8, large and broken messages, a handshake that does not wait."""

import json
from pathlib import Path

import pytest

from tests.contract.mcp.raw import INITIALIZE, RawServer, raw_server

NOISY = """
import ctypes, os, subprocess, sys
from treewright.surfaces.mcp import launch, wire
take = wire.take_wire
def noisy():
    taken = take()
    print("a banner of a library", flush=True)
    os.write(1, b"native bytes\\n")
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["echo", "from a child"])
    sys.stdout.write("at the end too")
    return taken
wire.take_wire = noisy
sys.exit(launch.run(sys.argv[1:]))
"""
WATCHED = """
import sys
from treewright.surfaces.mcp import launch, wire
send = wire.Wire._send
HEAVY = ('mcp', 'mcp_types', 'pydantic', 'httpx', 'httpx2', 'jupyter_client', 'anyio', 'click')
OURS = ('app', 'explore', 'deliberate', 'search', 'store', 'kernels', 'models', 'performers')
def seen(self, line):
    if b'"serverInfo"' in line:
        loaded = [m for m in self.loaded if m.split('.')[0] in HEAVY or m.split('.')[1:2] and m.split('.')[1] in OURS]
        with open(sys.argv[-1], 'w', encoding='utf-8') as stream:
            stream.write(' '.join(loaded))
    send(self, line)
wire.Wire._send = seen
hand_over = wire.Wire._hand_over
def noted(self, line):
    self.loaded = [] if wait.is_set() else sorted(sys.modules)
    hand_over(self, line)
    wait.set()
wire.Wire._hand_over = noted
import threading
wait = threading.Event()
serve = launch._serve
def late(*given):
    wait.wait(20)
    return serve(*given)
launch._serve = late
sys.exit(launch.run(sys.argv[1:-1]))
"""


@pytest.fixture
def server(tmp_path: Path) -> RawServer:
    with raw_server("--root", str(tmp_path)) as found:
        found.start()
        yield found


@pytest.mark.requirement("mcp:wire:handshake")
def test_the_handshake_is_answered_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    """The server goes no further before the handshake was answered, so what is loaded then is all that it needs."""
    loaded = tmp_path / "loaded"
    with raw_server("--root", str(tmp_path), str(loaded), code=WATCHED) as server:
        assert server.start()["result"]["serverInfo"]["name"] == "treewright"
        assert server.ask("tools/list")["result"]["tools"]
        assert server.leave() == 0
    assert loaded.read_text(encoding="utf-8") == ""
    assert [line for line in server.lines if b'"serverInfo"' in line] == server.lines[:1]


@pytest.mark.requirement("mcp:wire:stdout")
def test_stdout_carries_protocol_only_even_when_native_code_prints(tmp_path: Path) -> None:
    with raw_server("--root", str(tmp_path), code=NOISY) as server:
        server.start()
        assert server.call("list_presets")["ok"]
        assert server.leave() == 0
    assert server.lines
    for line in server.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"


@pytest.mark.requirement("mcp:wire:utf-8")
def test_utf_8_is_used_both_ways_whatever_the_locale_says(tmp_path: Path) -> None:
    asked = "Привет ★ 你好 🙂"
    with raw_server("--root", str(tmp_path), PYTHONIOENCODING="cp1251", LC_ALL="C", PYTHONUTF8="0") as server:
        server.start()
        begun = server.call("start_session", question=asked, mode="serial")
        assert server.call("list_sessions")["sessions"][0]["question"] == asked
        assert asked.encode("utf-8") in b"".join(server.lines)
        assert begun["ok"]


@pytest.mark.requirement("mcp:wire:malformed")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method\n', -32700),
        (b"[]\n", -32600),
        (b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]\n', -32600),
        (b'{"id": 7, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}\n', -32600),
        (b"\xff\xfe\x00\n", -32700),
        (b"[" * 100_000 + b"\n", -32700),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_session_lives_on(
    server: RawServer, line: bytes, code: int
) -> None:
    server.write(line)
    assert server.next()["error"]["code"] == code
    server.write(b"\n\r\n")
    assert server.ask("tools/list")["result"]["tools"]


@pytest.mark.requirement("mcp:wire:malformed")
def test_half_a_character_in_an_argument_is_asked_about(server: RawServer) -> None:
    server.write(
        b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"tree_start","arguments":{"preset":"\\ud83d"}}}\n'
    )
    assert server.answer(99)["result"]["structuredContent"]["parameter"] == "preset"


@pytest.mark.requirement("mcp:input:plain-text")
@pytest.mark.parametrize("given", ["no-such-run", '{"runId": "no-such-run"}', ["no-such-run"]])
def test_arguments_that_are_text_reach_the_tool(server: RawServer, given: object) -> None:
    reply = server.ask("tools/call", {"name": "tree_status", "arguments": given})["result"][
        "structuredContent"
    ]
    assert reply["code"] == "run_not_found"


@pytest.mark.slow
@pytest.mark.requirement("mcp:wire:large")
def test_sixteen_mebibytes_work_and_more_is_refused_while_the_session_lives_on(server: RawServer) -> None:
    text = "x" * (16 * 1024 * 1024)
    begun = server.call("start_session", question="Large?", mode="serial", stages="One")
    saved = server.call("begin_thought", session_id=begun["session_id"], content=text)
    assert saved["ok"]
    refused = server.send("tools/call", {"name": "tree_status", "arguments": {"run": text + text}})
    assert server.next()["error"]["code"] == -32600
    assert refused
    assert server.ask("tools/list")["result"]["tools"]


@pytest.mark.slow
@pytest.mark.requirement("mcp:wire:large")
def test_an_answer_of_many_mebibytes_comes_whole(server: RawServer) -> None:
    begun = server.call("start_session", question="Large?", mode="serial", stages="One")
    text = "ä" * (5 * 1024 * 1024)
    server.call("begin_thought", session_id=begun["session_id"], content=text)
    shown = server.call("resume_session", session_id=begun["session_id"])
    assert text in json.dumps(shown, ensure_ascii=False)


def test_the_front_door_answers_as_the_library_would() -> None:
    from treewright.surfaces.mcp import front
    from treewright.surfaces.mcp.office import Options
    from treewright.surfaces.mcp.server import build

    server, _ = build(Options())
    said = server.create_initialization_options()
    answer = front.handshake(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    )
    assert answer is not None
    ours = answer["result"]
    told = said.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert ours["capabilities"] == {name: value for name, value in told.items() if value}
    assert ours["instructions"] == said.instructions
    assert ours["serverInfo"] == {
        "name": said.server_name,
        "title": said.title,
        "version": said.server_version,
    }
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

    assert tuple(front.introduction()["versions"]) == tuple(HANDSHAKE_PROTOCOL_VERSIONS)


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
        b'{"jsonrpc":"2.0","id":true,"method":"initialize","params":{}}',
        b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
        b'"initialize"',
        b"[" * 100000 + b'"initialize"',
    ],
)
def test_the_front_door_leaves_everything_else_to_the_library(line: bytes) -> None:
    from treewright.surfaces.mcp.front import handshake

    assert handshake(line) is None
