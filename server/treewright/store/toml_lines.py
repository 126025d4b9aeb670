"""On which line of a TOML text a key is set; the standard parser does not tell."""

import re

_TABLE = re.compile(r"^\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_SETTING = re.compile(
    r"""^\s*((?:"[^"\\]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"\\]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*="""
)
_PART = re.compile(r"""\s*(?:"([^"\\]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*\.?""")
_MULTILINE = ('"""', "'''")


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, of each table and key of a valid TOML text.

    Keys inside an inline table are not listed; `line_of` falls back to the key that holds the table.
    """
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if setting := _SETTING.match(line):
            found.setdefault(table + _parts(setting[1]), number)
            closing = _left_open(line[setting.end() :])
        elif header := _TABLE.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
    return found


def line_of(lines: dict[tuple[str, ...], int], key: tuple[str, ...]) -> int:
    """Return the line of a key, else of the nearest table around it, else 1."""
    for size in range(len(key), 0, -1):
        if key[:size] in lines:
            return lines[key[:size]]
    return 1


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple("".join(groups) for groups in _PART.findall(dotted))


def _left_open(value: str) -> str:
    """Return the quotes that must come for a multi-line string to end; empty when none is open."""
    for quotes in _MULTILINE:
        if value.lstrip().startswith(quotes) and value.count(quotes) == 1:
            return quotes
    return ""
