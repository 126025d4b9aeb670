"""Moving a document: write the copy, read it back, and only then remove the original. Never zero copies."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from treewright.errors import StoreError
from treewright.regular import read_regular
from treewright.store.documents import Document
from treewright.store.durable import replacing, shown, sync_folder, telling, temporary_beside


class Moved(NamedTuple):
    """A finished move.

    Attributes:
        document: the document at its new place.
        warning: empty, or one sentence for the user: the copy stands, but the original could not be removed.
    """

    document: Document
    warning: str = ""


def check_destination(source: Path, destination: Path, *, force: bool = False) -> None:
    """Raise when a document cannot be moved somewhere; touches nothing.

    Args:
        source: where it is.
        destination: the new file, not its folder.
        force: an existing file may be replaced.

    Raises:
        StoreError: `move_not_absolute`, `move_is_folder`, `move_parent_missing`, `move_parent_not_writable`,
            `move_same_file` or `move_exists`.
    """
    place = shown(destination)
    parent = destination.parent
    if not destination.is_absolute() or ".." in destination.parts:
        raise StoreError(
            "move_not_absolute", f"{place} is not an absolute path.", "Give the whole path, without `..`."
        )
    if destination.is_dir():
        raise StoreError("move_is_folder", f"{place} is a folder.", "Give the path of the new file.")
    if not parent.is_dir():
        raise StoreError(
            "move_parent_missing", f"The folder {shown(parent)} does not exist.", "Make it first."
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise StoreError(
            "move_parent_not_writable", f"{shown(parent)} cannot be written to.", "Choose another."
        )
    if _same(source, destination):
        raise StoreError("move_same_file", f"The document is at {place} already.", "")
    if os.path.lexists(destination) and not force:
        raise StoreError("move_exists", f"{place} exists.", "Choose another name, or move with force.")


def move_document(
    document: Document,
    destination: Path,
    rewrite: Callable[[bytes], Iterable[bytes]],
    *,
    force: bool = False,
    record: Callable[[Path], None] = lambda _: None,
) -> Moved:
    """Move a document, on one file system or to another.

    Args:
        document: what to move.
        destination: the new file, absolute.
        rewrite: makes the moved document's parts of its present bytes (the move is written into its history);
            raises ValueError when they are not a sound document.
        force: replace an existing file; it is put back when the move fails.
        record: notes the new path (in the index) once the copy was verified and before the original goes.

    Raises:
        StoreError: as `check_destination`; `document_missing` or `document_damaged` for the source; or
            `move_verify_failed`, `move_failed`, or the disk refused. The original is untouched then, and so is what was
            at the destination.
    """
    check_destination(document.path, destination, force=force)
    with document.locked():
        check_destination(document.path, destination, force=force)
        content = b"".join(document.load_locked(lambda data: list(rewrite(data))).value)
        former = temporary_beside(destination) if os.path.lexists(destination) else None
        if former:
            with telling(destination, "replace"):
                destination.replace(former)
        try:
            _write_verified(destination, content, private=document.private)
            record(destination)
        except BaseException:
            _put_back(destination, former)
            raise
        if former:
            with contextlib.suppress(
                OSError
            ):  # the user asked for it to be replaced; only its name is left over
                former.unlink()
        moved = Document(destination, lock=document.lock, private=document.private)
        return Moved(moved, _remove_original(document))


def _write_verified(destination: Path, content: bytes, *, private: bool) -> None:
    with replacing(destination, private=private) as handle:
        handle.write(content)
    try:
        intact = read_regular(destination, len(content)) == content
    except OSError:
        intact = False
    if not intact:
        raise StoreError(
            "move_verify_failed",
            f"{shown(destination)} does not read back as it was written.",
            "The original is where it was; choose another place.",
        )


def _put_back(destination: Path, former: Path | None) -> None:
    """Restore what was at the destination before."""
    with contextlib.suppress(OSError):  # told by the error that led here
        if former:
            former.replace(destination)
        else:
            destination.unlink(missing_ok=True)


def _remove_original(document: Document) -> str:
    try:
        document.path.unlink(missing_ok=True)
        document.backup.unlink(missing_ok=True)
        sync_folder(document.path.parent)
    except OSError as fault:
        return f"The copy is in place, but {shown(document.path)} could not be removed: {fault.strerror}."
    return ""


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one.absolute() == other
