# ruff: noqa: PTH118, PTH123, PTH108, PTH208
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Forks one bare child a program, or a few programs: no Jupyter, the same guard, the same limits.

Runs in a box of its own (see `contain`), as the box's worker; one child at a time. What a child leaves
running is killed and what it leaves in the folder is removed before the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import time
from typing import Any

guard: Any = globals().get("guard")  # these three are put here by whoever loads this file
several: Any = globals().get("several")
pytests: Any = globals().get("pytests")

_PIECE = 1 << 16


def _receive(wire: socket.socket) -> bytes | None:
    header = _exactly(wire, 4)
    return None if header is None else _exactly(wire, struct.unpack("!I", header)[0])


def _exactly(wire: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        piece = wire.recv(count - len(data))
        if not piece:
            return None
        data += piece
    return data


class Screener:
    """Serves programs from a socket.

    Args:
        wire: length-prefixed JSON requests; each answer is a JSON header, the records and the output, each
            length-prefixed.
        folder: current folder of the programs, emptied between them.
        owns_proc: whether /proc shows this box alone.
    """

    def __init__(self, wire: socket.socket, folder: str, owns_proc: bool) -> None:
        self._wire = wire
        self._folder = folder
        self._owns_proc = owns_proc

    def serve(self) -> None:
        """Run programs until the other side goes away."""
        while (data := _receive(self._wire)) is not None:
            request = json.loads(data)
            header, records, out = self._one(request)
            parts = [json.dumps(header).encode(), records, out]
            self._wire.sendall(b"".join(struct.pack("!I", len(part)) + part for part in parts))

    def _one(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
        records, records_w = os.pipe()
        out, out_w = os.pipe()
        for name, text in request.get("files", {}).items():
            with open(os.path.join(self._folder, name), "w", encoding="utf-8", newline="") as file:
                file.write(text)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            self._be_child(request["plan"], records_w, out_w)
        os.close(records_w)
        os.close(out_w)
        seen = {records: bytearray(), out: bytearray()}
        caps = {records: int(request["record_bytes"]), out: int(request["output_bytes"])}
        why = self._follow(child, seen, caps, started + float(request["wall_s"]), request.get("silence_s"))
        self._sweep(child)
        _, status, used = os.wait4(child, 0)
        for number, into in seen.items():
            self._rest(number, into, caps[number])
            os.close(number)
        header = {
            "why": why,
            "code": os.waitstatus_to_exitcode(status),
            "cpu_s": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss * 1024,
            "wall_s": time.monotonic() - started,
        }
        return header, bytes(seen[records]), bytes(seen[out])

    def _be_child(self, plan: dict[str, Any], records: int, out: int) -> None:
        code = 70
        try:
            os.setsid()
            self._wire.close()
            os.dup2(out, 1)
            write = os.write

            def forward(stream: str, text: str) -> None:
                view = memoryview(text.encode("utf-8", "replace"))
                while view and stream == "stdout":
                    view = view[write(1, view) :]

            send = guard.send_to_descriptor(records)
            if "programs" in plan:
                several.run(plan, send)
            else:
                (pytests if plan.get("pytest") else guard).run(plan, send, forward)
            code = 0
        except SystemExit:
            code = 71
        finally:
            os._exit(code)

    @staticmethod
    def _follow(
        child: int,
        seen: dict[int, bytearray],
        caps: dict[int, int],
        deadline: float,
        silence: float | None = None,
    ) -> str:
        """Read until the child ends; the reason when it has to be ended, which may be too long a silence."""
        handle = os.pidfd_open(child)
        poller = select.poll()
        for number in (*seen, handle):
            poller.register(number, select.POLLIN | select.POLLHUP)
        heard = time.monotonic()
        try:
            while True:
                now = time.monotonic()
                left = (deadline if silence is None else min(deadline, heard + silence)) - now
                if left <= 0:
                    return "timeout"
                for number, _ in poller.poll(left * 1000 + 1):
                    if number == handle:
                        return ""
                    data = os.read(number, _PIECE)
                    if not data:
                        poller.unregister(number)
                    seen[number] += data
                    heard = now
                    if len(seen[number]) > caps[number]:
                        return "output"
        finally:
            os.close(handle)

    @staticmethod
    def _rest(number: int, into: bytearray, cap: int) -> None:
        os.set_blocking(number, False)
        with contextlib.suppress(BlockingIOError):
            while len(into) <= cap and (data := os.read(number, _PIECE)):
                into += data

    def _sweep(self, child: int) -> None:
        """End the program and everything that it started, and clear its folder."""
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        if self._owns_proc:
            me = os.getpid()
            for name in os.listdir("/proc"):
                if name.isdigit() and int(name) not in (1, me, child):
                    with contextlib.suppress(OSError):
                        os.kill(int(name), signal.SIGKILL)
        for entry in os.scandir(self._folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
