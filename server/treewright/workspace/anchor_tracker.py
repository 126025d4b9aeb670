"""Following the anchors of an open text edit by edit, where each edit tells for certain what became of the code.

What was there before an edit cannot turn into an anchor's code by it: an equal line next door is another line.
"""

from collections.abc import Mapping
from typing import NamedTuple

from treewright.workspace.anchors import GONE, LARGEST_GAP, Anchor, AnchorState, Placement, locate
from treewright.workspace.citations import Found, QuotedText, same_up_to_space
from treewright.workspace.decode import split_lines
from treewright.workspace.positions import LineIndex


class Edit(NamedTuple):
    """One change of a text.

    Attributes:
        start: where it begins, in code points from the text's start.
        end: where the replaced text ends, exclusive.
        text: what stands there afterwards.
    """

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """Return the text after the change."""
        return text[: self.start] + self.text + text[self.end :]


class AnchorTracker:
    """Follows the anchors of one open text, edit by edit."""

    def __init__(self, text: str, anchors: Mapping[str, Anchor]) -> None:
        """Place anchors in a text.

        Args:
            text: as it is now.
            anchors: by any name.
        """
        self._text = text
        self._lines: LineIndex | None = None
        self._anchors = dict(anchors)
        self._quotes = {name: same_up_to_space(anchor.quote) for name, anchor in anchors.items()}
        self._spans: dict[str, tuple[AnchorState, int, int]] = {}
        prepared = QuotedText(text)
        for name, anchor in self._anchors.items():
            self._settle(name, locate(anchor, prepared))

    @property
    def text(self) -> str:
        """The text as the tracker knows it."""
        return self._text

    def placement(self, name: str) -> Placement:
        """Return where an anchor's code is now."""
        state, start, end = self._spans[name]
        if state is AnchorState.GONE:
            return GONE
        return Placement(state, self._index.line_at(start) + 1, self._index.line_at(end) + 1)

    def edit(self, edit: Edit) -> None:
        """Follow one edit.

        Args:
            edit: in the text as it was before.

        Raises:
            ValueError: it lies outside the text.
        """
        if not 0 <= edit.start <= edit.end <= len(self._text):
            raise ValueError("the edit lies outside the text")
        self._text = edit.apply(self._text)
        self._lines = None
        for name in self._anchors:
            self._follow(name, edit)

    def replace(self, text: str) -> None:
        """Follow a change of the whole text: as the one edit between what both have in common."""
        start = _common(self._text, text)
        behind = _common(self._text[start:][::-1], text[start:][::-1])
        self.edit(Edit(start, len(self._text) - behind, text[start : len(text) - behind]))

    def recheck(self) -> None:
        """Look again, in the whole text, for what is not right: the text was saved, say. What is right stays so."""
        prepared = QuotedText(self._text)
        for name, (state, _, _) in list(self._spans.items()):
            if state is AnchorState.RIGHT:
                continue
            found = locate(self._anchors[name], prepared)
            if state is AnchorState.STALE or found.state is AnchorState.RIGHT:
                self._settle(name, found)

    @property
    def _index(self) -> LineIndex:
        """The present text's lines; an edit far from every anchor never asks for them."""
        if self._lines is None:
            self._lines = LineIndex(self._text)
        return self._lines

    def _settle(self, name: str, placement: Placement) -> None:
        if placement.state is AnchorState.GONE:
            self._spans[name] = (AnchorState.GONE, 0, 0)
            return
        start, end = self._index.start(placement.start - 1), self._index.end(placement.end - 1)
        self._spans[name] = (placement.state, start, end)

    def _follow(self, name: str, edit: Edit) -> None:
        state, start, end = self._spans[name]
        grown = len(edit.text) - (edit.end - edit.start)
        if state is AnchorState.GONE:
            self._revive(name, edit)
        elif edit.end < start:
            self._spans[name] = (state, start + grown, end + grown)
        elif edit.start > end:
            return
        elif edit.start <= start and end <= edit.end:
            self._swallowed(name, edit)
        else:
            self._touched(name, edit, start, end, grown)

    def _swallowed(self, name: str, edit: Edit) -> None:
        """Settle an anchor whose code was replaced whole: only what was put in its place can still be it."""
        behind = edit.start + len(edit.text)
        start, end = self._index.line_at(edit.start), self._index.line_at(behind)
        places = [place for place in self._within(start, end, name) if self._lies(place, edit.start, behind)]
        if len(places) > 1:
            found = locate(self._anchors[name], self._text)
            places = [place for place in places if place == Found(found.start, found.end)]
            self._settle(name, Placement(AnchorState.RIGHT, *places[0]) if places else GONE)
        elif places:
            self._settle(name, Placement(AnchorState.RIGHT, *places[0]))
        else:
            self._stale(name, edit.start, behind)

    def _touched(self, name: str, edit: Edit, start: int, end: int, grown: int) -> None:
        """Settle an anchor of whose code something was kept, or next to which something was put."""
        behind = edit.start + len(edit.text)
        if edit.start == end:  # put behind it: only the rest of its last line concerns it
            first, last = start, end + len(split_lines(edit.text)[0])
            kept = (start, end)
        elif edit.end <= start:  # put before it, or joined with the line above
            own = len(split_lines(edit.text)[-1])
            first, last = behind - own, end + grown
            kept = (start + grown, last)
        else:
            first, last = min(start, edit.start), max(end + grown, behind) if edit.end <= end else behind
            kept = (start, edit.start) if edit.start > start else (behind, end + grown)
            if edit.end < end and not self._text[slice(*kept)].strip():
                kept = (behind, end + grown)
        if not self._text[slice(*kept)].strip():
            self._swallowed(name, edit)
            return
        places = self._within(self._index.line_at(first), self._index.line_at(last), name)
        own_places = [place for place in places if self._meets(place, *kept)]
        if own_places:
            wanted = self._index.line_at(kept[0]) + 1
            best = min(own_places, key=lambda place: (abs(place.start - wanted), place.start))
            self._settle(name, Placement(AnchorState.RIGHT, best.start, best.end))
        else:
            self._stale(name, first, last)

    def _stale(self, name: str, first: int, last: int) -> None:
        """Settle an anchor whose code was changed, as long as what became of it is known closely enough."""
        most = LARGEST_GAP * (self._anchors[name].quote.count("\n") + 1)
        start, end = self._index.line_at(first), self._index.line_at(last)
        blank = not self._text[first:last].strip()
        if blank or end - start + 1 > most:
            self._settle(name, GONE)
        else:
            self._settle(name, Placement(AnchorState.STALE, start + 1, end + 1))

    def _offsets(self, place: Found) -> tuple[int, int]:
        """Return where a place's code begins and ends, white space around it left out."""
        start, end = self._index.start(place.start - 1), self._index.end(place.end - 1)
        lines = self._text[start:end]
        return end - len(lines.lstrip()), start + len(lines.rstrip())

    def _lies(self, place: Found, first: int, last: int) -> bool:
        start, end = self._offsets(place)
        return first <= start and end <= last

    def _meets(self, place: Found, first: int, last: int) -> bool:
        start, end = self._offsets(place)
        return start < last and first < end

    def _revive(self, name: str, edit: Edit) -> None:
        """Take up code that was gone when an edit brings it back (undo, or cut and paste)."""
        start, end = self._index.line_at(edit.start), self._index.line_at(edit.start + len(edit.text))
        places = self._within(start, end, name)
        if not places:
            return
        found = locate(self._anchors[name], self._text)
        if found.state is AnchorState.RIGHT and Found(found.start, found.end) in places:
            self._settle(name, found)

    def _within(self, start: int, end: int, name: str) -> list[Found]:
        """Return where an anchor's quote stands as whole lines among some lines, given from 0 and inclusive."""
        part = self._text[self._index.start(start) : self._index.end(end)]
        quote = self._quotes[name]
        return [
            Found(place.start + start, place.end + start) for place in QuotedText(part + "\n").find(quote)
        ]


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
