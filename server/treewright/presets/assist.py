"""Completion and hover for presets, profiles, lenses and framings while they are being written."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache

from treewright.data import data_path
from treewright.presets.body import headings
from treewright.presets.framings import FRAMING_SECTIONS, FRAMING_SHAPE
from treewright.presets.frontmatter import Document, read_document
from treewright.presets.lenses import LENS_SHAPE
from treewright.presets.preset_file import LETTERS, PRESET_SHAPE, SECTIONS
from treewright.presets.profiles import PROFILE_SHAPE, SECTION_FRAMINGS
from treewright.presets.shape import FlagShape, ListShape, MapShape, Shape, TextShape, shaped
from treewright.presets.validator import FileKind
from treewright.tree.citation import Frozen

_SHAPES: dict[FileKind, MapShape] = {
    "preset": PRESET_SHAPE,
    "profile": PROFILE_SHAPE,
    "lens": LENS_SHAPE,
    "framing": FRAMING_SHAPE,
}
_HEADINGS: dict[FileKind, tuple[str, ...]] = {
    "preset": SECTIONS,
    "profile": tuple(SECTION_FRAMINGS),
    "framing": FRAMING_SECTIONS,
}
_KEY = re.compile(r"(?P<lead>[ ]*(?:-[ ]+)*)(?P<key>[A-Za-z_][\w-]*)[ ]*:(?=[ ]|\Z)")
_LEAD = re.compile(r"[ ]*(?:-[ ]+)*")
_WORD = re.compile(r"[\w<>*-]*\Z")


class Suggestion(Frozen):
    """Something that could stand at the cursor.

    Attributes:
        label: what is shown and what it starts with.
        detail: one line about it; may be empty.
        insert: the text that replaces what was typed of it.
        typed: how many characters before the cursor it replaces.
    """

    label: str
    detail: str
    insert: str
    typed: int


@cache
def _keys() -> dict[str, dict[str, str]]:
    return tomllib.loads(data_path("presets", "keys.toml").read_text(encoding="utf-8"))


def hover(kind: FileKind, text: str, line: int, column: int) -> str:
    """Return what to say about the key at a place; empty when there is nothing.

    Args:
        kind: what the file is.
        text: its text as the editor holds it.
        line, column: 1-based, in code points.
    """
    document = read_document(text, "")
    lines = document.text.split("\n")
    if not 1 < line < _front_end(document):
        return ""
    for found in re.finditer(r"[A-Za-z_][\w-]*(?=[ ]*:(?:[ ]|\Z))", lines[line - 1]):
        if found.start() < column <= found.end() + 1:
            outer, _ = _place(lines, line, found.start())
            return _about(kind, (*outer, found[0]))
    return ""


def complete(kind: FileKind, text: str, line: int, column: int) -> list[Suggestion]:
    """Return what could stand at a place: keys that are missing, values that are allowed, headings.

    Args:
        kind: what the file is.
        text: its text as the editor holds it.
        line, column: 1-based place of the cursor, in code points.
    """
    document = read_document(text, "")
    lines = document.text.split("\n")
    if kind not in _SHAPES or not 1 <= line <= len(lines):
        return []
    before = lines[line - 1][: max(column - 1, 0)]
    if line >= _front_end(document):
        return list(_missing_headings(kind, document, before)) if line > _front_end(document) else []
    if line == 1:
        return []
    outer, key = _place(lines, line, len(before))
    typed = _WORD.search(before)
    word = typed[0] if typed else ""
    if key is None:
        return [s for s in _missing_keys(kind, document, outer, word) if s.label.startswith(word)]
    return [s for s in _values(kind, document, (*outer, key), word) if s.label.startswith(word)]


def _front_end(document: Document) -> int:
    """Return the 1-based line of the closing `---`; one past the last line while there is none."""
    lines = document.text.split("\n")
    closing = (n for n, line in enumerate(lines[1:], 2) if re.match(r"---[ \t]*\Z", line))
    return next(closing, len(lines) + 1)


def _place(lines: list[str], line: int, col: int) -> tuple[tuple[str, ...], str | None]:
    """Return the keys around a place, outermost first, and the key whose value the place is in, if any."""
    before = lines[line - 1][:col]
    found = _KEY.match(before)
    lead = _LEAD.match(before)
    indent = len(found["lead"] if found else lead[0] if lead else "")
    outer: list[str] = []
    dashed = before.lstrip().startswith("-")
    level = indent if not dashed else len(before) - len(before.lstrip())
    for above in reversed(lines[1 : line - 1]):
        match = _KEY.match(above)
        if match and (len(match["lead"]) < level or (dashed and len(match["lead"]) <= level)):
            level, dashed = len(above) - len(above.lstrip()), above.lstrip().startswith("-")
            outer.insert(0, match["key"])
            if level == 0 and not dashed:
                break
    if not found:
        in_list = lead is not None and "-" in lead[0]
        return (
            (tuple(outer[:-1]), outer[-1])
            if in_list and outer and not _maps_in(outer)
            else (tuple(outer), None)
        )
    return _within(tuple(outer), found["key"], before[found.end() :])


def _maps_in(outer: list[str]) -> bool:
    """Tell whether the items of the list at a path are maps."""
    shape = _shape_at(PRESET_SHAPE, tuple(outer))
    return isinstance(shape, MapShape) or (isinstance(shape, ListShape) and isinstance(shape.item, MapShape))


def _within(outer: tuple[str, ...], key: str, rest: str) -> tuple[tuple[str, ...], str | None]:
    """Go on into brackets on the line: `key: {a: 1, b` is in the map of `key`, before its next key."""
    opened = max(rest.rfind("{"), -1)
    if opened < 0 or "}" in rest[opened:]:
        return outer, key
    segment = re.split(r"[{,]", rest[opened:])[-1]
    inner, colon, _ = segment.partition(":")
    return (*outer, key), inner.strip() if colon else None


def _shape_at(shape: Shape | None, path: tuple[str, ...]) -> Shape | None:
    """Return the shape at a path, lists passed through; None when there is none."""
    while isinstance(shape, ListShape):
        shape = shape.item
    if not path:
        return shape
    if not isinstance(shape, MapShape):
        return None
    inner = shape.required.get(path[0]) or shape.optional.get(path[0]) or shape.others
    return _shape_at(inner, path[1:]) if len(path) > 1 else inner


def _about(kind: FileKind, path: tuple[str, ...]) -> str:
    table = _keys().get(kind, {})
    starred = (path[0], "*", *path[2:]) if len(path) > 2 else path
    return table.get(".".join(path)) or table.get(".".join(starred), "")


def _missing_keys(
    kind: FileKind, document: Document, outer: tuple[str, ...], word: str
) -> Iterator[Suggestion]:
    shape = _shape_at(_SHAPES[kind], outer)
    while isinstance(shape, ListShape):
        shape = shape.item
    if not isinstance(shape, MapShape):
        return
    present = {entry.key.text for entry in document.front.entries} if document.front and not outer else set()
    names = [*shape.required, *shape.optional]
    if shape.others is not None and outer == ("field_rules",):
        names += _fields(kind, document)
    for name in names:
        if name not in present:
            inner = shape.required.get(name) or shape.optional.get(name) or shape.others
            block = isinstance(inner, (MapShape, ListShape))
            insert = f"{name}:" if block else f"{name}: "
            yield Suggestion(label=name, detail=_about(kind, (*outer, name)), insert=insert, typed=len(word))


def _values(kind: FileKind, document: Document, path: tuple[str, ...], word: str) -> Iterator[Suggestion]:
    shape = _shape_at(_SHAPES[kind], path)
    while isinstance(shape, ListShape):
        shape = shape.item
    values: list[str] = []
    if isinstance(shape, TextShape) and shape.one_of:
        values = list(shape.one_of)
    elif isinstance(shape, FlagShape):
        values = ["true", "false"]
    elif path[0] == "parts" or path in (("gates", "field"), ("output_artifacts", "table")):
        values = _fields(kind, document)
    elif path in (("gates", "dim"), ("output_artifacts", "sort_by")):
        values = [dim["key"] for dim in _data(kind, document).get("score_dims", [])]
    for value in values:
        yield Suggestion(label=value, detail="", insert=value, typed=len(word))


def _data(kind: FileKind, document: Document) -> dict[str, list[dict[str, str]]]:
    return shaped(document.front, _SHAPES[kind], "").data if document.front else {}


def _fields(kind: FileKind, document: Document) -> list[str]:
    return [str(name) for name in _data(kind, document).get("node_schema", [])]


def _missing_headings(kind: FileKind, document: Document, before: str) -> Iterator[Suggestion]:
    if not before.startswith("#"):
        return
    present = [heading.title for heading in headings(document.body, document.body_line)]
    for title in _HEADINGS.get(kind, ()):
        if title not in present and f"## {title}".startswith(before):
            yield Suggestion(label=f"## {title}", detail="", insert=f"## {title}", typed=len(before))
    if kind == "preset" and before.startswith("###"):
        for letter in LETTERS:
            if not any(re.match(rf"{letter}(?:[\s:.]|\Z)", title) for title in present):
                label = f"### {letter}"
                yield Suggestion(label=label, detail="framing note", insert=label, typed=len(before))
