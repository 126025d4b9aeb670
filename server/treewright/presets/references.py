"""Checks what a Markdown page points to: its own anchors, other pages, lines of example files."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from treewright.counted import counted
from treewright.presets.body import fences, headings, walk
from treewright.presets.fault import Fault, Mark, fault_at
from treewright.regular import read_regular

_CODE_SPAN = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)")
_LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\[\]]{0,200}\]){0,500}\]\(\s*(?P<target><[^>]*>|[^()\s]+(?:\([^()\s]*\))?)[^()]*\)"
)
_REFERENCE = re.compile(r"(?<!\!)\[(?P<text>[^\[\]]+)\]\[(?P<label>[^\[\]]*)\]")
_DEFINITION = re.compile(r" {0,3}\[(?P<label>[^\]^]+)\]:\s*(?P<target>\S+)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HTML_ANCHOR = re.compile(r"""<[a-z]+[^>]*\s(?:id|name)=["']([^"']+)["']""", re.IGNORECASE)
_PLACE = re.compile(
    r"(?<![\w/:.@-])(?P<path>(?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,8}):(?P<start>\d{1,7})"
    r"(?:-(?P<end>\d{1,7}))?(?![\w.:]*\d)"
)
_NOT_SLUG = re.compile(r"[^\w\- ]")


def page_faults(lines: Sequence[str], path: str, first_line: int, folder: Path | None) -> Iterator[Fault]:
    """Yield the faults of a page's fences, links and examples.

    Args:
        lines: its Markdown lines, front matter left out.
        path: the name of the file, for faults.
        first_line: 1-based number of `lines[0]` in the file.
        folder: where the file lies; None checks only what the text alone can tell.
    """
    yield from _fence_is_open(lines, path, first_line)
    yield from _target_is_missing(lines, path, first_line, folder)
    yield from _line_is_out_of_bounds(lines, path, first_line, folder)


def _fence_is_open(lines: Sequence[str], path: str, first_line: int) -> Iterator[Fault]:
    """E613: a code fence is closed."""
    for fence in fences(lines, first_line):
        if not fence.closed:
            mark = Mark(line=fence.line, column=1, end_column=4)
            yield fault_at(path, mark, "E613", "this code fence is never closed")


def _target_is_missing(
    lines: Sequence[str], path: str, first_line: int, folder: Path | None
) -> Iterator[Fault]:
    """E610: a link leads to a heading or a file that exists. E611: a reference has its definition."""
    own = anchors(lines)
    prose = [(number, _blank_code(line)) for number, line, fenced in walk(lines, first_line) if not fenced]
    definitions = {_label(m["label"]) for _, line in prose if (m := _DEFINITION.match(line))}
    for number, line in prose:
        targets = [*_LINK.finditer(line), *([m] if (m := _DEFINITION.match(line)) else [])]
        for found in targets:
            message = _missing(found["target"].strip("<>"), own, folder)
            if message:
                start, end = found.span("target")
                mark = Mark(line=number, column=start + 1, end_column=end + 1)
                yield fault_at(path, mark, "E610", message)
        for found in _REFERENCE.finditer(line):
            label = _label(found["label"] or found["text"])
            if label not in definitions:
                mark = Mark(line=number, column=found.start() + 1, end_column=found.end() + 1)
                yield fault_at(path, mark, "E611", f"the reference [{label}] is not defined in this page")


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _blank_code(line: str) -> str:
    """Return the line with code spans made blank, every other character at its place."""
    return _CODE_SPAN.sub(lambda found: " " * len(found[0]), line)


def _missing(target: str, own: frozenset[str], folder: Path | None) -> str:
    """Return what is wrong with a link target; empty when nothing is."""
    if _ELSEWHERE.match(target) or target.startswith("//"):
        return ""
    name, _, anchor = target.partition("#")
    name, anchor = unquote(name.partition("?")[0]), unquote(anchor)
    if not name:
        return "" if not anchor or anchor in own else f"there is no heading for #{anchor} in this page"
    if folder is None:
        return ""
    file = folder / name
    if not file.exists():
        return f"the file {name} does not exist"
    if anchor and file.suffix == ".md" and anchor not in _anchors_of(file):
        return f"there is no heading for #{anchor} in {name}"
    return ""


def anchors(lines: Sequence[str]) -> frozenset[str]:
    """Return the anchors of a page: a slug for each heading as GitHub makes it, and explicit HTML ids."""
    count = Counter[str]()
    found: set[str] = set()
    for heading in headings(lines):
        slug = _NOT_SLUG.sub("", heading.title.replace("`", "").lower()).strip().replace(" ", "-")
        found.add(f"{slug}-{count[slug]}" if count[slug] else slug)
        count[slug] += 1
    for _, line, fenced in walk(lines, 1):
        found.update([] if fenced else _HTML_ANCHOR.findall(line))
    return frozenset(found)


def _anchors_of(file: Path) -> frozenset[str]:
    stat = file.stat()
    return _anchors_at(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _anchors_at(file: Path, _changed: int, _size: int) -> frozenset[str]:
    return anchors(read_regular(file).decode("utf-8", "replace").splitlines())


def _line_is_out_of_bounds(
    lines: Sequence[str], path: str, first_line: int, folder: Path | None
) -> Iterator[Fault]:
    """E612: `file:line` in an example names lines in order, and lines that a file which exists really has."""
    for number, line in enumerate(lines, first_line):
        for found in _PLACE.finditer(line):
            start, end = int(found["start"]), int(found["end"] or found["start"])
            mark = Mark(line=number, column=found.start() + 1, end_column=found.end() + 1)
            if start < 1 or end < start:
                yield fault_at(
                    path, mark, "E612", f"{found[0]} is no range of lines: they count from 1 upwards"
                )
                continue
            size = _line_count(found["path"], folder)
            if size is not None and end > size:
                message = f"{found[0]} lies outside {found['path']}, which has {counted(size, 'line')}"
                yield fault_at(path, mark, "E612", message)


def _line_count(name: str, folder: Path | None) -> int | None:
    """Return how many lines an example's file has, looked for beside the page and in the folders above it."""
    if folder is None:
        return None
    above = folder.resolve()
    for place in (above, *above.parents[:3]):
        file = place / name
        if file.is_file():
            data = read_regular(file)
            return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        if (place / ".git").exists():
            return None
    return None
