"""Install a real VS Code for the tests of the extension: the server of VS Code, and a browser that shows it.

    python3 tools/install_vscode.py                       VS Code 1.100.3, the oldest that the extension supports
    python3 tools/install_vscode.py --version 4.139.1     VS Code 1.139.1

The server comes from npm (`code-server`, of which only the VS Code inside is started), the browser from Debian.
Everything lies below `~/.cache/treewright/vscode/<version>` (or `$TREEWRIGHT_VSCODE_CACHE/<version>`), which is what
is written to stdout; `node` in it is the Node.js that this server runs on. A call that finds everything in place does
nothing but look. Only the standard library is used.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

DEFAULT_VERSION = "4.100.3"
"""code-server's version; its minor and patch numbers are those of the VS Code inside."""
DEBIAN = {
    "chromium": "chromium",
    "rg": "ripgrep",
    "git": "git",
    "g++": "g++",
    "make": "make",
    "fc-list": "fontconfig",
}
"""Program to the Debian package that has it."""
FONTS = ("fonts-dejavu-core", "fonts-noto-cjk")
"""Without any, screenshots show boxes; Chinese needs one of its own."""
NATIVE = (
    "@vscode/spdlog",
    "native-watchdog",
    "@vscode/native-watchdog",
    "@parcel/watcher",
    "@vscode/deviceid",
)
"""Compiled modules that the server loads, where its version has them; the terminal's is not among them."""
UNWANTED = re.compile(r"^npm_|^NODE_OPTIONS$", re.IGNORECASE)


class InstallError(Exception):
    """It cannot be installed; the text says what to do."""


def say(text: str) -> None:
    """Tell how it stands."""
    sys.stderr.write(f"[vscode] {text}\n")
    sys.stderr.flush()


class Installation:
    """One version of the server.

    Args:
        version: of code-server.
        folder: where it lies.
    """

    def __init__(self, version: str, folder: Path) -> None:
        self.version = version
        self.folder = folder
        self.package = folder / "node_modules" / "code-server"
        self.vscode = self.package / "lib" / "vscode"
        self.main = self.vscode / "out" / "server-main.js"
        self.node = folder / "node"
        self.stamp = folder / "complete"
        self.log = folder / "install.log"

    def is_complete(self) -> bool:
        """Say whether an earlier call installed all of it."""
        return self.stamp.is_file() and self.main.is_file() and os.access(self.node, os.X_OK)

    def install(self) -> None:
        """Install what is missing; every step can be done again.

        Raises:
            InstallError: a step failed.
        """
        self.stamp.unlink(missing_ok=True)
        _keep(self.folder / "package.json", {"name": "vscode-under-test", "private": True})
        if _version_in(self.package) != self.version or not self.main.is_file():
            self._npm(self.folder, "install", f"code-server@{self.version}")
        self._provide_node()
        for part in (self.vscode, self.vscode / "extensions"):
            if not (part / "node_modules" / ".package-lock.json").is_file():
                self._npm(part, "install", "--omit=dev")
        self._compile()
        self._finish()
        self._check()
        self.stamp.write_text(self.version, encoding="utf-8")

    def _provide_node(self) -> None:
        """Link the Node.js that the server was built for: the one on PATH, or one from npm."""
        wanted = json.loads((self.package / "package.json").read_text(encoding="utf-8"))["engines"]["node"]
        major = re.sub(r"\D.*", "", wanted)
        found = shutil.which("node")
        if found is None or _major(Path(found)) != major:
            system = self._output("node", "-p", "process.platform + '-' + process.arch")
            aside = self.folder / "runtime"
            aside.mkdir(exist_ok=True)
            _keep(aside / "package.json", {"private": True})
            binary = aside / "node_modules" / f"node-{system}" / "bin" / "node"
            if not binary.is_file() or _major(binary) != major:
                self._npm(aside, "install", f"node-{system}@{major}")
            found = str(binary)
        self.node.unlink(missing_ok=True)
        self.node.symlink_to(Path(found).resolve())

    def _compile(self) -> None:
        """Compile the native modules that do not load, with the compiler driver that npm brings along."""
        present = [name for name in NATIVE if (self.vscode / "node_modules" / name).is_dir()]
        for name in present:
            if not self._loads(name):
                self._run(f"compile {name}", self._gyp(), self.vscode / "node_modules" / name)
                if not self._loads(name):
                    raise InstallError(f"{name} was compiled and does not load; see {self.log}")

    def _gyp(self) -> list[str]:
        npm = (
            Path(self._output("npm", "root", "-g"))
            / "npm"
            / "node_modules"
            / "node-gyp"
            / "bin"
            / "node-gyp.js"
        )
        if not npm.is_file():
            raise InstallError(f"npm brings no compiler driver ({npm}): install npm anew.")
        command = [str(self.node), str(npm), "rebuild"]
        headers = self.node.resolve().parent.parent
        if (headers / "include" / "node" / "node.h").is_file():
            command.append(f"--nodedir={headers}")
        return command

    def _loads(self, name: str) -> bool:
        command = [str(self.node), "-e", f"require({json.dumps(name)})"]
        return subprocess.run(command, cwd=self.vscode, capture_output=True, check=False).returncode == 0

    def _finish(self) -> None:
        """Do what the package's own scripts would do by downloading."""
        search = self.vscode / "node_modules" / "@vscode" / "ripgrep" / "bin" / "rg"
        found = shutil.which("rg")
        if found is None:
            raise InstallError("ripgrep is not on PATH.")
        search.parent.mkdir(parents=True, exist_ok=True)
        search.unlink(missing_ok=True)
        search.symlink_to(found)
        packed = self.vscode / "node_modules.asar"
        if not packed.exists():
            packed.symlink_to("node_modules")

    def _check(self) -> None:
        answer = self._output(str(self.node), str(self.main), "--version").splitlines()
        say(f"VS Code {answer[0] if answer else '?'} is ready in {self.folder}")

    def _npm(self, folder: Path, *words: str) -> None:
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
        self._run(f"npm {' '.join(words)}", ["npm", *words, *quiet], folder)

    def _output(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=clean_environment(os.environ),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            raise InstallError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
        return done.stdout.strip()

    def _run(self, title: str, command: Sequence[str], folder: Path) -> None:
        say(f"{title} ...")
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n== {title}\n")
            log.flush()
            done = subprocess.run(
                command, cwd=folder, env=clean_environment(os.environ),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        if done.returncode != 0:
            last = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
            raise InstallError("\n".join([*last, f"{title} failed; all of it is in {self.log}"]))


def clean_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what an npm that called us has put there."""
    return {name: value for name, value in given.items() if not UNWANTED.search(name)}


def missing_packages(found: Mapping[str, bool], fonts: bool) -> list[str]:
    """Return the Debian packages that are to be installed.

    Args:
        found: program of `DEBIAN` to whether it is on PATH.
        fonts: there are fonts for Chinese.
    """
    missing = [package for program, package in DEBIAN.items() if not found.get(program)]
    return missing if fonts else [*missing, *FONTS]


def provide_programs(allowed: bool) -> None:
    """Install Debian packages that are missing, where that is allowed and possible.

    Raises:
        InstallError: something is missing and cannot be installed; the text names it.
    """
    programs = {program: shutil.which(program) is not None for program in DEBIAN}
    missing = missing_packages(programs, _has_chinese())
    if not missing:
        return
    advice = f"apt-get install {' '.join(missing)}"
    necessary = [package for package in missing if package not in FONTS]
    if not allowed or shutil.which("apt-get") is None:
        if necessary:
            raise InstallError(f"These are missing: {', '.join(necessary)}. On Debian and Ubuntu: {advice}")
        return
    before = [] if os.getuid() == 0 else ["sudo", "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *missing]):
        say(f"apt-get {' '.join(words)} ...")
        try:
            done = subprocess.run(
                [*before, "apt-get", *words], env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
            )  # fmt: skip
        except OSError as error:
            raise InstallError(f"{error}; install these yourself: {advice}") from error
        if done.returncode != 0 and necessary:
            raise InstallError(f"{done.stdout[-2000:]}\napt-get failed; install these yourself: {advice}")


def _has_chinese() -> bool:
    if shutil.which("fc-list") is None:
        return False
    done = subprocess.run(["fc-list", ":lang=zh-cn"], capture_output=True, encoding="utf-8", check=False)
    return bool(done.stdout.strip())


def _keep(path: Path, content: dict[str, object]) -> None:
    if not path.exists():
        path.write_text(json.dumps(content), encoding="utf-8")


def _version_in(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""


def _major(node: Path) -> str:
    done = subprocess.run([node, "-v"], capture_output=True, encoding="utf-8", check=False)
    return done.stdout.strip().removeprefix("v").partition(".")[0]


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system releases it if we are killed."""
    with (folder / "install.lock").open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def cache_folder(version: str, environment: Mapping[str, str]) -> Path:
    """Return where a version lies."""
    chosen = environment.get("TREEWRIGHT_VSCODE_CACHE")
    base = (
        Path(chosen)
        if chosen
        else Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treewright" / "vscode"
    )
    return base.absolute() / version


def main(arguments: Sequence[str]) -> int:
    """Install it and write its folder to stdout; return 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(
        description="Install a real VS Code and a browser for the extension's tests."
    )
    parser.add_argument(
        "--version", default=DEFAULT_VERSION, help="code-server's version (default: %(default)s)"
    )
    parser.add_argument(
        "--no-apt", action="store_true", help="install no Debian packages, only say which are missing"
    )
    chosen = parser.parse_args(list(arguments))
    installation = Installation(chosen.version, cache_folder(chosen.version, os.environ))
    try:
        provide_programs(not chosen.no_apt)
        if not installation.is_complete():
            if shutil.which("npm") is None:
                raise InstallError("npm was not found: install Node.js 20 or newer.")
            installation.folder.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(installation.folder):
                if not installation.is_complete():
                    installation.install()
    except (InstallError, OSError) as error:
        say(str(error))
        return 1
    sys.stdout.write(f"{installation.folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
