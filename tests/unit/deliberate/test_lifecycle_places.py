"""Finalise, keep, clear and purge wherever a session lies, on a disk that refuses, and under the eyes of another process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from treewright.app.session_store import FileSessionStore, describe_session
from treewright.deliberate.engine import Deliberation
from treewright.store.index import Index
from treewright.store.paths import find_root


def file_store() -> FileSessionStore:
    root = find_root()
    return FileSessionStore(root, Index(root.index, scan=[root.sessions], describe=describe_session))


def begun(desk: Deliberation) -> tuple[str, Path]:
    reply = desk.start_session("Why?", "serial")
    desk.begin_thought(reply["session_id"], "a draft")
    return str(reply["session_id"]), Path(reply["save_path"])


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """Return a place on another file system, or skip."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("no second file system here")
    place = Path("/dev/shm") / f"treewright-places-{os.getpid()}.json"
    yield place
    place.unlink(missing_ok=True)


def finalise(desk: Deliberation, session_id: str) -> dict[str, Any]:
    return desk.finalize_session(session_id)


def keep(desk: Deliberation, session_id: str) -> dict[str, Any]:
    return desk.keep_here(session_id)


def clear(desk: Deliberation, session_id: str) -> dict[str, Any]:
    return desk.clear_session(session_id)


def purge(desk: Deliberation, session_id: str) -> dict[str, Any]:
    return desk.clear_session(session_id, True)


Act = Callable[[Deliberation, str], dict[str, Any]]
ACTS: list[Act] = [finalise, keep, clear, purge]


@pytest.mark.requirement("deliberation:lifecycle:anywhere")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("place", ["own folder", "elsewhere", "another disk"])
def test_a_session_ends_in_every_way_wherever_it_lies(
    build: Any, tmp_path: Path, other_disk: Path, act: Act, place: str
) -> None:
    desk = build(store=file_store())
    session_id, path = begun(desk)
    target = {"own folder": path, "elsewhere": tmp_path / "moved.json", "another disk": other_disk}[place]
    if target != path:
        assert desk.move_session(session_id, str(target))["ok"]
    beside = sorted(child.name for child in target.parent.iterdir() if child != target)
    assert act(desk, session_id)["ok"]
    if act is purge:
        assert not target.exists()
        assert desk.resume_session(session_id)["code"] == "session_not_found"
        return
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["thoughts"][0]["content"] == "a draft"
    assert document["status"] == {finalise: "finalized", keep: "active", clear: "archived"}[act]
    assert sorted(child.name for child in target.parent.iterdir() if child != target) == beside
    again = build(store=file_store()).resume_session(session_id)
    assert (again["ok"], again["save_path"]) == (True, str(target))


@pytest.mark.requirement("deliberation:lifecycle:refusing-disk")
@pytest.mark.parametrize("act", [finalise, keep, clear])
def test_an_act_that_the_disk_refuses_is_told_and_changes_nothing(
    build: Any, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    desk = build(store=file_store())
    session_id, path = begun(desk)
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        for name in ("fsync", "fdatasync"):
            patched.setattr(os, name, _full, raising=False)
        refused = act(desk, session_id)
    assert not refused["ok"]
    assert refused["code"]
    assert refused["next_tool"]
    assert path.read_bytes() == before
    assert build(store=file_store()).resume_session(session_id)["ok"]
    assert act(desk, session_id)["ok"], "it works once there is room again"


def _full(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


READER = """
import sys
from datetime import UTC, datetime
from uuid import uuid4
from treewright.app.session_store import FileSessionStore, describe_session
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.toolbox import Surroundings
from treewright.store.index import Index
from treewright.store.paths import find_root
root = find_root()
store = FileSessionStore(root, Index(root.index, scan=[root.sessions], describe=describe_session))
desk = Deliberation(Surroundings(store, {}, DeliberationSettings(), lambda: datetime.now(UTC), lambda: uuid4().hex))
print("ready", flush=True)
seen = 0
while True:
    reply = desk.next_action(sys.argv[1])
    assert reply["ok"], reply
    seen += 1
    if reply["situation"] == "finalized":
        break
print(seen)
"""


@pytest.mark.requirement("deliberation:lifecycle:read-meanwhile")
def test_another_process_that_reads_meanwhile_always_sees_a_whole_session(
    build: Any, tmp_path: Path, other_disk: Path
) -> None:
    desk = build(store=file_store())
    session_id, _ = begun(desk)
    command = [sys.executable, "-c", READER, session_id]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            for number in range(12):
                place = other_disk if number % 3 == 2 else tmp_path / f"{number}.json"
                assert desk.keep_here(session_id)["ok"]
                assert desk.move_session(session_id, str(place))["ok"]
            assert desk.finalize_session(session_id)["ok"]
            out, errors = reader.communicate(timeout=60)
        finally:
            reader.kill()
    assert reader.returncode == 0, errors
    assert int(out) > 1
