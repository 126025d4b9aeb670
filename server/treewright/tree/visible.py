"""Text that can be shown: what would steer a terminal, or turn a line round, is written out instead."""

import re
import unicodedata

_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but tab and line feed, marks of writing direction (CVE-2021-42574), and halves of characters,
which cannot be written as UTF-8."""


def visible(text: str) -> str:
    """Return text whose every control character but tab and line feed is written as `\\uXXXX`.

    Args:
        text: anything: a file's name, a quoted line, a message.

    Returns:
        Text that a terminal shows as it is, that can be encoded as UTF-8, and that is still the same JSON where it
        was JSON.
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def writable_as_text(text: str) -> bool:
    """Tell whether text can be written as UTF-8; a path from a disk that holds other bytes cannot."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def storable_name(name: str) -> bool:
    """Tell whether a file's name can stand in a citation and in a report: UTF-8, no control characters.

    Direction marks are letters of a name to some scripts; they are kept, and shown by `visible`.
    """
    return not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in name)
