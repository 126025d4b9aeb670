"""How long a language server takes from spawn to its answer to initialize, and what it holds when idle.

    python -m tests.bench.lsp_start [rounds] [command of another server ...]

Measures ours and, beside it in rotation, another server: `jedi-language-server` from PATH unless a command is given.
Medians, since a machine shared with others makes single figures worthless. Both start compiled, as users have them.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

OURS = [sys.executable, "-m", "treewright", "lsp"]
CAPABILITIES = {"textDocument": {"publishDiagnostics": {}, "hover": {}, "completion": {}}}


def measure(command: list[str], home: Path) -> tuple[float, float, float, float]:
    """Return milliseconds to the answer, resident megabytes then and when idle, and processor milliseconds to the answer."""
    environ = {**os.environ, "TREEWRIGHT_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    )
    try:
        params = {"processId": None, "rootUri": None, "capabilities": CAPABILITIES}
        _send(process, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        _receive(process)
        took = time.perf_counter() - begun
        at_once, busy = _resident(process.pid), _processor(process.pid)
        _send(process, {"jsonrpc": "2.0", "method": "initialized", "params": {}})
        time.sleep(2.0)
        return took * 1000, at_once, _resident(process.pid), busy * 1000
    finally:
        process.kill()
        process.communicate()


def _send(process: subprocess.Popen[bytes], message: object) -> None:
    body = json.dumps(message).encode()
    assert process.stdin
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout
    length = 0
    while (line := process.stdout.readline().strip()) or not length:
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    process.stdout.read(length)


def _resident(pid: int) -> float:
    fields = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        if ":" in line
    )
    return int(fields["VmRSS"].split()[0]) / 1024


def _processor(pid: int) -> float:
    used = psutil.Process(pid).cpu_times()
    return used.user + used.system


def main() -> None:
    """Measure and print."""
    arguments = sys.argv[1:]
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 7
    other = arguments or [found for found in [shutil.which("jedi-language-server")] if found]
    servers = {"treewright lsp": OURS} | ({Path(other[0]).name: other} if other else {})
    figures: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in servers}
    with tempfile.TemporaryDirectory() as folder:
        for command in servers.values():
            measure(command, Path(folder))  # compiles
        for _ in range(rounds):
            for name, command in servers.items():
                figures[name].append(measure(command, Path(folder)))
    print(f"median of {rounds}; load {os.getloadavg()[0]:.1f}")
    for name, values in figures.items():
        took, at_once, idle, busy = (statistics.median(column) for column in zip(*values, strict=True))
        print(
            f"{name:28} {took:6.0f} ms to initialize, {busy:5.0f} of the processor, {at_once:4.0f} MB then, {idle:4.0f} MB idle"
        )
    if not other:
        print("no other server to compare with: install jedi-language-server, or name a command")


if __name__ == "__main__":
    main()
