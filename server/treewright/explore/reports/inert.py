"""Prose of a performer as Markdown that stays prose: no headings, raw HTML, pictures from the network or links that run commands.

What stands in code is shown as it is, so it has to be certain what a reader of Markdown takes for code. The rules are CommonMark's,
and where readers may differ (a backquote without its partner, a bar that might divide the cells of a table, a fence that is not at
the margin) the text counts as prose: at worst `&lt;` is shown where `<` was meant.
"""

import re
from collections.abc import Iterator

from treewright.tree.visible import visible

_OPENS = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
_RUN = re.compile(r"`+")
_HEADING = re.compile(r"^(\s{0,3})(#{1,6}\s|=+\s*$|-+\s*$)")
_LINK = re.compile(
    r"\]\(\s*(?!https?://|#|(?:\.{0,2}/)?[\w-]+(?:[./][\w./-]*)?(?:(?<=[\w/])\#[\w.-]+)?\s*\)"
    r"|[\w-]+[./][\w./-]*:\d+(?:-\d+)?\s*\))",
    re.IGNORECASE,
)
"""Where a link leads to neither the web, a heading, nor a file."""


def inert(text: str) -> str:
    """Return prose that cannot break the document it is put into, or make its reader fetch or run anything."""
    return "\n".join(_lines(visible(text).split("\n")))


def inert_line(text: str) -> str:
    """Return prose on one line that cannot break what stands beside it either."""
    line = visible(" ".join(text.split()))
    code = _code(line)
    return _outside(line).replace("`", "&#96;") if code is None else _inert_line(line, code)


def _lines(given: list[str]) -> Iterator[str]:
    fence = ""
    passage: list[str] = []
    for line in given:
        if fence:
            yield line
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = ""
            continue
        opening = _OPENS.fullmatch(line)
        if opening is None and line.strip():
            passage.append(line)
            continue
        yield from _prose(passage)
        passage.clear()
        yield line
        if opening is not None:
            fence = opening[1] or opening[2]
    yield from _prose(passage)
    if fence:
        yield fence


def _prose(passage: list[str]) -> Iterator[str]:
    """Yield the lines between two blank ones or fences; code counts only when every line closes what it opens."""
    spans = [_code(line) for line in passage]
    certain = all(found is not None for found in spans)
    for line, found in zip(passage, spans, strict=True):
        if certain and found is not None:
            yield _HEADING.sub(r"\1\\\2", _inert_line(line, found))
        else:
            yield _HEADING.sub(r"\1\\\2", _outside(line).replace("`", "&#96;"))


def _inert_line(line: str, code: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in code:
        parts += [_outside(line[at:start]), line[start:end]]
        at = end
    return "".join([*parts, _outside(line[at:])])


def _outside(text: str) -> str:
    text = text.replace("<", "&lt;").replace("![", "&#33;[").replace("]:", r"]\:")
    return _LINK.sub(r"]\\(", text)


def _code(line: str) -> list[tuple[int, int]] | None:
    """Return where code stands in a line; None when that depends on the lines around it."""
    if "\\`" in line:
        return None
    runs = list(_RUN.finditer(line))
    found = []
    while runs:
        opening = runs.pop(0)
        closing = next((run for run in runs if len(run[0]) == len(opening[0])), None)
        if closing is None:
            return None
        runs = [run for run in runs if run.start() >= closing.end()]
        if "|" not in line[opening.end() : closing.start()]:
            found.append((opening.start(), closing.end()))
    return found
