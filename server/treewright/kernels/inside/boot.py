# ruff: noqa: PTH103, PTH118, PTH120, PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Brings the guard into an ordinary ipykernel and runs one plan there; its text is sent as a cell.

The cell's namespace holds `request` (JSON text). Records leave as display data of a type of our own, sent by
the kernel's session as it was before the candidate ran.
"""

from __future__ import annotations

import builtins
import json
import os
import shutil
import sys
import types
from typing import Any

request: str = globals().get("request", "{}")  # put here by the cell

MIME = "application/vnd.treewright.record"


def _load_texts(name: str, texts: list[str], into: dict[str, Any] | None = None) -> Any:
    module = types.ModuleType(name)
    module.__dict__.update(into or {})
    module.__dict__["__builtins__"] = dict(vars(builtins))
    sys.modules[name] = module
    try:
        for text in texts:
            exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102  our own files
    finally:
        del sys.modules[name]
    return module


def _sender() -> Any:
    from IPython import get_ipython

    kernel = get_ipython().kernel
    send_message, socket, session = kernel.session.send, kernel.iopub_socket, kernel.session
    parent = kernel.get_parent("shell")

    def send(data: bytes) -> None:
        content = {"data": {MIME: data.decode("ascii")}, "metadata": {}, "transient": {}}
        send_message(socket, "display_data", content, parent=parent, ident=b"display_data")

    del session
    return send


def _main() -> None:
    asked = json.loads(request)
    for folder, files in asked.get("files", {}).items():
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
    sys.path[:0] = [entry for entry in asked.get("path", []) if entry not in sys.path]
    encode = _load_texts("<treewright plain>", [asked["plain"]]).encode
    guard = _load_texts("<treewright guard>", asked["guard"], {"encode": encode})
    pytests = _load_texts("<treewright pytests>", asked["pytests"], {"guard": guard})
    out, err = sys.stdout.write, sys.stderr.write

    def forward(stream: str, text: str) -> None:
        (out if stream == "stdout" else err)(text)

    plan = asked["plan"]
    kept = sys.stdout, sys.stderr
    remove = shutil.rmtree
    try:
        (pytests if plan.get("pytest") else guard).run(plan, _sender(), forward)
    finally:
        sys.stdout, sys.stderr = kept
        for folder in asked.get("files", {}):
            remove(folder, ignore_errors=True)


_main()
