"""What the editor has open: texts as they are there, unsaved edits included.

Lines end where editors end them, and columns count what was agreed on; see `workspace.positions`.
"""

from collections.abc import Iterator
from typing import Protocol

from lsprotocol import types

from treewright.surfaces.lsp.uris import key_of, to_path
from treewright.workspace.positions import LineIndex, Position, Units

TextChange = tuple[int, int, str]
"""Start and end in code points of the text before, and what stands there afterwards."""


class Document:
    """An open text.

    Attributes:
        uri: as the client wrote it.
        key: what it is known by.
        version: the client's number of this state.
        language: the client's name of the language.
        notebook: key of the notebook that it is a cell of; empty for none.
    """

    def __init__(self, item: types.TextDocumentItem, notebook: str = "") -> None:
        """Take a text as it was opened."""
        self.uri = item.uri
        self.key = key_of(item.uri)
        self.version = item.version
        self.language = str(item.language_id)
        self.notebook = notebook
        self.path = to_path(item.uri)
        self._index = LineIndex(item.text)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._index.text

    @property
    def index(self) -> LineIndex:
        """Its lines."""
        return self._index

    def apply(self, change: types.TextDocumentContentChangeEvent, units: Units) -> TextChange | None:
        """Follow one change; returns what it replaced, or None when the whole text was."""
        span = getattr(change, "range", None)
        if span is None:
            self._index = LineIndex(change.text)
            return None
        start = self._index.offset(Position(span.start.line, span.start.character), units)
        end = self._index.offset(Position(span.end.line, span.end.character), units)
        start, end = min(start, end), max(start, end)
        self._index = LineIndex(self.text[:start] + change.text + self.text[end:])
        return start, end, change.text


class Listener(Protocol):
    """Who wants to know about open texts. Called on the loop, in order; must be quick."""

    def opened(self, document: Document) -> None:
        """A text was opened."""

    def changed(self, document: Document, change: TextChange | None) -> None:
        """A text was changed; None for the whole of it."""

    def settled(self, document: Document) -> None:
        """All changes of one message were followed."""

    def closed(self, document: Document) -> None:
        """A text was closed; what counts is the disk again."""


class Documents:
    """The open texts by key."""

    def __init__(self) -> None:
        """Nothing is open."""
        self.units: Units = "utf-16"
        self.listeners: list[Listener] = []
        self._open: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        """Yield the open texts."""
        return iter(list(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """Return an open text by any spelling of its address."""
        return self._open.get(key_of(uri))

    def by_key(self, key: str) -> Document | None:
        """Return an open text by its key."""
        return self._open.get(key)

    def cells(self, notebook: str) -> list[Document]:
        """Return the open cells of a notebook, by the notebook's key, in the order they were opened."""
        return [document for document in self._open.values() if document.notebook == notebook]

    def open(self, item: types.TextDocumentItem, notebook: str = "") -> None:
        """Take a text that was opened."""
        document = Document(item, notebook)
        self._open[document.key] = document
        for listener in self.listeners:
            listener.opened(document)

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Follow edits of a text."""
        document = self.get(params.text_document.uri)
        if document is not None:
            self._apply(document, params.text_document.version, list(params.content_changes))

    def _apply(
        self, document: Document, version: int, changes: list[types.TextDocumentContentChangeEvent]
    ) -> None:
        document.version = version
        for change in changes:
            done = document.apply(change, self.units)
            for listener in self.listeners:
                listener.changed(document, done)
        for listener in self.listeners:
            listener.settled(document)

    def close(self, uri: str) -> None:
        """Let a text go."""
        document = self._open.pop(key_of(uri), None)
        if document is not None:
            for listener in self.listeners:
                listener.closed(document)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take a notebook's cells."""
        for item in params.cell_text_documents:
            self.open(item, key_of(params.notebook_document.uri))

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Follow a notebook: cells that come, go and change."""
        cells = params.change.cells
        if cells is None:
            return
        if cells.structure is not None:
            for gone in cells.structure.did_close or ():
                self.close(gone.uri)
            for item in cells.structure.did_open or ():
                self.open(item, key_of(params.notebook_document.uri))
        for change in cells.text_content or ():
            document = self.get(change.document.uri)
            if document is not None:
                self._apply(document, change.document.version, list(change.changes))

    def close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Let a notebook's cells go."""
        for cell in params.cell_text_documents:
            self.close(cell.uri)
