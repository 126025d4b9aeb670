"""The page about continuous integration: its commands, its workflow and the hook do what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.contract.cli.terminal import CLEAN, REPOSITORY, Command

PAGE = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def _commands(text: str) -> list[list[str]]:
    lines = [line.partition("  #")[0].strip() for line in text.splitlines()]
    return [line.split()[1:] for line in lines if line.startswith("treewright ")]


@pytest.mark.requirement("audit:ci:examples-run")
def test_the_gate_of_the_workflow_passes_an_old_finding_and_stops_a_new_one(
    treewright: Command, flawed: Path
) -> None:
    workflow = yaml.safe_load(_blocks("yaml")[0])
    steps = workflow["jobs"]["audit"]["steps"]
    gate = next(step for step in steps if step.get("name") == "Gate")
    (command,) = _commands("\n".join(line.strip() for line in gate["run"].splitlines()))
    arguments = [part.replace('"$BASE"', "HEAD") for part in command if part != "$baseline"]

    def git(*words: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=flawed, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    assert treewright(*arguments, cwd=flawed).code == 0
    text = (flawed / "app.py").read_text(encoding="utf-8")
    (flawed / "app.py").write_text(text.replace("SELECT *", "SELECT id"), encoding="utf-8")
    arguments[arguments.index("gate")] = "gate2"
    assert treewright(*arguments, cwd=flawed).code == 1


def test_every_command_of_the_page_is_one_that_the_program_takes(treewright: Command) -> None:
    shown = [arguments for block in _blocks("sh") for arguments in _commands(block)]
    assert len(shown) >= 8
    helps: dict[str, str] = {}
    for arguments in shown:
        name = arguments[0]
        if name not in helps:
            ran = treewright(name, "--help")
            assert ran.code == 0
            helps[name] = ran.out
        for option in (part for part in arguments if part.startswith("--")):
            assert option in helps[name], f"{name} {option}"


def _hook() -> dict[str, object]:
    (hook,) = yaml.safe_load(_blocks("yaml")[1])["repos"][0]["hooks"]
    return dict(hook)


def test_the_hook_of_the_page_is_the_one_that_this_repository_offers() -> None:
    (offered,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    shown = _hook()
    same = set(shown) - {"language", "name"}
    assert {key: shown[key] for key in same} == {key: offered[key] for key in same}


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("audit:ci:pre-commit")
def test_pre_commit_itself_stops_a_commit_that_brings_a_finding_and_lets_others_pass(
    flawed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = tmp_path / "bin" / "treewright"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m treewright "$@"\n', encoding="utf-8")
    starter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{starter.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    (flawed / ".pre-commit-config.yaml").write_text(_blocks("yaml")[1], encoding="utf-8")
    (flawed / ".gitignore").write_text(".treewright/\n", encoding="utf-8")

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-c", "commit.gpgsign=false", *words]
        return subprocess.run(command, cwd=flawed, capture_output=True, text=True, timeout=300, check=False)

    def commit(message: str) -> subprocess.CompletedProcess[str]:
        git("add", ".")
        return git("commit", "-m", message)

    git("init", "-q")
    assert commit("the flaw was there before the hook").returncode == 0
    command = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(command, cwd=flawed, check=True, capture_output=True, timeout=100)
    (flawed / "sums.py").write_text(CLEAN, encoding="utf-8")
    passed = commit("clean")
    assert passed.returncode == 0, passed.stderr
    assert "Passed" in passed.stderr
    text = (flawed / "app.py").read_text(encoding="utf-8")
    (flawed / "app.py").write_text(text.replace("SELECT *", "SELECT id"), encoding="utf-8")
    stopped = commit("worse")
    assert stopped.returncode == 1
    assert "Failed" in stopped.stderr
    assert git("log", "--format=%s", "-1").stdout.strip() == "clean"
