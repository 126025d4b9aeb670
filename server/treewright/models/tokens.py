"""Counting tokens without a tokenizer.

Two figures are needed, and they err on opposite sides: what a prompt can cost at most (reserved before a paid
call), and what it takes at least (a server that reports fewer has cut the prompt silently).
"""

import re

_WIDE = r"\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_UNITS = re.compile(rf"[{_WIDE}]|[^\W\d_{_WIDE}]+|\d+|[^\w\s]+")

MESSAGE_OVERHEAD = 8
"""Tokens that a chat template adds for each message, rounded up."""

_LETTERS_PER_TOKEN_MOST = 16
"""No tokenizer in use has many words longer than this as one token."""

_WIDE_PER_TOKEN_MOST = 3
"""CJK characters that one token of a CJK-rich vocabulary may hold."""


def tokens_at_least(text: str) -> int:
    """Return a count that any tokenizer in use reaches on natural text or code.

    A word is at least one token, long ones more; runs of blanks and of signs may be free.
    """
    wide = 0
    total = 0
    for match in _UNITS.finditer(text):
        unit = match.group()
        if unit[0].isalpha() and ord(unit[0]) >= 0x1100 and len(unit) == 1:
            wide += 1
        elif unit[0].isalpha() or unit[0].isdigit():
            total += -(-len(unit) // _LETTERS_PER_TOKEN_MOST)
    return total + wide // _WIDE_PER_TOKEN_MOST


def tokens_at_most(text: str) -> int:
    """Return a count that tokenizers in use seldom pass: for reservations and for fitting a context."""
    total = 0.0
    for match in _UNITS.finditer(text):
        unit = match.group()
        if not unit.isascii():
            total += 1.5 * len(unit)
        elif unit[0].isalpha():
            total += 1 + (len(unit) - 1) / 5
        elif unit[0].isdigit():
            total += len(unit)
        else:
            total += 1 + (len(unit) - 1) / 2
    underscores_and_breaks = text.count("_") + text.count("\n")
    return int(total + underscores_and_breaks + text.count("  ") / 4) + 1


def tokens_about(text: str) -> int:
    """Return the likely count: for what a server did not report."""
    if not text:
        return 0
    return max(1, (tokens_at_least(text) + tokens_at_most(text)) // 2)
