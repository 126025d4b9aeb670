"""The command line as a newcomer meets it: every command, help, runs, completion, the terminal, errors."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.contract.cli.terminal import Command, command
from tests.unit.performers.answering import Answerer
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, project
from treewright.surfaces.cli.main import COMMANDS, cli

CONTRACT = [
    "audit",
    "brainstorm",
    "attack",
    "design",
    "tree",
    "chain",
    "search",
    "deliberate",
    "resume",
    "stop",
    "runs",
    "show",
    "report",
    "recover",
    "validate",
    "cap",
    "models",
    "doctor",
    "lsp",
    "mcp",
]
GROWING = ("audit", "brainstorm", "attack", "design", "tree", "chain")
COMMON = [
    "--lang",
    "--width",
    "--depth",
    "--rounds",
    "--max-branches",
    "--out",
    "--glossary",
    "--field",
    "--seed-from",
    "--no-grill",
    "--no-online",
    "--min-frameworks",
    "--min-novelty-ratio",
    "--concurrency",
    "--model",
    "--spend-cap",
    "--format",
    "--online",
    "--python",
]
_COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9][0-9;]*m")


def options_of(name: str) -> set[str]:
    """Return the options of a command."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return {option for param in found.params for option in [*param.opts, *param.secondary_opts]}


@pytest.mark.requirement("cli:commands:all-there")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(CONTRACT) <= set(COMMANDS)
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0
    text = shown.output + capsys.readouterr().out
    assert "usage" in text.lower()
    assert len(text.splitlines()) > 3


def test_the_help_fits_a_terminal_and_cuts_no_sentence(treewright: Command) -> None:
    for arguments in ((), ("--help",)):
        shown = treewright(*arguments, COLUMNS="80")
        text = shown.out + shown.err
        assert "..." not in re.sub(r"\[ARGS\]\.\.\.", "", text)
        assert max(len(line) for line in text.splitlines()) <= 100
        assert "treewright audit PATH" in text


@pytest.mark.requirement("cli:commands:common-flags")
@pytest.mark.parametrize("name", GROWING)
def test_the_common_flags_are_on_every_command_that_grows_a_tree(name: str) -> None:
    assert set(COMMON) <= options_of(name)


@pytest.mark.requirement("cli:commands:min-frameworks")
@pytest.mark.parametrize("name", GROWING)
def test_no_command_takes_fewer_than_twelve_framings(name: str, tmp_path: Path) -> None:
    given = {"tree": ["x", "--preset", "design"], "audit": ["."]}.get(name, ["x"])
    shown = CliRunner().invoke(cli, [name, *given, "--min-frameworks", "11"])
    assert shown.exit_code == 2
    assert "12" in shown.output


def test_a_command_that_is_mistyped_is_told_the_nearest(treewright: Command) -> None:
    shown = treewright("audt")
    assert shown.code == 2
    assert "Did you mean audit?" in shown.err


def test_a_file_that_is_mistyped_is_no_prompt(treewright: Command) -> None:
    shown = treewright("design", "prompt.md")
    assert shown.code == 4
    assert "There is no file 'prompt.md'" in shown.err


def test_a_search_for_nothing_is_told_what_to_name(treewright: Command) -> None:
    shown = treewright("search")
    assert shown.code == 2
    assert "FILE:FUNCTION" in shown.err


@pytest.mark.parametrize("name", ["show", "report", "resume", "stop", "recover"])
def test_a_run_that_is_not_named_is_asked_for_with_how_to_name_it(treewright: Command, name: str) -> None:
    shown = treewright(name)
    assert shown.code == 2
    assert "`last`" in shown.err
    assert "`treewright runs` lists the ids" in shown.err


@pytest.mark.requirement("cli:show:runs", "cli:show:node", "cli:show:report")
def test_runs_show_and_report_before_and_after_the_first_audit(treewright: Command, flawed: Path) -> None:
    assert "No runs yet" in treewright("runs").out
    before = treewright("show", "last")
    assert before.code == 4
    assert "treewright audit PATH" in before.err
    made = treewright("audit", flawed, "--format", "json", "-q").json()
    (row,) = treewright("runs", "--format", "json").json()
    assert row["kind"] == "exploration"
    assert row["path"] == made["folder"]
    assert made["status"] == row["status"]
    line = treewright("runs").out
    assert row["id"] in line
    assert row["status"] in line
    assert "code-audit" in line
    assert Path(made["folder"]).name in line
    node = re.findall(r"\b[A-L]\d+\b", treewright("show", "last").out)[0]
    shown = treewright("show", "last", node)
    assert shown.code == 0
    assert node in shown.out
    assert "app.py" in shown.out
    assert treewright("report", row["id"][:6]).out == (Path(made["folder"]) / "REPORT.md").read_text("utf-8")


@pytest.mark.requirement("cli:store:cap")
def test_cap_shows_reserves_settles_and_refuses_beyond(treewright: Command, isolated_home: Path) -> None:
    (isolated_home / "treewright").mkdir(exist_ok=True)
    (isolated_home / "treewright" / "config.toml").write_text(
        "[search]\nspend_cap_usd = 0.30\n", encoding="utf-8"
    )
    held = treewright("cap", "reserve", "--run", "r", "--estimate", "0.20")
    assert held.code == 0
    assert treewright("cap", "reserve", "--run", "r", "--estimate", "0.20").code == 3
    settled = treewright(
        "cap", "settle", "--run", "r", "--reservation", held.json()["reservation"]["id"], "--actual", "0.05"
    )
    assert settled.code == 0
    assert treewright("cap", "reserve", "--run", "r", "--estimate", "0.20").code == 0
    assert "0.05" in treewright("cap", "status", "--run", "r").out
    assert "0.3" in treewright("cap", "config").out


@pytest.mark.requirement("cli:errors:exit-classes", "cli:errors:no-traceback")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "nope"], 4),
        (["brainstorm", "x"], 6),
        (["audit", "--widht", "1"], 2),
        (["validate", "nope.md"], 1),
    ],
)
def test_an_error_is_one_line_and_a_hint_and_its_class_and_a_traceback_only_when_asked_for(
    treewright: Command, arguments: list[str], code: int
) -> None:
    told = treewright(*arguments)
    assert told.code == code
    assert "Traceback" not in told.out + told.err
    again = treewright("--debug", *arguments)
    assert again.code == code
    if code in (4, 6):
        assert told.err.startswith("treewright: ")
        assert told.err.splitlines()[1].startswith("  ")
        assert "Traceback" in again.err


def test_validate_says_what_it_took_a_named_file_for(treewright: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("# A preset without its front matter\n", encoding="utf-8")
    told = treewright("validate", tmp_path / "mine.md")
    assert told.err.strip() == "0 errors, 0 warnings; checked: 1 as page"


@pytest.mark.requirement("cli:commands:completion")
def test_bash_completes_commands_options_presets_and_runs(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    done = treewright("completion", "bash", "--install", XDG_DATA_HOME=str(data))
    script = data / "bash-completion" / "completions" / "treewright"
    assert str(script) in done.out
    run = treewright("audit", flawed, "--format", "json", "-q").json()["run"]
    starter = tmp_path / "bin" / "treewright"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m treewright "$@"\n', encoding="utf-8")
    starter.chmod(0o755)

    def completed(*words: str) -> set[str]:
        quoted = " ".join(f"'{word}'" for word in ("treewright", *words))
        line = (
            f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
            'COMPREPLY=(); _treewright_completion treewright; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        path = f"{starter.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        return set(done.stdout.split())

    assert completed("au") == {"audit"}
    assert "--preset" in completed("tree", "x", "--pre")
    assert {"attack", "brainstorm", "code-audit", "design"} <= completed("tree", "x", "--preset", "")
    assert completed("chain", "--stages", "brainstorm,de") == {"brainstorm,design"}
    assert {"last", run} <= completed("show", "")


@pytest.mark.requirement("cli:commands:completion")
@pytest.mark.parametrize(
    ("shell", "place"), [("zsh", ".zfunc/_treewright"), ("fish", "fish/completions/treewright.fish")]
)
def test_zsh_and_fish_get_their_script_where_they_look(
    treewright: Command, isolated_home: Path, tmp_path: Path, shell: str, place: str
) -> None:
    done = treewright("completion", shell, "--install", XDG_CONFIG_HOME=str(tmp_path), ZDOTDIR=str(tmp_path))
    assert done.code == 0, done.err
    script = (tmp_path / place).read_text(encoding="utf-8")
    assert f"_TREEWRIGHT_COMPLETE={shell}_complete" in script
    assert treewright("completion", shell).out.strip() == script.strip()
    if found := shutil.which(shell):
        subprocess.run([found, "-n", str(tmp_path / place)], check=True, timeout=20)


def on_terminal(arguments: list[str], cwd: Path, timeout: float = 60, **environ: str) -> tuple[int, str]:
    """Run a command on a terminal of its own and return its exit code and everything that the terminal got."""
    number, handle = pty.fork()
    if number == 0:
        os.chdir(cwd)
        os.execvpe(arguments[0], arguments, {**os.environ, "TERM": "xterm-256color", **environ})
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
    said, end = b"", time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            if not select.select([handle], [], [], 1)[0]:
                continue
            try:
                part = os.read(handle, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        else:
            os.kill(number, signal.SIGKILL)
        _, status = os.waitpid(number, 0)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(status), said.decode("utf-8", "replace")


@pytest.mark.requirement("cli:run:live-view", "cli:run:no-color")
def test_a_terminal_shows_the_tree_growing_and_why_it_has_not_converged_and_heeds_no_color(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(latency_s=0.02) as endpoint:
        model = configure(isolated_home, endpoint.url)
        line = command(
            "brainstorm", "How do builds stay fast?", "--model", model, "--rounds", "2", "--width", "20"
        )
        code, plain = on_terminal(line, folder, NO_COLOR="1")
    assert code == 0, plain
    assert "root framings " in plain
    assert "Ctrl-C stops and keeps everything" in plain
    assert "PROMISING" in plain
    assert "not converged yet: " in plain
    assert "spend " in plain
    assert not _COLOUR.search(plain)


@pytest.mark.requirement("cli:run:plain-lines")
def test_away_from_a_terminal_there_are_plain_lines_and_with_quiet_none(
    treewright: Command, flawed: Path
) -> None:
    told = treewright("audit", flawed)
    assert "round 1 closed:" in told.err
    assert "\x1b" not in told.out + told.err
    assert treewright("audit", flawed, "-q").err == ""


@pytest.mark.requirement("cli:run:stop")
def test_stop_ends_a_run_that_another_process_drives_and_it_can_go_on(
    treewright: Command, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    assert treewright("stop", "last").code == 4
    # Ideas that advance are expanded, so that the run is far from its end when it is stopped.
    with Endpoint(answer=Answerer(score=3), latency_s=0.5) as endpoint:
        model = configure(isolated_home, endpoint.url)
        line = command(
            "brainstorm", "How do builds stay fast?", "--model", model, "--rounds", "3", "--out", "out"
        )
        driver = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while not endpoint.delivered and time.monotonic() < end:
            time.sleep(0.05)
        asked = treewright("stop", "out", cwd=folder)
        out, err = driver.communicate(timeout=60)
    assert asked.code == 0, asked.err
    assert str(driver.pid) in asked.out
    assert driver.returncode == 130, out + err
    assert "treewright resume out" in out
    assert treewright("stop", "out", cwd=folder).code == 1


@pytest.mark.requirement("cli:servers:lsp")
def test_lsp_answers_on_standard_output_and_nothing_else_is_there(tmp_path: Path) -> None:
    body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
    end = '{"jsonrpc":"2.0","id":2,"method":"shutdown"}', '{"jsonrpc":"2.0","method":"exit"}'
    frames = "".join(f"Content-Length: {len(each)}\r\n\r\n{each}" for each in (body, *end))
    done = subprocess.run(
        command("lsp"), input=frames, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Content-Length: ")
    assert '"serverInfo"' in done.stdout
