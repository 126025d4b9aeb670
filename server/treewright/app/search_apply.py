"""Writing a search's verified program to the file that the search started from: a separate act, never a part of the search."""

from pathlib import Path

from treewright.app.context import Context
from treewright.app.describe import is_search
from treewright.app.runs import find_run
from treewright.app.search_outcome import best_so_far
from treewright.app.search_sources import digest_of, read_program
from treewright.app.search_store import Logged, read_search
from treewright.errors import RunError
from treewright.store.durable import replace_file, shown


def found_in(context: Context, run: str) -> tuple[Logged, Path]:
    """Return a search's journal and folder.

    Raises:
        RunError: it cannot be found, or `not_a_search`.
    """
    folder = find_run(context, run).folder
    if not is_search(folder):
        raise RunError(
            "not_a_search", f"{run} is no code-branch search.", "`treewright runs` lists the kinds."
        )
    return read_search(folder), folder


def apply(context: Context, run: str) -> Path:
    """Write the chosen program to the file the search started from, and return the file.

    Raises:
        RunError: `search_not_verified`, `search_nothing_to_apply`, `search_file_changed`; nothing was written.
        StoreError: the disk refused; the file is what it was before.
    """
    logged, _ = found_in(context, run)
    opened = logged.opened
    found = best_so_far(logged.events, 0.0)
    if opened is None or not opened.path or found.chosen is None:
        raise RunError(
            "search_nothing_to_apply", "This search started from no file.", "Copy the program instead."
        )
    if not found.verified:
        raise RunError(
            "search_not_verified",
            "No program passed every check, so nothing is applied.",
            "Look at the best so far with `treewright show`.",
        )
    path = Path(opened.path)
    if digest_of(path) != opened.digest:
        raise RunError(
            "search_file_changed",
            f"{shown(path)} was changed since the search read it, so nothing is applied.",
            "Look at change.diff in the run's folder, or search again.",
            {"path": str(path)},
        )
    _write_back(path, found.chosen.code)
    return path


def _write_back(path: Path, code: str) -> None:
    """Write a program in the file's own encoding, line ends and mode."""
    begun = read_program(path.parent, path.name)
    text = code if begun.text.endswith("\n") or not code.endswith("\n") else code[:-1]
    if "\r\n" in begun.decoded.text:
        text = text.replace("\n", "\r\n")
    try:
        data = begun.decoded.encode(text)
    except UnicodeEncodeError as fault:
        raise RunError(
            "search_nothing_to_apply",
            f"{shown(path)} is {begun.decoded.encoding}, which cannot hold the new program: {fault.reason}.",
            "Convert the file to UTF-8 first.",
        ) from fault
    mode = path.stat().st_mode & 0o7777
    replace_file(path, [data])
    path.chmod(mode)
