"""What is missing on this machine, and the command that mends it: `treewright doctor`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from treewright.app.context import Context
from treewright.errors import TreewrightError

State = Literal["good", "missing", "optional"]
_OLDEST = (3, 11)


@dataclass(frozen=True, slots=True)
class Checkup:
    """One thing that was looked at.

    Attributes:
        name: what.
        state: `good`; `missing`, so that something does not work; `optional`, not there and not needed by everybody.
        detail: what was found.
        mend: the command or act that mends it; empty when nothing has to be done.
    """

    name: str
    state: State
    detail: str
    mend: str = ""


def examine(context: Context) -> list[Checkup]:
    """Look at everything, never raising for what is wrong."""
    looks: tuple[Callable[[Context], Iterator[Checkup]], ...] = (
        _python, _configuration, _root, _programs, _kernels, _models,
    )  # fmt: skip
    return [found for look in looks for found in look(context)]


def _python(_: Context) -> Iterator[Checkup]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST:
        yield Checkup("python", "good", f"{version} at {sys.executable}")
    else:
        yield Checkup("python", "missing", f"{version} is too old", "Install Python 3.11 or newer.")


def _configuration(context: Context) -> Iterator[Checkup]:
    try:
        configuration = context.configuration()
    except TreewrightError as fault:
        yield Checkup("configuration", "missing", fault.message, fault.hint)
        return
    file = configuration.root.folder / "config.toml"
    if not file.exists():
        yield Checkup("configuration", "good", "packaged defaults; no config.toml")
        return
    open_to_others = os.name == "posix" and file.stat().st_mode & 0o077
    holds_key = any(
        section.api_key.get_secret_value() for section in configuration.settings.providers.values()
    )
    if open_to_others and holds_key:
        yield Checkup(
            "configuration", "missing", f"{file} holds a key and others can read it", f"chmod 600 {file}"
        )
    else:
        yield Checkup("configuration", "good", str(file))


def _root(context: Context) -> Iterator[Checkup]:
    try:
        folder = context.configuration().root.folder
    except TreewrightError:
        return  # told above
    existing = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
        yield Checkup("store", "good", f"{folder} can be written")
    except OSError as fault:
        yield Checkup(
            "store",
            "missing",
            f"{folder} cannot be written: {fault.strerror}",
            "Set TREEWRIGHT_HOME to a folder of yours.",
        )
        return
    free = shutil.disk_usage(existing).free
    if free < 200 << 20:
        yield Checkup("disk", "missing", f"{free >> 20} MiB are free", "Make room, or move TREEWRIGHT_HOME.")


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


def _models(context: Context) -> Iterator[Checkup]:
    try:
        configuration = context.configuration()
    except TreewrightError:
        return  # told above
    from treewright.app.providers import open_provider

    settings = configuration.settings
    default = settings.models.default
    for name in settings.providers:
        try:
            open_provider(context, configuration, name)
            yield Checkup(
                f"model {name}", "good", "configured" + (", the default" if name == default else "")
            )
        except TreewrightError as fault:
            yield Checkup(f"model {name}", "missing", fault.message, fault.hint)
    if not settings.providers and not default:
        yield Checkup(
            "models",
            "optional",
            "none is configured; `treewright audit` needs none",
            "treewright models shows what answers here; name one with --model, or set [models] default.",
        )
    elif default and default not in settings.providers:
        try:
            open_provider(context, configuration, default)
        except TreewrightError as fault:
            yield Checkup("models.default", "missing", fault.message, fault.hint)
    if find_spec("xllamacpp") is None:
        yield Checkup(
            "embedded models",
            "optional",
            "not installed",
            f"{sys.executable} -m pip install 'treewright[local]'",
        )
