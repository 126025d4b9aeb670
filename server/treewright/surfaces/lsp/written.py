"""Presets, profiles, lenses and framings while they are being written: checked as they are typed."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from treewright.presets.fault import Fault
from treewright.presets.validator import FileKind, file_kind, validate_text
from treewright.surfaces.lsp.documents import Document, TextChange
from treewright.surfaces.lsp.publisher import Diagnostics
from treewright.surfaces.lsp.rendering import ERROR, SOURCE, WARNING
from treewright.workspace.positions import Units, units_before

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

PART = "rules"
QUIET_S = 0.2
"""How long typing must rest before a file is checked."""
_LARGEST = 400_000
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_TELLING = re.compile(
    r"^(?:root_kind|verdict_enum|score_dims|node_schema|attacks|produces|framing|field)[ \t]*:", re.MULTILINE
)
_FOLDERS = frozenset({"presets", "profiles", "lenses", "framings"})


def kind_of(document: Document, home: Path | None) -> FileKind | None:
    """Return what an open text is, when it is a file of ours; None for any other Markdown.

    Args:
        document: the open text.
        home: the store's root folder; what lies in its folders is ours whatever it holds.
    """
    path = document.path
    if path is None or path.suffix != ".md" or path.parent.name.startswith("."):
        return None
    at_home = home is not None and path.parent.name in _FOLDERS and path.is_relative_to(home)
    front = document.text[:8000]
    if not at_home and not (_FRONT.match(front) and _TELLING.search(front)):
        return None
    kind = file_kind(path, document.text)
    return None if kind == "page" else kind


class Written:
    """Checks open files of ours. Used on the loop."""

    def __init__(self, session: "Session") -> None:
        """Listen to what is opened."""
        self._session = session
        self._flights: dict[str, asyncio.Task[None]] = {}
        self.home: Path | None = None
        session.documents.listeners.append(self)

    def kind(self, document: Document) -> FileKind | None:
        """Return what an open text is; see `kind_of`."""
        return kind_of(document, self.home)

    def opened(self, document: Document) -> None:
        """Check a text that was opened."""
        self._begin(document, 0.0)

    def changed(self, document: Document, change: TextChange | None) -> None:
        """Nothing yet: the check comes when typing rests."""

    def settled(self, document: Document) -> None:
        """Check again once typing rests."""
        self._begin(document, QUIET_S)

    def closed(self, document: Document) -> None:
        """Take back what was said of it."""
        flight = self._flights.pop(document.key, None)
        if flight is not None:
            flight.cancel()
            self._session.room.publisher.put(document.key, document.uri, PART, [])

    def _begin(self, document: Document, rest: float) -> None:
        known = document.key in self._flights
        if not known and (document.path is None or document.path.suffix != ".md"):
            return
        flight = self._flights.pop(document.key, None)
        if flight is not None:
            flight.cancel()
        self._flights[document.key] = self._session.spawn(self._check(document, rest), "checking a file")

    async def _check(self, document: Document, rest: float) -> None:
        await asyncio.sleep(rest)
        kind = self.kind(document)
        found: Diagnostics = []
        if kind is not None and len(document.text) <= _LARGEST and document.path is not None:
            version, index = document.version, document.index
            path = document.path
            faults = await asyncio.to_thread(validate_text, kind, document.text, str(path), path.parent)
            if document.version != version:
                return  # the next check is on its way
            found = [
                diagnostic(fault, index.line, len(index), self._session.documents.units) for fault in faults
            ]
        self._session.room.publisher.put(document.key, document.uri, PART, found, document.version)
        self._session.room.publisher.refresh()


def diagnostic(fault: Fault, line_of: Callable[[int], str], count: int, units: Units) -> dict[str, object]:
    """Return a fault as a diagnostic of plain values."""
    number = min(fault.line, max(count, 1)) - 1
    line = line_of(number)
    start = units_before(line, fault.column - 1, units)
    end = units_before(line, max(fault.end_column, fault.column + 1) - 1, units)
    return {
        "range": {"start": {"line": number, "character": start}, "end": {"line": number, "character": end}},
        "severity": ERROR if fault.severity == "error" else WARNING,
        "code": fault.rule,
        "source": SOURCE,
        "message": fault.message,
    }
