"""Stands in for the native library in a child process: same calls, no model. The model file says how to behave."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class CommonParams:
    """Settings, as the library takes them."""

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams = SimpleNamespace(n_threads=0)
        self.n_ctx = 0
        self.n_parallel = 1
        self.api_keys: list[str] = []
        self.hostnames: list[str] = []


class Server:
    """Serves chat completions that tell what was set and how many calls were under way together."""

    def __init__(self, params: Any) -> None:
        os.write(1, b"native noise on standard output\n")
        self.mode = Path(params.model.path).read_bytes()[4:].decode()
        if self.mode == "broken":
            raise RuntimeError("failed to load model")
        if self.mode == "dies":
            os.write(1, b"ggml_abort: not enough memory\n")
            os._exit(3)
        state = SimpleNamespace(now=0, most=0, lock=threading.Lock(), params=params, mode=self.mode)

        class Handler(_Handler):
            shared = state

        self._http = ThreadingHTTPServer((params.hostnames[0], params.port), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self._http.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    shared: Any

    def do_POST(self) -> None:
        state = self.shared
        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["authorization"] != f"Bearer {state.params.api_keys[0]}":
            self._send(401, {"error": {"message": "Invalid API Key", "type": "authentication_error"}})
            return
        if state.mode == "aborts":
            os.abort()
        with state.lock:
            state.now += 1
            state.most = max(state.most, state.now)
        threading.Event().wait(0.05)
        with state.lock:
            state.now -= 1
        told = {
            "most": state.most,
            "n_ctx": state.params.n_ctx,
            "samples": json.loads(raw).get("n", 1),
            "pid": os.getpid(),
        }
        message = {"role": "assistant", "content": json.dumps(told)}
        choices = [
            {"index": number, "message": message, "finish_reason": "stop"}
            for number in range(told["samples"])
        ]
        self._send(200, {"choices": choices, "usage": {"prompt_tokens": 5, "completion_tokens": 5}})

    def _send(self, status: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        pass
