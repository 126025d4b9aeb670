"""The findings of each file, where they are in its present text, and their way to the client.

Open texts are followed edit by edit; files that are closed are looked up again whenever they change. What is right or
stale is shown, what is gone is not (surfaces, 2, "Anchors follow edits").
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treewright.app.anchoring import AnchorBook, name_of
from treewright.app.findings import Finding, FindingSource, by_file
from treewright.errors import StoreError
from treewright.parsing import load_json
from treewright.surfaces.lsp.documents import Document, TextChange
from treewright.surfaces.lsp.rendering import Look, Range
from treewright.surfaces.lsp.uris import key_of, to_uri
from treewright.tree.run import Role
from treewright.workspace.anchor_tracker import AnchorTracker, Edit
from treewright.workspace.anchors import Anchor, AnchorState, Placement, span
from treewright.workspace.decode import Decoded, read_source
from treewright.workspace.positions import LineIndex

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

SOURCE = "findings"
NOTEBOOK = ".ipynb"
PUBLISH_S = 0.01
"""How long edits are gathered before their diagnostics go out: one message for a burst of key strokes."""
RELOAD_S = 0.2
"""How long changes of runs are gathered before findings are read again."""
SHARE = 0.2
"""The share of the time that reading findings again may take while a run grows."""
LONGEST_PAUSE_S = 5.0
"""However long a reading took: it may have been the machine."""


class Shown(NamedTuple):
    """A finding where it is now; the range is in the client's units."""

    finding: Finding
    placement: Placement
    range: Range


@dataclass(slots=True)
class FileBoard:
    """One file's findings.

    Attributes:
        path: the file; a notebook's findings are shown in its cells, and only while these are open.
        findings: all of them, the most severe first.
        anchors: theirs, by name.
        looks: their diagnostics without ranges, by name.
        trackers: follow the open text, by the document's key; several for the cells of a notebook.
        placed: where each is in the closed file.
        stamp: of the closed file when it was read.
    """

    path: Path
    findings: list[Finding]
    anchors: dict[str, Anchor]
    looks: dict[str, dict[str, Any]]
    trackers: dict[str, AnchorTracker] = field(default_factory=dict)
    placed: list[Shown] = field(default_factory=list)
    stamp: tuple[int, int] | None = None

    @property
    def notebook(self) -> bool:
        """Whether its text is in cells."""
        return self.path.suffix == NOTEBOOK


class Board:
    """All files' findings. Used on the loop; reading is done in worker threads."""

    def __init__(self, session: "Session", look: Look) -> None:
        """Nothing is shown yet."""
        self._session = session
        self._look = look
        self._files: dict[str, FileBoard] = {}
        self._source: FindingSource | None = None
        self._book: AnchorBook | None = None
        self._due: set[str] = set()
        self._wanted = asyncio.Event()
        self._hurry = asyncio.Event()
        self._renamed: dict[Path, Path] = {}
        session.documents.listeners.append(self)

    # reading

    def reload(self, *, hurry: bool = False) -> None:
        """Read the findings again soon; at once when something was decided or a run has ended, for then somebody waits."""
        self._wanted.set()
        if hurry:
            self._hurry.set()

    async def run(self) -> None:
        """Read findings whenever it is asked for, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self._hurry.clear()
            begun = loop.time()
            try:
                read = await asyncio.to_thread(self._read, list(self._session.folders.values()))
            except StoreError as fault:
                self._session.warn(f"the findings cannot be read: {fault.message}")
                read = None
            if read is not None:
                self._take(read)
            took = loop.time() - begun
            with contextlib.suppress(TimeoutError):
                pause = min(LONGEST_PAUSE_S, max(RELOAD_S, took / SHARE - took))
                await asyncio.wait_for(self._hurry.wait(), pause)

    def _read(self, folders: list[Path]) -> dict[str, FileBoard]:
        if self._source is None or self._book is None:
            context = self._session.app.context
            self._source, self._book = FindingSource(context), AnchorBook(context)
        found: dict[str, FileBoard] = {}
        for folder in folders:
            for path, findings in by_file(self._source.of_folder(folder)).items():
                path = self._renamed.get(path, path)
                key = key_of(to_uri(path))
                if key not in found:
                    found[key] = self._file(path, findings)
        self._book.save()
        return found

    def _file(self, path: Path, findings: list[Finding]) -> FileBoard:
        assert self._book is not None
        stamp = _stamp(path)
        read = read_source(path)
        text = read if isinstance(read, Decoded) else None
        anchors = self._book.anchors(path, text, findings)
        if path.suffix == NOTEBOOK:
            anchors = {name: in_cell(anchor) for name, anchor in anchors.items()}
        looks = {name_of(f): self._look.diagnostic(f) for f in findings}
        board = FileBoard(path, findings, anchors, looks, stamp=stamp)
        if text is not None and not board.notebook:
            tracker = AnchorTracker(text.text, anchors)
            board.placed = list(self._placed(board, tracker, LineIndex(text.text)))
        return board

    def _take(self, read: dict[str, FileBoard]) -> None:
        for key in self._files.keys() - read.keys():
            board = self._files[key]
            board.findings = []
            board.placed = []
            self._publish(key)
            del self._files[key]
        for key, board in read.items():
            before = self._files.get(key)
            self._files[key] = board
            for document in self._documents(key):
                known = (
                    before.trackers.get(document.key) if before and before.anchors == board.anchors else None
                )
                board.trackers[document.key] = known or AnchorTracker(document.text, board.anchors)
            self._publish(key)
        self._session.room.publisher.refresh()
        self._session.room.findings_changed()

    def _documents(self, key: str) -> list[Document]:
        """Return the open texts of a file: itself, or a notebook's cells."""
        documents = self._session.documents
        own = documents.by_key(key)
        return [own] if own is not None else documents.cells(key)

    # looking

    def files(self) -> Iterator[tuple[str, FileBoard]]:
        """Yield keys and files with findings."""
        return iter(list(self._files.items()))

    def shown(self, document: Document) -> list[Shown]:
        """Return the findings that are shown in an open text, the most severe first, and where they are now."""
        board = self._files.get(_file_of(document))
        return self._visible(board, document)[0] if board else []

    def everywhere(self, key: str) -> list[tuple[str, list[Shown]]]:
        """Return what is shown of a file by the address it is shown at: its own, or its open cells'."""
        board = self._files.get(key)
        if board is None:
            return []
        documents = self._documents(key)
        if not documents:
            return [] if board.notebook else [(to_uri(board.path), self._visible(board, None)[0])]
        return [(document.uri, self._visible(board, document)[0]) for document in documents]

    def counted(self, key: str) -> tuple[int, int]:
        """Return how many findings of a file are shown, and how many more are left out, for there are too many."""
        board = self._files.get(key)
        if board is None:
            return 0, 0
        documents = self._documents(key)
        parts = [self._visible(board, document) for document in documents] or [self._visible(board, None)]
        return sum(len(shown) for shown, _ in parts), sum(hidden for _, hidden in parts)

    def _visible(self, board: FileBoard, document: Document | None) -> tuple[list[Shown], int]:
        placed = board.placed
        if document is not None:
            tracker = board.trackers.get(document.key)
            placed = list(self._placed(board, tracker, document.index)) if tracker else []
        settings = self._session.settings
        if not settings.show_marginal:
            placed = [each for each in placed if each.finding.role is Role.ADVANCES]
        most = settings.max_findings_per_file
        return placed[:most], max(0, len(placed) - most)

    def _placed(self, board: FileBoard, tracker: AnchorTracker, index: LineIndex) -> Iterator[Shown]:
        for finding in board.findings:
            name = name_of(finding)
            placement = tracker.placement(name)
            if placement.state is AnchorState.GONE or (board.notebook and self._in_doubt(board, name)):
                continue
            start, end = span(board.anchors[name], placement, index)
            yield Shown(finding, placement, self._look.range(start, end, index))

    def _in_doubt(self, board: FileBoard, name: str) -> bool:
        """Tell whether several cells of a notebook hold the same code."""
        places = [each.placement(name).state for each in board.trackers.values()]
        return places.count(AnchorState.RIGHT) > 1

    # telling

    def publish_all(self) -> None:
        """Tell the client of every file again: settings have changed."""
        for key in self._files:
            self._publish(key)
        self._session.room.publisher.refresh()

    def _publish(self, key: str) -> None:
        board = self._files[key]
        documents = self._documents(key)
        for document in documents:
            diagnostics = self._diagnostics(board, self._visible(board, document)[0])
            self._session.room.publisher.put(
                document.key, document.uri, SOURCE, diagnostics, document.version
            )
        if not documents and not board.notebook:
            diagnostics = self._diagnostics(board, self._visible(board, None)[0])
            self._session.room.publisher.put(key, to_uri(board.path), SOURCE, diagnostics)

    def _diagnostics(self, board: FileBoard, shown: list[Shown]) -> list[dict[str, Any]]:
        return [self._diagnostic(board, each) for each in shown]

    def _diagnostic(self, board: FileBoard, each: Shown) -> dict[str, Any]:
        made = board.looks[name_of(each.finding)]
        if each.placement.state is AnchorState.STALE:
            made = self._look.stale(made)
        return {**made, "range": each.range}

    def diagnostic(self, document: Document, each: Shown) -> dict[str, Any]:
        """Return the diagnostic of a finding that is shown in an open text."""
        return self._diagnostic(self._files[_file_of(document)], each)

    # open texts (documents.Listener)

    def opened(self, document: Document) -> None:
        """Follow a text that was opened."""
        key = _file_of(document)
        board = self._files.get(key)
        if board is not None:
            board.trackers[document.key] = AnchorTracker(document.text, board.anchors)
            self._publish(key)

    def changed(self, document: Document, change: TextChange | None) -> None:
        """Follow an edit."""
        board = self._files.get(_file_of(document))
        tracker = board.trackers.get(document.key) if board else None
        if tracker is None:
            return
        if change is None:
            tracker.replace(document.text)
        else:
            tracker.edit(Edit(*change))

    def settled(self, document: Document) -> None:
        """Tell of the edits soon."""
        key = _file_of(document)
        if key in self._files and key not in self._due:
            self._due.add(key)
            asyncio.get_running_loop().call_later(PUBLISH_S, self._tell_edit, key)

    def flush(self) -> None:
        """Tell of all edits now: the client asks for what holds at this moment."""
        for key in list(self._due):
            self._tell_edit(key)

    def _tell_edit(self, key: str) -> None:
        if key in self._due:
            self._due.discard(key)
            if key in self._files:
                self._publish(key)

    def closed(self, document: Document) -> None:
        """Go by the disk again; a cell that is closed shows nothing."""
        key = _file_of(document)
        board = self._files.get(key)
        if board is None:
            return
        board.trackers.pop(document.key, None)
        if board.notebook:
            self._session.room.publisher.put(document.key, document.uri, SOURCE, [])
            self._publish(key)
        else:
            self._session.spawn(self._reread(key), "reading a closed file")

    def saved(self, document: Document) -> None:
        """Check what is stale or gone against the saved text."""
        key = _file_of(document)
        board = self._files.get(key)
        tracker = board.trackers.get(document.key) if board else None
        if tracker is not None:
            tracker.recheck()
            self._publish(key)

    # files on the disk

    def touched(self, key: str) -> None:
        """Look at a file again that has changed on the disk, unless it is open."""
        if key in self._files and not self._files[key].trackers:
            self._session.spawn(self._reread(key), "reading a changed file")

    def moved(self, old: Path, new: Path) -> None:
        """Follow a file or folder to its new name."""
        self._renamed = {before: _under(after, old, new) or after for before, after in self._renamed.items()}
        for board in self._files.values():
            target = _under(board.path, old, new)
            if target is not None:
                self._renamed[board.findings[0].file] = target
        self.reload()

    async def poll(self) -> None:
        """Look for closed files that have changed on the disk, for clients that do not tell."""
        closed = {key: (board.path, board.stamp) for key, board in self._files.items() if not board.trackers}

        def changed() -> list[str]:
            return [key for key, (path, stamp) in closed.items() if _stamp(path) != stamp]

        for key in await asyncio.to_thread(changed):
            await self._reread(key)

    async def _reread(self, key: str) -> None:
        board = self._files.get(key)
        if board is None:
            return
        fresh = await asyncio.to_thread(self._file, board.path, board.findings)
        if self._files.get(key) is board and not board.trackers:
            self._files[key] = fresh
            self._publish(key)
            self._session.room.publisher.refresh()


def _file_of(document: Document) -> str:
    return document.notebook or document.key


def in_cell(anchor: Anchor) -> Anchor:
    """Return the anchor of a notebook's code as its cells hold it: the file has each line as a JSON text."""
    lines = []
    for line in anchor.quote.splitlines():
        try:
            decoded = load_json(line.strip().removesuffix(","))
        except ValueError:
            return anchor
        if not isinstance(decoded, str):
            return anchor
        lines.append(decoded)
    return Anchor(quote="".join(lines), line=1) if "".join(lines).strip() else anchor


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _under(path: Path, old: Path, new: Path) -> Path | None:
    """Return where a path is after a rename of itself or of a folder above it; None when it is elsewhere."""
    if path == old:
        return new
    return new / path.relative_to(old) if path.is_relative_to(old) else None
