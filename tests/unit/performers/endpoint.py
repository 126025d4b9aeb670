"""An OpenAI-compatible endpoint on loopback in a thread of its own, that answers by schema and logs what it was asked.

It can be slow, overloaded, silent, or gone for a while; its log tells which answers were really delivered, and how many calls overlapped.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.unit.performers.answering import Answerer


@dataclass
class Call:
    """One call: when it began and ended, its status, and what it was asked."""

    prompt: str
    begun: float
    ended: float = 0.0
    status: int = 0
    key: str = ""
    delivered: bool = False


@dataclass
class Endpoint:
    """The server.

    Attributes:
        answer: fills schemas in.
        latency_s: how long each answer takes.
        refuse: how many of the next calls get 429; negative for all.
    """

    answer: Answerer = field(default_factory=Answerer)
    latency_s: float = 0.0
    refuse: int = 0
    calls: list[Call] = field(default_factory=list)
    dead: bool = False
    silent: bool = False

    def fall_silent(self, flights: int, timeout_s: float = 60.0) -> None:
        """Answer nothing from now on, and wait until so many calls are open.

        With as many open calls as a run has tasks in flight, every answer that was delivered has been taken: its task asked for more,
        or was done and made room for another.
        """
        deadline = time.monotonic() + timeout_s
        with self._moved:
            self.silent = True
            assert self._moved.wait_for(lambda: self._waiting >= flights, deadline - time.monotonic())

    def drop(self) -> None:
        """Close the calls that wait, without a word, and answer those that come from now on."""
        with self._moved:
            self.silent = False
            self._generation += 1
            self._moved.notify_all()

    def die(self) -> None:
        """Take no call any more: nobody listens, and open connections are closed."""
        if not self.dead:
            self.dead = True
            self._server.socket.close()

    def __enter__(self) -> Self:
        owner = self
        self._lock = threading.Lock()
        self._moved = threading.Condition()
        self._waiting = 0
        self._generation = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._handle(self)

            def do_GET(self) -> None:
                body = json.dumps(
                    {"object": "list", "data": [{"id": "loopback", "meta": {"n_ctx": 32000}}]}
                ).encode()
                _send(self, 200, body, "application/json")

            def log_message(self, *args: Any) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def delivered(self) -> list[str]:
        """The prompts whose answers were delivered whole."""
        return [call.prompt for call in self.calls if call.delivered]

    def most_together(self) -> int:
        """Return the most calls that overlapped, by the log."""
        moments = sorted([(c.begun, 1) for c in self.calls] + [(c.ended, -1) for c in self.calls])
        now = most = 0
        for _, step in moments:
            now += step
            most = max(most, now)
        return most

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        prompt = "\n".join(message["content"] for message in body["messages"])
        call = Call(prompt, time.monotonic(), key=handler.headers.get("authorization", ""))
        if self.dead:
            handler.close_connection = True
            return
        with self._lock:
            self.calls.append(call)
            refused = self.refuse != 0
            self.refuse -= 1 if self.refuse > 0 else 0
        try:
            if refused:
                call.status = 429
                _send(
                    handler,
                    429,
                    b'{"error": {"message": "slow down"}}',
                    "application/json",
                    {"retry-after": "0"},
                )
                return
            time.sleep(self.latency_s)
            if self._dropped():
                handler.close_connection = True
                return
            schema = body["response_format"]["json_schema"]["schema"]
            text = json.dumps(self.answer.fill(schema, prompt))
            call.ended = time.monotonic()
            _send(handler, 200, _stream(text, prompt), "text/event-stream")
            call.status, call.delivered = 200, True
        except OSError:
            call.delivered = False
        finally:
            call.ended = call.ended or time.monotonic()

    def _dropped(self) -> bool:
        """Wait while the endpoint is silent; tell whether the call was dropped then."""
        with self._moved:
            if not self.silent:
                return False
            generation = self._generation
            self._waiting += 1
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._generation != generation)
            self._waiting -= 1
            return True


def _stream(text: str, prompt: str) -> bytes:
    tokens = {"prompt_tokens": max(1, len(prompt) // 4), "completion_tokens": max(1, len(text) // 4)}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": tokens},
    ]
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    kind: str,
    headers: dict[str, str] | None = None,
) -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()
