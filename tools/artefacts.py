"""Look into what was built: is everything in it that has to be, and nothing else?

Each check returns the faults that it found, as sentences. Nothing is installed and nothing is executed.
"""

import base64
import csv
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_bytes
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

LICENCES = ("LICENSE", "LICENSE-NOTICES")
_FOREIGN = re.compile(
    r"(^|/)(tests?|__pycache__|node_modules|\.git|\.venv|\.cache|\.[a-z]+_cache|\.hypothesis|\.treewright|\.vscode)(/|$)"
    r"|\.(pyc|pyo|map|log|orig|rej|swp|tsbuildinfo)$|(^|/)(\.DS_Store|\.gitkeep|\.gitmodules|Makefile)$"
)
"""Names that no artefact of ours carries: tests, caches, what tools and editors leave behind."""
_MOST_BYTES = {"wheel": 5 << 20, "sdist": 5 << 20, "extension": 5 << 20, "offline extension": 400 << 20}


def contents(path: Path) -> dict[str, bytes]:
    """Return every file of a wheel, an extension or a source archive, by its name in there."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            opened = (
                (each.name, archive.extractfile(each)) for each in archive.getmembers() if each.isfile()
            )
            return {name: stream.read() for name, stream in opened if stream is not None}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def foreign(names: Iterable[str]) -> Iterator[str]:
    """Yield a fault for each file that has no business in an artefact."""
    for name in names:
        if _FOREIGN.search(name):
            yield f"{name} does not belong in it"


def machine_paths(files: Mapping[str, bytes], machine: Iterable[str]) -> Iterator[str]:
    """Yield a fault for each file that names a folder of the machine it was built on.

    Args:
        files: name to contents.
        machine: folders, such as the checkout and the builder's home; too short ones say nothing and are passed over.
    """
    wanted = [folder.rstrip("/") for folder in machine if len(folder.rstrip("/")) > 3]
    spelt = [re.compile(rb"(?<![\w.:/~-])" + re.escape(folder.encode()) + rb"/[\w.]") for folder in wanted]
    for name, content in files.items():
        for folder, pattern in zip(wanted, spelt, strict=True):
            if pattern.search(content):
                yield f"{name} names {folder}, a folder of this machine"


def too_big(path: Path, kind: str) -> Iterator[str]:
    """Yield a fault when an artefact grew out of its bounds."""
    if path.stat().st_size > _MOST_BYTES[kind]:
        yield f"{path.stat().st_size} bytes, where a {kind} should have {_MOST_BYTES[kind]} at most"


def metadata_faults(content: bytes, version: str) -> Iterator[str]:
    """Yield what an index would refuse in the metadata of a package, and what differs from what we say."""
    try:
        read = Metadata.from_email(content, validate=True)
    except ExceptionGroup as faults:
        yield from (f"metadata: {fault}" for fault in faults.exceptions)
        return
    if str(read.version) != version:
        yield f"metadata: version {read.version} where {version} is being released"
    if not (read.description or "").strip() or read.description_content_type != "text/markdown":
        yield "metadata: no description in Markdown"
    if set(read.license_files or ()) != set(LICENCES):
        yield f"metadata: names the licence files {read.license_files}"
    if not {"local", "dev"} <= set(read.provides_extra or ()):
        yield "metadata: an extra is missing"


def wheel_faults(path: Path, version: str, machine: Iterable[str], expected: Iterable[str]) -> list[str]:
    """Return what is wrong with a wheel.

    Args:
        path: the wheel.
        version: what is being released.
        machine: folders of this machine that nothing may name.
        expected: files that have to be in it.
    """
    files = contents(path)
    info = f"treewright-{version}.dist-info"
    found = [*too_big(path, "wheel"), *foreign(files), *machine_paths(files, machine)]
    found += [f"{name} is missing" for name in expected if name not in files]
    found += [f"{name} is missing" for each in LICENCES if (name := f"{info}/licenses/{each}") not in files]
    found += [
        f"{name} lies outside the package"
        for name in files
        if not name.startswith(("treewright/", f"{info}/"))
    ]
    found += record_faults(files, f"{info}/RECORD")
    if f"{info}/METADATA" not in files:
        return [*found, "it has no metadata"]
    found += metadata_faults(files[f"{info}/METADATA"], version)
    if b"treewright = treewright.__main__:main" not in files.get(f"{info}/entry_points.txt", b""):
        found.append("it installs no command")
    if message_from_bytes(files.get(f"{info}/WHEEL", b"")).get("Root-Is-Purelib") != "true":
        found.append("it is not for every platform")
    return found


def record_faults(files: Mapping[str, bytes], record: str) -> Iterator[str]:
    """Yield what an installer would refuse: files that the record does not name, or names with another hash."""
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(files.get(record, b"").decode())) if row}
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if name != record and rows.get(name) != f"sha256={digest}":
            yield f"{name} is not in the record as it is"


def sdist_faults(path: Path, version: str, machine: Iterable[str]) -> list[str]:
    """Return what is wrong with a source archive."""
    files = contents(path)
    top = f"treewright-{version}/"
    inside = {name.removeprefix(top): content for name, content in files.items()}
    found = [*too_big(path, "sdist"), *foreign(inside), *machine_paths(inside, machine)]
    found += [f"{name} lies outside {top}" for name in files if not name.startswith(top)]
    needed = ("PKG-INFO", "pyproject.toml", "README.md", "CHANGELOG.md", *LICENCES)
    found += [f"{name} is missing" for name in needed if name not in inside]
    found += metadata_faults(inside.get("PKG-INFO", b""), version)
    return found


def extension_faults(
    path: Path, version: str, machine: Iterable[str], wheel: Path, locked: bytes
) -> list[str]:
    """Return what is wrong with a packed extension.

    Args:
        path: the .vsix.
        version: what is being released.
        machine: folders of this machine that nothing may name.
        wheel: the wheel that is released beside it, which it has to carry byte for byte.
        locked: the requirements with their hashes that it has to carry.
    """
    files = contents(path)
    carried = [name for name in files if name.startswith("extension/sidecar/wheels/")]
    own = {name: content for name, content in files.items() if name not in carried}
    kind = "offline extension" if carried else "extension"
    found = [*too_big(path, kind), *foreign(own), *machine_paths(own, machine)]
    manifest = json.loads(files.get("extension/package.json", b"{}"))
    if manifest.get("version") != version:
        found.append(f"its version is {manifest.get('version')} where {version} is being released")
    needed = ("LICENSE.txt", "LICENSE-NOTICES", "readme.md", str(manifest.get("main", "")).removeprefix("./"))
    found += [f"{name} is missing" for each in needed if (name := f"extension/{each}") not in files]
    if files.get(f"extension/sidecar/{wheel.name}") != wheel.read_bytes():
        found.append("the wheel inside is not the one that is released")
    if files.get("extension/sidecar/requirements.txt") != locked:
        found.append("the requirements inside are not those of this checkout")
    found += [
        f"{PurePosixPath(name).name} is not what the requirements name"
        for name in carried
        if hashlib.sha256(files[name]).hexdigest() not in locked.decode()
    ]
    return found
