"""A rebuildable picture of a run beside its journal, so that reopening replays only what came after it.

A snapshot is a cache: it is trusted only when the journal still begins with exactly the bytes it was made from, and
thrown away otherwise. Its payload is the tree's business; `schema` names how it is encoded.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from treewright.errors import StoreError
from treewright.regular import open_regular
from treewright.store.durable import replacing
from treewright.store.journal_reader import JournalReader, Mark
from treewright.store.strict_json import decode_object

_FORMAT = 1
_HEADER_LIMIT = 4096


class Snapshot(NamedTuple):
    """What was loaded.

    Attributes:
        mark: the place in the journal that the payload stands for; read on from there.
        payload: what the saver gave, joined.
    """

    mark: Mark
    payload: bytes


def save_snapshot(
    path: Path,
    payload: Iterable[bytes],
    *,
    mark: Mark,
    schema: str,
    private: bool = False,
    tail: int | None = None,
) -> None:
    """Write a snapshot by atomic replace.

    Args:
        path: the snapshot's file, beside the journal.
        payload: the folded state, encoded; pieces are written as they come.
        mark: `JournalWriter.mark`, or `mark` of a reader without damage, that the state is the fold of.
        schema: name and version of the encoding, such as `tree-1`; another one is not loaded.
        private: readable by this user only (mode 0600).
        tail: `JournalReader.tail` at the mark, for a picture that is to be loaded with `whole=False`.

    Raises:
        StoreError: the disk refused; the former snapshot is untouched.
    """
    with replacing(path, private=private, durable=False) as handle:
        handle.write(b" " * _HEADER_LIMIT)  # the sums are known only at the end
        crc = size = 0
        for part in payload:
            crc = crc32(part, crc)
            size += handle.write(part)
        header = {"format": _FORMAT, "schema": schema, "mark": list(mark), "size": size, "crc": crc}
        if tail is not None:
            header["tail"] = tail
        encoded = json.dumps(header).encode()
        handle.seek(0)
        handle.write(encoded.ljust(_HEADER_LIMIT - 1) + b"\n")


def load_snapshot(path: Path, reader: JournalReader, *, schema: str, whole: bool = True) -> Snapshot | None:
    """Return the snapshot when it can be trusted, else None: then read the journal from its start.

    Args:
        path: the snapshot's file.
        reader: of the journal; the journal's covered part is read once and compared.
        schema: the encoding that the caller can read.
        whole: compare everything that is covered. Otherwise only the last appends before the mark are: enough for what
            is only looked at, and is looked at again against the journal.
    """
    try:
        with open_regular(path) as handle:
            header = decode_object(handle.read(_HEADER_LIMIT))
            payload = handle.read()
        offset, seq, number, crc = (int(part) for part in header["mark"])
        sound = (
            header["format"] == _FORMAT
            and header["schema"] == schema
            and header["size"] == len(payload)
            and header["crc"] == crc32(payload)
        )
        mark = Mark(offset, seq, number, crc)
        if not sound:
            return None
        holds = reader.holds(mark) if whole else reader.tail(mark) == int(header["tail"])
        return Snapshot(mark, payload) if holds else None
    except (OSError, ValueError, KeyError, TypeError, StoreError):
        return None  # a cache that cannot be read is a cache that is not there
