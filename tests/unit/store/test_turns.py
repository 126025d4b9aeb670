"""Short locks: everybody who waits gets a turn, and waiting is given up only when nobody gets one."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import within
from treewright.errors import StoreError
from treewright.store.turns import close_lock, exclusive, open_lock, try_lock

# Takes the lock again and again, gives it back, and wants it again at once.
GREEDY = """
import json, sys, time
from pathlib import Path
from treewright.store.turns import exclusive
path, seconds = Path(sys.argv[1]), float(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
turns, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    with exclusive(path):
        turns += 1
        time.sleep(0.003)
print(json.dumps(turns), flush=True)
"""

HOLDS = """
import sys
from pathlib import Path
from treewright.store.turns import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""

Child = subprocess.Popen[str]


def start(script: str, *arguments: str) -> Child:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")


def read(child: Child) -> str:
    assert child.stdout
    return child.stdout.readline().strip()


def go(child: Child) -> None:
    assert child.stdin
    child.stdin.write("\n")
    child.stdin.flush()


def is_held(path: Path) -> bool:
    if not path.exists():
        return False
    descriptor = open_lock(path)
    try:
        return not try_lock(descriptor)
    finally:
        close_lock(descriptor)


@contextmanager
def ended(*children: Child) -> Iterator[None]:
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.communicate()


@pytest.mark.requirement("store:lock:in-turn")
def test_nobody_starves_among_processes_that_want_the_lock_again_at_once(tmp_path: Path) -> None:
    spinning = [start("while True: pass") for _ in range(3)]
    greedy = [start(GREEDY, str(tmp_path / "x.lock"), "2") for _ in range(6)]
    with ended(*spinning, *greedy):
        assert [read(child) for child in greedy] == ["ready"] * 6
        for child in greedy:
            go(child)
        turns = sorted(int(json.loads(read(child))) for child in greedy)
    assert turns[0] * 4 >= turns[-1], f"turns of each: {turns}"


@pytest.mark.requirement("store:lock:in-turn")
def test_waiting_goes_on_while_others_get_their_turns(tmp_path: Path) -> None:
    path, done = tmp_path / "x.lock", []

    def turn() -> None:
        with exclusive(path, timeout=within(1.0)):
            time.sleep(within(1.0) / 4)
            done.append(1)

    threads = [threading.Thread(target=turn) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(within(30))
    assert len(done) == 8, "the last one waited for twice its timeout"


@pytest.mark.requirement("store:lock:in-turn")
def test_waiting_behind_others_ends_when_the_holder_keeps_the_lock(tmp_path: Path) -> None:
    path, codes = tmp_path / "x.lock", []

    def turn() -> None:
        try:
            with exclusive(path, timeout=0.2):
                codes.append("held")
        except StoreError as fault:
            codes.append(fault.code)

    with exclusive(path):
        threads = [threading.Thread(target=turn) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(within(20))
    assert codes == ["lock_timeout"] * 4
    with exclusive(path, timeout=0.2):
        pass


@pytest.mark.requirement("store:lock:in-turn")
def test_whoever_dies_while_holding_or_waiting_gives_up_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    holder = start(HOLDS, str(path))
    with ended(holder):
        assert read(holder) == "held"
        following = start(HOLDS, str(path))
        behind = start(HOLDS, str(path))
        with ended(following, behind):
            until = time.monotonic() + within(20)
            while not is_held(tmp_path / "x.lock.line") and time.monotonic() < until:
                time.sleep(0.02)
            assert is_held(tmp_path / "x.lock.line"), "one of the two is next"
            following.send_signal(signal.SIGKILL)
            holder.send_signal(signal.SIGKILL)
            assert read(behind) == "held"
    with exclusive(path, timeout=within(2)):
        pass
