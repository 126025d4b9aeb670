"""The files of a folder that are worth reading, in a fixed order, and why the others were left out.

Honours `.gitignore` files at every level, stays inside the root (a link that leads out is listed, not
followed), visits each real folder once, and passes over what nobody in this project wrote: vendored,
built, generated, minified and binary files (contract: exploration, 3).
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pathspec

from treewright.tree.visible import storable_name, visible
from treewright.workspace.decode import Unreadable, read_bytes

VENDORED = frozenset(
    [
        "node_modules",
        "bower_components",
        "vendor",
        "vendored",
        "_vendor",
        "third_party",
        "third-party",
        "site-packages",
        "dist-packages",
        ".venv",
        "venv",
        ".env",
        "virtualenv",
        ".tox",
        ".nox",
        ".eggs",
        "__pypackages__",
        "jspm_packages",
        "Pods",
    ]
)
BUILT = frozenset(
    [
        "__pycache__",
        "build",
        "dist",
        "_build",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        "htmlcov",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".parcel-cache",
        ".gradle",
        "target",
        ".terraform",
        ".ipynb_checkpoints",
    ]
)
ADMIN = frozenset([".git", ".hg", ".svn", ".bzr", "CVS", ".treewright", ".vscode", ".idea", ".direnv"])
BINARY_SUFFIXES = frozenset(
    [
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".ico",
        ".bmp",
        ".tiff",
        ".pdf",
        ".zip",
        ".gz",
        ".bz2",
        ".xz",
        ".zst",
        ".7z",
        ".tar",
        ".whl",
        ".egg",
        ".jar",
        ".class",
        ".so",
        ".dylib",
        ".dll",
        ".exe",
        ".o",
        ".a",
        ".pyc",
        ".pyo",
        ".pyd",
        ".wasm",
        ".woff",
        ".woff2",
        ".ttf",
        ".otf",
        ".eot",
        ".mp3",
        ".mp4",
        ".ogg",
        ".wav",
        ".avi",
        ".mov",
        ".sqlite",
        ".sqlite3",
        ".db",
        ".npy",
        ".npz",
        ".pkl",
        ".pickle",
        ".parquet",
        ".h5",
        ".onnx",
        ".gguf",
        ".bin",
        ".dat",
    ]
)
_MINIFIED = re.compile(r"(\.|-)min\.(js|css|mjs)$|\.bundle\.js$|\.map$")
_GENERATED_NAME = re.compile(r"_pb2(_grpc)?\.pyi?$|\.g\.dart$|(^|_)generated\.\w+$|\.lock$|-lock\.json$")
_GENERATED_TEXT = re.compile(
    r"(?im)^\s*(#|//|/\*|\*|<!--|;)?.{0,40}(@generated\b|code generated .{0,60}do not edit"
    r"|auto-?generated .{0,80}do not (edit|modify)|this file (was|is) (automatically |auto-?)?generated)"
)

_LARGEST_IGNORE = 1 << 20
"""Bytes of the largest .gitignore honoured."""
_UNNAMEABLE = "its name is not UTF-8, or holds control characters"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: `path` to open, `relative` (POSIX, from the root) to show and cite."""

    path: Path
    relative: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was left out.

    Attributes:
        relative: POSIX path from the root.
        reason: `ignored`, `vendored`, `built`, `administrative`, `binary`, `minified`, `generated`,
            `link-out`, `link-loop`, `link-broken`, `special`, `name`, `denied`, `gone`, `too-large`, `encoding`, `error`.
        detail: more, or empty.
    """

    relative: str
    reason: str
    detail: str = ""


@dataclass(slots=True)
class Listing:
    """What a walk found: files in path order, and everything left out with its reason."""

    root: Path
    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def list_sources(root: Path, suffixes: frozenset[str] | None = None) -> Listing:
    """List the source files below `root`.

    Args:
        root: a folder, or a single file (then the root of relative paths is its folder).
        suffixes: lower-case suffixes with dot to keep (`{".py"}`); None keeps every text file. Files of other
            suffixes are not listed as skipped: they were not asked for.

    Raises:
        FileNotFoundError: the root does not exist.
    """
    root = root.absolute()
    if not root.exists():
        raise FileNotFoundError(str(root))
    if root.is_file():
        listing = Listing(root.parent)
        if not storable_name(root.name):
            listing.skipped.append(Skipped(visible(root.name), "name", _UNNAMEABLE))
            return listing
        listing.files.append(SourceFile(root, root.name, root.stat().st_size))
        return listing
    listing = Listing(root)
    _Walk(listing, suffixes).folder(root, "", ())
    listing.files.sort(key=lambda file: file.relative)
    listing.skipped.sort(key=lambda entry: entry.relative)
    return listing


def looks_generated(text: str) -> bool:
    """Tell whether the head of a text (2,000 characters) says a program wrote it."""
    return _GENERATED_TEXT.search(text[:2000]) is not None


def looks_minified(text: str) -> bool:
    """Tell whether a script is minified: over 1,000 characters a line on average, and over 5,000 in all."""
    return len(text) > 5000 and len(text) / (text.count("\n") + 1) > 1000


_Spec = tuple[str, pathspec.GitIgnoreSpec]


class _Walk:
    """One pass over a tree; keeps which real folders were seen."""

    def __init__(self, listing: Listing, suffixes: frozenset[str] | None) -> None:
        self.listing = listing
        self.suffixes = suffixes
        self.real_root = os.path.realpath(listing.root)
        self.seen: set[tuple[int, int]] = set()

    def folder(self, path: Path, relative: str, specs: tuple[_Spec, ...]) -> None:
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in self.seen:
                self.skip(relative, "link-loop", "this folder was already visited")
                return
            self.seen.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(path), key=lambda entry: (entry.is_symlink(), entry.name))
        except PermissionError:
            self.skip(relative or ".", "denied", "listing the folder is not permitted")
            return
        except FileNotFoundError:
            self.skip(relative, "gone", "the folder vanished while it was being listed")
            return
        except OSError as error:
            self.skip(relative or ".", "error", error.strerror or type(error).__name__)
            return
        specs = specs + tuple(self.ignore_file(path, relative))
        for entry in entries:
            self.entry(entry, f"{relative}/{entry.name}" if relative else entry.name, specs)

    def ignore_file(self, path: Path, relative: str) -> Iterator[_Spec]:
        data = read_bytes(path / ".gitignore", _LARGEST_IGNORE)
        if isinstance(data, Unreadable):
            if data.reason != "gone":
                self.skip(f"{relative}/.gitignore".lstrip("/"), data.reason, f"not honoured: {data.detail}")
            return
        try:
            yield relative, pathspec.GitIgnoreSpec.from_lines(data.decode(errors="replace").splitlines())
        except ValueError as error:
            self.skip(f"{relative}/.gitignore".lstrip("/"), "error", f"not honoured: {error}")

    def entry(self, entry: os.DirEntry[str], relative: str, specs: tuple[_Spec, ...]) -> None:
        try:
            if entry.is_symlink() and not self.inside(entry, relative):
                return
            is_folder = entry.is_dir()
            if not storable_name(entry.name):
                self.unnameable(entry.name, relative, is_folder)
                return
            reason = _name_reason(entry.name, is_folder)
            if reason is None and _ignored(specs, relative, is_folder):
                reason = "ignored"
            if is_folder:
                if reason is None:
                    self.folder(Path(entry.path), relative, specs)
                else:
                    self.skip(relative + "/", reason)
            elif self.wanted(entry.name):
                self.file(entry, relative, reason)
        except OSError as error:
            self.skip(relative, "error", error.strerror or type(error).__name__)

    def unnameable(self, name: str, relative: str, is_folder: bool) -> None:
        """Leave out what no citation could name: a line break in a name would forge lines of a report."""
        if is_folder or self.wanted(name):
            self.skip(visible(relative), "name", _UNNAMEABLE)

    def wanted(self, name: str) -> bool:
        return self.suffixes is None or os.path.splitext(name)[1].lower() in self.suffixes  # noqa: PTH122 (hot)

    def file(self, entry: os.DirEntry[str], relative: str, reason: str | None) -> None:
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            self.skip(relative, "special", "it is no regular file")
            return
        if entry.is_symlink() and (status.st_dev, status.st_ino) in self.seen:
            reason = "link-loop"
        if reason is not None:
            self.skip(relative, reason)
            return
        self.seen.add((status.st_dev, status.st_ino))
        self.listing.files.append(SourceFile(Path(entry.path), relative, status.st_size))

    def inside(self, entry: os.DirEntry[str], relative: str) -> bool:
        target = os.path.realpath(entry.path)
        if not Path(target).exists():
            self.skip(relative, "link-broken", "the link leads nowhere or to itself")
            return False
        if target != self.real_root and not target.startswith(self.real_root + os.sep):
            self.skip(relative, "link-out", "the link leads out of the root")
            return False
        return True

    def skip(self, relative: str, reason: str, detail: str = "") -> None:
        self.listing.skipped.append(Skipped(relative, reason, detail))


def _name_reason(name: str, is_folder: bool) -> str | None:
    if is_folder:
        if name in VENDORED:
            return "vendored"
        if name in ADMIN:
            return "administrative"
        return "built" if name in BUILT or name.endswith(".egg-info") else None
    if os.path.splitext(name)[1].lower() in BINARY_SUFFIXES:  # noqa: PTH122 (hot)
        return "binary"
    if _MINIFIED.search(name):
        return "minified"
    return "generated" if _GENERATED_NAME.search(name) else None


def _ignored(specs: tuple[_Spec, ...], relative: str, is_folder: bool) -> bool:
    """Apply every .gitignore from the nearest to the root's: the nearest that says anything decides."""
    for base, spec in reversed(specs):
        inner = relative[len(base) + 1 :] if base else relative
        verdict = spec.check_file(inner + "/" if is_folder else inner).include
        if verdict is not None:
            return verdict
    return False
