"""What holds for every test: a home of its own, no network, no process left behind, no silent skip."""

import ipaddress
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest

_IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
# Seconds that a child process may take to be gone after its test.
_GRACE = 2.0
_KEY_VARIABLE = re.compile(r"(_API_KEY|_TOKEN|_SECRET)$")
# Nobody listens on port 9 (discard): a child process that heeds proxies fails at once instead of going out.
_DEAD_PROXY = "http://127.0.0.1:9"
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


# On a busy machine any example may take its time; what has to be quick is measured by tests of its own.
hypothesis.settings.register_profile("treewright", deadline=None)
hypothesis.settings.load_profile("treewright")


# --- a home of its own -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def isolated_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Move everything that is found through the environment into a fresh folder, and remove it afterwards.

    The folder's path is short (below /tmp), since sockets of kernels live in it and a socket's path may
    have only some 100 characters.
    """
    folder = Path(tempfile.mkdtemp(prefix="tw-"))
    home = folder / "home"
    home.mkdir()
    for name in [name for name in os.environ if _KEY_VARIABLE.search(name)]:
        monkeypatch.delenv(name)
    # In this process it has taken effect; inherited by a child it would make third-party code noisy there.
    monkeypatch.delenv("PYTHONWARNDEFAULTENCODING", raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("TREEWRIGHT_HOME", str(home / "treewright"))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / f".{name.lower()}"))
    # Git must not depend on who runs the tests.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test Author")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "author@example.org")
    for name in _PROXY_VARIABLES:
        monkeypatch.setenv(name, _DEAD_PROXY)
        monkeypatch.setenv(name.lower(), _DEAD_PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "localhost,127.0.0.1,::1")
    yield home
    shutil.rmtree(folder, ignore_errors=True)


# --- no network --------------------------------------------------------------------------------------------


class StrayNetworkError(OSError):
    """A test tried to reach something other than this machine."""


class _NetworkGuard:
    """Refuses and remembers each attempt to leave the machine, for as long as a test runs."""

    def __init__(self) -> None:
        self.armed = False
        self.strays: list[str] = []

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at one audit event of the interpreter (see `sys.addaudithook`)."""
        if not self.armed or not event.startswith("socket."):
            return
        if event in ("socket.connect", "socket.sendto"):
            address = arguments[1]
            host = address[0] if isinstance(address, tuple) and address else None
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = arguments[0]
        else:
            return
        if isinstance(host, (str, bytes)) and not _is_this_machine(host):
            stray = f"{event} {host!r}"
            self.strays.append(stray)
            raise StrayNetworkError(f"tests may only talk to this machine, not: {stray}")


def _is_this_machine(host: str | bytes) -> bool:
    """Say whether an address or name is loopback, unspecified, or this machine's own name."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in ("", "localhost", "localhost.localdomain", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


_guard = _NetworkGuard()
sys.addaudithook(_guard.audit)


@pytest.fixture(autouse=True)
def no_stray_network(isolated_home: Path) -> Iterator[None]:
    """Fail a test that tries to leave the machine, even when the code under test swallows the refusal."""
    _guard.strays.clear()
    _guard.armed = True
    yield
    _guard.armed = False
    if _guard.strays:
        pytest.fail("stray network use: " + "; ".join(_guard.strays), pytrace=False)


# --- no process left behind --------------------------------------------------------------------------------


def _children() -> set[int]:
    """Return the process ids of our direct children."""
    try:
        lists = [path.read_text(encoding="ascii") for path in Path("/proc/self/task").glob("*/children")]
    except OSError:
        lists = []
    if lists:
        return {int(pid) for text in lists for pid in text.split()}
    return {child.pid for child in psutil.Process().children()}


def _is_leak(process: psutil.Process) -> bool:
    """Say whether a child is still at work, and not one of multiprocessing's helpers, which live as long as we."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        command = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
    return "multiprocessing.resource_tracker" not in command and "multiprocessing.forkserver" not in command


@pytest.fixture(autouse=True)
def no_process_left(request: pytest.FixtureRequest, no_stray_network: None) -> Iterator[None]:
    """Fail a test that leaves a child process running, and end that process."""
    before = _children()
    yield
    if request.node.get_closest_marker("leaves_children"):
        return
    left = []
    for pid in _children() - before:
        try:
            left.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    left = [process for process in left if _is_leak(process)]
    if not left:
        return
    _, alive = psutil.wait_procs(left, timeout=_GRACE)
    told = []
    for process in alive:
        told.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
        process.kill()
    psutil.wait_procs(alive, timeout=_GRACE)
    if told:
        pytest.fail("child processes left running: " + "; ".join(told), pytrace=False)


# --- no silent skip ----------------------------------------------------------------------------------------


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, where: str) -> None:
    """Turn a skip into a failure (a test that cannot run in CI proves nothing)."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{where} did not run, which fails in CI: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """In CI, fail a skipped test unless it is marked `may_skip_in_ci`."""
    report: pytest.TestReport = yield
    expected = hasattr(report, "wasxfail") or item.get_closest_marker("may_skip_in_ci")
    if _IN_CI and report.skipped and not expected:
        _refuse_skip(report, item.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """In CI, fail a module that skips itself while it is imported."""
    report: pytest.CollectReport = yield
    if _IN_CI and report.skipped:
        _refuse_skip(report, collector.nodeid)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say loudly how many tests did not run, above the closing line."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("TESTS THAT DID NOT RUN", sep="!", red=True, bold=True)
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {reason}")
        terminalreporter.line(f"{len(skipped)} tests proved nothing in this run")
