"""The child process that runs one embedded model. Started by `local.py` as `python -m`, never imported by it.

It serves the model's OpenAI-compatible endpoint on loopback behind a key of its own, says on standard output where,
and ends as soon as its standard input closes: the parent holds the other end, so that a parent that is killed takes
its model with it.
"""

import json
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

_PARENT_POLL_S = 1.0


def main() -> None:
    """Read the settings (one JSON line), load the model, say where it listens, and wait for the end."""
    protocol = _take_over_stdout()
    settings = json.loads(sys.stdin.buffer.readline())
    _end_with_parent()
    try:
        server = _serve(settings)
    except Exception as error:  # noqa: BLE001  whatever the native library raises is told to the parent
        _say(protocol, {"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)
    _say(protocol, {"address": server.listening_address})
    threading.Event().wait()


def _take_over_stdout() -> int:
    """Keep standard output for our one line: the native library logs to it."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    return protocol


def _end_with_parent() -> None:
    parent = os.getppid()

    def watch_input() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        os._exit(0)

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_S)
        os._exit(0)

    threading.Thread(target=watch_input, daemon=True).start()
    if os.name == "posix":
        # another child of the parent may have inherited the pipe and hold it open
        threading.Thread(target=watch_parent, daemon=True).start()


def _serve(settings: dict[str, Any]) -> Any:
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(settings["path"]))
    params.n_ctx = settings["context_tokens"] * settings["slots"]
    params.n_parallel = settings["slots"]
    params.cpuparams.n_threads = settings["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.ui = False
    params.cache_ram_mib = settings["cache_mib"]
    if settings.get("alias"):
        params.model_alias = {settings["alias"]}
    return xllamacpp.Server(params)


def _say(protocol: int, message: dict[str, Any]) -> None:
    os.write(protocol, json.dumps(message).encode("utf-8") + b"\n")


if __name__ == "__main__":
    main()
