"""Make, repair and keep what the gates run in: `.venv` and `extension/node_modules`.

    python3 tools/environment.py runtime    what `treewright` itself needs
    python3 tools/environment.py dev        that, and what the tests and linters need
    python3 tools/environment.py node       what the editor extension's gates need

A stamp in the environment holds a digest of everything that decides its contents, so a second call does
nothing but compare two strings. A call that was killed half way leaves a marker, and the next call starts
that environment anew. Two calls at once take turns. Only the standard library is used: this file runs
before anything is installed.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOWEST_PYTHON = (3, 11)
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-q")
LOCK_FILES = {
    "runtime": ("requirements/runtime.txt", "requirements/build.txt"),
    "dev": ("requirements/runtime.txt", "requirements/build.txt", "requirements/dev.txt"),
}
SIGN_OF_LIFE_S = 15.0
"""seconds after which whoever waits is told that it goes on"""
# Bundled by pip in every virtual environment; warns about locations that this machine's settings name and
# that do not exist, which is no concern of whoever runs make.
_NOISE = "is neither a file nor a directory"


class SetUpError(Exception):
    """Set-up cannot go on; the text says what to do."""


def digest(*parts: str, files: Sequence[Path]) -> str:
    """Return a hexadecimal SHA-256 over the given strings and the contents of the given files."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.encode() + b"\0")
    for path in files:
        total.update(path.read_bytes() + b"\0")
    return total.hexdigest()


@contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Hold the set-up lock of a checkout; it is released by the system if we are killed."""
    folder = root / ".cache"
    folder.mkdir(exist_ok=True)
    with (folder / "environment.lock").open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str | Path], cwd: Path, failure: str) -> None:
    """Run a command quietly, with a sign of life when it takes long.

    Raises:
        SetUpError: it cannot be started or fails; the text is `failure` and what the command wrote.
    """
    began = time.monotonic()
    try:
        with subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            encoding="utf-8", errors="replace",
        ) as child:  # fmt: skip
            while True:
                try:
                    written, _ = child.communicate(timeout=SIGN_OF_LIFE_S)
                    break
                except subprocess.TimeoutExpired:
                    say(f"still at it after {time.monotonic() - began:.0f} s")
    except OSError as error:
        raise SetUpError(f"{failure}\n{error}") from error
    output = "\n".join(line for line in written.splitlines() if _NOISE not in line)
    if child.returncode != 0:
        raise SetUpError(f"{failure}\n{output}".rstrip())


class PythonEnvironment:
    """The checkout's `.venv`.

    Args:
        root: the checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.marker = self.folder / "treewright.unfinished"

    def stamp(self, part: str) -> Path:
        """Return the file that says which state `part` was last brought to."""
        return self.folder / f"treewright-{part}.stamp"

    def wanted(self, part: str) -> str:
        """Return the digest that `part` should be stamped with."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        # Only what an installation is made from: a changed linter rule is no reason to install again.
        made_from = [project["build-system"], project["project"], project["tool"]["hatch"]]
        files = [self.root / name for name in LOCK_FILES[part]]
        return digest(str(self.root), part, json.dumps(made_from, sort_keys=True), files=files)

    def is_ready(self, part: str) -> bool:
        """Say whether `part` is installed as the lock files want it; costs a few file reads."""
        stamp = self.stamp(part)
        return (
            not self.marker.exists()
            and os.access(self.python, os.X_OK)
            and stamp.is_file()
            and stamp.read_text(encoding="utf-8") == self.wanted(part)
        )

    def fault(self) -> str:
        """Return why the folder cannot be brought up to date in place; empty when it can."""
        if self.marker.exists():
            return "an earlier set-up was interrupted"
        if not (self.folder / "pyvenv.cfg").is_file():
            return "it is no virtual environment"
        pip = self.folder / "bin" / "pip"
        if not pip.is_file() or str(self.folder).encode() not in pip.read_bytes()[:500]:
            return "it was made in another folder"
        check = f"import pip, sys; sys.exit(sys.version_info < {LOWEST_PYTHON})"
        done = subprocess.run([self.python, "-c", check], capture_output=True, check=False)
        return "its Python does not run or is too old" if done.returncode else ""

    def create(self) -> None:
        """Make an empty environment, in place of a faulty one if there is one."""
        if self.folder.exists():
            fault = self.fault()
            if not fault:
                return
            say(f"making .venv anew: {fault}")
            shutil.rmtree(self.folder)
        else:
            say("making .venv; the whole set-up takes a minute, and several on a busy machine")
        self.folder.mkdir()
        self.marker.touch()
        run(
            [sys.executable, "-m", "venv", self.folder],
            self.root,
            "Python could not make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv):",
        )

    def install(self, part: str) -> None:
        """Install the locked packages of `part` and the checkout itself, then stamp it."""
        self.create()
        self.marker.touch()
        locked = [word for name in LOCK_FILES[part] for word in ("-r", name)]
        say(f"installing the {part} packages into .venv")
        run(
            [self.python, *PIP, "install", "--require-hashes", "--only-binary", ":all:", "--no-compile", *locked],
            self.root,
            "pip could not install the locked packages:",
        )  # fmt: skip
        # From here on everything can simply be done again in place.
        self.marker.unlink()
        run(
            [self.python, *PIP, "install", "--no-deps", "--no-build-isolation", "-e", "."],
            self.root,
            "pip could not install this checkout:",
        )
        say("compiling what was installed")
        self.byte_compile()
        # `dev` holds everything that `runtime` does.
        for done in ("runtime", part):
            self.stamp(done).write_text(self.wanted(done), encoding="utf-8")

    def byte_compile(self) -> None:
        """Compile installed packages on every core, so that no later command pays for it.

        Some packages ship files that are no valid Python on purpose (templates), so faults are passed over.
        """
        library = next((self.folder / "lib").glob("python3*/site-packages"))
        subprocess.run(
            [self.python, "-W", "ignore", "-m", "compileall", "-q", "-j", "0", library],
            capture_output=True, check=False,
        )  # fmt: skip


class NodeEnvironment:
    """The extension's `node_modules`.

    Args:
        root: the checkout.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / "extension"
        self.lock = self.folder / "package-lock.json"
        self.stamp = self.folder / "node_modules" / "treewright.stamp"

    def is_ready(self) -> bool:
        """Say whether there is nothing to install: no extension yet, or just what its lock file wants."""
        if not self.lock.is_file():
            return True
        return self.stamp.is_file() and self.stamp.read_text(encoding="utf-8") == self._wanted()

    def install(self) -> None:
        """Install the locked packages, running none of their scripts; npm itself clears what was half done."""
        if shutil.which("npm") is None:
            raise SetUpError("npm was not found: install Node.js 20 or newer, then run this again.")
        say("installing the extension's packages into extension/node_modules")
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        run(command, self.folder, "npm could not install the locked packages:")
        self.stamp.parent.mkdir(exist_ok=True)  # npm makes no folder for an empty list
        self.stamp.write_text(self._wanted(), encoding="utf-8")

    def _wanted(self) -> str:
        names = json.loads((self.folder / "package.json").read_text(encoding="utf-8"))
        parts = json.dumps([names.get("dependencies"), names.get("devDependencies")], sort_keys=True)
        return digest(parts, files=[self.lock])


def say(text: str) -> None:
    """Tell whoever runs make what is being done; on stderr, since stdout may be a report."""
    sys.stderr.write(f"[set-up] {text}\n")


def bring_up(part: str, root: Path = ROOT) -> None:
    """Bring one part up to date.

    Args:
        part: `runtime`, `dev` or `node`.
        root: the checkout.

    Raises:
        SetUpError: it cannot be done; the text says why and what helps.
    """
    if part == "node":
        node = NodeEnvironment(root)
        if not node.is_ready():
            with one_at_a_time(root):
                if not node.is_ready():
                    node.install()
        return
    environment = PythonEnvironment(root)
    if not environment.is_ready(part):
        with one_at_a_time(root):
            if not environment.is_ready(part):
                environment.install(part)


def main(arguments: Sequence[str]) -> int:
    """Bring up each part that is named; return 0, or 1 with the reason on stderr."""
    known = (*LOCK_FILES, "node")
    if not arguments or any(part not in known for part in arguments):
        say(f"usage: environment.py {'|'.join(known)} ...")
        return 2
    if sys.version_info < LOWEST_PYTHON:
        say(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
        return 1
    began = time.monotonic()
    try:
        for part in arguments:
            bring_up(part)
    except (SetUpError, OSError) as error:
        say(str(error))
        return 1
    if time.monotonic() - began > 1:
        say(f"done in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
