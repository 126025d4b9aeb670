"""Checking citations of files: does the quoted text really stand where it is said to stand?

What a performer says about its own citations counts for nothing (contract: exploration, 5). A quote must equal whole
lines up to white space; when it does so elsewhere in the file, the lines are corrected and the correction is told.
"""

import re
import stat
import unicodedata
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from treewright.counted import counted
from treewright.tree.citation import CheckedCitation, Citation, CitationState
from treewright.workspace.decode import Decoded, Unreadable, read_source, split_lines
from treewright.workspace.positions import LineIndex
from treewright.workspace.spelling import disk_spelling

_REFERENCE = re.compile(r"^(?P<path>.+?)(?::L?|#L)(?P<start>\d{1,9})(?:[-–]L?(?P<end>\d{1,9}))?$", re.DOTALL)
_MOST_CANDIDATES = 10_000
_KEPT_FILES = 256
_KEPT_CHARACTERS = 32_000_000


class Found(NamedTuple):
    """Where a quote stands as whole lines.

    Attributes:
        start: first line, from 1.
        end: last line.
    """

    start: int
    end: int


def parse_reference(text: str) -> tuple[str, int, int] | None:
    """Return path, first and last line of `path:line`, `path:start-end` or `path#Lline`; None when it is neither.

    The path may itself hold colons and spaces. An end before the start counts as the start.
    """
    found = _REFERENCE.match(text.strip())
    if not found or not int(found["start"]):
        return None
    start = int(found["start"])
    return found["path"], start, max(start, int(found["end"] or start))


def same_up_to_space(text: str) -> str:
    """Return a text with its white space made single, so that texts equal up to white space become equal.

    Letters that Unicode can write in two ways are made one as well.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFC", text)
    return " ".join(plain.split())


class QuotedText:
    """A text prepared for looking up quotes; made once a file, then each look-up is quick.

    Attributes:
        count: lines in the text; an empty last one is not counted.
        size: characters that are kept.
        text: the text itself.
    """

    def __init__(self, text: str) -> None:
        """Prepare a text."""
        self.text = text
        lines = split_lines(text)
        self.count = len(lines) - (lines[-1] == "")
        self._plain = [same_up_to_space(line) for line in lines[: self.count]]
        self._numbers = [number for number, line in enumerate(self._plain, start=1) if line]
        self._joined = " ".join(line for line in self._plain if line)
        self._starts: list[int] = []
        at = 0
        for number in self._numbers:
            self._starts.append(at)
            at += len(self._plain[number - 1]) + 1
        self._end = at  # where the next line would start
        self.size = len(text) + 2 * at

    @cached_property
    def index(self) -> LineIndex:
        """The text's lines and offsets, made when first asked for."""
        return LineIndex(self.text)

    def lines(self, start: int, end: int) -> str:
        """Return lines, from 1 and both inclusive, with white space made single."""
        return " ".join(line for line in self._plain[start - 1 : end] if line)

    def find(self, quote: str) -> Iterator[Found]:
        """Yield every place where a quote equals whole lines, top to bottom.

        Args:
            quote: with white space made single; not empty.
        """
        at, tried = self._joined.find(quote), 0
        while at >= 0 and tried < _MOST_CANDIDATES:
            first = bisect_left(self._starts, at)
            behind = at + len(quote) + 1
            last = bisect_left(self._starts, behind)
            ends_whole = behind == self._end or (last < len(self._starts) and self._starts[last] == behind)
            if first < len(self._starts) and self._starts[first] == at and ends_whole:
                yield Found(self._numbers[first], self._numbers[last - 1])
            # The next whole-line place cannot be before the next line's start.
            following = bisect_left(self._starts, at + 1)
            if following >= len(self._starts):
                return
            at = self._joined.find(quote, self._starts[following])
            tried += 1


class CitationChecker:
    """Checks citations of one workspace's files. Files are read once and again when they change."""

    def __init__(self, workspace: Path, read: Callable[[Path], Decoded | Unreadable] = read_source) -> None:
        """Check against a workspace.

        Args:
            workspace: its folder; nothing outside is ever read.
            read: reads a file (an editor's unsaved text may stand in for the disk's).
        """
        self._workspace = workspace.resolve()
        self._read = read
        self._texts: OrderedDict[Path, tuple[tuple[int, ...], QuotedText | Unreadable]] = OrderedDict()

    def check(self, citation: Citation) -> CheckedCitation:
        """Return a file citation with its state; never raises for what a performer wrote.

        Args:
            citation: of kind `file`.
        """
        return self._checked(citation, {})

    def _checked(
        self, citation: Citation, texts: dict[str, QuotedText | Unreadable | str]
    ) -> CheckedCitation:
        """Check one; `texts` are the files that were looked at for others of the same moment, by the name cited."""
        if citation.kind != "file":
            return _unverified(citation, "it does not point to a file")
        if citation.path not in texts:
            path = self._inside(citation.path)
            texts[citation.path] = path if isinstance(path, str) else self._text(path)
        text = texts[citation.path]
        if isinstance(text, str):
            return _unverified(citation, text)
        if isinstance(text, Unreadable):
            return _unverified(citation, f"the file cannot be read: {text.detail or text.reason}")
        quote = same_up_to_space(citation.quote)
        if not quote:
            return _without_quote(citation, text)
        return _with_quote(citation, quote, text)

    def check_all(self, citations: Iterable[Citation]) -> list[CheckedCitation]:
        """Return citations with their states, in order; each file is looked at once."""
        texts: dict[str, QuotedText | Unreadable | str] = {}
        return [self._checked(citation, texts) for citation in citations]

    def _inside(self, name: str) -> Path | str:
        """Return the real file that a citation names, or why it cannot be looked at."""
        if not name.strip() or "\0" in name:
            return "it names no file"
        refusal = "the file does not exist"
        for spelling in _spellings(self._workspace, name):
            try:
                real = spelling.resolve()
                if not real.is_relative_to(self._workspace):
                    refusal = "the file is outside the workspace"
                elif stat.S_ISREG(real.stat().st_mode):
                    return real
                else:
                    refusal = "it is not a file"
            except (OSError, RuntimeError, ValueError):
                continue
        return refusal

    def _text(self, path: Path) -> QuotedText | Unreadable:
        try:
            found = path.stat()
        except OSError as fault:
            return Unreadable("gone", fault.strerror or "it is gone")
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        known = self._texts.get(path)
        if known and known[0] == stamp:
            self._texts.move_to_end(path)
            return known[1]
        read = self._read(path)
        text = QuotedText(read.text) if isinstance(read, Decoded) else read
        self._texts[path] = (stamp, text)
        self._forget()
        return text

    def _forget(self) -> None:
        """Drop the files longest unused until what is kept is small enough; the last one stays."""
        kept = sum(text.size for _, text in self._texts.values() if isinstance(text, QuotedText))
        while len(self._texts) > 1 and (len(self._texts) > _KEPT_FILES or kept > _KEPT_CHARACTERS):
            _, (_, text) = self._texts.popitem(last=False)
            kept -= text.size if isinstance(text, QuotedText) else 0


def _spellings(workspace: Path, name: str) -> Iterator[Path]:
    """Yield how a path may stand on the disk: as it is, in another Unicode form, with the other separator."""
    yield workspace / name
    for other in (name, name.replace("\\", "/")):
        if not other.isascii() or other != name:
            yield disk_spelling(workspace / other)


def _without_quote(citation: Citation, text: QuotedText) -> CheckedCitation:
    if not citation.start:
        return _unverified(citation, "it names neither lines nor a quote")
    if fault := _bad_lines(citation, text):
        return _unverified(citation, fault)
    return CheckedCitation(
        citation=citation, state=CitationState.WEAK, reason="the lines exist, but nothing is quoted"
    )


def _with_quote(citation: Citation, quote: str, text: QuotedText) -> CheckedCitation:
    start, end = citation.start, max(citation.start, citation.end)
    fault = _bad_lines(citation, text) if start else "no lines were given"
    if not fault and text.lines(start, end) == quote:
        return CheckedCitation(citation=citation, state=CitationState.VERIFIED)
    places = list(text.find(quote))
    if places:
        nearest = min(places, key=lambda place: (abs(place.start - start), place.start))
        said = _lines(nearest.start, nearest.end)
        was = f", not at {_lines(start, end)}" if start else ""
        return CheckedCitation(
            citation=citation.model_copy(update={"start": nearest.start, "end": nearest.end}),
            state=CitationState.CORRECTED,
            reason=f"the quote stands at {said}{was}",
        )
    if not fault and _holds_part(text.lines(start, end), quote):
        return CheckedCitation(
            citation=citation, state=CitationState.WEAK, reason="the quote is only a part of the lines"
        )
    return _unverified(citation, fault or "the quote is not in the file")


def _holds_part(lines: str, quote: str) -> bool:
    """Tell whether a quote stands in lines between word boundaries."""
    return bool(re.search(rf"(?<!\w){re.escape(quote)}(?!\w)", lines))


def _bad_lines(citation: Citation, text: QuotedText) -> str:
    if citation.end and citation.end < citation.start:
        return "its last line is before its first"
    if max(citation.start, citation.end) > text.count:
        return f"the file has only {counted(text.count, 'line')}"
    return ""


def _lines(start: int, end: int) -> str:
    return f"line {start}" if end <= start else f"lines {start}-{end}"


def _unverified(citation: Citation, reason: str) -> CheckedCitation:
    return CheckedCitation(citation=citation, state=CitationState.UNVERIFIED, reason=reason)
