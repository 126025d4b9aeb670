"""Sessions in memory: for embedding deliberation without files, and for trying it out."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from treewright.deliberate.ports import MovedTo, Rewrite, SessionEntry, SessionFacts, StoredSession
from treewright.errors import StoreError


class MemoryStore:
    """`SessionStore` over dictionaries; paths are names without files behind them."""

    def __init__(self, root: str = "/memory") -> None:
        self._root = root
        self._files: dict[str, bytes] = {}
        self._index: dict[str, SessionEntry] = {}
        self._versions: dict[str, int] = {}
        self._lock = threading.RLock()

    def turn(self, session_id: str) -> AbstractContextManager[object]:  # noqa: ARG002 - one lock serves all sessions
        """Take turns with the other threads."""
        return self._lock

    @contextmanager
    def edit(self, session_id: str) -> Iterator[None]:
        """Hold the store against every other thread."""
        with self._lock:
            self._entry(session_id)
            yield

    def version(self, session_id: str) -> str:
        """Return how often the session was written."""
        self._entry(session_id)
        return str(self._versions[session_id])

    def read(self, session_id: str) -> StoredSession:
        """Return the document."""
        entry = self._entry(session_id)
        return StoredSession(self._files[entry.path], self.version(session_id))

    def place(self, session_id: str) -> str:
        """Return where the session is, or will be."""
        known = self._index.get(session_id)
        return known.path if known else f"{self._root}/sessions/{session_id}.json"

    def create(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Keep a new document."""
        if session_id in self._index:
            raise StoreError("move_exists", "There is a session with this id already.")
        self._index[session_id] = SessionEntry(session_id, self.place(session_id), facts)
        return self.save(session_id, parts, facts)

    def save(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Replace the document."""
        path = self._entry(session_id).path
        self._files[path] = b"".join(parts)
        self._index[session_id] = SessionEntry(session_id, path, facts)
        self._versions[session_id] = self._versions.get(session_id, 0) + 1
        return str(self._versions[session_id])

    def delete(self, session_id: str) -> None:
        """Forget the document."""
        self._files.pop(self._entry(session_id).path)
        self._index.pop(session_id)

    def entries(self) -> list[SessionEntry]:
        """List the sessions."""
        return list(self._index.values())

    def move(self, session_id: str, new_path: str, rewrite: Rewrite, *, force: bool) -> MovedTo:
        """Keep the document under another path."""
        with self._lock:
            old = self._entry(session_id).path
            if not new_path.startswith("/"):
                raise StoreError("move_not_absolute", "The destination is not an absolute path.")
            if new_path == old:
                raise StoreError("move_same_file", "The session is there already.")
            if new_path in self._files and not force:
                raise StoreError("move_exists", "There is a document at the destination.")
            parts, facts = rewrite(self._files[old], new_path)
            self._files.pop(old)
            self._index[session_id] = SessionEntry(session_id, new_path, facts)
            self.save(session_id, parts, facts)
            return MovedTo(new_path)

    def _entry(self, session_id: str) -> SessionEntry:
        entry = self._index.get(session_id)
        if entry is None:
            raise StoreError("session_not_found", f"There is no session {session_id}.")
        return entry
