"""Where things are kept: the root and its folders, a run's folder and its files, and the workspace."""

import contextlib
import datetime
import errno
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from treewright.errors import StoreError
from treewright.store.durable import make_folder, shown, storage_error
from treewright.tree.visible import visible, writable_as_text

HOME_VARIABLE = "TREEWRIGHT_HOME"
OUTPUT_FOLDER = ".treewright"
"""Folder of a workspace that runs are written to; walkers skip it."""

_WORKSPACE_SIGNS = (".git", "pyproject.toml", "package.json")
_SLUG_CHARACTERS = 48
_SLUG_BYTES = 120
_CLASHES = 10_000


@dataclass(frozen=True, slots=True)
class Root:
    """The user's Treewright folder and what is in it (contract: design, "The store").

    Attributes:
        folder: the root itself.
        config: the user's configuration file.
        sessions: folder of deliberation sessions.
        index: the index of runs and sessions.
    """

    folder: Path
    config: Path
    sessions: Path
    index: Path

    @property
    def runs(self) -> Path:
        """Folder of searches, and of runs whose workspace cannot be written to."""
        return self.folder / "runs"

    @property
    def audit(self) -> Path:
        """Folder of search trajectories."""
        return self.folder / "audit"

    @property
    def presets(self) -> Path:
        """Folder of the user's presets."""
        return self.folder / "presets"

    @property
    def profiles(self) -> Path:
        """Folder of the user's field profiles."""
        return self.folder / "profiles"

    @property
    def lenses(self) -> Path:
        """Folder of the user's lenses."""
        return self.folder / "lenses"

    @property
    def logs(self) -> Path:
        """Folder of logs."""
        return self.folder / "logs"

    @property
    def ledger(self) -> Path:
        """Folder of the spend ledger."""
        return self.folder / "ledger"

    @property
    def cache(self) -> Path:
        """Folder of what can be had again."""
        return self.folder / "cache"

    @property
    def decisions(self) -> Path:
        """Folder of what users decided about findings."""
        return self.folder / "decisions"

    @property
    def locks(self) -> Path:
        """Folder of lock files for what may be moved elsewhere."""
        return self.folder / "cache" / "locks"

    def prepare(self, folder: Path | None = None) -> Path:
        """Make the root, or a folder in it, readable by this user only, and return it.

        Raises:
            StoreError: it cannot be made.
        """
        return make_folder(folder or self.folder, private=True)


def home_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds `config.toml`: `TREEWRIGHT_HOME`, else `~/treewright`.

    Args:
        environ: environment variables; the process's own by default.

    Raises:
        StoreError: `no_home` when neither is known.
    """
    env = os.environ if environ is None else environ
    if chosen := env.get(HOME_VARIABLE, "").strip():
        return _absolute(chosen)
    try:
        return Path.home() / "treewright"
    except RuntimeError as fault:
        raise StoreError(
            "no_home", "No home folder is known.", f"Set {HOME_VARIABLE} to a folder of yours."
        ) from fault


def find_root(
    environ: Mapping[str, str] | None = None, *, root: str = "", sessions_dir: str = "", index_path: str = ""
) -> Root:
    """Return where the store is: `TREEWRIGHT_HOME`, else `[store] root`, else `~/treewright`.

    Args:
        environ: environment variables; the process's own by default.
        root: the setting `[store] root`; empty for none.
        sessions_dir: the setting of that name; relative to the root, empty for `sessions`.
        index_path: the setting of that name; relative to the root, empty for `index.json`.

    Raises:
        StoreError: `no_home`.
    """
    env = os.environ if environ is None else environ
    home = home_folder(env)
    folder = _absolute(root) if root and not env.get(HOME_VARIABLE, "").strip() else home
    return Root(
        folder=folder,
        config=home / "config.toml",
        sessions=folder / Path(sessions_dir or "sessions").expanduser(),
        index=folder / Path(index_path or "index.json").expanduser(),
    )


def find_workspace(start: Path | None, within: Path | None = None) -> Path:
    """Return the workspace of a root: the nearest folder at or above it with .git, pyproject.toml or package.json.

    Args:
        start: a file or folder; None for a root that is no path.
        within: a folder above which nothing is looked for; None for no bound.

    Returns:
        An absolute folder: where no sign is found the start itself (its folder, for a file), and the current folder
        for None.
    """
    at = (start or Path()).absolute()
    folder = at if at.is_dir() else at.parent
    for each in (folder, *folder.parents):
        if any((each / sign).exists() for sign in _WORKSPACE_SIGNS):
            return each
        if each == within:
            return each
    return folder


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder and the files that the store keeps in it."""

    folder: Path

    @property
    def journal(self) -> Path:
        """The events: the only truth about the run."""
        return self.folder / "journal.jsonl"

    @property
    def snapshot(self) -> Path:
        """The rebuildable fold of the journal."""
        return self.folder / "journal.snapshot"

    @property
    def listing(self) -> Path:
        """The rebuildable rows of the tree."""
        return self.folder / "journal.listing"


def slug(text: str) -> str:
    """Return a text as part of a folder's name: lower case, letters and digits of any script, hyphens between.

    Returns:
        1 to 48 characters, never empty, `.` or `..`.
    """
    plain = unicodedata.normalize("NFC", text).casefold()
    words = re.findall(r"[^\W_]+", plain)
    short = "-".join(words)[:_SLUG_CHARACTERS]
    while len(short.encode(errors="replace")) > _SLUG_BYTES:
        short = short[:-1]
    return "".join(char for char in short if not "\ud800" <= char <= "\udfff").strip("-") or "run"


def new_run_folder(
    *, out: Path | None, workspace: Path, preset: str, title: str, root: Root, day: datetime.date
) -> RunFolder:
    """Make the folder of a new run.

    Args:
        out: where the user wants it (`--out`); used as it is, whether new or there already.
        workspace: else a new folder `.treewright/<preset>/<day>__<slug>` in it, when that can be written to.
        preset: the preset's name, or another name of the kind of run.
        title: what the slug is made of.
        root: else the same in its `runs` folder.
        day: the day in UTC.

    Raises:
        StoreError: none of them can be made; for `out` no other place is tried.
    """
    if out is not None:
        if not writable_as_text(str(out.absolute())):
            raise StoreError(
                "storage_failed",
                f"The path of the output folder is not UTF-8: {visible(str(out.absolute()))}.",
                "Choose another with --out.",
            )
        return RunFolder(_writable(make_folder(out.absolute())))
    name = f"{day.isoformat()}__{slug(title)}"
    base = workspace / OUTPUT_FOLDER / slug(preset)
    if _stays_inside(base, workspace):
        with contextlib.suppress(StoreError):
            return RunFolder(_writable(_fresh(make_folder(base), name)))
    private = make_folder(root.runs / slug(preset), private=True)
    return RunFolder(_fresh(private, name, mode=0o700))


def _fresh(base: Path, name: str, mode: int = 0o777) -> Path:
    """Make `base/name`, or `base/name-2` and so on where that is taken; never two callers the same."""
    for count in range(1, _CLASHES):
        folder = base / (name if count == 1 else f"{name}-{count}")
        try:
            folder.mkdir(mode=mode)
        except FileExistsError:
            continue
        except OSError as fault:
            raise storage_error(fault, folder, "make the folder") from fault
        return folder
    raise StoreError("storage_failed", f"{shown(base / name)} exists {_CLASHES} times over.", "Choose --out.")


def _writable(folder: Path) -> Path:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise storage_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), folder, "write to")
    return folder


def _stays_inside(folder: Path, workspace: Path) -> bool:
    """Tell whether no link on the way leads out: a cloned repository may carry a `.treewright` link to anywhere."""
    try:
        return folder.resolve().is_relative_to(workspace.resolve())
    except OSError:
        return False


def _absolute(text: str) -> Path:
    return Path(text).expanduser().absolute()
