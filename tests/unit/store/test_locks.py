"""Locks: one writer a run, who holds it is named, the dead hold nothing."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from treewright.errors import StoreError
from treewright.store.locks import (
    RunLock,
    clear_stop,
    request_stop,
    run_holder,
    stop_requested,
)
from treewright.store.turns import exclusive

HOLD = """
import sys
from pathlib import Path
from treewright.store.locks import RunLock
lock = RunLock.take(Path(sys.argv[1]), "lsp")
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""

# Holds the lock in a child too, as a forked worker that keeps every descriptor does.
ORPHAN = """
import os, sys, time
from pathlib import Path
import treewright.store.locks as locks
lock = locks.RunLock.take(Path(sys.argv[1]), "lsp")
kept = os.dup(lock._descriptor)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    os.close(1)
    time.sleep(60)
os._exit(0)
"""


def start(script: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def say(child: "subprocess.Popen[str]") -> str:
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


@pytest.mark.requirement("store:lock:second-writer")
def test_a_second_writer_is_refused_and_told_who_holds_the_run(tmp_path: Path) -> None:
    with start(HOLD, tmp_path) as child:
        assert child.stdout
        assert child.stdout.readline() == "held\n"
        with pytest.raises(StoreError) as fault:
            RunLock.take(tmp_path, "cli")
        assert fault.value.code == "run_locked"
        assert fault.value.details["holder"]["pid"] == child.pid
        assert f"lsp (process {child.pid}" in fault.value.message
        holder = run_holder(tmp_path)
        assert holder
        assert holder.pid == child.pid
        assert say(child) == "released"
        with RunLock.take(tmp_path, "cli"):
            pass
        say(child)


def test_within_one_process_too_there_is_one_writer(tmp_path: Path) -> None:
    with RunLock.take(tmp_path, "lsp"), pytest.raises(StoreError) as fault:
        RunLock.take(tmp_path, "mcp")
    assert fault.value.details["holder"]["pid"] == os.getpid()
    lock = RunLock.take(tmp_path, "mcp")
    lock.release()
    lock.release()
    assert run_holder(tmp_path) is None


@pytest.mark.requirement("store:lock:dead-holder")
def test_the_lock_of_a_dead_holder_is_taken_over(tmp_path: Path) -> None:
    with start(HOLD, tmp_path) as child:
        assert child.stdout
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait(5)
    assert (tmp_path / ".run.holder.json").exists()
    assert run_holder(tmp_path) is None
    with RunLock.take(tmp_path, "cli") as lock:
        assert lock.holder.pid == os.getpid()


def test_a_lock_that_a_dead_holders_child_still_has_is_taken_over(tmp_path: Path) -> None:
    with start(ORPHAN, tmp_path) as child:
        assert child.stdout
        orphan = int(child.stdout.readline())
        child.wait(5)
    try:
        with RunLock.take(tmp_path, "cli"), pytest.raises(StoreError):
            RunLock.take(tmp_path, "cli")
    finally:
        os.kill(orphan, signal.SIGKILL)
    with RunLock.take(tmp_path, "cli"):
        pass


def test_a_holder_on_another_machine_is_believed_to_live(tmp_path: Path) -> None:
    with start(HOLD, tmp_path) as child:
        assert child.stdout
        child.stdout.readline()
        record = json.loads((tmp_path / ".run.holder.json").read_text(encoding="utf-8"))
        elsewhere = {**record, "host": "other-machine", "pid": 2**22 + 1}
        (tmp_path / ".run.holder.json").write_text(json.dumps(elsewhere), encoding="utf-8")
        with pytest.raises(StoreError) as fault:
            RunLock.take(tmp_path, "cli")
        assert "other-machine" in fault.value.message
        (tmp_path / ".run.holder.json").write_text("{", encoding="utf-8")
        with pytest.raises(StoreError) as fault:
            RunLock.take(tmp_path, "cli")
        assert "another process" in fault.value.message
        say(child)
        say(child)


def test_a_record_of_a_reused_process_id_is_not_taken_for_the_holder(tmp_path: Path) -> None:
    with RunLock.take(tmp_path, "cli") as lock:
        record = lock.holder.model_dump()
    (tmp_path / ".run.holder.json").write_text(
        json.dumps({**record, "birth": record["birth"][:-1] + "x"}), encoding="utf-8"
    )
    assert run_holder(tmp_path) is None


def test_a_holder_that_is_hidden_from_us_is_believed_to_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunLock.take(tmp_path, "cli") as lock:
        assert lock.holder.birth
        record = lock.holder.model_dump_json()
    (tmp_path / ".run.holder.json").write_text(record, encoding="utf-8")
    read_text = Path.read_text

    def hidden(path: Path, *args: str, **kwargs: str) -> str:
        if str(path).endswith(f"/{os.getpid()}/stat"):
            raise FileNotFoundError(path)
        return read_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", hidden)
    assert run_holder(tmp_path)


def test_of_many_that_want_a_run_at_once_exactly_one_gets_it(tmp_path: Path) -> None:
    got: list[RunLock] = []
    refused: list[str] = []
    gate = threading.Barrier(8)

    def take() -> None:
        gate.wait(5)
        try:
            got.append(RunLock.take(tmp_path, "cli"))
        except StoreError as fault:
            refused.append(fault.code)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (len(got), refused) == (1, ["run_locked"] * 7)
    got[0].release()


def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    lock = RunLock.take(tmp_path, "lsp")
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(into)
        os.read(out, 1)
        os._exit(0)
    os.close(out)
    lock.release()
    with RunLock.take(tmp_path, "cli"):
        pass
    os.close(into)
    os.waitpid(child, 0)


@pytest.mark.requirement("store:lock:stop-request")
def test_a_run_in_another_process_is_asked_to_stop_by_a_file(tmp_path: Path) -> None:
    assert stop_requested(tmp_path) is None
    request_stop(tmp_path, "lsp", "odd \udcff")
    request_stop(tmp_path, "lsp", "enough")
    found = stop_requested(tmp_path)
    assert found
    assert (found.surface, found.reason, found.pid) == ("lsp", "enough", os.getpid())
    (tmp_path / ".stop.request.json").write_text("", encoding="utf-8")
    assert stop_requested(tmp_path), "an unreadable request is a request"
    clear_stop(tmp_path)
    clear_stop(tmp_path)
    assert stop_requested(tmp_path) is None


def test_a_short_lock_that_is_never_given_back_ends_in_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with exclusive(path):
        with pytest.raises(StoreError) as fault, exclusive(path, timeout=0.05):
            pass
        assert fault.value.code == "lock_timeout"
    with exclusive(path, timeout=0.05):
        pass


def test_a_lock_file_is_not_followed_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.lock").symlink_to(target)
    with pytest.raises(StoreError):
        RunLock.take(tmp_path / "run", "cli")
    assert not target.exists()
