"""Sessions on disk: the deliberation engine's store over documents, the index and locks.

A session's file may be anywhere; the index knows where, and its lock stays in the root. The index is written when
something it tells changes; the time of the last change alone is brought up to date at most every half minute, so
that a mutation costs one durable write and not two.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from treewright.deliberate.encoding import decode, encode
from treewright.deliberate.ports import MovedTo, Rewrite, SessionEntry, SessionFacts, StoredSession
from treewright.deliberate.session import Session
from treewright.errors import StoreError
from treewright.regular import LARGEST_STORED, read_regular
from treewright.store.documents import Change, Document, Stamp
from treewright.store.durable import telling
from treewright.store.index import Index, IndexEntry
from treewright.store.moves import move_document
from treewright.store.paths import Root
from treewright.store.strict_json import decode_object

Found = TypeVar("Found")

_MOVED_MOST = 8
"""Moves by other processes that one reading of a session follows."""

INDEX_EVERY_S = 30.0
"""Seconds that the index's time of the last change may lag behind."""


class FileSessionStore:
    """`SessionStore` over the files of a root.

    Args:
        root: where new sessions, locks and the index are.
        index: the index of runs and sessions.
    """

    def __init__(self, root: Root, index: Index) -> None:
        self._root = root
        self._index = index
        self._known: dict[str, IndexEntry] = {}
        self._known_state: tuple[int, int, int] | None = None
        self._guard = threading.RLock()
        self._turns: dict[str, threading.RLock] = {}
        self._held: dict[str, Change] = {}
        self._indexed: dict[str, tuple[str, str, datetime]] = {}

    def turn(self, session_id: str) -> AbstractContextManager[object]:
        """Take turns with the other threads of this process."""
        with self._guard:
            return self._turns.setdefault(session_id, threading.RLock())

    @contextmanager
    def edit(self, session_id: str) -> Iterator[None]:
        """Hold the session's lock; where its file is is looked up once the lock is held."""
        self._path(session_id)
        lock = Document(self.new_path(session_id), lock=self._lock(session_id))
        with lock.locked():
            self._held[session_id] = Change(self._document(session_id))
            try:
                yield
            finally:
                del self._held[session_id]

    def version(self, session_id: str) -> str:
        """Return which saved state the file is in."""
        return _version(self._where_it_is(session_id, Document.present))

    def read(self, session_id: str) -> StoredSession:
        """Read the file, or recover it; see `Document.load`."""
        held = self._held.get(session_id)
        if held is not None:
            loaded = held.load(_whole)
        else:
            loaded = self._where_it_is(session_id, lambda document: document.load(_whole))
        return StoredSession(loaded.value, _version(loaded.stamp), loaded.note)

    def place(self, session_id: str) -> str:
        """Return where the file is, or will be when the session is new."""
        entry = self._entries().get(session_id)
        return str(entry.path if entry else self.new_path(session_id))

    def new_path(self, session_id: str) -> Path:
        """Return where a new session's file is made."""
        return self._root.sessions / f"{session_id}.json"

    def create(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Write a new file, then index it; without an index entry no file is left."""
        self._root.prepare(self._root.sessions)
        document = Document(self.new_path(session_id), lock=self._lock(session_id))
        stamp = document.create(parts)
        try:
            self._index.put(_entry(session_id, document.path, facts))
        except StoreError:
            document.path.unlink(missing_ok=True)
            raise
        self._note_indexed(session_id, facts)
        return _version(stamp)

    def save(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Replace the file's content durably (inside `edit`)."""
        change = self._held[session_id]
        stamp = change.save(parts)
        before = self._indexed.get(session_id)
        told = (facts.mode or "", facts.status)
        fresh = before is not None and (facts.updated_at - before[2]).total_seconds() < INDEX_EVERY_S
        if not fresh or before is None or before[:2] != told:
            self._index.put(_entry(session_id, self._path(session_id), facts))
            self._note_indexed(session_id, facts)
        return _version(stamp)

    def delete(self, session_id: str) -> None:
        """Remove the index entry, the file and what was kept beside it (inside `edit`)."""
        document = self._document(session_id)
        self._index.remove(session_id)
        try:
            document.path.unlink(missing_ok=True)
            document.backup.unlink(missing_ok=True)
        except OSError as fault:
            raise StoreError(
                "storage_failed",
                f"The session is forgotten, but its file could not be removed: {fault.strerror}.",
            ) from fault
        finally:
            self._indexed.pop(session_id, None)

    def entries(self) -> list[SessionEntry]:
        """List every session of the index."""
        return [
            SessionEntry(
                entry.id,
                str(entry.path),
                SessionFacts(
                    entry.preset or None,
                    entry.status,
                    _time(entry.created),
                    _time(entry.updated),
                    entry.title,
                ),
            )
            for entry in self._entries().values()
            if entry.kind == "deliberation"
        ]

    def move(self, session_id: str, new_path: str, rewrite: Rewrite, *, force: bool) -> MovedTo:
        """Move the file; see `move_document`. An existing folder stands for the same file name in it."""
        source = self._path(session_id)
        target = Path(new_path).expanduser()
        if target.is_absolute() and target.is_dir():
            target /= source.name
        made: list[SessionFacts] = []

        def rewritten(content: bytes) -> Sequence[bytes]:
            parts, facts = rewrite(_whole(content), str(target))
            made.append(facts)
            return parts

        def record(path: Path) -> None:
            self._index.put(_entry(session_id, path, made[-1]))

        moved = move_document(self._document(session_id), target, rewritten, force=force, record=record)
        return MovedTo(str(target), moved.warning)

    def _where_it_is(self, session_id: str, look: Callable[[Document], Found]) -> Found:
        """Look at the file; once more where the index has it by now, when another process moved it meanwhile."""
        for _ in range(_MOVED_MOST):
            document = self._document(session_id)
            try:
                return look(document)
            except StoreError as fault:
                if fault.code != "document_missing" or self._document(session_id).path == document.path:
                    raise
        return look(self._document(session_id))

    def _document(self, session_id: str) -> Document:
        return Document(self._path(session_id), lock=self._lock(session_id))

    def _lock(self, session_id: str) -> Path:
        return self._root.locks / f"{session_id}.lock"

    def _path(self, session_id: str) -> Path:
        entry = self._entries().get(session_id)
        if entry is None or entry.kind != "deliberation":
            raise StoreError(
                "session_not_found",
                f"There is no session {session_id}.",
                "list_sessions tells which there are.",
            )
        return entry.path

    def _entries(self) -> dict[str, IndexEntry]:
        """Return the index, read again only when its file changed, whoever changed it."""
        with self._guard:
            state = _state(self._index.path)
            if state is None or state != self._known_state:
                self._known = self._index.read().entries
                self._known_state = state
            return self._known

    def _note_indexed(self, session_id: str, facts: SessionFacts) -> None:
        self._indexed[session_id] = (facts.mode or "", facts.status, facts.updated_at)


def describe_session(path: Path) -> IndexEntry | None:
    """Return the index entry of a session's file, for rebuilding an index; None when it is no session."""
    if path.suffix != ".json" or not path.is_file():
        return None
    with telling(path, "read"):
        content = read_regular(path, LARGEST_STORED)
    session = decode(content)
    return _entry(session.id, path.absolute(), session_facts(session))


def session_facts(session: Session) -> SessionFacts:
    """Return what the index holds of a session whose last change is not known better than its last thought's."""
    times = [session.created_at, *(thought.timestamp for thought in session.thoughts[-1:])]
    return SessionFacts(session.mode, session.status, session.created_at, max(times), session.question[:200])


def encoded(session: Session) -> bytes:
    """Return a session as the bytes of its file."""
    return b"".join(encode(session))


def _whole(content: bytes) -> bytes:
    """Return a file's bytes when they are one JSON object, else raise ValueError, so that an older state is taken."""
    decode_object(content)
    return content


def _entry(session_id: str, path: Path, facts: SessionFacts) -> IndexEntry:
    return IndexEntry(
        id=session_id,
        kind="deliberation",
        path=path,
        status=facts.status,
        preset=facts.mode or "",
        title=facts.question,
        created=facts.created_at.astimezone(UTC).isoformat(),
        updated=facts.updated_at.astimezone(UTC).isoformat(),
    )


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _version(stamp: Stamp) -> str:
    return ":".join(str(part) for part in stamp)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
