"""Sessions as files: finalise, move, keep, clear, recovery, and several writers at once."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
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


@pytest.fixture
def filed(build: Callable[..., Deliberation]) -> Deliberation:
    """Return a deliberation over files in this test's own root."""
    return build(store=file_store())


def begun(desk: Deliberation, **more: Any) -> tuple[str, Path]:
    reply = desk.start_session("Why?", "serial", **more)
    assert reply["ok"], reply
    desk.begin_thought(reply["session_id"], "a draft")
    return str(reply["session_id"]), Path(reply["save_path"])


@pytest.mark.requirement("deliberation:lifecycle:finalize")
def test_finalizing_answers_the_path_and_the_line_to_read_to_the_user(filed: Deliberation) -> None:
    session_id, path = begun(filed)
    reply = filed.finalize_session(session_id)
    assert reply["current_path"] == str(path)
    assert path.is_file()
    assert str(path) in reply["human_prompt"]
    assert "move it" in reply["human_prompt"]
    assert reply["available_tools"] == ["move_session", "keep_here"]
    assert filed.finalize_session(session_id)["ok"]


@pytest.mark.requirement("deliberation:lifecycle:finalized-refuses")
@pytest.mark.parametrize(
    "name", ["begin_thought", "critique_current_thought", "commit_thought", "advance_stage"]
)
def test_a_finalised_session_refuses_thought_tools(filed: Deliberation, name: str) -> None:
    session_id, _ = begun(filed)
    filed.finalize_session(session_id)
    reply = filed.call(
        name, {"session_id": session_id, **({"content": "x"} if name == "begin_thought" else {})}
    )
    assert (reply["code"], reply["next_tool"]) == ("session_finalized", "start_session")


@pytest.mark.requirement("deliberation:lifecycle:keep")
def test_keeping_is_recorded_and_touches_no_other_file(filed: Deliberation) -> None:
    session_id, path = begun(filed)
    filed.finalize_session(session_id)
    before = sorted(path.parent.iterdir())
    assert filed.keep_here(session_id)["decided"] is True
    assert sorted(path.parent.iterdir()) == before
    assert json.loads(path.read_text(encoding="utf-8"))["decisions"][0]["action"] == "keep_here"


@pytest.mark.requirement("deliberation:lifecycle:move")
def test_a_session_moves_in_any_status_repeatedly_and_stays_usable(
    filed: Deliberation, tmp_path: Path
) -> None:
    session_id, path = begun(filed)
    first, second = tmp_path / "one.json", tmp_path / "folder"
    second.mkdir()
    assert filed.move_session(session_id, str(first))["current_path"] == str(first)
    assert (first.is_file(), path.exists()) == (True, False)
    assert filed.critique_current_thought(session_id)["ok"]
    filed.finalize_session(session_id)
    moved = filed.move_session(session_id, str(second))
    assert moved["current_path"] == str(second / "one.json")
    document = json.loads((second / "one.json").read_text(encoding="utf-8"))
    assert [(one["from_path"], one["to_path"]) for one in document["move_history"]] == [
        (str(path), str(first)),
        (str(first), str(second / "one.json")),
    ]
    assert document["save_path"] == str(second / "one.json")
    assert filed.list_sessions()["sessions"][0]["path"] == str(second / "one.json")
    assert filed.next_action(session_id)["done"] is True
    assert sorted(child.name for child in second.iterdir()) == ["one.json"]


@pytest.mark.requirement("deliberation:lifecycle:move-other-file-system")
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second file system here")
def test_a_session_moves_to_another_file_system(filed: Deliberation, isolated_home: Path) -> None:
    session_id, path = begun(filed)
    shared = Path("/dev/shm") / f"treewright-{os.getpid()}.json"
    try:
        assert shared.parent.stat().st_dev != path.stat().st_dev
        assert filed.move_session(session_id, str(shared))["ok"]
        assert (shared.is_file(), path.exists()) == (True, False)
        assert filed.resume_session(session_id)["save_path"] == str(shared)
    finally:
        shared.unlink(missing_ok=True)


def occupied(tmp_path: Path) -> str:
    (tmp_path / "there.json").write_text("mine", encoding="utf-8")
    return str(tmp_path / "there.json")


def linked(path: Path, tmp_path: Path) -> str:
    (tmp_path / "link.json").symlink_to(path)
    return str(tmp_path / "link.json")


MOVES: dict[str, tuple[Callable[[Path, Path], str], str]] = {
    "relative": (lambda path, tmp: "somewhere/a.json", "move_not_absolute"),
    "dots": (lambda path, tmp: f"{tmp}/../a.json", "move_not_absolute"),
    "missing parent": (lambda path, tmp: f"{tmp}/no/such/a.json", "move_parent_missing"),
    "parent is a file": (lambda path, tmp: occupied(tmp) + "/a.json", "move_parent_missing"),
    "exists": (lambda path, tmp: occupied(tmp), "move_exists"),
    "same file": (lambda path, tmp: str(path), "move_same_file"),
    "link to itself": (linked, "move_same_file"),
}


@pytest.mark.requirement("deliberation:lifecycle:move-codes")
@pytest.mark.parametrize("case", MOVES)
def test_a_move_that_cannot_be_made_has_a_code_and_leaves_the_original(
    filed: Deliberation, tmp_path: Path, case: str
) -> None:
    session_id, path = begun(filed)
    before = path.read_bytes()
    make, code = MOVES[case]
    target = make(path, tmp_path)
    reply = filed.move_session(session_id, target)
    assert (reply["ok"], reply["code"], reply["next_tool"]) == (False, code, "move_session")
    assert path.read_bytes() == before
    assert filed.resume_session(session_id)["save_path"] == str(path)
    if case == "exists":
        assert Path(target).read_text(encoding="utf-8") == "mine"


@pytest.mark.requirement("deliberation:lifecycle:move-codes")
def test_a_folder_that_cannot_be_written_to_is_refused(
    filed: Deliberation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id, path = begun(filed)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.geteuid() == 0:  # root may write anywhere, so the system's answer is given for it
        real = os.access
        monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != closed and real(place, mode))
    assert filed.move_session(session_id, str(closed / "a.json"))["code"] == "move_parent_not_writable"
    assert path.is_file()


@pytest.mark.requirement("deliberation:lifecycle:move-force")
@pytest.mark.parametrize("force", [True, "true", "yes", 1])
def test_force_replaces_what_is_there(filed: Deliberation, tmp_path: Path, force: object) -> None:
    session_id, path = begun(filed)
    target = Path(occupied(tmp_path))
    assert filed.move_session(session_id, str(target), force)["ok"]
    assert json.loads(target.read_text(encoding="utf-8"))["id"] == session_id
    assert not path.exists()


@pytest.mark.requirement("deliberation:lifecycle:move-crash")
def test_a_crash_between_copy_and_unlink_loses_nothing(
    filed: Deliberation, build: Any, tmp_path: Path
) -> None:
    session_id, path = begun(filed)
    target = tmp_path / "a.json"
    script = (
        "import os, pathlib, sys\n"
        "from treewright.store import moves\n"
        "moves._remove_original = lambda document: os._exit(9)\n"
        "from treewright.app.session_store import FileSessionStore\n"
        "from treewright.store.index import Index\n"
        "from treewright.store.paths import find_root\n"
        "from treewright.deliberate.encoding import decode, encode\n"
        "from treewright.app.session_store import session_facts\n"
        "root = find_root()\n"
        "store = FileSessionStore(root, Index(root.index))\n"
        "rewrite = lambda content, to: (encode(decode(content)), session_facts(decode(content)))\n"
        "store.move(sys.argv[1], sys.argv[2], rewrite, force=False)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, session_id, str(target)], check=False, timeout=60)
    assert done.returncode == 9
    assert path.is_file()
    assert target.is_file()
    again = build(store=file_store())
    assert again.resume_session(session_id)["save_path"] == str(target), "the index names the verified copy"
    assert again.critique_current_thought(session_id)["ok"]


@pytest.mark.requirement("deliberation:lifecycle:clear")
def test_clearing_archives_and_resuming_brings_back_and_purging_deletes(filed: Deliberation) -> None:
    session_id, path = begun(filed)
    assert filed.clear_session(session_id)["ok"]
    assert filed.list_sessions()["sessions"][0]["status"] == "archived"
    assert filed.critique_current_thought(session_id)["code"] == "session_archived"
    assert filed.resume_session(session_id)["status"] == "active"
    assert filed.clear_session(session_id, "true")["ok"]
    assert not path.exists()
    assert filed.list_sessions()["sessions"] == []
    gone = filed.resume_session(session_id)
    assert (gone["code"], gone["next_tool"]) == ("session_not_found", "list_sessions")


@pytest.mark.requirement("deliberation:store:recover")
def test_a_damaged_file_is_recovered_from_the_one_kept_beside_it_and_the_user_told(
    filed: Deliberation, build: Any
) -> None:
    session_id, path = begun(filed)
    good = path.read_bytes()
    path.with_name(path.name + ".bak").write_bytes(good)
    path.write_bytes(good[: len(good) // 2])
    other = build(store=file_store())
    reply = other.resume_session(session_id)
    assert reply["ok"], reply
    assert "damaged" in reply["note"]
    assert "note" not in other.resume_session(session_id)


@pytest.mark.requirement("deliberation:store:recover")
@pytest.mark.parametrize("content", [b"", b"\x00\x01", b'{"id": 1}', b"[]"])
def test_a_file_that_cannot_be_read_answers_a_directive_and_is_left_alone(
    filed: Deliberation, build: Any, content: bytes
) -> None:
    session_id, path = begun(filed)
    path.write_bytes(content)
    reply = build(store=file_store()).resume_session(session_id)
    assert reply["code"] in ("document_damaged", "session_damaged")
    assert reply["next_tool"] == "list_sessions"
    assert path.read_bytes() == content


@pytest.mark.requirement("deliberation:store:file-gone")
def test_a_file_that_is_gone_answers_a_directive(filed: Deliberation) -> None:
    session_id, path = begun(filed)
    path.unlink()
    assert filed.next_action(session_id)["code"] == "document_missing"


@pytest.mark.requirement("deliberation:store:failed-write")
def test_memory_does_not_run_ahead_of_a_disk_that_refuses(
    filed: Deliberation, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id, _ = begun(filed)
    from treewright.errors import StoreError
    from treewright.store.documents import Change

    def refuse(*_: object) -> None:
        raise StoreError("storage_full", "The disk is full.", "Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(Change, "save", refuse)
        reply = filed.critique_current_thought(session_id)
        assert (reply["ok"], reply["code"]) == (False, "storage_full")
        assert reply["next_tool"]
    assert filed.next_action(session_id)["situation"] == "serial_critique"


@pytest.mark.requirement("deliberation:store:other-process-writes")
def test_what_another_process_wrote_is_seen_and_built_on(filed: Deliberation, build: Any) -> None:
    session_id, _ = begun(filed)
    other = build(store=file_store())
    assert other.critique_current_thought(session_id)["ok"]
    assert filed.next_action(session_id)["situation"] == "serial_submit"
    assert filed.submit_critique(session_id, "c")["ok"]
    assert other.next_action(session_id)["situation"] == "serial_refine"


@pytest.mark.requirement("deliberation:store:concurrent-writers")
def test_mutations_of_several_threads_are_all_kept(filed: Deliberation) -> None:
    session_id, path = begun(filed)
    replies: list[dict[str, Any]] = []

    def work() -> None:
        replies.extend(filed.keep_here(session_id) for _ in range(25))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(reply["ok"] for reply in replies)
    assert len(json.loads(path.read_text(encoding="utf-8"))["decisions"]) == 100


WORKER = """
import sys
from datetime import UTC, datetime
from uuid import uuid4
from treewright.app.session_store import FileSessionStore
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.toolbox import Surroundings
from treewright.store.index import Index
from treewright.store.paths import find_root
root = find_root()
desk = Deliberation(Surroundings(
    FileSessionStore(root, Index(root.index)), {}, DeliberationSettings(), lambda: datetime.now(UTC), lambda: uuid4().hex
))
for number in range(int(sys.argv[2])):
    reply = desk.keep_here(sys.argv[1])
    assert reply["ok"], reply
"""


@pytest.mark.requirement("deliberation:store:concurrent-writers")
@pytest.mark.parametrize(
    ("processes", "mutations", "busy"),
    [(4, 25, 0), pytest.param(8, 200, 4, marks=[pytest.mark.slow, pytest.mark.timeout(400)])],
)
def test_mutations_of_several_processes_are_all_kept(
    filed: Deliberation, processes: int, mutations: int, busy: int
) -> None:
    session_id, path = begun(filed)
    command = [sys.executable, "-c", WORKER, session_id, str(mutations)]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        workers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(processes)]
        for worker in workers:
            _, errors = worker.communicate(timeout=110 if processes == 4 else 380)
            assert worker.returncode == 0, errors.decode()
    finally:
        for other in others:
            other.kill()
            other.wait()
    document = json.loads(path.read_text(encoding="utf-8"))
    assert len(document["decisions"]) == processes * mutations
    assert filed.resume_session(session_id)["ok"]


@pytest.mark.requirement("deliberation:store:index-rebuilt")
def test_a_damaged_index_is_rebuilt_from_the_sessions(filed: Deliberation, build: Any) -> None:
    session_id, _ = begun(filed)
    find_root().index.write_text("{", encoding="utf-8")
    other = build(store=file_store())
    assert [one["session_id"] for one in other.list_sessions()["sessions"]] == [session_id]
    assert other.critique_current_thought(session_id)["ok"]
