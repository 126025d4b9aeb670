"""One line of a journal: how an event is framed, and how damage to it shows.

    {"crc":"1f0a33c2","seq":17,"left":0,"event":{...}}

`crc` is the CRC-32 of every byte behind it, so any changed byte shows. `seq` counts events from 1, so lost, repeated
and reordered lines show. `left` is how many lines of the same append follow, so an append cut short shows as a whole.
The frame is fixed text: it is checked and opened by slicing, without parsing JSON.
"""

import re
from typing import Any, NamedTuple
from zlib import crc32

from treewright.store.strict_json import decode_object

MAX_LINE = 64 * 1024 * 1024
"""Longest line in bytes: four of the largest messages that a surface accepts (contract: surfaces, 4)."""

LINE_START = b'{"crc":"'
_CRC = slice(8, 16)
_COVERED = 16
_HEAD = re.compile(rb'","seq":(\d{1,18}),"left":(\d{1,9}),"event":')


class Line(NamedTuple):
    """One undamaged line.

    Attributes:
        number: its line number in the file, from 1.
        seq: the event's number in the journal, from 1.
        left: how many lines of the same append follow it.
        offset: where the line starts, in bytes.
        length: its bytes without the line break; `offset` and `length` find it again.
        payload: the event as JSON bytes.
    """

    number: int
    seq: int
    left: int
    offset: int
    length: int
    payload: bytes

    def event(self) -> dict[str, Any]:
        """Return the event as plain values."""
        return decode_object(self.payload)


class Damage(NamedTuple):
    """One place of a journal that cannot be used.

    Attributes:
        number: the line's number in the file, from 1.
        offset: where it starts, in bytes.
        length: its bytes without the line break; 0 when lines are missing before it.
        reason: `unreadable`, `checksum`, `oversized`, `repeated`, `out_of_order` or `missing_before`.
    """

    number: int
    offset: int
    length: int
    reason: str


def frame(payload: bytes, seq: int, left: int = 0) -> bytes:
    """Return the line, with its line break, that carries an event.

    Args:
        payload: a JSON object in one line.
        seq: the event's number, from 1.
        left: how many lines of the same append follow.
    """
    covered = b'","seq":%d,"left":%d,"event":%b}' % (seq, left, payload)
    return b'{"crc":"%08x%b\n' % (crc32(covered), covered)


def unframe(raw: bytes, number: int, offset: int) -> Line | Damage:
    """Open a line.

    Args:
        raw: the line without its line break.
        number: its line number, from 1.
        offset: where it starts in the file, in bytes.
    """
    head = _HEAD.match(raw, _COVERED) if raw.startswith(LINE_START) else None
    if head is None or not raw.endswith(b"}"):
        return Damage(number, offset, len(raw), "unreadable")
    if b"%08x" % crc32(memoryview(raw)[_COVERED:]) != raw[_CRC]:
        return Damage(number, offset, len(raw), "checksum")
    return Line(number, int(head[1]), int(head[2]), offset, len(raw), raw[head.end() : -1])
