"""Session documents: one JSON file each, replaced whole and durably, with the old state kept until the new one stands.

A change is: lock, keep the old file as `.bak` (a hard link, so no bytes are copied), write the new one beside it,
sync, rename it into place, sync the folder, remove the `.bak`. The lock spans load, change and save, so no writer
works on what another has replaced. A caller that keeps its decoded session compares `Change.stamp` and
skips loading when nobody else wrote; one that keeps its encoded parts hands those over and skips encoding them.
"""

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from treewright.errors import StoreError
from treewright.regular import LARGEST_STORED, open_regular, read_regular
from treewright.store.durable import make_folder, replacing, shown, storage_error, telling
from treewright.store.turns import exclusive

Value = TypeVar("Value")
Parse = Callable[[bytes], Value]
"""Turns a file's bytes into a value, or raises ValueError (pydantic's ValidationError is one)."""


class Stamp(NamedTuple):
    """What tells one saved state of a file from another.

    Attributes:
        device: of the file.
        inode: of the file; every save makes a new one.
        size: in bytes.
        written_ns: time of writing in nanoseconds, set by the writer itself.
    """

    device: int
    inode: int
    size: int
    written_ns: int


class Loaded(NamedTuple, Generic[Value]):
    """A document as it was read.

    Attributes:
        value: what the parser made of it.
        stamp: which saved state it is.
        note: empty, or one sentence to tell the user: what was damaged, where the value was recovered from, and
            where the damaged file is kept.
    """

    value: Value
    stamp: Stamp
    note: str = ""


class Document:
    """One document on the disk."""

    def __init__(self, path: Path, *, lock: Path, private: bool = True) -> None:
        """Name a document; nothing is touched yet.

        Args:
            path: the file.
            lock: its lock file, the same wherever the document is moved: `Root.locks / f"{session_id}.lock"`.
            private: readable by this user only (mode 0600).
        """
        # A link that a user put in its old place stays a link: what it leads to is replaced.
        self.path = path.resolve() if path.is_symlink() else path
        self.lock = lock
        self.private = private

    @property
    def backup(self) -> Path:
        """Where the old state is kept while a new one is written."""
        return self.path.with_name(self.path.name + ".bak")

    def create(self, parts: Iterable[bytes]) -> Stamp:
        """Write a new document.

        Args:
            parts: its content, in order.

        Raises:
            StoreError: `document_exists`, or the disk refused; nothing half-written is left.
        """
        with self.locked():
            if os.path.lexists(self.path):
                raise StoreError(
                    "document_exists", f"{shown(self.path)} exists already.", "", {"path": str(self.path)}
                )
            with replacing(self.path, private=self.private) as handle:
                handle.writelines(parts)
            return self.present()

    def load(self, parse: Parse[Value]) -> Loaded[Value]:
        """Read the document; recover it when it is damaged.

        Args:
            parse: makes the value of the bytes.

        Raises:
            StoreError: `document_missing`, `document_damaged` (the file is left as it is), or the disk refused.
        """
        sound = self._attempt(self.path, parse)
        if sound:
            return sound
        with self.locked():
            return self.load_locked(parse)

    @contextlib.contextmanager
    def change(self) -> Iterator["Change"]:
        """Hold the document for one load, change and save.

        Leaving the block without `Change.save` changes nothing.

        Raises:
            StoreError: `lock_timeout` when another process holds it for half a minute.
        """
        with self.locked():
            yield Change(self)

    def stamp(self) -> Stamp | None:
        """Return which saved state the file is in; None when it is missing."""
        try:
            return self.present()
        except StoreError as fault:
            if fault.code == "document_missing":
                return None
            raise

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the document's lock.

        Raises:
            StoreError: `lock_timeout`.
        """
        make_folder(self.lock.parent, private=True)
        with exclusive(self.lock):
            yield

    def present(self) -> Stamp:
        """Return which saved state the file is in.

        Raises:
            StoreError: `document_missing`, or the disk refused.
        """
        try:
            return _stamp_of(self.path.stat())
        except FileNotFoundError as fault:
            raise self._missing() from fault
        except OSError as fault:
            raise storage_error(fault, self.path, "read") from fault

    def _missing(self) -> StoreError:
        return StoreError(
            "document_missing", f"There is no file {shown(self.path)}.", "", {"path": str(self.path)}
        )

    def _attempt(self, path: Path, parse: Parse[Value]) -> Loaded[Value] | None:
        try:
            with open_regular(path) as handle:
                stamp = _stamp_of(os.fstat(handle.fileno()))
                return Loaded(parse(handle.read()), stamp)
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        except OSError as fault:
            raise storage_error(fault, path, "read") from fault

    def load_locked(self, parse: Parse[Value]) -> Loaded[Value]:
        """Load while the lock is held: the file, else its backup, else the first whole object in the file.

        Raises:
            StoreError: as `load`.
        """
        if sound := self._attempt(self.path, parse):
            return sound
        if old := self._attempt(self.backup, parse):
            aside = self._keep_aside()
            with telling(self.path, "restore"):
                self.backup.replace(self.path)
            return Loaded(old.value, self.present(), self._told("the state before the last change", aside))
        if not self.path.exists():
            raise self._missing()
        if (first := _first_object(read_regular(self.path, LARGEST_STORED))) is not None:
            with contextlib.suppress(ValueError):
                value = parse(first)
                aside = self._keep_aside()
                with replacing(self.path, private=self.private) as handle:
                    handle.write(first)
                return Loaded(value, self.present(), self._told("the first whole object in it", aside))
        raise StoreError(
            "document_damaged",
            f"{shown(self.path)} cannot be read and there is no older state of it.",
            "The file was left as it is; mend it by hand or remove it.",
            {"path": str(self.path)},
        )

    def _keep_aside(self) -> Path | None:
        """Link the damaged file under another name, so that recovery overwrites nothing."""
        if not self.path.exists():
            return None
        aside = self.path.with_name(f"{self.path.name}.damaged-{secrets.token_hex(4)}")
        try:
            _link(self.path, aside)
        except OSError as fault:
            raise storage_error(fault, aside, "keep the damaged file as") from fault
        return aside

    def _told(self, source: str, aside: Path | None) -> str:
        kept = f"; the damaged file is kept as {shown(aside)}" if aside else ""
        return f"{shown(self.path)} was damaged: {source} was taken{kept}."


class Change:
    """One locked change of a document."""

    def __init__(self, document: Document) -> None:
        """Begin; see `Document.change`."""
        self._document = document

    @property
    def stamp(self) -> Stamp | None:
        """Which saved state the file is in: equal to that of a value held in memory, nobody else wrote since."""
        return self._document.stamp()

    def load(self, parse: Parse[Value]) -> Loaded[Value]:
        """Read the document as it is now; see `Document.load`."""
        return self._document.load_locked(parse)

    def save(self, parts: Iterable[bytes]) -> Stamp:
        """Replace the document's content; it is on the disk when this returns.

        Args:
            parts: the new content in order; parts that did not change may be the same bytes objects as last time.

        Returns:
            The stamp of the saved state.

        Raises:
            StoreError: the disk refused; the document is what it was before.
        """
        path, backup = self._document.path, self._document.backup
        try:
            backup.unlink(missing_ok=True)
            if path.exists():
                _link(path, backup)
        except OSError as fault:
            raise storage_error(fault, backup, "write") from fault
        with replacing(path, private=self._document.private) as handle:
            handle.writelines(parts)
        with contextlib.suppress(OSError):  # the new state stands; a backup left over harms nothing
            backup.unlink(missing_ok=True)
        return self._document.present()


def _first_object(data: bytes) -> bytes | None:
    """Return the first whole JSON value of a file that holds more behind it."""
    try:
        text = data.decode()
        start = len(text) - len(text.lstrip())
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return text[start:end].encode()


def _stamp_of(found: Any) -> Stamp:
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _link(path: Path, name: Path) -> None:
    """Give a file a second name; copy it where the file system knows no links."""
    try:
        name.hardlink_to(path)
    except OSError:
        shutil.copy2(path, name)
