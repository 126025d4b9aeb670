"""Finds what `--focus` names in a text: lines, a section, a claim, an equation (contract: exploration, 9)."""

import re
from collections.abc import Sequence

_LINES = re.compile(r"(?:lines?\s+|L)?(\d{1,7})(?:\s*[-–]\s*L?(\d{1,7}))?\s*\Z", re.IGNORECASE)
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*\Z")
_SHARE = 0.6
"""Words of a claim that a line must share before it counts as the place that was meant."""


def locate(lines: Sequence[str], focus: str) -> tuple[int, int] | None:
    """Return the first and last line, from 1, that a focus names; None when nothing fits.

    Args:
        lines: of the text.
        focus: line numbers, a heading, or words that stand in the text.
    """
    wanted = _plain(focus)
    if not wanted:
        return None
    if (numbers := _LINES.match(focus.strip())) and int(numbers[1]) <= len(lines):
        start = max(1, int(numbers[1]))
        return start, min(len(lines), max(start, int(numbers[2] or start)))
    return _section(lines, wanted) or _words(lines, wanted) or _resembling(lines, wanted)


def _section(lines: Sequence[str], wanted: str) -> tuple[int, int] | None:
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line)
        if heading and (_plain(heading[2]) == wanted or wanted in _plain(heading[2])):
            level = len(heading[1])
            for after in range(number + 1, len(lines) + 1):
                other = _HEADING.match(lines[after - 1])
                if other and len(other[1]) <= level:
                    return number, after - 1
            return number, len(lines)
    return None


def _words(lines: Sequence[str], wanted: str) -> tuple[int, int] | None:
    """Return the lines over which the words stand, even where they run on to the next lines."""
    for number in range(1, len(lines) + 1):
        for last in range(number, min(len(lines), number + 5) + 1):
            if wanted in _plain(" ".join(lines[number - 1 : last])):
                while number < last and wanted in _plain(" ".join(lines[number:last])):
                    number += 1
                return number, last
    return None


def _resembling(lines: Sequence[str], wanted: str) -> tuple[int, int] | None:
    words = set(re.findall(r"\w{3,}", wanted))
    best, share = 0, 0.0
    for number, line in enumerate(lines, 1):
        own = set(re.findall(r"\w{3,}", _plain(line)))
        found = len(words & own) / len(words) if words else 0.0
        if found > share:
            best, share = number, found
    return (best, best) if share >= _SHARE else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
