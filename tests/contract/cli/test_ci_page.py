"""The page about continuous integration: its commands, its workflow and the hook do what it says."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.contract.cli.terminal import REPOSITORY, Command

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


def test_the_hook_is_the_one_that_the_page_names() -> None:
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    shown = yaml.safe_load(_blocks("yaml")[1])
    assert [hook["id"] for hook in shown["repos"][0]["hooks"]] == [hook["id"] for hook in hooks]
    assert hooks[0]["entry"].split()[:2] == ["treewright", "audit"]
    assert not hooks[0]["pass_filenames"]
