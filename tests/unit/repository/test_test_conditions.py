"""The conditions that `tests/conftest.py` lays on every test, proven by running small test files under it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run_under_conftest(folder: Path, body: str, ci: bool, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `body` as a test module under a copy of our conftest, with or without CI=true."""
    (folder / "conftest.py").write_text(
        (ROOT / "tests/conftest.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (folder / "test_case.py").write_text(body, encoding="utf-8")
    markers = "may_skip_in_ci(reason): x\n    leaves_children: x"
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n    {markers}\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options],
        cwd=folder,
        env={**environment, "CI": "true"} if ci else environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_the_home_folder_and_the_store_are_in_a_temporary_folder(isolated_home: Path) -> None:
    assert Path.home() == isolated_home
    assert Path(os.environ["TREEWRIGHT_HOME"]).is_relative_to(isolated_home)
    assert isolated_home.is_relative_to(Path(os.environ.get("TMPDIR", "/tmp")))


def test_loopback_and_unix_sockets_may_be_used(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{os.environ['HOME']}/s")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{os.environ['HOME']}/s")


NETWORK = """
import socket
def test_swallows_the_refusal():
    try:
        socket.create_connection(("{host}", 80), timeout=1)
    except OSError:
        pass
"""


@pytest.mark.parametrize("host", ["example.org", "192.0.2.1", "2001:db8::1"])
def test_a_call_that_leaves_the_machine_fails_the_test_even_if_swallowed(tmp_path: Path, host: str) -> None:
    done = run_under_conftest(tmp_path, NETWORK.format(host=host), ci=False)
    assert done.returncode == 1, done.stdout
    assert "stray network use" in done.stdout
    assert host in done.stdout


LEAK = """
import psutil, subprocess, sys
started = []
def test_leaves_a_child():
    started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
def test_finds_it_ended():
    assert not psutil.pid_exists(started[0].pid)
"""


def test_a_child_process_left_behind_fails_the_test_and_is_ended(tmp_path: Path) -> None:
    done = run_under_conftest(tmp_path, LEAK, ci=False)
    assert "child processes left running" in done.stdout
    assert "2 passed, 1 error" in done.stdout


SKIPS = """
import pytest
def test_cannot_run():
    pytest.skip("no such tool here")
@pytest.mark.may_skip_in_ci("needs a display")
def test_may_be_skipped():
    pytest.skip("no display")
@pytest.mark.xfail(strict=True)
def test_known_fault():
    assert False
def test_runs():
    pass
"""


def test_a_skip_fails_in_ci_unless_it_is_allowed_to(tmp_path: Path) -> None:
    done = run_under_conftest(tmp_path, SKIPS, ci=True)
    assert done.returncode == 1
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in done.stdout
    assert "test_cannot_run did not run, which fails in CI" in done.stdout


def test_elsewhere_a_skip_is_told_loudly_and_passes(tmp_path: Path) -> None:
    done = run_under_conftest(tmp_path, SKIPS, ci=False)
    assert done.returncode == 0
    assert "TESTS THAT DID NOT RUN" in done.stdout
    assert "2 tests proved nothing in this run" in done.stdout


def test_a_module_that_skips_itself_fails_in_ci(tmp_path: Path) -> None:
    body = "import pytest\npytest.importorskip('no_such_package_anywhere')\n"
    assert run_under_conftest(tmp_path, body, ci=True).returncode != 0
    assert run_under_conftest(tmp_path, body, ci=False).returncode == 5
