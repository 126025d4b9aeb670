"""An endpoint on loopback that answers in turn and costs money, and a home that knows it as `paid`."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CALL_USD = 0.2
"""What a call costs at most, and what each costs: 1,500 tokens of an answer, and nothing for the prompt."""

CONFIG = """
[providers.paid]
kind = "openai"
endpoint = "{url}"
model = "m"
price_in_usd = 0.0
price_out_usd = 133.333333
concurrency = 4
"""


class PaidEndpoint(ThreadingHTTPServer):
    """Answers chat completions from a list; when it is used up, requests wait until `let_go` is set.

    Attributes:
        prompts: what was asked, in order of arrival.
        bodies: whole requests, likewise.
        waiting: released once for each request that waits.
    """

    daemon_threads = True

    def __init__(self, answers: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.turn = threading.Lock()
        self.waiting = threading.Semaphore(0)
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: PaidEndpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.turn:
            self.server.prompts.append(body["messages"][-1]["content"])
            self.server.bodies.append(body)
            text = self.server.answers.pop(0) if self.server.answers else None
        if text is None:
            self.server.waiting.release()
            self.server.let_go.wait(20)
            text = "no program"
        usage = {"prompt_tokens": 10, "completion_tokens": 1500, "total_tokens": 1510}
        chunks = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ]
        reply = {
            "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}],
            "usage": usage,
        }
        stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        sent = (stream if body.get("stream") else json.dumps(reply)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def paid_endpoint(home: Path, answers: list[str]) -> Iterator[PaidEndpoint]:
    """Run an endpoint, with a home whose configuration names it.

    Args:
        home: the Treewright folder.
        answers: in turn.
    """
    server = PaidEndpoint(answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(CONFIG.format(url=server.url), encoding="utf-8")
    try:
        yield server
    finally:
        server.let_go.set()
        server.shutdown()
        thread.join(5)
        server.server_close()
