"""Messages that are none: damaged frames, wrong types, huge numbers, nesting without end. The session lives on.

More by hand: `tests/contract/lsp/test_handshake.py`, `tests/contract/mcp/test_mcp_wire.py`.
"""

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.lsp.raw import RawClient
from tests.contract.mcp.raw import raw_server
from tests.trust.seeds import chance, examples
from treewright.surfaces.lsp.wire import BadFrame, read_frame
from treewright.surfaces.mcp import front, wire

HEADERS = st.sampled_from(
    [b"Content-Length: 2\r\n", b"Content-Length: 9999999999999999999999\r\n", b"Content-Length: -1\r\n", b"content-length:2\n",
     b"Content-Length: 0\r\n", b"\r\n", b"\n", b"{}", b"X: y\r\n", b"Content-Length: " + b"9" * 5000 + b"\r\n", b"\x00", b"GET / HTTP/1.1\r\n"]
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.one_of(HEADERS, st.binary(max_size=12)), max_size=10).map(b"".join))
@pytest.mark.requirement("trust:fuzz:frames")
def test_whatever_stands_on_the_wire_is_a_frame_a_fault_or_the_end(data: bytes) -> None:
    stream = io.BytesIO(data)
    for _ in range(len(data) + 2):
        try:
            frame = read_frame(stream)
        except ValueError:  # a number of thousands of digits; the reading thread takes it for the end
            return
        if frame is None or (isinstance(frame, BadFrame) and not frame.recoverable):
            return
    raise AssertionError("it does not end")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]),
        "id": JSON_VALUES,
        "method": st.one_of(st.sampled_from(["initialize", "ping", "tools/call", "x"]), JSON_VALUES),
        "params": JSON_VALUES,
    },
)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.one_of(
        MESSAGES.map(lambda m: json.dumps(m).encode()),
        st.binary(max_size=60),
        JSON_VALUES.map(lambda v: json.dumps(v).encode()),
    )
)
@pytest.mark.requirement("trust:fuzz:lines")
def test_whatever_line_an_agent_sends_is_a_message_or_is_answered(line: bytes) -> None:
    message, answer = wire.decode(line)
    assert (message is None) is not (answer is None)
    front.answer(line) if hasattr(front, "answer") else None
    if answer is not None:
        json.loads(wire.encode(answer))


def nonsense(dice: Any, depth: int = 0) -> Any:
    """Return a JSON value that nobody expects."""
    plain = [
        None,
        True,
        -1,
        10**400,
        1e308,
        "",
        "x" * 2000,
        "\ud800",
        "\x00",
        [],
        {},
        "../../etc/passwd",
        "file:///dev/zero",
    ]
    if depth > 3 or dice.random() < 0.6:
        return dice.choice(plain)
    if dice.random() < 0.5:
        return [nonsense(dice, depth + 1) for _ in range(dice.randint(0, 4))]
    keys = [
        "textDocument",
        "uri",
        "range",
        "position",
        "run",
        "node",
        "root",
        "preset",
        "arguments",
        "command",
        "name",
        "text",
    ]
    return {dice.choice(keys): nonsense(dice, depth + 1) for _ in range(dice.randint(0, 4))}


LSP_METHODS = [
    "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/codeAction", "textDocument/hover",
    "textDocument/diagnostic", "textDocument/completion", "workspace/executeCommand", "workspace/didChangeWatchedFiles",
    "workspace/didRenameFiles", "workspace/didChangeConfiguration", "notebookDocument/didOpen", "$/cancelRequest", "$/setTrace",
    "treewright/runs", "treewright/run", "treewright/start", "treewright/resume", "treewright/children", "treewright/node",
    "treewright/map", "treewright/compare", "treewright/findings", "treewright/fix", "treewright/searchFix", "treewright/decide",
    "treewright/decisions", "treewright/presets", "treewright/presetText", "treewright/validate", "treewright/keys",
    "treewright/report", "treewright/document", "treewright/about", "treewright/stop", "treewright/deeper", "codeAction/resolve",
]  # fmt: skip
COUNTS = [pytest.param(150, id="150"), pytest.param(5000, id="5000", marks=pytest.mark.soak)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.requirement("trust:fuzz:lsp")
def test_the_sidecar_answers_every_request_of_nonsense_and_lives_on(count: int) -> None:
    dice = chance("lsp")
    client = RawClient()
    try:
        client.initialize()
        asked = set()
        for number in range(count):
            method, params = dice.choice(LSP_METHODS), nonsense(dice)
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            if dice.random() < 0.7:
                message["id"] = f"n{number}"
                asked.add(message["id"])
            client.send_bytes(framed(message))
            if dice.random() < 0.1:
                deep = b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 50_000
                client.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(deep), deep))
        while asked:
            answer = client.next(120)
            if "method" in answer and "id" in answer:
                client.send({"jsonrpc": "2.0", "id": answer["id"], "result": None})
            elif answer.get("id") in asked:
                asked.discard(answer["id"])
        assert client.request("treewright/about")
        assert client.shut_down() == 0
        assert b"Traceback" not in client.stderr, client.stderr[-2000:]
    finally:
        client.close()


def framed(message: Any) -> bytes:
    """Return a message as bytes, half characters and all."""
    body = json.dumps(message).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.requirement("trust:fuzz:mcp")
def test_the_agents_server_answers_every_call_of_nonsense_and_lives_on(count: int) -> None:
    dice = chance("mcp")
    with raw_server() as server:
        server.start()
        tools = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
        asked = set()
        for number in range(count):
            params = (
                {"name": dice.choice([*tools, "x"]), "arguments": nonsense(dice)}
                if dice.random() < 0.8
                else nonsense(dice)
            )
            message = {
                "jsonrpc": "2.0",
                "id": f"n{number}",
                "method": dice.choice(["tools/call", "tools/call", "resources/read", "prompts/get"]),
                "params": params,
            }
            asked.add(message["id"])
            server.write(json.dumps(message).encode("ascii") + b"\n")
            if dice.random() < 0.1:
                server.write(b"[" * 50_000 + b"\n")
            if len(asked) > 20:
                while len(asked) > 5:
                    asked.discard(server.next().get("id"))
        while asked:
            asked.discard(server.next().get("id"))
        assert server.ask("ping")["result"] == {}
        assert server.leave() == 0
