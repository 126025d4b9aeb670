"""What is missing on this machine, and the command that mends it: `treewright doctor`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from treewright import __version__
from treewright.app.checkup import Checkup
from treewright.app.context import Context
from treewright.app.doctor_models import models
from treewright.app.doctor_packages import packages
from treewright.app.doctor_store import configuration, project_settings, runs, store
from treewright.errors import TreewrightError

_OLDEST = (3, 11)


def examine(context: Context) -> list[Checkup]:
    """Look at everything, never raising for what is wrong."""
    looks: tuple[Callable[[Context], Iterator[Checkup]], ...] = (
        _python, _command, packages, configuration, project_settings, store, runs, _programs, _kernels, models, _terminal,
    )  # fmt: skip
    return [found for look in looks for found in look(context)]


def _python(_: Context) -> Iterator[Checkup]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST:
        yield Checkup("python", "good", f"{version} at {sys.executable}")
    else:
        yield Checkup("python", "missing", f"{version} is too old", "Install Python 3.11 or newer.")


def _command(_: Context) -> Iterator[Checkup]:
    """Look whether a shell, an editor or an agent that says `treewright` gets this one."""
    version = f"{__version__} in {Path(__file__).resolve().parents[1]}"
    beside = Path(sys.executable).with_name("treewright")
    found = shutil.which("treewright")
    if found is None:
        mend = f"Write the whole path in agents and editors: {beside}" if beside.exists() else ""
        yield Checkup("treewright", "optional", f"{version}; the PATH has no command treewright", mend)
    elif beside.exists() and not os.path.samefile(found, beside):  # noqa: PTH121 - os.path follows both
        mend = f"Put {beside.parent} first on the PATH, or write the whole path: {beside}"
        yield Checkup("treewright", "optional", f"{version}; the PATH finds another one: {found}", mend)
    else:
        yield Checkup("treewright", "good", version)


def _terminal(_: Context) -> Iterator[Checkup]:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "").replace("_", "")
    if encoding != "utf8":
        told = f"it writes {sys.stdout.encoding}; what that cannot hold is shown as escapes"
        yield Checkup("terminal", "optional", told, "Set PYTHONUTF8=1, or LANG=C.UTF-8.")


def _programs(_: Context) -> Iterator[Checkup]:
    for name, arguments, why, mend in (
        (
            "git",
            ["git", "--version"],
            "history and --changed-since",
            "Install git: https://git-scm.com/downloads",
        ),
        ("ruff", _ruff(), "lints of the offline audit", f"{sys.executable} -m pip install ruff"),
    ):
        said = _said(arguments)
        if said:
            yield Checkup(name, "good", said)
        else:
            yield Checkup(name, "missing", f"not found; {why} need it", mend)


def _ruff() -> list[str]:
    beside = Path(sys.executable).parent / "ruff"
    return [str(beside) if beside.exists() else "ruff", "--version"]


def _said(arguments: list[str]) -> str:
    try:
        done = subprocess.run(
            arguments, capture_output=True, text=True, encoding="utf-8", timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def _kernels(_: Context) -> Iterator[Checkup]:
    absent = [name for name in ("jupyter_client", "ipykernel") if find_spec(name) is None]
    if absent:
        mend = f"{sys.executable} -m pip install {' '.join(absent)}"
        yield Checkup("kernels", "missing", f"{', '.join(absent)} not installed", mend)
        return
    yield _kernel_computes()
    for name in ("numpy", "sympy"):
        if find_spec(name) is None:
            detail = f"{name} is not installed; numeric checks do without"
            yield Checkup(name, "optional", detail, f"{sys.executable} -m pip install {name}")


def _kernel_computes() -> Checkup:
    """Start a kernel and let it compute."""
    try:
        from treewright.kernels.host import choose_host
        from treewright.kernels.numeric import NumericStatus, evaluate_numeric

        host = choose_host(preload=())
        try:
            host.start()
            answered = evaluate_numeric(host, "6 * 7", "42").status is NumericStatus.HOLDS
            lacking = host.guarantees_missing()
        finally:
            host.close()
    except (TreewrightError, OSError, RuntimeError, ValueError) as fault:
        mend = f"{sys.executable} -m pip install --force-reinstall ipykernel"
        return Checkup("kernels", "missing", f"a kernel cannot be started: {fault}", mend)
    if not answered:
        mend = "Run treewright --debug doctor and report it."
        return Checkup("kernels", "missing", "a kernel was started and did not compute", mend)
    if lacking:
        detail = f"a kernel computes; not to be had on this system: {', '.join(lacking)}"
        return Checkup("kernels", "good", detail)
    return Checkup("kernels", "good", "a kernel computes, with every limit on")
