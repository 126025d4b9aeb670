"""What an audit found out, kept by the content it depends on, in one database for all workspaces.

Values are read with an unpickler that knows our own plain classes and nothing else, so that a planted cache cannot run code; a
database that does not read is thrown away and begun anew, and one that cannot be used costs time and nothing else.
"""

import contextlib
import datetime
import functools
import hashlib
import io
import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from treewright.performers.static import facts as shapes
from treewright.performers.static import finding as findings
from treewright.performers.static.facts import FACTS_VERSION, FileFacts

_ALLOWED = {
    shapes.__name__: frozenset(
        ["Place", "Label", "Mark", "Step", "Flow", "SinkHit", "Match", "CallOut", "Source", "FunctionFacts", "Definition", "FileFacts"]
    ),
    findings.__name__: frozenset(["Quote", "FlowStep", "Mitigation", "Edit", "Scores", "Finding"]),
}  # fmt: skip
_UNREADABLE = (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError)
_TABLE = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, day INTEGER NOT NULL, value BLOB NOT NULL)"
CACHE = "audit.db"
"""The file's name in the folder for caches."""
_WAIT = 2.0
"""Seconds that another process may hold the database; then this audit goes on without it."""
_MOST = 400_000_000
"""Bytes kept: about six million lines. What was not used for the longest time goes first."""
_AT_ONCE = 500


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return getattr(shapes if module == shapes.__name__ else findings, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not part of the facts")


def read_plain(data: bytes) -> Any:
    """What pickled bytes hold when it is made of facts, findings and plain values; else None."""
    try:
        return _Plain(io.BytesIO(data)).load()
    except _UNREADABLE:
        return None


def read_facts(data: bytes) -> list[FileFacts] | None:
    """A list of facts from a worker's bytes, or None when they are not one."""
    found = read_plain(data)
    return found if isinstance(found, list) and all(isinstance(entry, FileFacts) for entry in found) else None


class FactsCache:
    """A cache in one file.

    Args:
        path: the database; it and its folder are made when something is first kept; None keeps nothing. most: bytes kept.

    Attributes:
        made: how many values of each kind were worked out because none was kept: `facts`, `lints`, `outcome`, `proof`.
    """

    def __init__(self, path: Path | None, most: int = _MOST) -> None:
        self.path, self.most = path, most
        self.made: Counter[str] = Counter()
        self._read: dict[bytes, bytes | None] = {}
        self._new: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()

    def expect(self, kind: str, keys: Iterable[str]) -> None:
        """Read what is kept under some keys at once, since one by one takes longer."""
        wanted = [short for key in keys if (short := _short(kind, key)) not in self._read]
        self._read.update(dict.fromkeys(wanted))
        with contextlib.suppress(sqlite3.Error, OSError), self._open(writing=False) as base:
            today = _today()
            for start in range(0, len(wanted), _AT_ONCE):
                part = wanted[start : start + _AT_ONCE]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, day, value FROM kept WHERE key IN ({marks})"  # noqa: S608 (question marks alone)
                for key, day, value in base.execute(query, part):
                    self._read[key] = value
                    if day != today:
                        self._used.add(key)

    def get(self, kind: str, key: str) -> Any:
        """What is kept under a key, or None."""
        short = _short(kind, key)
        if short in self._new:
            return read_plain(self._new[short])
        if short not in self._read:
            self.expect(kind, [key])
        raw = self._read.get(short)
        return read_plain(raw) if raw is not None else None

    def put(self, kind: str, key: str, value: Any) -> None:
        """Keep a value under a key; written at `save`."""
        self.made[kind] += 1
        if self.path is not None:
            self._new[_short(kind, key)] = pickle.dumps(value, protocol=5)

    def save(self) -> None:
        """Write what is new in one transaction; a database that cannot be written costs the cache, not the audit."""
        if self.path is None or not (self._new or self._used):
            return
        today = _today()
        with contextlib.suppress(sqlite3.Error, OSError), self._open(writing=True) as base:
            base.execute("BEGIN IMMEDIATE")
            base.executemany(
                "INSERT OR REPLACE INTO kept VALUES (?, ?, ?)",
                [(key, today, value) for key, value in self._new.items()],
            )
            base.executemany("UPDATE kept SET day = ? WHERE key = ?", [(today, key) for key in self._used])
            self._trim(base)
            base.execute("COMMIT")
        self._read |= self._new
        self._new, self._used = {}, set()

    def _trim(self, base: sqlite3.Connection) -> None:
        size, pages, free = (
            base.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        if size * (pages - free) > self.most:
            oldest = "SELECT key FROM kept ORDER BY day, rowid LIMIT (SELECT count(*) / 2 FROM kept)"
            base.execute(f"DELETE FROM kept WHERE key IN ({oldest})")  # noqa: S608 (a constant)

    @contextlib.contextmanager
    def _open(self, *, writing: bool) -> Iterator[sqlite3.Connection]:
        """The database for one use; what is none is thrown away before something is written.

        Raises:
            sqlite3.Error, OSError: it cannot be used.
        """
        if self.path is None or (self.path.exists() and not self.path.is_file()):
            raise FileNotFoundError("there is no database to use")
        if writing:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not _sound(self.path):
                self.path.unlink(missing_ok=True)
        with contextlib.closing(_connect(self.path, writing=writing)) as base:
            if writing:
                base.execute(_TABLE)
            yield base


def _connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    mode = "rwc" if writing else "ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", timeout=_WAIT, isolation_level=None, uri=True)  # fmt: skip


def _sound(path: Path) -> bool:
    """Whether a file is no database yet, or one of ours; a busy one is taken for sound."""
    if not path.exists():
        return True
    try:
        with contextlib.closing(_connect(path, writing=False)) as base:
            base.execute("SELECT key, day, value FROM kept LIMIT 1").fetchone()
    except sqlite3.OperationalError as fault:
        return "no such table" not in str(fault) or path.stat().st_size == 0
    except sqlite3.DatabaseError:
        return False
    return True


def _short(kind: str, key: str) -> bytes:
    text = f"{_stamp()}\0{kind}\0{key}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:20]


def _today() -> int:
    return datetime.datetime.now(datetime.UTC).date().toordinal()


@functools.cache
def _stamp() -> str:
    """Changes with the analysis itself: its version, code and data."""
    from treewright.data import data_path

    digest = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted([*here.rglob("*.py"), *data_path("static").rglob("*.toml")]):
        digest.update(path.read_bytes())
    return f"{FACTS_VERSION}:{digest.hexdigest()[:16]}"
