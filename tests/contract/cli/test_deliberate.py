"""`treewright deliberate` as a process: driven by a model, by a script a tool at a time, and by hand on a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.contract.cli.terminal import Command, command
from tests.patience import within
from tests.unit.app.paid_endpoint import paid_endpoint

SCORES = "correctness: 0.8, evidence: 0.7, novelty: 0.5, clarity: 0.9, bias_resistance: 0.6, actionability: 0.7, coverage: 0.6"


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return the specification of a model that answers every step."""
    path = tmp_path / "model.json"
    rules = [
        {"when": "(?i)score", "text": SCORES, "times": None},
        {"text": "Cache the reads that repeat; measure first.", "times": None},
    ]
    path.write_text(json.dumps(rules), encoding="utf-8")
    return f"scripted:{path}"


@pytest.mark.requirement("deliberation:cli:driven")
@pytest.mark.parametrize("mode", ["serial", "subagent"])
def test_a_model_thinks_a_question_through_to_the_end(treewright: Command, script: str, mode: str) -> None:
    ran = treewright(
        *("deliberate", "Should we cache?", "--model", script, "--mode", mode),
        *("--stages", "Analysis, Conclusion", "--format", "json"),
    )
    assert ran.code == 0, ran.err
    done = ran.json()
    assert (done["status"], done["mode"], done["stage"]) == ("finalized", mode, "conclusion".title())
    assert Path(done["save_path"]).is_file()
    commit = "commit_thought" if mode == "serial" else "commit_subagent_thought"
    assert re.search(rf"Analysis: .*{commit}: done", ran.err)
    assert re.search(rf"Conclusion: .*{commit}: done", ran.err)
    shown = treewright("deliberate", "--session", done["session_id"][:10], "--show")
    assert "## Conclusion" in shown.out
    assert treewright("show", done["session_id"]).out.startswith("Should we cache? (finalized)")
    assert treewright("report", "last").out == shown.out


@pytest.mark.requirement("deliberation:cli:goes-on")
def test_a_model_that_fails_leaves_a_session_to_go_on_with(
    treewright: Command, tmp_path: Path, script: str
) -> None:
    short = tmp_path / "short.json"
    short.write_text(json.dumps(["A draft.", {"outcome": "refused", "times": None}]), encoding="utf-8")
    ran = treewright("deliberate", "Why?", "--model", f"scripted:{short}", "--stages", "Conclusion")
    assert ran.code == 6
    session = re.search(r"--session (\w+)", ran.err)
    assert session is not None
    again = treewright("deliberate", "--session", session[1], "--model", script, "-q")
    assert again.code == 0, again.err
    assert "Conclusion:" in again.out
    assert "Would you like to move it" in again.out
    exported = json.loads(treewright("deliberate", "--session", session[1], "--export").out)
    assert exported["thoughts"][0]["content"]
    assert len(exported["thoughts"]) == 1


@pytest.mark.requirement("deliberation:cli:driven")
def test_ctrl_c_keeps_everything(treewright: Command, isolated_home: Path) -> None:
    with paid_endpoint(isolated_home / "treewright", ["A draft that stays."]) as server:
        running = subprocess.Popen(
            command("deliberate", "Why?", "--model", "paid", "--stages", "Conclusion"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert server.waiting.acquire(timeout=30)
        running.send_signal(2)
        out, err = running.communicate(timeout=20)
        assert running.returncode == 130, out + err
        assert "Everything is kept. Go on with: treewright deliberate --session" in err
    assert "A draft that stays." in treewright("deliberate", "--session", "last", "--show").out


@pytest.mark.requirement("deliberation:cli:nothing-ignored")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--session", "{}", "Another question?"], "A question belongs to a new session"),
        (["--session", "{}", "--stages", "A"], "--stages belongs to a new session"),
        (["--session", "{}", "--show", "--export"], "--show and --export are two things to do"),
        (["--session", "{}", "--force"], "--force is for --move"),
        (["--session", "{}", "--arg", "content=x"], "--arg is for --call"),
        (["Why?", "--stages", ", ,"], "--stages names no stage"),
        (["--session", "{}", "--mode", "subagent"], "The mode is serial and cannot be changed"),
        (["--import", "/no/such"], "/no/such cannot be read: No such file or directory."),
    ],
)
def test_what_has_no_part_in_a_call_is_refused_and_not_passed_over(
    treewright: Command, given: list[str], told: str
) -> None:
    session = treewright("deliberate", "Why?", "--mode", "serial").json()["session_id"]
    ran = treewright("deliberate", *(part.format(session) for part in given))
    assert ran.code == 2
    assert told in ran.err
    assert len(treewright("deliberate", "--list").out.splitlines()) == 1, "no session was begun"


@pytest.mark.requirement("deliberation:cli:nothing-ignored")
def test_a_mode_can_be_given_to_a_session_that_has_none_yet(treewright: Command) -> None:
    session = treewright("deliberate", "Why?").json()["session_id"]
    assert (
        treewright("deliberate", "--session", session, "--mode", "serial").json()["next_tool"]
        == "begin_thought"
    )
    assert treewright("deliberate", "--session", session, "--mode", "serial").code == 0


@pytest.mark.requirement("deliberation:cli:nothing-ignored")
@pytest.mark.parametrize(("model", "code"), [("nope", 2), ("local:/no/such.gguf", 4)])
def test_no_session_is_begun_for_a_model_that_is_not_there(
    treewright: Command, model: str, code: int
) -> None:
    ran = treewright("deliberate", "Why?", "--model", model)
    assert ran.code == code
    assert "There is no" in ran.err and ".." not in ran.err
    assert treewright("deliberate", "--list", "--format", "json").json() == []


@pytest.mark.requirement("deliberation:cli:by-script")
def test_away_from_a_terminal_the_next_action_is_json_and_call_takes_it(
    treewright: Command, tmp_path: Path
) -> None:
    first = treewright("deliberate", "Why?", "--stages", "Conclusion").json()
    assert first["next_tool"] == "set_session_mode"
    session = first["session_id"]
    text = tmp_path / "text.txt"
    text.write_text("Because.\nTwo lines.", encoding="utf-8")
    arguments = {
        "set_session_mode": ["mode=serial"],
        "begin_thought": [f"content=@{text}"],
        "critique_current_thought": [],
        "submit_critique": ["text=It rests on nothing."],
        "refine_current_thought": [f"new_content=@{text}"],
        "score_current_thought": [f"scores={SCORES}"],
        "commit_thought": [],
        "finalize_session": [],
        "keep_here": [],
    }
    following = first["next_tool"]
    for tool, pairs in arguments.items():
        assert following == tool
        given = [part for pair in pairs for part in ("--arg", pair)]
        ran = treewright("deliberate", "--session", session, "--call", tool, *given)
        assert ran.code == 0, ran.out
        following = ran.json()["next_tool"]
    assert treewright("deliberate", "--session", session, "--call", "next_action").json()["done"] is True
    wrong = treewright("deliberate", "--session", session, "--call", "begin_thought", "--arg", "content=x")
    assert (wrong.code, wrong.json()["code"]) == (2, "session_finalized")


@pytest.mark.requirement("deliberation:cli:acts")
def test_sessions_are_listed_moved_kept_exported_and_imported(treewright: Command, tmp_path: Path) -> None:
    session = treewright("deliberate", "Why?", "--mode", "serial").json()["session_id"]
    listed = treewright("deliberate", "--list", "--format", "json").json()
    assert [one["session_id"] for one in listed] == [session]
    target = tmp_path / "reasoning.json"
    moved = treewright("deliberate", "--session", session, "--move", target)
    assert moved.code == 0, moved.err
    assert target.is_file()
    target.with_name("other.json").write_text("mine", encoding="utf-8")
    refused = treewright("deliberate", "--session", session, "--move", target.with_name("other.json"))
    assert refused.code == 2
    assert target.with_name("other.json").read_text(encoding="utf-8") == "mine"
    assert treewright("deliberate", "--session", session, "--keep").code == 0
    copy = tmp_path / "copy.json"
    copy.write_text(treewright("deliberate", "--session", session, "--export").out, encoding="utf-8")
    imported = treewright("deliberate", "--import", copy, "--format", "json")
    assert imported.code == 0, imported.err
    assert imported.json()["session_id"] != session
    assert treewright("deliberate", "--session", "0" * 32, "--show").code == 4
    assert treewright("deliberate").code == 2
    assert treewright("deliberate", "--show").code == 2


@pytest.mark.requirement("deliberation:cli:import-home")
def test_a_deep_think_home_is_imported(treewright: Command, tmp_path: Path) -> None:
    session = treewright("deliberate", "Why?", "--mode", "serial").json()["session_id"]
    home = tmp_path / "deep"
    (home / "sessions").mkdir(parents=True)
    document = json.loads(treewright("deliberate", "--session", session, "--export").out)
    document["id"] = "f" * 32
    (home / "sessions" / "a.json").write_text(json.dumps(document), encoding="utf-8")
    ran = treewright("deliberate", "--import-home", DEEP_THINK_HOME=str(home))
    assert ran.code == 0, ran.err
    assert "1 of 1 session is here." in ran.out
    assert len(treewright("deliberate", "--list", "--format", "json").json()) == 2


@pytest.mark.requirement("deliberation:cli:no-model")
def test_resume_points_to_the_right_command(treewright: Command) -> None:
    session = treewright("deliberate", "Why?", "--mode", "serial").json()["session_id"]
    ran = treewright("resume", session)
    assert ran.code == 2
    assert f"treewright deliberate --session {session}" in ran.err


def say(master: int, wanted: str, answer: str, seen: list[str]) -> None:
    """Wait until a terminal shows a text, then type an answer."""
    deadline = time.monotonic() + within(20)
    while wanted not in "".join(seen)[int(seen[0]) :]:
        assert time.monotonic() < deadline, f"{wanted!r} not in {''.join(seen[1:])[-600:]!r}"
        if select.select([master], [], [], 0.2)[0]:
            seen.append(os.read(master, 65536).decode("utf-8", "replace"))
    seen[0] = str(len("".join(seen)))
    os.write(master, answer.encode())


@pytest.mark.requirement("deliberation:cli:by-hand")
def test_a_person_is_taken_through_step_by_step(treewright: Command, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    running = subprocess.Popen(
        command("deliberate", "Should we cache?", "--stages", "Conclusion"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        close_fds=True,
    )
    os.close(slave)
    seen = ["0"]
    try:
        say(master, "Mode", "serial\n", seen)
        assert "to the user" not in "".join(seen), "words for an agent are not shown to a person"
        say(master, "single dot", ".\n", seen)
        say(master, "That could not be read: a plain text is wanted", "Cache reads.\n.\n", seen)
        say(master, "The text:", "It rests on nothing.\n.\n", seen)
        say(master, "The whole new text", "Cache reads that repeat.\n.\n", seen)
        say(master, "Scores", f"{SCORES}\n", seen)
        say(master, "The text:", "half a sentence\n", seen)
        running.send_signal(2)
        say(master, "Go on with: treewright deliberate --session", "", seen)
        assert running.wait(20) == 130
    finally:
        running.kill()
        running.wait()
        os.close(master)
    text = treewright("deliberate", "--session", "last", "--show").out
    assert "Cache reads that repeat." in text
    assert "It rests on nothing." in text
