"""Facts of files by content, kept in one file between audits.

The file is read with an unpickler that knows the facts' own classes and nothing else, so that a planted cache
cannot run code; one that does not read is thrown away and rebuilt.
"""

import contextlib
import hashlib
import io
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

from treewright.performers.static import facts as shapes
from treewright.performers.static.facts import FACTS_VERSION, FileFacts

_ALLOWED = frozenset(
    [
        "Place",
        "Label",
        "Mark",
        "Step",
        "Flow",
        "SinkHit",
        "Match",
        "CallOut",
        "Source",
        "FunctionFacts",
        "Definition",
        "FileFacts",
    ]
)


class _FactsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == shapes.__name__ and name in _ALLOWED:
            return getattr(shapes, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not part of the facts")


def read_facts(data: bytes) -> list[FileFacts] | None:
    """A list of facts from a worker's bytes, or None when they are not one."""
    try:
        found = _FactsOnly(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError):
        return None
    return found if isinstance(found, list) and all(isinstance(entry, FileFacts) for entry in found) else None


class FactsCache:
    """A cache file.

    Args:
        path: the file; its folder is made when it is first written. limit: entries kept.
    """

    def __init__(self, path: Path, limit: int = 20_000) -> None:
        self.path, self.limit = path, limit
        self.used: dict[str, FileFacts] = {}
        self.changed = False
        self.entries = self._load()

    def _load(self) -> dict[str, bytes]:
        try:
            data = self.path.read_bytes()
            loaded = _FactsOnly(io.BytesIO(data)).load()
        except FileNotFoundError:
            return {}
        except (OSError, pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError):
            return {}
        if not isinstance(loaded, tuple) or len(loaded) != 2 or loaded[0] != _stamp():
            return {}
        return loaded[1] if isinstance(loaded[1], dict) else {}

    def get(self, key: str) -> FileFacts | None:
        """The facts kept under a key."""
        raw = self.entries.get(_short(key))
        if raw is None:
            return None
        try:
            found = _FactsOnly(io.BytesIO(raw)).load()
        except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError):
            return None
        return found if isinstance(found, FileFacts) else None

    def put(self, key: str, value: FileFacts) -> None:
        """Keep facts under a key; written at `save`."""
        self.entries.pop(_short(key), None)
        self.entries[_short(key)] = pickle.dumps(value, protocol=5)
        self.changed = True

    def save(self) -> None:
        """Write by atomic replace; a folder that cannot be written costs the cache, not the audit."""
        if not self.changed:
            return
        while len(self.entries) > self.limit:
            self.entries.pop(next(iter(self.entries)))
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".facts-")
            try:
                with os.fdopen(handle, "wb") as stream:
                    pickle.dump((_stamp(), self.entries), stream, protocol=5)
                Path(name).replace(self.path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        self.changed = False


def _short(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _stamp() -> str:
    """Changes with the analysis itself: its version, code and data."""
    return f"{FACTS_VERSION}:{_code_digest()}"


def _code_digest() -> str:
    from treewright.data import data_path

    digest = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted([*here.rglob("*.py"), *data_path("static").rglob("*.toml")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
