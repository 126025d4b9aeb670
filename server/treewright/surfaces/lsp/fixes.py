"""A proposed fix as an edit of the present texts: minimal, bound to a version, or not at all.

A fix was made for the text that was audited. It is only offered where the text that it replaces still stands, in every
file that it touches, and never for a text that moved on (field reports, "Edits while diagnostics stand").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from treewright.app.findings import Finding
from treewright.surfaces.lsp.documents import Document, Documents
from treewright.surfaces.lsp.uris import key_of, to_uri
from treewright.tree.citation import Edit
from treewright.workspace.citations import QuotedText, same_up_to_space
from treewright.workspace.decode import Decoded, read_source, split_lines
from treewright.workspace.positions import LineIndex, Position, Units, units_before

CONFIRM = "treewright-fix"


@dataclass(frozen=True, slots=True)
class Target:
    """A text that a fix changes: an open document, or a file on the disk."""

    uri: str
    version: int | None
    index: LineIndex


@dataclass(frozen=True, slots=True)
class ClientEdits:
    """What the client can do with a workspace edit.

    Attributes:
        versioned: it takes edits bound to a document's version.
        annotated: it asks before it applies what is annotated so.
        units: what a column counts.
    """

    versioned: bool
    annotated: bool
    units: Units


def target_of(documents: Documents, path: Path) -> Target | None:
    """Return the text of a file as it is now; None when it cannot be read."""
    document = documents.by_key(key_of(to_uri(path)))
    if document is not None:
        return Target(document.uri, document.version, document.index)
    read = read_source(path)
    return Target(to_uri(path), None, LineIndex(read.text)) if isinstance(read, Decoded) else None


def has_fix(finding: Finding, document: Document, moved: int) -> bool:
    """Tell cheaply whether a finding's fix still fits the file it is shown in."""
    own = [edit for edit in finding.edits if edit.path == finding.path]
    return bool(finding.edits) and all(_place(edit, document.index, moved) for edit in own)


def workspace_edit(
    finding: Finding, documents: Documents, moved: int, client: ClientEdits
) -> dict[str, Any] | None:
    """Return a finding's fix as a `WorkspaceEdit` of plain values; None when it does not fit any more.

    Args:
        finding: with its edits.
        documents: what is open.
        moved: how many lines the finding has moved down since it was checked.
        client: what the client can do.
    """
    by_path: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        by_path.setdefault(edit.path, []).append(edit)
    changed: list[tuple[Target, list[dict[str, Any]]]] = []
    for path, edits in by_path.items():
        target = target_of(documents, finding.workspace / path)
        if target is None:
            return None
        made = _text_edits(edits, target.index, moved if path == finding.path else None, client.units)
        if made is None:
            return None
        changed.append((target, made))
    if not changed:
        return None
    if not client.versioned:
        return {"changes": {target.uri: made for target, made in changed}}
    return _versioned(changed, annotated=client.annotated and len(changed) > 1, about=finding.title)


def whole_edit(target: Target, new: str, client: ClientEdits) -> dict[str, Any]:
    """Return the smallest edit that makes a text another one, bound to the text's version."""
    edit = _replacement(0, len(target.index.text), new, target.index, client.units)
    if not client.versioned:
        return {"changes": {target.uri: [edit]}}
    return {
        "documentChanges": [{"textDocument": {"uri": target.uri, "version": target.version}, "edits": [edit]}]
    }


def _versioned(
    changed: Sequence[tuple[Target, list[dict[str, Any]]]], *, annotated: bool, about: str
) -> dict[str, Any]:
    edits = [
        {
            "textDocument": {"uri": target.uri, "version": target.version},
            "edits": [{**each, "annotationId": CONFIRM} for each in made] if annotated else made,
        }
        for target, made in changed
    ]
    found: dict[str, Any] = {"documentChanges": edits}
    if annotated:
        label = about or "Proposed fix"
        found["changeAnnotations"] = {
            CONFIRM: {"label": label, "needsConfirmation": True, "description": "Proposed by Treewright"}
        }
    return found


def _text_edits(
    edits: Sequence[Edit], index: LineIndex, moved: int | None, units: Units
) -> list[dict[str, Any]] | None:
    made = []
    for edit in edits:
        first = _place(edit, index, moved)
        if first is None:
            return None
        made.append(_text_edit(edit, first, index, units))
    made.sort(key=lambda each: (each["range"]["start"]["line"], each["range"]["start"]["character"]))
    for one, other in pairwise(made):
        if _at(one["range"]["end"]) > _at(other["range"]["start"]):
            return None
    return made


def _at(position: dict[str, int]) -> tuple[int, int]:
    return position["line"], position["character"]


def _place(edit: Edit, index: LineIndex, moved: int | None) -> int | None:
    """Return the line, from 0, where an edit's old text stands now; None when that is not certain.

    Args:
        edit: of the text as it was audited.
        index: of the present text.
        moved: how far the finding moved in this file; None for another file, where the text must not have moved
            or stand there once.
    """
    if edit.end < edit.start:
        return _insertion(edit, index, moved)
    old = split_lines(edit.old.removesuffix("\n"))
    wanted = edit.start - 1 + (moved or 0)
    if _stands(old, index, wanted):
        return wanted
    if moved is not None:
        return None
    places = list(QuotedText(index.text).find(same_up_to_space(edit.old))) if edit.old.strip() else []
    if len(places) == 1 and _stands(old, index, places[0].start - 1):
        return places[0].start - 1
    return None


def _insertion(edit: Edit, index: LineIndex, moved: int | None) -> int | None:
    wanted = edit.start - 1 + (moved or 0)
    return wanted if 0 <= wanted <= len(index) - 1 and (moved is not None or edit.start == 1) else None


def _stands(old: Sequence[str], index: LineIndex, first: int) -> bool:
    if first < 0 or first + len(old) > len(index):
        return False
    return all(index.line(first + number) == line for number, line in enumerate(old))


def _text_edit(edit: Edit, first: int, index: LineIndex, units: Units) -> dict[str, Any]:
    """Return the smallest edit of the present text that does what an edit of lines says, with the text's line ends."""
    count = max(0, edit.end - edit.start + 1)
    start = index.start(first)
    end = index.start(first + count) if first + count < len(index) else len(index.text)
    return _replacement(start, end, edit.new, index, units)


def _replacement(start: int, end: int, new: str, index: LineIndex, units: Units) -> dict[str, Any]:
    old = index.text[start:end]
    ending = "\r\n" if "\r\n" in index.text else "\n"
    new = ending.join(split_lines(new))
    if old and not old.endswith(("\n", "\r")):
        new = new.removesuffix(ending)  # the last line has no end, and gets none
    same = _shared(old, new, "\r\n")
    behind = _shared(old[same:][::-1], new[same:][::-1], "\n\r")
    low, high = start + same, end - behind
    return {
        "range": {"start": _position(low, index, units), "end": _position(high, index, units)},
        "newText": new[same : len(new) - behind],
    }


def _shared(one: str, other: str, line_end: str) -> int:
    """Return how many characters two texts share at their start, never half of a line end.

    Args:
        one, other: the texts; both reversed to look from their ends.
        line_end: CR and LF in the order in which the texts have them.
    """
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    first, second = line_end[0], line_end[1]
    if count and one[count - 1] == first and second in (one[count : count + 1], other[count : count + 1]):
        count -= 1
    return count


def _position(offset: int, index: LineIndex, units: Units) -> dict[str, int]:
    at: Position = index.position(offset)
    return {"line": at.line, "character": units_before(index.line(at.line), at.column, units)}
