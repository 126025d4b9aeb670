"""Very many requests at once, a client that stops reading, a client that vanishes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import pytest

from tests.contract.lsp.raw import RawClient
from tests.contract.mcp.raw import RawServer, raw_server

MANY = [pytest.param(500, id="500"), pytest.param(10_000, id="10000", marks=pytest.mark.soak)]
PATIENCE_S = 110.0


@pytest.mark.parametrize("count", MANY)
@pytest.mark.timeout(1800)
@pytest.mark.requirement("trust:load:lsp")
def test_the_sidecar_answers_each_of_very_many_requests_once(count: int) -> None:
    client = RawClient()
    try:
        client.initialize()
        asked = [
            client.begin("treewright/runs" if number % 50 == 0 else "treewright/none")
            for number in range(count)
        ]
        answered: Counter[Any] = Counter()
        while len(answered) < count:
            message = client.next(PATIENCE_S)
            if "method" not in message:
                answered[message["id"]] += 1
        assert answered == Counter(asked)
        assert client.shut_down() == 0
    finally:
        client.close()


def asked_at_once(server: RawServer, count: int) -> list[int]:
    """Send requests without waiting for an answer; every fiftieth looks at the disk."""
    asked = []
    for number in range(count):
        if number % 50 == 0:
            asked.append(server.send("tools/call", {"name": "list_runs", "arguments": {}}))
        else:
            asked.append(server.send("ping"))
    return asked


@pytest.mark.parametrize("count", MANY)
@pytest.mark.timeout(1800)
@pytest.mark.requirement("trust:load:mcp")
def test_the_agents_server_answers_each_of_very_many_requests_once(count: int) -> None:
    with raw_server() as server:
        server.start()
        asked = asked_at_once(server, count)
        answered: Counter[Any] = Counter()
        while len(answered) < count:
            message = server.next()
            if "method" not in message:
                answered[message["id"]] += 1
        assert answered == Counter(asked)
        assert server.leave() == 0


class Deaf:
    """A client that writes and never reads: what is answered fills the pipe."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treewright", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ),
        )

    def write(self, data: bytes) -> bool:
        """Send bytes; whether the server took them within the patience."""
        assert self.process.stdin is not None
        taken = threading.Thread(target=self._put, args=(data,), daemon=True)
        taken.start()
        taken.join(PATIENCE_S)
        return not taken.is_alive()

    def _put(self, data: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except (OSError, ValueError):
            return

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:
                continue


def framed(text: str) -> bytes:
    """Return a message as a language server takes it."""
    body = text.encode("utf-8")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


HELLO_LSP = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
HELLO_MCP = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}'
ASK = '{"jsonrpc":"2.0","id":%d,"method":"treewright/none","params":{}}'


@pytest.mark.parametrize("surface", ["lsp", "mcp"])
@pytest.mark.requirement("trust:client:stops-reading")
def test_a_client_that_stops_reading_can_still_write_and_is_left_when_it_goes(surface: str) -> None:
    client = Deaf(surface)
    try:
        asks = [HELLO_LSP if surface == "lsp" else HELLO_MCP, *(ASK % number for number in range(1, 2500))]
        data = b"".join(framed(ask) if surface == "lsp" else ask.encode() + b"\n" for ask in asks)
        assert client.write(data), "the server stopped reading since its client does"
        time.sleep(0.5)  # the answers, some 250 kB, have filled the pipe by now
        assert client.process.poll() is None
        assert client.process.stdin is not None and client.process.stdout is not None
        client.process.stdin.close()
        client.process.stdout.close()
        client.process.wait(PATIENCE_S)
    finally:
        client.end()


@pytest.mark.parametrize("surface", ["lsp", "mcp"])
@pytest.mark.requirement("trust:client:half-open")
def test_a_client_that_hangs_up_but_keeps_its_end_of_the_answers_open_is_left_too(surface: str) -> None:
    client = Deaf(surface)
    try:
        asks = [HELLO_LSP if surface == "lsp" else HELLO_MCP, *(ASK % number for number in range(1, 2500))]
        assert client.write(
            b"".join(framed(ask) if surface == "lsp" else ask.encode() + b"\n" for ask in asks)
        )
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.wait(PATIENCE_S)
    finally:
        client.end()


@pytest.mark.parametrize("surface", ["lsp", "mcp"])
@pytest.mark.requirement("trust:client:vanishes")
def test_a_client_that_vanishes_amid_a_message_ends_the_server(surface: str) -> None:
    client = Deaf(surface)
    try:
        hello = framed(HELLO_LSP) if surface == "lsp" else HELLO_MCP.encode() + b"\n"
        assert client.write(hello + b'Content-Length: 4000\r\n\r\n{"jsonrpc":"2.0","id":1')
        assert client.process.stdin is not None and client.process.stdout is not None
        client.process.stdin.close()
        client.process.stdout.close()
        assert client.process.wait(PATIENCE_S) != -signal.SIGKILL
    finally:
        client.end()
