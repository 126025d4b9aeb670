"""A real HTTP server on loopback that answers as it is told, byte by byte, and keeps what it was asked."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from treewright.models.anthropic import AnthropicProvider
from treewright.models.backoff import RetryPolicy
from treewright.models.memory import EndpointMemory
from treewright.models.openai import OpenAIProvider
from treewright.models.prices import FREE, Price
from treewright.models.provider import ProviderInfo
from treewright.models.secrets import Key
from treewright.models.wire import Timeouts, Wire


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """One response: status, headers and the chunks of its body, sent one network write each."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    hold: asyncio.Event | None = None
    hold_after: int = 0
    drop: bool = False


Script = Callable[[Asked], Reply]


class Loopback:
    """The server. `script` is a function, or replies to give in turn (the last one again and again)."""

    def __init__(self, script: Script | Iterable[Reply]) -> None:
        self.asked: list[Asked] = []
        self.hung_up = asyncio.Event()
        self.was_asked = asyncio.Event()
        self._script = script if callable(script) else _in_turn(list(script))
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def payloads(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            asked = await _read_request(reader)
            self.asked.append(asked)
            self.was_asked.set()
            await self._send(self._script(asked), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {reply.status} X", "connection: close"]
        head += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*head, "", ""]).encode())
        await writer.drain()
        for number, chunk in enumerate(reply.chunks):
            if reply.hold is not None and number == reply.hold_after:
                await reply.hold.wait()
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
        if reply.hold is not None and reply.hold_after >= len(reply.chunks):
            await reply.hold.wait()
        if reply.drop:
            writer.transport.abort()


async def _read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(raw) if raw else None)


def _in_turn(replies: list[Reply]) -> Script:
    def script(_: Asked) -> Reply:
        return replies.pop(0) if len(replies) > 1 else replies[0]

    return script


def data(body: Any) -> bytes:
    """One unnamed event."""
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def delta(text: str | None = None, *, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    """One chat-completion chunk."""
    piece = {"content": text, **more} if text is not None else dict(more)
    return data({"choices": [{"index": index, "delta": piece, "finish_reason": finish}]})


def usage(prompt: int, completion: int) -> bytes:
    """The usage chunk that closes an OpenAI stream."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return data({"choices": [], "usage": counts})


DONE = b"data: [DONE]\n\n"


def chat(*pieces: str, finish: str = "stop", prompt: int = 12, completion: int = 5) -> Reply:
    """A whole good stream."""
    return Reply([*(delta(piece) for piece in pieces), delta(finish=finish), usage(prompt, completion), DONE])


def error(status: int, body: Any, **headers: str) -> Reply:
    """An error response."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Reply([raw], status, {"content-type": "application/json", **headers})


class FakeClock:
    """A clock whose waits are noted and take no time."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.time = 0.0

    def monotonic(self) -> float:
        self.time += 0.001
        return self.time

    def now(self) -> datetime:
        return datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def provider_at(
    url: str,
    *,
    kind: type[OpenAIProvider] | type[AnthropicProvider] = OpenAIProvider,
    key: str | None = None,
    clock: Any = None,
    memory: EndpointMemory | None = None,
    price: Price = FREE,
    timeouts: Timeouts | None = None,
    tries: int = 4,
    model: str = "test-model",
) -> Any:
    """A provider of a loopback endpoint with short limits."""
    anthropic = kind is AnthropicProvider
    wire = Wire(
        base_url=url,
        key=Key(key, url) if key else None,
        key_header="x-api-key" if anthropic else "Authorization",
        clock=clock or FakeClock(),
        timeouts=timeouts or Timeouts(connect_s=2, first_token_s=3, idle_s=3, total_s=5),
        retry=RetryPolicy(tries=tries, randomness=lambda: 0.5),
    )
    info = ProviderInfo(
        name="test", kind="anthropic" if anthropic else "openai", model=model, endpoint=url, price=price
    )
    return kind(info, wire, memory)
