"""A package index on this machine, made from what is installed beside the tests: no network, and yet a real resolver.

What is served is what `pip`, `uv` and `pipx` would get from a public index: our own artefacts as they were built, and
each package that they need, packed anew from the files of its installation.
"""

import base64
import csv
import hashlib
import importlib.metadata
import io
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_LEFT_OUT = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}


def needed(requirements: Iterable[str]) -> set[str]:
    """Return the names of installed packages that requirements come to on this machine, theirs included."""
    found: set[tuple[str, tuple[str, ...]]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), tuple(sorted(wanted.extras)))
        if key in found:
            continue
        found.add(key)
        for text in importlib.metadata.distribution(wanted.name).requires or ():
            inner = Requirement(text)
            extras = key[1] or ("",)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(inner)
    return {name for name, _ in found}


def pack(name: str, folder: Path) -> Path:
    """Pack an installed package into a wheel again.

    Args:
        name: of the package.
        folder: where the wheel goes.
    """
    installed = importlib.metadata.distribution(name)
    contents = {}
    for file in installed.files or ():
        path = Path(str(installed.locate_file(file)))
        if file.name in _LEFT_OUT or file.suffix == ".pyc" or not path.is_file():
            continue
        if (inside := _inside(file, installed, path.read_bytes()[:2])) is not None:
            contents[inside] = path.read_bytes()
    (info,) = {name.partition("/")[0] for name in contents if name.endswith(".dist-info/METADATA")}
    tags = [
        line.split(": ")[1]
        for line in contents[f"{info}/WHEEL"].decode().splitlines()
        if line.startswith("Tag")
    ]
    parts = [sorted(set(part)) for part in zip(*(tag.split("-") for tag in tags), strict=True)]
    made = folder / f"{info.removesuffix('.dist-info')}-{'-'.join('.'.join(part) for part in parts)}.whl"
    with zipfile.ZipFile(made, "w") as archive:  # stored: it is read once, a moment later
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        for inside, content in contents.items():
            entry = zipfile.ZipInfo(inside)
            entry.external_attr = (0o100755 if ".data/scripts/" in inside else 0o100644) << 16
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.writerow((inside, f"sha256={digest}", len(content)))
        rows.writerow((f"{info}/RECORD", "", ""))
        archive.writestr(f"{info}/RECORD", record.getvalue())
    return made


def _inside(file: PurePosixPath, installed: importlib.metadata.Distribution, head: bytes) -> str | None:
    """Return where an installed file stood in its wheel; none for a command that the installer wrote."""
    if file.parts[0] != "..":
        return file.as_posix()
    data = f"{installed.metadata['Name'].replace('-', '_')}-{installed.version}.data"
    outside = PurePosixPath(*(part for part in file.parts if part != ".."))
    if outside.parts[0] == "bin":
        written = {entry.name for entry in installed.entry_points if entry.group == "console_scripts"}
        return None if outside.name in written or head == b"#!" else f"{data}/scripts/{outside.name}"
    return f"{data}/data/{outside.as_posix()}"


def lay_out(folder: Path, artefacts: Iterable[Path]) -> None:
    """Lay a folder out as a simple index (PEP 503) of the artefacts."""
    pages: dict[str, list[str]] = {}
    for path in artefacts:
        name = canonicalize_name(path.name.split("-")[0])
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        pages.setdefault(name, []).append(
            f'<a href="/files/{quote(path.name)}#sha256={digest}">{path.name}</a>'
        )
        (folder / "files").mkdir(parents=True, exist_ok=True)
        if not (folder / "files" / path.name).exists():
            (folder / "files" / path.name).symlink_to(path.resolve())
    for name, links in pages.items():
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>", encoding="utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file; a client that has read enough of it (uv looks only at the metadata of a wheel) hangs up."""
        with suppress(BrokenPipeError, ConnectionResetError):
            super().copyfile(source, outputfile)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve an index on loopback and give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
        server.shutdown()
        thread.join(timeout=5)
