"""Finds the sections of a Markdown body; what stands inside a code fence is never a heading."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewright.presets.fault import Mark

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)\Z")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: 1 to 6, its title, its 1-based line."""

    level: int
    title: str
    line: int

    @property
    def mark(self) -> Mark:
        """The place of the heading."""
        return Mark(line=self.line, column=1, end_column=self.level + 2 + len(self.title))


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: the language after the fence, its inner lines, its 1-based first line; closed or not."""

    info: str
    lines: tuple[str, ...]
    line: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it, up to the next heading of its level or above."""

    heading: Heading
    text: str
    lines: tuple[str, ...]

    def parts(self, level: int) -> list["Section"]:
        """Return the sections of a deeper level within this one."""
        return sections(self.lines, self.heading.line + 1, level)


def walk(lines: Sequence[str], first_line: int) -> Iterator[tuple[int, str, bool]]:
    """Yield each line as (1-based number, text, inside or delimiting a fence)."""
    fence = ""
    for number, line in enumerate(lines, first_line):
        found = _FENCE.match(line)
        if fence:
            closes = found and found["fence"].startswith(fence) and not found["info"].strip()
            yield number, line, True
            fence = "" if closes else fence
        elif found and not ("`" in found["info"] and found["fence"][0] == "`"):
            fence = found["fence"]
            yield number, line, True
        else:
            yield number, line, False


def headings(lines: Sequence[str], first_line: int = 1) -> list[Heading]:
    """Return every heading outside fences, in order."""
    found = []
    for number, line, fenced in walk(lines, first_line):
        match = None if fenced else _HEADING.match(line)
        if match:
            found.append(Heading(len(match["marks"]), match["title"].strip(), number))
    return found


def fences(lines: Sequence[str], first_line: int = 1) -> list[Fence]:
    """Return every fenced block, in order; one that is never closed runs to the end."""
    out: list[Fence] = []
    info, opened, inner, marker = "", 0, list[str](), ""
    for number, line in enumerate(lines, first_line):
        found = _FENCE.match(line)
        if not opened:
            if found and not ("`" in found["info"] and found["fence"][0] == "`"):
                info, opened, inner, marker = found["info"].strip(), number, [], found["fence"]
        elif found and found["fence"].startswith(marker) and not found["info"].strip():
            out.append(Fence(info, tuple(inner), opened, True))
            opened = 0
        else:
            inner.append(line)
    if opened:
        out.append(Fence(info, tuple(inner), opened, False))
    return out


def sections(lines: Sequence[str], first_line: int, level: int) -> list[Section]:
    """Return the sections that a heading of this level opens.

    Args:
        lines: Markdown lines.
        first_line: 1-based number of the first of them in the file.
        level: 1 to 6.
    """
    found = [heading for heading in headings(lines, first_line) if heading.level <= level]
    out: list[Section] = []
    for heading, following in zip(found, [*found[1:], None], strict=False):
        if heading.level != level:
            continue
        end = following.line if following else first_line + len(lines)
        inner = tuple(lines[heading.line + 1 - first_line : end - first_line])
        out.append(Section(heading, "\n".join(inner).strip(), inner))
    return out
