"""What a model is shown of files: numbered lines, and from what it cites back to citations that our code checks.

A model with a small context chooses lines from a list (the schema allows only those); one with a large context writes path, lines and
quote itself. Either way the citation goes to the verifier like any other: nothing is taken as true here.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treewright.models.tokens import tokens_about
from treewright.tree.citation import Citation
from treewright.workspace.citations import parse_reference, same_up_to_space

LABEL_WIDTH = 96
"""Characters of a line that a listed label shows; the citation quotes the whole line."""
_LISTED = re.compile(r"^(?:(?P<path>.+?):)?L?(?P<number>\d{1,7})\s*\|\s?(?P<text>.*)$", re.DOTALL)
_PART_SHOWN = 12
"""Characters from which a part of a line counts as a quotation of that line."""
QUOTED_LINES_MOST = 12


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it is shown and cited: `path` relative to the workspace, `lines` from 1."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `start` to `end`, from 1 and inclusive, of the document at `path`."""

    path: str
    start: int
    end: int


@dataclass(slots=True)
class Excerpt:
    """The part of the documents that one prompt shows.

    Attributes:
        documents: by path, whole.
        spans: what is shown, in order, without overlaps.
        single: whether labels leave the path out, since there is one file only.
        favoured: path and line of the only places that may be chosen, where something else found them; empty for all.
    """

    documents: dict[str, Document]
    spans: list[Span] = field(default_factory=list)
    single: bool = False
    favoured: frozenset[tuple[str, int]] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to cite."""
        return not self.spans

    def text(self) -> str:
        """Return the numbered lines as a model sees them."""
        parts: list[str] = []
        last = ""
        for span in self.spans:
            if span.path != last:
                parts.append(f"File `{span.path}`:")
                last = span.path
            elif parts:
                parts.append("...")
            lines = self.documents[span.path].lines
            parts += [f"{n}| {lines[n - 1]}" for n in range(span.start, span.end + 1)]
        return "\n".join(parts)

    def labels(self, most: int) -> list[str]:
        """Return the lines that can be chosen, blank ones, brackets and headings left out, evenly thinned to `most`."""
        places = self.places()
        chosen = [place for place in places if place in self.favoured] or places
        return self._thinned(chosen, most)

    def places(self) -> list[tuple[str, int]]:
        """Return path and line of everything that can be chosen, in reading order."""
        return [
            (span.path, number)
            for span in self.spans
            for number in range(span.start, span.end + 1)
            if _says_something(span.path, self.documents[span.path].lines[number - 1])
        ]

    def answers(self, but: Iterable[Citation], most: int, objection: str = "") -> list[str]:
        """Return the lines that may answer an objection to some places.

        Of code these are those that can guard; of a text those that have at least two telling words of the objection: offered all, a
        small model takes one of them whatever they say.

        Args:
            but: the places that are objected to.
            most: how many at most.
            objection: what is said against them; empty for all lines of a text.
        """
        taken = {(place.path, number) for place in but for number in range(place.start, place.end + 1)}
        found = [
            (span.path, number)
            for span in self.spans
            for number in range(span.start, span.end + 1)
            if (span.path, number) not in taken
            and _answers(span.path, self.documents[span.path].lines[number - 1])
        ]
        if objection:
            found = [place for place in found if self._speaks_of(*place, objection)]
        return self._thinned(found, most)

    def _speaks_of(self, path: str, number: int, objection: str) -> bool:
        if not path.endswith(_PROSE):
            return True
        lines = self.documents[path].lines
        shared = _words(lines[number - 1]) & _words(objection)
        telling = [word for word in shared if sum(word in _words(line) for line in lines) <= _COMMON_IN]
        return len(telling) >= _TELLING_LEAST

    def _thinned(self, places: Sequence[tuple[str, int]], most: int) -> list[str]:
        found = list(dict.fromkeys(self._label(path, number) for path, number in places))
        if len(found) <= most:
            return found
        step = len(found) / most
        return [found[int(index * step)] for index in range(most)]

    def _label(self, path: str, number: int) -> str:
        text = " ".join(self.documents[path].lines[number - 1].split())[:LABEL_WIDTH]
        return f"{number}| {text}" if self.single else f"{path}:{number}| {text}"

    def cite(self, chosen: object, field_name: str = "") -> Citation | None:
        """Return the citation that a model's answer stands for, or None when it says nothing.

        Args:
            chosen: a listed label, `path:line quote`, or an object with path, start, end, quote or url.
            field_name: the field it supports.
        """
        if isinstance(chosen, dict):
            return self._cite_object(chosen, field_name)
        text = str(chosen or "").strip()
        if not text or text.upper() == "NONE":
            return None
        match = _LISTED.match(text)
        if match:
            path = match["path"] or self._only_path()
            number = int(match["number"])
            shown = " ".join(match["text"].split())
            quote = self._line(path, number)
            if shown and " ".join(quote.split())[:LABEL_WIDTH] != shown[:LABEL_WIDTH]:
                quote = match["text"]  # not what stands there: the verifier shall see what was said
            return Citation(
                field=field_name, path=path, start=number, end=number, quote=quote if shown else ""
            )
        reference = parse_reference(text)
        if reference:
            path, start, end = reference
            return Citation(field=field_name, path=path, start=start, end=end)
        return Citation(field=field_name, path=self._only_path(), quote=text) if self.documents else None

    def _cite_object(self, given: dict[str, object], field_name: str) -> Citation | None:
        name = str(given.get("field") or field_name)
        url = str(given.get("url") or "").strip()
        quote = str(given.get("quote") or "")
        if url:
            return Citation(kind="url", field=name, url=url, quote=quote)
        path = str(given.get("path") or given.get("file") or "").strip()
        start = _number(given.get("start", given.get("line")))
        end = _number(given.get("end")) or start
        if path and not start and (reference := parse_reference(path)):
            path, start, end = reference
        path = path or self._only_path()
        if not path or not (start or quote.strip()):
            return None
        return self._whole_lines(
            Citation(field=name, path=path, start=start, end=max(start, end), quote=_unnumbered(quote))
        )

    def _whole_lines(self, citation: Citation) -> Citation:
        """Let a quotation of a part of a line quote the whole line: the words were copied from there."""
        quote = same_up_to_space(citation.quote)
        document = self.documents.get(citation.path)
        if document is None or len(quote) < _PART_SHOWN:
            return citation
        around = range(citation.start, min(citation.end, citation.start + QUOTED_LINES_MOST) + 1)
        near = [n for n in around if 0 < n <= len(document.lines)]
        held = "\n".join(document.lines[n - 1] for n in near)
        if near and quote in same_up_to_space(held):
            return citation.model_copy(update={"start": near[0], "end": near[-1], "quote": held})
        for number, line in enumerate(document.lines, 1):
            if quote in same_up_to_space(line):
                # the lines stay as they were said: checking tells where the quotation really stands
                return citation.model_copy(
                    update={"quote": line, **({} if citation.start else {"start": number, "end": number})}
                )
        return citation

    def _line(self, path: str, number: int) -> str:
        document = self.documents.get(path)
        inside = document is not None and 0 < number <= len(document.lines)
        return document.lines[number - 1] if document is not None and inside else ""

    def _only_path(self) -> str:
        paths = {span.path for span in self.spans} or set(self.documents)
        return next(iter(paths)) if len(paths) == 1 else ""


_COMMON_IN = 4
"""Lines of a text beyond which a word tells nothing about one of them."""
_TELLING_LEAST = 2
_PROSE = (".md", ".markdown", ".txt", ".rst", ".adoc", ".tex")
_BESIDE_CODE = re.compile(
    r"^\s*(?:import\s|from\s+\S+\s+import\b|[rubf]*(?:\"\"\"|\'\'\')|#|//|\*|/\*|@|(?:else|try|finally):?\s*\{?\s*$)"
)
_GUARD = re.compile(
    r"\b(?:if|elif|unless|assert|raise|throw|except|catch|with|lock|match|switch)\b|\?\?|isinstance|valid|check|escape|quot|sanit"
    r"|secure|resolve|relative_to|normal|strip|limit|timeout|max|min",
    re.IGNORECASE,
)


def _words(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words, so that forms of a word count as one."""
    return frozenset(word[:6] for word in re.findall(r"\w{4,}", text.casefold()))


def _says_something(path: str, line: str) -> bool:
    """Tell whether a line can be evidence: it has a word, and is no heading of a text, and no import or comment of code."""
    if not re.search(r"\w", line):
        return False
    if path.endswith(_PROSE):
        return not line.lstrip().startswith("#")
    return not _BESIDE_CODE.match(line)


def _answers(path: str, line: str) -> bool:
    """Tell whether a line can answer an objection: of code only one that can guard does."""
    return _says_something(path, line) and (path.endswith(_PROSE) or bool(_GUARD.search(line)))


def _number(value: object) -> int:
    text = str(value or "").strip().lstrip("Ll")
    return int(text) if text.isdecimal() and len(text) < 8 else 0


def _unnumbered(quote: str) -> str:
    """Return a quotation without the line numbers that our listing put before its lines."""
    lines = quote.splitlines()
    if lines and all(re.match(r"\s*\d+\| ?", line) for line in lines if line.strip()):
        return "\n".join(re.sub(r"^\s*\d+\| ?", "", line) for line in lines)
    return quote


def chunks(document: Document, most_tokens: int, inside: Span | None = None) -> list[Span]:
    """Return a document, or the part of it inside a span, cut into spans of at most `most_tokens`, at blank lines where near."""
    found: list[Span] = []
    start = first = inside.start if inside else 1
    last = inside.end if inside else len(document.lines)
    used, blank = 0, 0
    number = first - 1
    for number, line in enumerate(document.lines[first - 1 : last], first):
        cost = tokens_about(line) + 3
        if used + cost > most_tokens and number > start:
            cut = blank if blank > start + (number - start) // 2 else number - 1
            found.append(Span(document.path, start, cut))
            start = cut + 1
            used = sum(tokens_about(document.lines[n - 1]) + 3 for n in range(start, number))
            blank = 0
        used += cost
        if not line.strip():
            blank = number
    if number >= start:
        found.append(Span(document.path, start, number))
    return [
        span for span in found if any(document.lines[n - 1].strip() for n in range(span.start, span.end + 1))
    ]


def around(document: Document, start: int, end: int, margin: int) -> Span:
    """Return lines with `margin` more on either side, kept inside the document."""
    last = len(document.lines)
    return Span(document.path, max(1, min(start, last) - margin), min(last, max(start, end) + margin))


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in reading order without overlaps; files in the order they first come."""
    order: dict[str, list[Span]] = {}
    for span in spans:
        order.setdefault(span.path, []).append(span)
    found: list[Span] = []
    for path, group in order.items():
        group.sort(key=lambda span: span.start)
        current = group[0]
        for span in group[1:]:
            if span.start <= current.end + 2:
                current = Span(path, current.start, max(current.end, span.end))
            else:
                found.append(current)
                current = span
        found.append(current)
    return found


def cost(documents: dict[str, Document], spans: Sequence[Span]) -> int:
    """Return about how many tokens spans take."""
    return sum(
        tokens_about(documents[span.path].lines[n - 1]) + 3
        for span in spans
        for n in range(span.start, span.end + 1)
    )
