"""Build everything that is released from the last commit, look into it, and list it.

    python -m tools.release                  dist/: wheel, source archive, both extensions, SHA256SUMS
    python -m tools.release --no-offline     without the extension that carries every wheel (some 150 MB)
    python -m tools.release --no-extension   wheel and source archive only; needs no Node.js

Everything is built in copies of the commit, so that nothing that lies about gets in, twice in two folders, and has to
be the same both times, byte for byte: every time of a file in it is that of the commit (`SOURCE_DATE_EPOCH`, which may
be set). The wheel is built from the source archive once more and has to be the same again, so that what is published as
source is what is installed. The large extension is built once. Nothing reaches `dist/` before all of it is good.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.artefacts import extension_faults, sdist_faults, wheel_faults
from tools.version import VersionError, current

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
SUMS = "SHA256SUMS"


class ReleaseError(Exception):
    """It cannot be released; the text says why."""


def say(text: str) -> None:
    """Tell how it stands."""
    sys.stderr.write(f"[release] {text}\n")


def ran(command: Sequence[str | Path], cwd: Path) -> str:
    """Run a command and return its stdout.

    Raises:
        ReleaseError: it failed.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise ReleaseError(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def commit() -> str:
    """Return the last commit; it is asked for once, since another may be made while things are built.

    Raises:
        ReleaseError: there is none here.
    """
    return ran(["git", "rev-parse", "HEAD"], ROOT).strip()


def epoch(of: str) -> str:
    """Return the second that everything in an artefact is dated by: as set, or that of the commit."""
    return (
        os.environ.get("SOURCE_DATE_EPOCH", "") or ran(["git", "log", "-1", "--format=%ct", of], ROOT).strip()
    )


def changed_files() -> list[str]:
    """Return what is not committed, and so not in a release."""
    command = ["git", "status", "--porcelain"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    return [line[3:] for line in done.stdout.splitlines()]


def copied(folder: Path, of: str) -> Path:
    """Lay a commit out in a new folder, with the extension's installed packages beside it, and return it.

    Raises:
        ReleaseError: there is no commit here.
    """
    folder.mkdir(parents=True)
    archive = folder.with_suffix(".tar")
    ran(["git", "archive", "--format=tar", "-o", archive, of], ROOT)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    archive.unlink()
    packages = ROOT / "extension" / "node_modules"
    if packages.is_dir():
        (folder / "extension" / "node_modules").symlink_to(packages)
    return folder


def sha256(path: Path) -> str:
    """Return a file's digest."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hatch(kind: str, source: Path) -> Path:
    """Build a wheel or a source archive from a source tree and return it."""
    out = source.parent / f"{source.name}-{kind}"
    ran([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", out], source)
    (made,) = out.iterdir()
    return made


def extension(source: Path, *, offline: bool = False) -> Path:
    """Pack the extension of a source tree and return it."""
    command = [sys.executable, "tools/package_extension.py", *(["--offline"] if offline else [])]
    return Path(ran(command, source).splitlines()[-1])


def twice(make: Callable[[Path], Path], sources: Sequence[Path]) -> Path:
    """Build from two copies of the same source and return what was built.

    Raises:
        ReleaseError: the two differ.
    """
    first, second = (make(source) for source in sources)
    if first.name != second.name or sha256(first) != sha256(second):
        raise ReleaseError(f"{first.name} comes out differently each time it is built")
    return first


def from_archive(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and build the wheel from it."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return hatch("wheel", source)


def expected_files(source: Path) -> list[str]:
    """Return what a wheel has to carry: every file of the package, its presets and lenses."""
    found = [
        (path, path.relative_to(source / "server")) for path in (source / "server" / "treewright").rglob("*")
    ]
    for name in ("presets", "lenses"):
        carried = Path("treewright/_data")
        found += [(path, carried / path.relative_to(source)) for path in (source / name).rglob("*")]
    return [inside.as_posix() for path, inside in found if path.is_file() and "__pycache__" not in path.parts]


def complain(path: Path, faults: Sequence[str]) -> None:
    """Refuse an artefact that has faults.

    Raises:
        ReleaseError: there are some.
    """
    if faults:
        shown = "\n  ".join(faults[:20])
        raise ReleaseError(f"{path.name} is not fit to be released:\n  {shown}")


def build(sources: Sequence[Path], version: str, *, extensions: bool, offline: bool) -> list[Path]:
    """Build and check everything; return the artefacts.

    Args:
        sources: two copies of the commit, in folders of their own.
        version: what they stand at.
        extensions: the editor extension too.
        offline: that with every wheel inside as well.

    Raises:
        ReleaseError: something cannot be built, is not the same twice, or is not as it should be.
    """
    folder = sources[0].parent
    machine = (str(ROOT), str(Path.home()), str(folder))
    say("wheel and source archive, twice each")
    wheel = twice(lambda source: hatch("wheel", source), sources)
    complain(wheel, wheel_faults(wheel, version, machine, expected_files(sources[0])))
    archive = twice(lambda source: hatch("sdist", source), sources)
    complain(archive, sdist_faults(archive, version, machine))
    if sha256(from_archive(archive, folder / "unpacked")) != sha256(wheel):
        raise ReleaseError("the wheel that the source archive makes is not the one that the commit makes")
    made = [wheel, archive]
    if extensions:
        say("the extension for every platform, twice")
        made.append(twice(extension, sources))
    if extensions and offline:
        say("the extension for this platform with every wheel inside")
        made.append(extension(sources[0], offline=True))
    locked = (sources[0] / "requirements" / "runtime.txt").read_bytes()
    for each in made[2:]:
        complain(each, extension_faults(each, version, machine, wheel, locked))
    return made


def publish(made: Sequence[Path], out: Path) -> list[str]:
    """Put the artefacts in place of what was there, with their digests; return a line on each."""
    out.mkdir(exist_ok=True)
    for old in [*out.glob("treewright-*"), out / SUMS]:
        old.unlink(missing_ok=True)
    placed = sorted(Path(shutil.move(each, out / each.name)) for each in made)
    (out / SUMS).write_text("".join(f"{sha256(each)}  {each.name}\n" for each in placed), encoding="ascii")
    return [f"{each.stat().st_size / 1e6:8.2f} MB  {sha256(each)}  {each.name}" for each in placed]


def main(arguments: Sequence[str]) -> int:
    """Release; return 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(description="Build, check and list what is released.")
    parser.add_argument(
        "--no-offline", action="store_true", help="without the extension that carries every wheel"
    )
    parser.add_argument("--no-extension", action="store_true", help="wheel and source archive only")
    parser.add_argument("--into", type=Path, default=OUT, help="the folder; default: dist")
    chosen = parser.parse_args(list(arguments))
    try:
        if changed := changed_files():
            say(f"not committed, so not in it: {', '.join(changed[:5])}{' and more' if changed[5:] else ''}")
        with tempfile.TemporaryDirectory(prefix="treewright-release-") as folder:
            last = commit()
            os.environ["SOURCE_DATE_EPOCH"] = epoch(last)
            sources = [copied(Path(folder) / name, last) for name in ("once", "again")]
            version = current(sources[0])
            made = build(sources, version, extensions=not chosen.no_extension, offline=not chosen.no_offline)
            lines = publish(made, chosen.into.absolute())
    except (ReleaseError, VersionError, OSError) as error:
        say(str(error))
        return 1
    sys.stdout.write(
        "\n".join([f"Treewright {version}, commit {last}", *lines, f"{chosen.into / SUMS}"]) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
