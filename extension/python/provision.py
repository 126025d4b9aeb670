"""Make the environment that the sidecar runs in, from what the extension carries.

    python -I provision.py --target FOLDER --requirements FILE --wheel FILE [--wheels FOLDER]

The packages are those of the requirements file, each held to its hash; with `--wheels` they are taken from that
folder and nothing is downloaded. Progress is one line of JSON a step on stdout; what pip says goes to stderr. A folder
is complete when it holds `complete.json`, which is written last; anything else in its place is begun anew. Two calls at
once take turns.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

LOWEST = (3, 11)
DONE = "complete.json"
STALE_S = 900
"""A lock that nobody touched for so long belonged to a process that was killed."""


def tell(step: str, number: int, of: int) -> None:
    """Say what is being done."""
    sys.stdout.write(json.dumps({"step": step, "number": number, "of": of}) + "\n")
    sys.stdout.flush()


def interpreter_in(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def digest(*files: Path) -> str:
    """Return what decides the contents of an environment, as a hexadecimal SHA-256."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()


def is_complete(folder: Path, wanted: str) -> bool:
    """Say whether an environment was made from the same files, and its interpreter still starts."""
    try:
        kept = json.loads((folder / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(kept, dict) or kept.get("digest") != wanted:
        return False
    try:
        done = subprocess.run(
            [interpreter_in(folder), "-I", "-c", "import treewright.surfaces.lsp.launch"],
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


@contextlib.contextmanager
def alone(target: Path) -> Iterator[None]:
    """Hold the lock beside the target; a lock whose holder was killed is taken over."""
    lock = target.with_name(target.name + ".lock")
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > STALE_S:
                    lock.unlink()
                    continue
            time.sleep(0.2)
    try:
        os.write(handle, str(os.getpid()).encode())
        os.close(handle)
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()


def run(command: Sequence[object]) -> None:
    """Run a command, its output to our stderr.

    Raises:
        SystemExit: it failed.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
        and name not in ("PIP_TARGET", "PIP_USER", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    }
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdout=sys.stderr,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(done.returncode)


def provision(target: Path, requirements: Path, wheel: Path, wheels: Path | None) -> None:
    """Make the environment, unless it is there already."""
    wanted = digest(requirements, wheel)
    if is_complete(target, wanted):
        return
    tell("environment", 1, 4)
    if target.exists():
        shutil.rmtree(target)
    run([sys.executable, "-I", "-m", "venv", target])
    python = interpreter_in(target)
    pip = [
        python,
        "-I",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--no-compile",
        "--progress-bar",
        "off",
    ]
    source = ["--no-index", "--find-links", wheels] if wheels else []
    tell("packages", 2, 4)
    run([*pip, *source, "--require-hashes", "--only-binary", ":all:", "-r", requirements])
    tell("sidecar", 3, 4)
    run([*pip, "--no-deps", "--no-index", wheel])
    tell("check", 4, 4)
    run([python, "-I", "-c", "import treewright.surfaces.lsp.launch, pygls.lsp.server"])
    (target / DONE).write_text(
        json.dumps({"digest": wanted, "python": list(sys.version_info[:3])}), encoding="utf-8"
    )


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description="Make the environment that the sidecar runs in.")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--requirements", type=Path, required=True)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--wheels", type=Path)
    chosen = parser.parse_args()
    if sys.version_info < LOWEST:
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    chosen.target.parent.mkdir(parents=True, exist_ok=True)
    with alone(chosen.target):
        provision(chosen.target.absolute(), chosen.requirements, chosen.wheel, chosen.wheels)


if __name__ == "__main__":
    main()
