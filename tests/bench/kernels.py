"""What a fresh kernel costs, beside the bare system calls and beside jupyter_client's own way.

    python -m tests.bench.kernels [--rounds 12] [--branches 200] [--candidates 8] [--programs 1000]

One round does every way once, in rotation. Each way runs the same function with two assertions and a print,
from the request to the first execute reply with its output checked. The floor is a bare fork from a warm parent
with numpy (run in the child) plus one more execute on a warm kernel.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from treewright.kernels.forked import ForkedHost, Live
from treewright.kernels.limits import Limits
from treewright.kernels.screen import ForkScreener
from treewright.search.checks import Check, CheckKind, Plan

SCHEMA = "bench-1"
FUNCTION = "def double(x):\n    return x * 2\n"
CELL = FUNCTION + "assert double(2) == 4\nassert double('a') == 'aa'\nprint('checked', double(21))\n"
SAID = "checked 42\n"
PLAN = Plan(
    checks=tuple(
        Check(id=f"c{n}", kind=CheckKind.VALUE, source="", evaluate=f"double({n})", expected=2 * n)
        for n in range(2)
    ),
    per_branch_timeout_s=20,
)


def bare_fork() -> None:
    """Fork from this process, which holds numpy, and run the cell in the child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        exec(
            compile(CELL, "cell", "exec"),
            {"print": lambda *text: os.write(1, (" ".join(map(str, text)) + "\n").encode())},
        )
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 100)
    os.waitpid(child, 0)
    os.close(reader)
    assert said == SAID.encode()


def execute(live: Live) -> None:
    """One execute request, its output and its reply."""
    request = live.client.execute(CELL)
    text = ""
    assert live.client.iopub is not None
    while SAID not in text:
        assert live.client.iopub.poll(20000), "no output"
        message = live.client.read(live.client.iopub)
        if message and message["msg_type"] == "stream":
            text += message["content"]["text"]
    assert live.client.reply(request, 20) is not None


def fresh(host: ForkedHost) -> Callable[[], None]:
    """A fresh kernel to the first reply and its output; ending it is not in the clock."""
    ended: list[threading.Thread] = []

    def once() -> None:
        live = host.fresh(iopub=True)
        execute(live)
        ended.append(threading.Thread(target=live.close))
        ended[-1].start()

    return once


def branch(host: ForkedHost) -> Callable[[], None]:
    """A whole branch: fresh kernel, two value checks, canaries, the end of everything, the folder gone."""

    def once() -> None:
        trace = host.run_branch(FUNCTION, PLAN)
        assert len(trace.observations) == 2, trace

    return once


def stock() -> None:
    """jupyter_client's own way: start_new_kernel, which waits until the kernel is ready, and one execute."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
    try:
        said: list[str] = []
        client.execute_interactive(
            CELL,
            timeout=20,
            allow_stdin=False,
            output_hook=lambda message: said.append(message["content"].get("text", "")),
        )
        assert "".join(said) == SAID
    finally:
        client.stop_channels()
        threading.Thread(target=manager.shutdown_kernel, kwargs={"now": True}).start()


def timed(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each way: median, best and worst of the rounds."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            started = time.perf_counter()
            ways[name]()
            if number:
                taken[name].append((time.perf_counter() - started) * 1000)
    return {
        name: {"median": statistics.median(one), "best": min(one), "worst": max(one)}
        for name, one in taken.items()
    }


def start(rounds: int) -> dict[str, Any]:
    """Every way of getting a first reply, in rotation."""
    import numpy as np

    assert np.__version__
    with ForkedHost() as plain, ForkedHost(spares=3) as ahead:
        ahead.wait_spares(30)
        warm = plain.fresh(iopub=True)

        def spare() -> None:
            assert ahead.wait_spares(30)

        def with_spare() -> None:
            live = ahead.fresh()
            reply = live.client.execute(CELL)
            assert live.client.reply(reply, 20) is not None
            threading.Thread(target=live.close).start()

        ways: dict[str, Callable[[], None]] = {
            "bare fork": bare_fork,
            "execute on a warm kernel": lambda: execute(warm),
            "fresh kernel": fresh(plain),
            "wait for spares (not counted)": spare,
            "fresh kernel, spare": with_spare,
            "whole branch": branch(plain),
            "wait for spares again (not counted)": spare,
            "whole branch, spare": branch(ahead),
            "start_new_kernel": stock,
        }
        found: dict[str, Any] = timed(ways, rounds)
        warm.close()
    floor = found["bare fork"]["median"] + found["execute on a warm kernel"]["median"]
    found["floor"] = {"median": floor}
    found["times the floor"] = {
        name: found[name]["median"] / floor
        for name in ("fresh kernel", "fresh kernel, spare", "start_new_kernel")
    }
    return found


def many(branches: int) -> dict[str, Any]:
    """Branches in a row, what they leave, and what one holds while it lives."""
    with ForkedHost(limits=Limits()) as host:
        host.run_branch(FUNCTION, PLAN)
        pid, home = host.zygote.pid, host.zygote.home
        assert pid is not None
        assert home is not None
        live = host.fresh()
        live.client.reply(live.client.execute("1"), 10)
        kernels = [
            one
            for one in psutil.Process(pid).children(recursive=True)
            if one.memory_full_info().uss > 4 << 20
        ]
        held = max(one.memory_full_info().uss for one in kernels) / 2**20 if kernels else 0.0
        shared = max(one.memory_full_info().pss for one in kernels) / 2**20 if kernels else 0.0
        live.close()
        before = len(os.listdir("/proc/self/fd")), psutil.Process(pid).memory_info().rss
        started = time.perf_counter()
        for _ in range(branches):
            host.run_branch(FUNCTION, PLAN)
        took = time.perf_counter() - started
        # The last box may still be ending.
        deadline = time.monotonic() + 2
        while psutil.Process(pid).children(recursive=True) and time.monotonic() < deadline:
            time.sleep(0.01)
        return {
            "branches_per_s": branches / took,
            "kernel_private_mb": held,
            "kernel_proportional_mb": shared,
            "processes_left": len(psutil.Process(pid).children(recursive=True)),
            "descriptors_left": len(os.listdir("/proc/self/fd")) - before[0],
            "folders_left": len(list(home.path.iterdir())) - 1,
            "parent_growth_mb": (psutil.Process(pid).memory_info().rss - before[1]) / 2**20,
        }


def parallel(candidates: int, branches: int) -> dict[str, Any]:
    """A whole search's candidates, two at a time; and throughput with two threads."""
    with ForkedHost(spares=2) as host:
        host.wait_spares(30)

        def run(count: int) -> float:
            left = iter(range(count))
            lock = threading.Lock()

            def work() -> None:
                while True:
                    with lock:
                        if next(left, None) is None:
                            return
                    host.run_branch(FUNCTION, PLAN)

            threads = [threading.Thread(target=work) for _ in range(2)]
            started = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return time.perf_counter() - started

        search = run(candidates)
        return {"search_ms": search * 1000, "branches_per_s_two_at_a_time": branches / run(branches)}


def screening(programs: int) -> dict[str, Any]:
    """Programs screened in bare forks on every core."""
    sources = [f"def double(x):\n    return x * {number % 5}\n" for number in range(programs)]
    with ForkScreener() as screener:
        screener.screen(sources[:4], PLAN)
        started = time.perf_counter()
        screener.screen(sources, PLAN)
        took = time.perf_counter() - started
    return {
        "programs_per_s": programs / took,
        "ms_each_on_its_core": took / programs * 1000 * (os.cpu_count() or 1),
    }


def main() -> int:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--programs", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[name] = str(Path(folder))
        found = {
            "schema": SCHEMA,
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "start_ms": start(asked.rounds),
            "many": many(asked.branches),
            "parallel": parallel(asked.candidates, asked.branches // 4 or 1),
            "screen": screening(asked.programs),
        }
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
