"""From the user's words to what a run starts from: the path is there, readable and not empty, or a clear error says so."""

import os
from dataclasses import dataclass
from pathlib import Path

from treewright.app.request import ExplorationRequest
from treewright.errors import RequestError, WorkspaceError
from treewright.explore.focus import locate
from treewright.presets.schema import Preset
from treewright.regular import read_regular
from treewright.store.durable import shown
from treewright.store.paths import find_workspace
from treewright.tree.run import RootSpec
from treewright.tree.visible import visible, writable_as_text
from treewright.workspace.decode import split_lines
from treewright.workspace.git import changed_ranges


@dataclass(frozen=True, slots=True)
class ResolvedRoot:
    """A run's root.

    Attributes:
        spec: as the engine keeps it.
        workspace: absolute.
        title: names the run's folder.
        prose: the root in the user's words, for telling its language; empty for a path or code.
    """

    spec: RootSpec
    workspace: Path
    title: str
    prose: str


def resolve_root(preset: Preset, request: ExplorationRequest) -> ResolvedRoot:
    """Resolve a request's root by the preset's root kind (contract: exploration, 3).

    Raises:
        WorkspaceError: `root_unparseable` when it is missing, unreadable or empty; `revision_unknown` when only the
            changes since a revision are asked for that git does not know.
        RequestError: `root_empty` when a design prompt is empty.
    """
    base = Path(request.base)
    if preset.root_kind in ("artifact", "code"):
        return _path_root(preset, request, base)
    text = request.root.strip()
    path = _as_path(base, text)
    if preset.root_kind == "design-prompt":
        if path is not None:
            text = _read_text(path)
        if not text.strip():
            raise RequestError(
                "root_empty", "There is nothing to design.", "Give a prompt, or a file that holds one."
            )
    workspace = find_workspace(path or base, _bound(request))
    spec = RootSpec(
        kind=preset.root_kind,
        text=text.strip(),
        workspace=str(workspace),
        focus=request.focus,
        inferred=not text,
    )
    title = text.strip() or workspace.name or "project"
    return ResolvedRoot(spec, workspace, title, text)


def _bound(request: ExplorationRequest) -> Path | None:
    return Path(request.within) if request.within else None


def _as_path(base: Path, text: str) -> Path | None:
    if not text or "\n" in text or len(text) > 1024:
        return None
    try:
        path = base / Path(text).expanduser()
        return path if path.is_file() else None
    except OSError:
        return None


def _path_root(preset: Preset, request: ExplorationRequest, base: Path) -> ResolvedRoot:
    named = request.root.strip() or "."
    try:
        path = (base / Path(named).expanduser()).absolute()
        exists = path.exists()
    except (OSError, ValueError) as fault:
        raise _unparseable(named, f"it cannot be looked up: {fault}") from fault
    if not exists:
        raise _unparseable(named, "it does not exist")
    if not writable_as_text(str(path)):
        raise _unparseable(named, f"its path is not UTF-8: {visible(str(path))}")
    path = Path(os.path.normpath(path))
    if path.is_dir():
        if preset.root_kind == "artifact":
            raise _unparseable(named, "it is a folder; an artifact is one file")
        _list(path, named)
    elif not path.is_file():
        raise _unparseable(named, "it is neither a file nor a folder")
    else:
        _check_focus(_read_text(path), request.focus)
    if preset.root_kind == "code":
        _check_revision(path, request.changed_since)
    workspace = find_workspace(path, _bound(request))
    relative = Path(os.path.relpath(path, workspace)).as_posix()
    spec = RootSpec(
        kind=preset.root_kind,
        path=relative,
        workspace=str(workspace),
        focus=request.focus,
        changed_since=request.changed_since,
    )
    return ResolvedRoot(spec, workspace, path.name or workspace.name or "root", "")


def _check_focus(text: str, focus: str) -> None:
    if focus.strip() and locate(split_lines(text), focus) is None:
        raise RequestError(
            "focus_unknown",
            f"Nothing in the text fits the focus {focus!r}.",
            "Name a heading, line numbers such as 40-60, or words that stand in the text.",
        )


def _check_revision(path: Path, revision: str) -> None:
    if revision and changed_ranges(path if path.is_dir() else path.parent, revision) is None:
        raise WorkspaceError(
            "revision_unknown",
            f"Git knows no revision {revision!r} here.",
            "Check --changed-since; the code must be in a git repository.",
        )


def _list(path: Path, named: str) -> None:
    try:
        if next(path.iterdir(), None) is None:
            raise _unparseable(named, "it is empty")
    except OSError as fault:
        raise _unparseable(named, f"it cannot be read: {fault.strerror}") from fault


def _read_text(path: Path) -> str:
    """Return a file's text, or raise when there is none to read; how it is decoded is the reader's business later."""
    try:
        data = read_regular(path)
    except OSError as fault:
        raise _unparseable(str(path), f"it cannot be read: {fault.strerror}") from fault
    if not data.strip():
        raise _unparseable(str(path), "it is empty")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _unparseable(named: str, why: str) -> WorkspaceError:
    return WorkspaceError(
        "root_unparseable",
        f"EARLY_STOP=root_unparseable: {shown(named)}: {why}.",
        "Name a file or folder that can be read and holds something.",
        {"path": named},
    )
