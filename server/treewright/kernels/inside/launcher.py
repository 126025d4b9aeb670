# ruff: noqa: PTH100, PTH105, PTH118, PTH120, PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Contains any kernel's command: `python launcher.py SETTINGS -- COMMAND...`.

Stands where a kernel's process would: it ends with the kernel and with the same code, an interrupt sent to it
reaches the kernel, and killing it kills everything in the box. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import types
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _contain() -> Any:
    """`contain` and `watch`, in one namespace."""
    module = types.ModuleType("treewright_contain")
    for name in ("contain", "watch"):
        path = os.path.join(_HERE, f"{name}.py")
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), module.__dict__)  # noqa: S102  our own files
    return module


def main() -> int:
    """Start the command in a box, wait for its end, tell what it was.

    Settings: `limits`, `network`, `sealed`, `writable`, `cwd`, `report` (a file that gets what the system gives,
    and in the end the init's last words).
    """
    settings = json.loads(sys.argv[1])
    command = sys.argv[3:]
    contain = _contain()
    gives = contain.probe()
    report = settings.get("report")
    _write(report, {"gives": gives})
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if contain.fork_into_box(gives) == 0:
        ours.close()

        def start() -> None:
            # In a PID namespace the kernel's parent is process 1: it would think that its parent is gone.
            os.environ.pop("JPY_PARENT_PID", None)
            contain.close_descriptors([])
            os.execvp(command[0], command)  # noqa: S606  the kernel's own command, no shell

        contain.guard_box(gives, settings, theirs, start)
    theirs.close()
    signal.signal(signal.SIGINT, lambda *_: ours.send(b'{"do": "interrupt"}'))
    signal.signal(signal.SIGTERM, lambda *_: ours.send(b'{"do": "kill"}'))
    ours.send(b'{"do": "watch"}')
    code = 70
    while data := ours.recv(65536):
        message = json.loads(data)
        if "failed" in message or "end" in message:
            _write(report, {"gives": gives, **message})
            end = message.get("end") or {}
            code = 70 if end.get("code") is None else int(end["code"])
    if code < 0:
        # End by the same signal, so that whoever waits sees what the kernel died of.
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _write(path: str | None, message: dict[str, Any]) -> None:
    if path:
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(message, file)
        os.replace(f"{path}.new", path)


if __name__ == "__main__":
    sys.exit(main())
