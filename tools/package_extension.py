"""Pack the editor extension: one .vsix for every platform, or one that needs no network.

    python tools/package_extension.py              dist/treewright-<version>.vsix
    python tools/package_extension.py --offline    dist/treewright-<version>-<platform>.vsix, every wheel inside

The extension carries the sidecar's wheel, built from this checkout, and its hash-pinned requirements; from these an
isolated environment is made on first use. With `--offline` it also carries the wheels themselves, for this platform
and every supported minor version of Python that all of them can be had for.
"""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "extension"
CARRIED = EXTENSION / "sidecar"
OUT = ROOT / "dist"
LICENCES = ("LICENSE", "LICENSE-NOTICES")
MINORS = ("3.11", "3.12", "3.13", "3.14")
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
_MACHINES = {"x86_64": "x64", "AMD64": "x64", "arm64": "arm64", "aarch64": "arm64"}


class PackError(Exception):
    """It cannot be packed; the text says why."""


def say(text: str) -> None:
    """Tell how it stands."""
    sys.stderr.write(f"[vsix] {text}\n")


def run(command: Sequence[str | Path], cwd: Path = ROOT) -> None:
    """Run a command quietly.

    Raises:
        PackError: it failed; the text holds the end of what it said.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0:
        raise PackError(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def target(system: str, machine: str) -> str:
    """Return the editor's name of a platform, such as `linux-x64`.

    Raises:
        PackError: it has none.
    """
    if system not in _SYSTEMS or machine not in _MACHINES:
        raise PackError(f"the editor has no name for {system} on {machine}")
    return f"{_SYSTEMS[system]}-{_MACHINES[machine]}"


def gather(offline: bool) -> None:
    """Fill `extension/sidecar` with what is carried."""
    shutil.rmtree(CARRIED, ignore_errors=True)
    CARRIED.mkdir()
    say("building the sidecar's wheel")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", CARRIED])
    shutil.copy(ROOT / "requirements" / "runtime.txt", CARRIED / "requirements.txt")
    if offline:
        download(CARRIED / "wheels")


def download(folder: Path) -> None:
    """Fetch every wheel, for each version of Python that all can be had for; this Python's must be among them.

    The list is complete, so nothing is resolved anew.
    """
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "-q")
    for minor in MINORS:
        say(f"fetching the wheels for Python {minor}")
        version = () if minor == own else ("--python-version", minor)
        try:
            requirements = CARRIED / "requirements.txt"
            run(
                [
                    *pip,
                    "--require-hashes",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    *version,
                    "-r",
                    requirements,
                    "-d",
                    folder,
                ]
            )
        except PackError as error:
            if minor == own:
                raise
            say(
                f"left out: not every package has a wheel for Python {minor} here ({str(error).splitlines()[-1]})"
            )


def pack(offline: bool) -> Path:
    """Pack the extension and return the file."""
    version = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["version"]
    where = target(platform.system(), platform.machine()) if offline else ""
    OUT.mkdir(exist_ok=True)
    made = OUT / f"treewright-{version}{f'-{where}' if where else ''}.vsix"
    made.unlink(missing_ok=True)
    for name in LICENCES:
        shutil.copy(ROOT / name, EXTENSION / name)
    try:
        say("packing")
        vsce = EXTENSION / "node_modules" / "@vscode" / "vsce" / "vsce"
        options = ["--no-dependencies", "--allow-missing-repository", "-o", str(made)]
        run(["node", vsce, "package", *options, *(["--target", where] if where else [])], EXTENSION)
    finally:
        for name in LICENCES:
            (EXTENSION / name).unlink(missing_ok=True)
        shutil.rmtree(CARRIED, ignore_errors=True)
    return made


def main(arguments: Sequence[str]) -> int:
    """Pack it and write the file's path to stdout; return 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(description="Pack the editor extension.")
    parser.add_argument("--offline", action="store_true", help="carry every wheel, for this platform")
    chosen = parser.parse_args(list(arguments))
    began = time.monotonic()
    try:
        gather(chosen.offline)
        made = pack(chosen.offline)
    except (PackError, OSError) as error:
        say(str(error))
        return 1
    say(f"{made.stat().st_size / 1e6:.1f} MB, done in {time.monotonic() - began:.0f} s")
    sys.stdout.write(f"{made}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
