"""The doctor names packages that are missing and servers of this machine that do not answer."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from treewright.app import doctor_packages
from treewright.app.context import Context
from treewright.app.doctor_models import models
from treewright.app.doctor_packages import needed, packages

pytestmark = pytest.mark.requirement("cli:doctor:mends")

PROVIDER = """[models]
default = "here"
[providers.here]
kind = "openai"
endpoint = "http://127.0.0.1:{port}/v1"
model = "x"
free = true
"""


def test_a_package_that_is_missing_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"pygls", "mcp", "ipykernel", "click"} <= set(needed())
    assert "xllamacpp" not in needed()
    monkeypatch.setattr(
        doctor_packages,
        "requires",
        lambda _: ["pygls<3,>=2.1", "no-such-thing-here>=1", "x; extra == 'local'"],
    )
    found = next(packages(Context()))
    assert (found.state, found.detail) == ("missing", "not installed: no-such-thing-here")
    assert found.mend == f"{sys.executable} -m pip install no-such-thing-here"


def test_every_package_being_there_is_good() -> None:
    assert next(packages(Context())).state == "good"


def test_a_server_of_this_machine_that_does_not_answer_is_told(isolated_home: Path) -> None:
    (isolated_home / "treewright").mkdir(exist_ok=True)
    config = isolated_home / "treewright" / "config.toml"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        config.write_text(PROVIDER.format(port=port), encoding="utf-8")
        answering = next(models(Context()))
    assert (answering.state, answering.name) == ("good", "model here")
    dead = next(models(Context()))
    assert dead.state == "missing"
    assert f"127.0.0.1:{port}" in dead.detail and "Start the model's server" in dead.mend


def test_a_package_that_went_missing_is_a_line_and_no_traceback() -> None:
    """Python is told that the package does not exist, as after an installation that was cut short."""
    for package, command in (("pygls", "lsp"), ("mcp", "mcp"), ("click", "runs")):
        code = (
            "import runpy, sys\n"
            f"sys.modules[{package!r}] = None\n"
            f"sys.argv = ['treewright', {command!r}]\n"
            "runpy.run_module('treewright', run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, (package, done)
        assert f"the package {package} is missing" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
