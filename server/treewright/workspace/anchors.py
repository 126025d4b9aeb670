"""Anchors: where a finding sits in a file, and how it follows edits. Right, stale or gone; never wrong.

An anchor is a quote of whole lines with what stood around it; line numbers are only hints. It is `right` where the
lines still equal the quote up to white space and there is no doubt that they are the ones meant; `stale` where the
quoted code was changed but its place is known; `gone` otherwise. In doubt it is gone: a finding that is not shown
misleads nobody.
"""

from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from treewright.workspace.citations import Found, QuotedText, same_up_to_space
from treewright.workspace.positions import LineIndex, Position

_CONTEXT_LINES = 3
LARGEST_GAP = 3
"""How many times its former number of lines changed code may take for its place to count as known."""


class AnchorState(StrEnum):
    """What became of an anchor's code."""

    RIGHT = "right"
    STALE = "stale"
    GONE = "gone"


class Anchor(BaseModel):
    """Quoted lines and what stood around them when they were quoted.

    Attributes:
        quote: the lines, verbatim.
        line: the first one's number then, from 1.
        before: up to 3 lines above that are not blank, nearest first, white space made single.
        after: up to 3 lines below that are not blank, nearest first, white space made single.
        count: how often the quote stood in the file.
        ordinal: which of these it was, from 0, top to bottom.
        first: where the finding begins, counted in the quote's characters that are not white space.
        last: where it ends, in the same count, exclusive; 0 for the end of the quote.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: str
    line: int = Field(ge=1)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    count: int = Field(1, ge=1)
    ordinal: int = Field(0, ge=0)
    first: int = Field(0, ge=0)
    last: int = Field(0, ge=0)


class Placement(NamedTuple):
    """Where an anchor's code is in a text.

    Attributes:
        state: what became of it.
        start: first line, from 1; 0 when gone.
        end: last line, inclusive; 0 when gone.
    """

    state: AnchorState
    start: int = 0
    end: int = 0


GONE = Placement(AnchorState.GONE)


def make_anchor(
    text: str | QuotedText, start: int, end: int, columns: tuple[int, int] | None = None
) -> Anchor:
    """Return the anchor of some lines of a text.

    Args:
        text: the file's text; prepared once when many anchors are made in it.
        start: first line, from 1.
        end: last line, inclusive.
        columns: where the finding begins on the first line and ends on the last, in code points from 0 and exclusive; None
            for the lines as a whole.

    Raises:
        ValueError: the lines do not exist or hold nothing but white space.
    """
    prepared = QuotedText(text) if isinstance(text, str) else text
    index = prepared.index
    if not 1 <= start <= end <= len(index):
        raise ValueError(f"there are no lines {start} to {end}")
    quote = index.text[index.start(start - 1) : index.end(end - 1)]
    plain = same_up_to_space(quote)
    if not plain:
        raise ValueError("the lines are blank")
    places = list(prepared.find(plain))
    first, last = _marks(index, start, end, columns)
    meant = next((n for n, place in enumerate(places) if start <= place.start <= place.end <= end), 0)
    return Anchor(
        quote=quote,
        line=start,
        before=_context(prepared, start, -1),
        after=_context(prepared, end, 1),
        count=max(len(places), 1),
        ordinal=meant,
        first=first,
        last=last,
    )


def locate(anchor: Anchor, text: str | QuotedText) -> Placement:
    """Find an anchor's code in a text that was not followed edit by edit (after a restart, say).

    Args:
        anchor: what is looked for.
        text: the file's present text; prepared once when many anchors are looked up in it.
    """
    prepared = QuotedText(text) if isinstance(text, str) else text
    places = list(prepared.find(same_up_to_space(anchor.quote)))
    if not places:
        return _changed(anchor, prepared)
    place = _meant(anchor, places, prepared)
    return Placement(AnchorState.RIGHT, place.start, place.end) if place else GONE


def span(anchor: Anchor, placement: Placement, index: LineIndex) -> tuple[Position, Position]:
    """Return where to draw a finding: its exact columns when right, the lines' text when stale.

    Args:
        anchor: the finding's.
        placement: where it was found; not gone.
        index: the same text's lines.

    Returns:
        Start and end; lines and columns from 0, columns in code points, the end exclusive.
    """
    start, end = index.start(placement.start - 1), index.end(placement.end - 1)
    solid = [at for at in range(start, end) if not index.text[at].isspace()]
    if not solid:
        return index.position(start), index.position(end)
    first, last = 0, len(solid)
    if placement.state is AnchorState.RIGHT and anchor.last:
        first, last = min(anchor.first, len(solid) - 1), min(anchor.last, len(solid))
    return index.position(solid[first]), index.position(solid[max(last, first + 1) - 1] + 1)


def _meant(anchor: Anchor, places: list[Found], text: QuotedText) -> Found | None:
    """Return the place that an anchor means among all where its quote stands, or None in doubt."""
    if anchor.count == 1 and len(places) == 1:
        return places[0]
    scores = [_likeness(anchor, place, text) for place in places]
    best = max(scores)
    if len(places) == anchor.count and scores[anchor.ordinal] == best:
        return places[anchor.ordinal]
    full = len(anchor.before) + len(anchor.after)
    # One of equal ones came or went: only surroundings that are all there, and there once, leave no doubt.
    if anchor.count == 1 and full and best == full and scores.count(best) == 1:
        return places[scores.index(best)]
    return None


def _likeness(anchor: Anchor, place: Found, text: QuotedText) -> int:
    """Return how many context lines in a row, outward from the quote, are the same: 0 to 6."""
    above, below = _context(text, place.start, -1), _context(text, place.end, 1)
    return _run(anchor.before, above) + _run(anchor.after, below)


def _run(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _changed(anchor: Anchor, text: QuotedText) -> Placement:
    """Look for the place of code that was changed: between its two neighbours, when both are still there, once."""
    if not anchor.before or not anchor.after:
        return GONE
    above, below = list(text.find(anchor.before[0])), list(text.find(anchor.after[0]))
    if len(above) != 1 or len(below) != 1:
        return GONE
    solid = [n for n in range(above[0].end + 1, below[0].start) if text.lines(n, n)]
    most = LARGEST_GAP * (anchor.quote.count("\n") + 1)
    if not solid or solid[-1] - solid[0] + 1 > most:
        return GONE
    return Placement(AnchorState.STALE, solid[0], solid[-1])


def _context(text: QuotedText, line: int, step: int) -> tuple[str, ...]:
    """Return up to 3 lines above or below a line that are not blank, nearest first."""
    found: list[str] = []
    at = line + step
    while 1 <= at <= text.count and len(found) < _CONTEXT_LINES:
        if plain := text.lines(at, at):
            found.append(plain)
        at += step
    return tuple(found)


def _marks(index: LineIndex, start: int, end: int, columns: tuple[int, int] | None) -> tuple[int, int]:
    """Return a finding's columns as counts of characters that are not white space."""
    if columns is None:
        return 0, 0
    begin = index.start(start - 1)
    first = index.offset(Position(start - 1, columns[0]))
    last = index.offset(Position(end - 1, columns[1]))
    return _solid(index.text[begin:first]), _solid(index.text[begin:last])


def _solid(text: str) -> int:
    return sum(not char.isspace() for char in text)
