"""`treewright search` as a process: what it prints, how it exits, what it leaves."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.contract.cli.terminal import Command, command
from tests.unit.app.paid_endpoint import CALL_USD, paid_endpoint
from tests.unit.search.test_search_documentation import matches, parts_of

BUGGY = "def largest(xs):\n    best = xs[0]\n    for x in xs[1:]:\n        if x < best:\n            best = x\n    return best\n"
CHECKS = "assert largest([3, 1, 2]) == 3\nassert largest([1, 5, 2]) == 5\nassert largest([-1, -5]) == -1\n"
KEYS = {
    "run",
    "verified",
    "halted",
    "reason",
    "discriminating",
    "chosen",
    "branches",
    "spend_usd",
    "duration_s",
}
CHOSEN = {"id", "generator", "code", "diff", "passed", "total"}
BRANCH = {"id", "parent", "generator", "passed", "total", "outcome", "lines", "cpu_s", "spend_usd"}
WRONG = "```python\ndef f(n):\n    return None\n```"
RIGHT = "```python\ndef f(n):\n    return n * n\n```"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a program whose function fails its checks."""
    (tmp_path / "maxi.py").write_text(BUGGY, encoding="utf-8")
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    (tmp_path / "square.py").write_text("assert f(0) == 0\nassert f(2) == 4\nassert f(3) == 9\n", "utf-8")
    return tmp_path


@pytest.mark.requirement("search:cli:json")
@pytest.mark.requirement("search:cli:exit")
@pytest.mark.requirement("search:cli:progress")
def test_a_repair_prints_one_object_and_exits_0(project: Path, treewright: Command) -> None:
    ran = treewright("search", "maxi.py:largest", "--checks", "checks.py", "--format", "json", cwd=project)
    assert ran.code == 0, ran.err
    found = ran.json()
    assert ran.out.count("\n") == 1
    assert set(found) >= KEYS
    assert set(found["chosen"]) == CHOSEN
    assert all(set(branch) >= BRANCH for branch in found["branches"])
    assert found["verified"] is True
    assert found["chosen"]["diff"].startswith("--- a/maxi.py")
    assert "b0 start: 0 of 3 checks" in ran.err
    assert (project / "maxi.py").read_text(encoding="utf-8") == BUGGY
    quiet = treewright("search", "maxi.py:largest", "--checks", "checks.py", "-q", cwd=project)
    assert quiet.err == ""
    shown = treewright("show", found["run"], "b1", cwd=project)
    assert "| `assert largest([3, 1, 2]) == 3` | yes | 3 |" in shown.out
    assert treewright("report", found["run"]).out.startswith("# Search: largest")
    assert "verified" in treewright("runs").out


@pytest.mark.requirement("search:cli:exit")
def test_the_best_so_far_exits_1_and_errors_by_their_class(project: Path, treewright: Command) -> None:
    ran = treewright(
        "search", "--entry-point", "f", "--check", "assert f(2) == 5", "--candidates", "one.py", cwd=project
    )
    assert ran.code == 4
    (project / "one.py").write_text("def f(n):\n    return n\n", encoding="utf-8")
    ran = treewright(
        "search", "--entry-point", "f", "--check", "assert f(2) == 5", "--candidates", "one.py", cwd=project
    )
    assert ran.code == 1
    assert "best so far: b0 (given), 0 of 1 checks pass" in ran.out
    assert treewright("search", "maxi.py", cwd=project).code == 2
    assert treewright("search", "maxi.py", "--nonsense", cwd=project).code == 2
    assert treewright("search", "maxi.py:smallest", "--checks", "checks.py", cwd=project).code == 2
    ran = treewright("search", "maxi.py", "--checks", "checks.py", "--python", "/no/python", cwd=project)
    assert ran.code == 7
    assert "Check the path given by --python" in ran.err


@pytest.mark.requirement("search:cli:worked-examples")
@pytest.mark.requirement("search:cli:several-values")
@pytest.mark.parametrize("example", ["best", "tie"])
def test_the_worked_examples_run_through_the_command_line(
    tmp_path: Path, treewright: Command, example: str
) -> None:
    parts = parts_of("search.md", example)
    for name, text in parts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [name for name in ("one.py", "two.py", "three.py") if name in parts]
    more = ["--exhaustive"] if example == "tie" else []
    ran = treewright(
        *("search", "--checks", "checks.py", "--candidates", *files, "--entry-point", "f", *more),
        *("--format", "json", "-q"),
    )
    assert ran.code == 0, ran.err
    assert matches(ran.json(), json.loads(parts["result"])), ran.out


@pytest.mark.requirement("search:cli:worked-examples")
def test_the_worked_example_of_the_cap_runs_through_the_command_line(
    tmp_path: Path, isolated_home: Path, treewright: Command
) -> None:
    parts = parts_of("search.md", "cap")
    (tmp_path / "checks.py").write_text(parts["checks.py"], encoding="utf-8")
    answers = [f"```python\n{parts[f'answer-{number}.py']}```" for number in (1, 2, 3)]
    with paid_endpoint(isolated_home / "treewright", answers) as server:
        ran = treewright(
            *("search", "--checks", "checks.py", "--entry-point", "f", "--model", "paid"),
            *("--max-candidates", "3", "--format", "json", "-q"),
        )
        assert ran.code == 1, ran.err
        found = ran.json()
        spend = found.pop("spend_usd")
        shown = json.loads(parts["result"])
        assert spend == pytest.approx(shown.pop("spend_usd"), abs=1e-4)
        assert matches(found, shown)
        assert [notice["code"] for notice in found["notices"]] == ["W052"]
        server.answers.append(answers[2])
        again = treewright("resume", found["run"], "--spend-cap", "1", "-q")
        assert again.code == 0, again.err
        assert len(server.prompts) == 3


@pytest.mark.requirement("search:cli:apply")
def test_apply_shows_the_change_and_writes_it(project: Path, treewright: Command) -> None:
    ran = treewright("search", "maxi.py:largest", "--checks", "checks.py", "--apply", "-q", cwd=project)
    assert ran.code == 0, ran.err
    assert "-        if x < best:\n+        if x > best:\n" in ran.out
    assert "Applied to" in ran.out
    assert (project / "maxi.py").read_text(encoding="utf-8") == BUGGY.replace("x < best", "x > best")
    done = treewright("search", "maxi.py:largest", "--checks", "checks.py", "-q", cwd=project)
    assert done.code == 0
    assert "nothing was changed" in done.out


def kernels_of(pid: int) -> list[psutil.Process]:
    """Return the processes below one."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.requirement("search:cli:interrupt")
def test_ctrl_c_in_the_midst_of_a_repair_leaves_it_to_be_done_again(
    project: Path, treewright: Command
) -> None:
    (project / "impossible.py").write_text(CHECKS + "assert largest([7]) == 8\n", encoding="utf-8")
    running = subprocess.Popen(
        command("search", "maxi.py:largest", "--checks", "impossible.py"),
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("b0 start"):
            break
    time.sleep(1.0)
    below = kernels_of(running.pid)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    _, alive = psutil.wait_procs(below, timeout=5)
    assert alive == []
    shown = treewright("show", "last", "--format", "json").json()
    assert shown["status"] == "stopped"
    # The repair says nothing yet, so that going on does it from the start.
    assert "task_finished" not in (Path(shown["folder"]) / "journal.jsonl").read_text(encoding="utf-8")


@pytest.mark.requirement("search:cli:interrupt")
def test_ctrl_c_leaves_no_process_and_tells_how_to_go_on(project: Path) -> None:
    (project / "slow.py").write_text("def largest(xs):\n    while True:\n        pass\n", encoding="utf-8")
    running = subprocess.Popen(
        command("search", "--entry-point", "largest", "--checks", "checks.py", "--candidates", "slow.py"),
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    deadline = time.monotonic() + 20
    while len(below := kernels_of(running.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "Go on with: treewright resume" in out
    _, alive = psutil.wait_procs(below, timeout=5)
    assert alive == []


@pytest.mark.requirement("search:app:killed")
def test_after_kill_9_what_was_answered_is_not_paid_for_twice(
    project: Path, isolated_home: Path, treewright: Command
) -> None:
    with paid_endpoint(isolated_home / "treewright", [WRONG]) as server:
        running = subprocess.Popen(
            command(
                "search", "--entry-point", "f", "--checks", "square.py", "--model", "paid", "--spend-cap", "5"
            ),
            cwd=project,
            env=dict(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert server.waiting.acquire(timeout=30)
        time.sleep(0.3)
        below = kernels_of(running.pid)
        running.kill()
        running.wait(10)
        psutil.wait_procs(below, timeout=10)
        sent = len(server.prompts)
        server.answers.extend([RIGHT] * 4)
        server.let_go.set()
        assert treewright("show", "last", "--format", "json").json()["status"] == "stopped"
        ran = treewright("resume", "last", "--format", "json", "-q")
        assert ran.code == 0, ran.err
        # a further draft asks the same as the greedy one, warmer, and once
        assert server.prompts[sent:].count(server.prompts[0]) <= 1
        found = ran.json()
        # The first answer, every call that was out when it died, and the one that was right.
        assert found["spend_usd"] >= (1 + (sent - 1) + 1) * CALL_USD - 1e-3
        audits = list((isolated_home / "treewright" / "audit").glob(f"search-{found['run']}-*.jsonl"))
        events = [
            json.loads(line)["event"]["kind"] for path in audits for line in path.read_text().splitlines()
        ]
        assert events[0] == "search_started"
        assert events[-1] == "search_concluded"


@pytest.mark.requirement("search:cli:resume-limits")
def test_a_search_goes_on_with_more_candidates_and_under_a_time_limit(
    project: Path, treewright: Command, isolated_home: Path
) -> None:
    with paid_endpoint(isolated_home / "treewright", [WRONG, WRONG, RIGHT]) as server:
        words = ["--model", "paid", "--generator", "model", "--spend-cap", "5", "--max-candidates", "1"]
        ran = treewright(
            "search", "--entry-point", "f", "--checks", "square.py", *words, "--format", "json", cwd=project
        )
        assert ran.code == 1, ran.err
        run = ran.json()["run"]
        assert len(server.prompts) == 1
        ran = treewright("resume", run, "--max-candidates", "3", "--time-limit", "0.001", "--format", "json")
        assert (ran.code, ran.json()["reason"]) == (1, "timeout")
        ran = treewright("resume", run, "--max-candidates", "3", "--time-limit", "120", "--format", "json")
        assert ran.code == 0, ran.err
        assert ran.json()["verified"] is True
    assert len(server.prompts) <= 3


@pytest.mark.requirement("search:cli:resume-limits")
def test_limits_of_a_search_are_refused_for_other_runs(tmp_path: Path, treewright: Command) -> None:
    (tmp_path / "one.py").write_text("def f(n):\n    return n\n", encoding="utf-8")
    folder = treewright("audit", "one.py", "--format", "json", cwd=tmp_path).json()["folder"]
    ran = treewright("resume", folder, "--max-candidates", "3")
    assert ran.code == 2
    assert "--max-candidates belongs to a code-branch search" in ran.err


@pytest.mark.requirement("search:fix:verified")
def test_a_verified_fix_of_a_finding_is_found_from_the_terminal(flawed: Path, treewright: Command) -> None:
    audit = treewright("audit", ".", "--format", "json", "-q", cwd=flawed)
    run = audit.json()["run"]
    tree = json.loads(next((flawed / ".treewright").glob("*/*/tree.json")).read_text(encoding="utf-8"))
    node = next(
        one["id"] for one in tree["tree"] if one["verdict"] == "CONFIRMED" and "SQL" in one["statement"]
    )
    ran = treewright("search", "--finding", f"{run}/{node}", "--format", "json", "-q", cwd=flawed)
    assert ran.code == 0, ran.err + ran.out
    found = ran.json()
    assert found["verified"] is True
    assert "WHERE name = ?" in found["chosen"]["code"]
    assert "WHERE name = '{name}'" in (flawed / "app.py").read_text(encoding="utf-8")
    assert treewright("search", "app.py", "--finding", f"{run}/{node}", cwd=flawed).code == 2
