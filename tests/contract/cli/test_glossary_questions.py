"""The glossary step asks a person at a terminal, once and skippably, and asks nobody elsewhere."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.contract.cli.terminal import Command, command
from tests.unit.performers.growing_runs import project

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

TOPIC = "How can the build cache keep stale layer entries from the shared runner pool?"
GLOSSARY = """# Glossary

- build store: where finished steps lie
- shared runner: a machine that several projects use
"""


class Terminal:
    """A command whose standard input, output and errors are one pseudo-terminal."""

    def __init__(self, arguments: list[str], cwd: Path) -> None:
        import pty

        self._master, slave = pty.openpty()
        self.child = subprocess.Popen(
            command(*arguments), cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str, timeout_s: float = 60) -> None:
        """Wait until a text is shown that was not looked for before."""
        start = len(self.shown)
        deadline = time.monotonic() + timeout_s
        while text not in self.shown[start:]:
            assert time.monotonic() < deadline, self.shown
            ready, _, _ = select.select([self._master], [], [], 0.5)
            if ready:
                self.shown += os.read(self._master, 4096).decode("utf-8", "replace")

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self, timeout_s: float = 60) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + timeout_s
        while self.child.poll() is None:
            assert time.monotonic() < deadline, self.shown
            self._read_a_little()
        self._read_a_little()
        os.close(self._master)
        return self.child.returncode

    def _read_a_little(self) -> None:
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if ready:
            try:
                self.shown += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError:  # how Linux says that the other end is closed
                return


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = project(tmp_path / "project")
    (made / "glossary.md").write_text(GLOSSARY, encoding="utf-8")
    (made / "script.json").write_text('[{"outcome": "over_quota", "times": null}]', encoding="utf-8")
    return made


def asked(folder: Path, *more: str) -> list[str]:
    model = f"scripted:{folder / 'script.json'}"
    return ["brainstorm", TOPIC, "--model", model, "--rounds", "1", "--out", str(folder / "out"), *more]


def anchors(folder: Path) -> str:
    return (folder / "out" / "glossary-anchors.md").read_text(encoding="utf-8")


QUESTION = "Enter for 1, s to ask nothing more: "


@pytest.mark.requirement("cli:glossary:asks")
def test_a_person_at_a_terminal_is_asked_and_their_choice_is_kept(folder: Path) -> None:
    terminal = Terminal(asked(folder), folder)
    terminal.until(QUESTION)
    assert "“build cache” is not in the glossary" in terminal.shown
    assert "2. build store" in terminal.shown
    terminal.type("seven\n")
    terminal.until(QUESTION)
    terminal.type("2\n")
    terminal.until(QUESTION)
    terminal.type("s\n")
    terminal.end()
    kept = anchors(folder)
    assert "**build cache** → build store (asked, glossary.md:3)" in kept
    assert "recommended" in kept.partition("build cache")[2]


@pytest.mark.requirement("cli:glossary:asks")
def test_the_end_of_input_takes_the_recommendations_and_goes_on(folder: Path) -> None:
    terminal = Terminal(asked(folder), folder)
    terminal.until(QUESTION)
    terminal.type("\x04")
    terminal.end()
    assert "(asked" not in anchors(folder)
    assert terminal.shown.count(QUESTION) == 1


@pytest.mark.requirement("cli:glossary:asks")
def test_ctrl_c_at_a_question_leaves_nothing_behind(folder: Path) -> None:
    terminal = Terminal(asked(folder), folder)
    terminal.until(QUESTION)
    terminal.child.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert not (folder / "out").exists()


@pytest.mark.requirement("cli:glossary:skippable")
@pytest.mark.parametrize("flag", ["--no-questions", "--quiet"])
def test_nobody_is_asked_who_does_not_want_it(folder: Path, flag: str) -> None:
    terminal = Terminal(asked(folder, flag), folder)
    terminal.end()
    assert QUESTION not in terminal.shown
    assert "took the recommendation" in anchors(folder)


@pytest.mark.requirement("cli:glossary:skippable")
def test_nobody_is_asked_without_a_terminal(treewright: Command, folder: Path) -> None:
    done = treewright(*asked(folder), cwd=folder)
    assert QUESTION not in done.out + done.err
    assert "took the recommendation" in anchors(folder)
