"""A tree's rows in columns, as they stood at one moment: what a list of 100,000 nodes is looked at by.

Folding a run of that size, or loading the picture of its fold, takes seconds. The rows lie beside the journal in the form in
which they are looked at, so that they are there after two reads. They are a cache: made anew when they do not fit.
"""

import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

from treewright.app.describe import entry_of
from treewright.app.rows import (
    LARGEST_PAGE,
    STATES,
    NodeFilter,
    NodeRow,
    Page,
    Sort,
    label_of,
    no_such_node,
    short,
    sort_value,
    state_of,
)
from treewright.explore.reports.document import run_json
from treewright.presets.schema import Preset
from treewright.store.journal_reader import JournalReader
from treewright.store.run_folder import RunReader, load_listing
from treewright.tree.ids import sort_key
from treewright.tree.node import Node
from treewright.tree.run import Role

SCHEMA = f"listing-1-{sys.byteorder}"
WORTH = 2_000
"""A run with fewer nodes is folded in less than a tenth of a second; no rows are kept of it."""
_ROLES = ("", *(role.value for role in Role))
_NUMBERS = {
    "parent": "i",
    "first": "I",
    "child": "I",
    "total": "b",
    "depth": "H",
    "round": "I",
    "label": "I",
    "value": "d",
    "place": "I",
    "text": "Q",
    "folded": "Q",
}
"""Columns of numbers and their widths; `first` and the two of text have one more than there are rows."""
_BYTES = ("state", "role", "framing", "ids", "texts", "folds")
_CUT = "\x1f"


class Shown(NamedTuple):
    """The rows that a filter shows: those that match, and those on the way to one that does; a byte a row."""

    matches: bytearray
    shown: bytearray


class Listing:
    """Rows in columns; a row's number is its place in the order drafted.

    Attributes:
        about: the run: its start, its index entry, its figures.
        revision: number of the last event in them.
    """

    def __init__(self, payload: bytes, journal: JournalReader) -> None:
        """Take rows as `encoded` gave them.

        Args:
            payload: the rows.
            journal: stands behind the last event in them.

        Raises:
            ValueError: they are damaged.
        """
        head, _, body = payload.partition(b"\n")
        self.about: dict[str, Any] = json.loads(head)
        self.revision = journal.mark.seq
        self._journal = journal
        columns: dict[str, Any] = {}
        at = 0
        for name, size in self.about["columns"]:
            part = body[at : at + size]
            columns[name] = array(_NUMBERS[name], part) if name in _NUMBERS else part
            at += size
        if at != len(body):
            raise ValueError("the rows are cut")
        self._columns = columns
        self._ids: list[str] = columns["ids"].decode().split("\n")
        self._numbers: dict[str, int] = dict(zip(self._ids, range(len(self._ids)), strict=True))

    @property
    def late(self) -> bool:
        """Whether the journal has grown since."""
        return self._journal.grown()

    @property
    def size(self) -> int:
        """How many nodes there are, the root included."""
        return len(self._ids)

    def page(self, node: str | None, shown: Shown | None, sort: Sort, offset: int, limit: int) -> Page:
        """Return a page of rows; see `Rows`."""
        if node is not None:
            numbers: Iterable[int] = self._children(self._number(node))
            if shown is not None:
                numbers = [number for number in numbers if shown.shown[number]]
        else:
            numbers = [n for n in range(1, self.size) if shown is None or shown.matches[n]]
        ordered = self._ordered(numbers, sort)
        part = ordered[offset : offset + min(limit, LARGEST_PAGE)]
        return Page([self._row(number, shown) for number in part], len(ordered), offset, self.revision)

    def row(self, node: str) -> NodeRow:
        """Return a node as a line; see `Rows`."""
        return self._row(self._number(node), None)

    def _number(self, node: str) -> int:
        found = self._numbers.get(node)
        if found is None:
            raise no_such_node(node)
        return found

    def _children(self, number: int) -> Sequence[int]:
        first = self._columns["first"]
        found: Sequence[int] = self._columns["child"][first[number] : first[number + 1]]
        return found

    def _row(self, number: int, shown: Shown | None) -> NodeRow:
        columns = self._columns
        below = self._children(number)
        parent = columns["parent"][number]
        first, last = columns["text"][number], columns["text"][number + 1]
        statement, position, cwe = columns["texts"][first:last].decode().split(_CUT)
        return NodeRow(
            id=self._ids[number],
            parent=self._ids[parent] if parent >= 0 else None,
            statement=statement,
            state=STATES[columns["state"][number]],
            label=self.about["labels"][columns["label"][number]],
            role=_ROLES[columns["role"][number]],
            total=columns["total"][number],
            framing=chr(columns["framing"][number]).strip("\0"),
            depth=columns["depth"][number],
            round=columns["round"][number],
            position=position,
            cwe=cwe,
            children=len(below) if shown is None else sum(shown.shown[each] for each in below),
            matches=shown is None or bool(shown.matches[number]),
        )

    def _ordered(self, numbers: Iterable[int], sort: Sort) -> list[int]:
        if sort == "newest":
            return sorted(numbers, reverse=True)
        place = self._columns["place"]
        if sort == "tree":
            return sorted(numbers, key=place.__getitem__)
        value, total = self._columns["value"], self._columns["total"]

        def by_score(number: int) -> tuple[int, float, int, int]:
            if isnan(value[number]):
                return (1, 0, 0, place[number])
            return (0, -value[number], -total[number], place[number])

        return sorted(numbers, key=by_score)

    def select(self, wanted: NodeFilter) -> Shown:
        """Return what a filter shows."""
        matches, shown = bytearray(self.size), bytearray(self.size)
        parent = self._columns["parent"]
        for number in self._matching(wanted):
            matches[number] = 1
            while number >= 0 and not shown[number]:
                shown[number] = 1
                number = parent[number]
        return Shown(matches, shown)

    def columns(self, limit: int) -> dict[str, list[Any]]:
        """Return the rows as a map needs them; see `Rows`."""
        chosen: list[int] = list(range(self.size))
        if len(chosen) > limit:
            chosen = sorted(chosen, key=self._columns["depth"].__getitem__)[:limit]
        at = {number: place for place, number in enumerate(chosen)}
        columns = self._columns
        text, texts = columns["text"], columns["texts"]
        return {
            "id": [self._ids[n] for n in chosen],
            "parent": [at.get(columns["parent"][n], -1) for n in chosen],
            "state": [STATES[columns["state"][n]] for n in chosen],
            "total": [columns["total"][n] for n in chosen],
            "statement": [texts[text[n] : text[n + 1]].decode().split(_CUT, 1)[0] for n in chosen],
        }

    def _matching(self, wanted: NodeFilter) -> Iterable[int]:
        found: Iterable[int] = range(1, self.size)
        if wanted.states:
            state, states = self._columns["state"], {STATES.index(each) for each in wanted.states}
            found = [number for number in found if state[number] in states]
        if wanted.framings:
            framing, letters = (
                self._columns["framing"],
                {ord(each) for each in wanted.framings if len(each) == 1},
            )
            found = [number for number in found if framing[number] in letters]
        words = [word.encode() for word in wanted.text.casefold().split()]
        if words:
            holding = self._holding(words)
            among = None if isinstance(found, range) else frozenset(found)
            found = [number for number in holding if number and (among is None or number in among)]
        return found

    def _holding(self, words: list[bytes]) -> Iterator[int]:
        """Yield the rows whose text holds every word; the rarest is looked for first."""
        folds, starts = self._columns["folds"], self._columns["folded"]
        first, *others = sorted(words, key=folds.count) if len(words) > 1 else words
        at = folds.find(first)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            end = starts[number + 1]
            if all(folds.find(word, starts[number], end) >= 0 for word in others):
                yield number
            at = folds.find(first, end)


def read_listing(folder: Path) -> Listing | None:
    """Return the rows kept beside a run's journal; None when there are none that fit it."""
    found = load_listing(folder, SCHEMA)
    if found is None:
        return None
    try:
        return Listing(*found)
    except (ValueError, KeyError, TypeError):
        return None


def keep_listing(reader: RunReader, preset: Preset) -> None:
    """Keep the rows of a large run beside its journal.

    Raises:
        StoreError: the disk refused; the former rows stand.
    """
    if len(reader.tree.nodes) >= WORTH:
        reader.save_listing(encoded(reader, preset), SCHEMA)


def encoded(reader: RunReader, preset: Preset) -> Iterator[bytes]:
    """Yield a run's rows as bytes."""
    nodes = list(reader.tree.nodes.values())
    labels = {label: number for number, label in enumerate(dict.fromkeys(label_of(n, preset) for n in nodes))}
    columns = {**_structure(nodes), **_values(nodes, preset, labels), **_texts(nodes)}
    parts = [(name, _bytes(columns[name])) for name in (*_NUMBERS, *_BYTES)]
    entry = entry_of(reader.folder, reader.tree)
    started = reader.tree.started
    about = {
        "started": started.model_dump(mode="json") if started else None,
        "entry": entry.model_dump(mode="json") if entry else None,
        "figures": run_json(reader.tree, preset),
        "labels": list(labels),
        "columns": [(name, len(part)) for name, part in parts],
    }
    yield json.dumps(about).encode() + b"\n"
    for _, part in parts:
        yield part


def _bytes(column: Any) -> bytes:
    return column.tobytes() if isinstance(column, array) else bytes(column)


def _structure(nodes: list[Node]) -> dict[str, Any]:
    at = {node.id: number for number, node in enumerate(nodes)}
    first, child = array("I", [0]), array("I")
    for node in nodes:
        child.extend(at[each] for each in node.children)
        first.append(len(child))
    places = array("I", bytes(4 * len(nodes)))
    for place, number in enumerate(sorted(range(len(nodes)), key=lambda n: sort_key(nodes[n].id))):
        places[number] = place
    return {
        "parent": array("i", (at[n.parent] if n.parent is not None else -1 for n in nodes)),
        "first": first,
        "child": child,
        "depth": array("H", (n.depth for n in nodes)),
        "place": places,
        "framing": bytes(ord(n.framing) if n.framing else 0 for n in nodes),
        "ids": "\n".join(n.id for n in nodes).encode(),
    }


def _values(nodes: list[Node], preset: Preset, labels: dict[str, int]) -> dict[str, Any]:
    def value(node: Node) -> float:
        found = sort_value(node, preset)
        return nan if found is None else float(found)

    return {
        "total": array("b", (n.total if n.scores else -1 for n in nodes)),
        "round": array("I", (n.round for n in nodes)),
        "label": array("I", (labels[label_of(n, preset)] for n in nodes)),
        "value": array("d", (value(n) for n in nodes)),
        "state": bytes(STATES.index(state_of(n)) for n in nodes),
        "role": bytes(_ROLES.index(n.role.value if n.role else "") for n in nodes),
    }


def _texts(nodes: list[Node]) -> dict[str, Any]:
    shown = (_CUT.join(_plain((short(n.statement), n.position, n.cwe))) for n in nodes)
    folded = (_CUT.join((*_plain((n.id, n.statement, n.position, n.cwe)), "")).casefold() for n in nodes)
    texts, text = _joined(shown)
    folds, starts = _joined(folded)
    return {"texts": texts, "text": text, "folds": folds, "folded": starts}


def _plain(texts: Collection[str]) -> Iterator[str]:
    """Yield texts without the character that parts them."""
    return (text.replace(_CUT, " ") for text in texts)


def _joined(texts: Iterable[str]) -> tuple[bytes, "array[int]"]:
    """Return texts behind one another, and where each begins; the end comes last."""
    starts, parts, at = array("Q", [0]), [], 0
    for text in texts:
        part = text.encode("utf-8", "replace")
        parts.append(part)
        at += len(part)
        starts.append(at)
    return b"".join(parts), starts
