"""Links and symbols of a virtual document, found in its text as the editor shows it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treewright.surfaces.lsp.uris import to_uri, virtual_uri
from treewright.tree.ids import is_node_id
from treewright.workspace.citations import parse_reference
from treewright.workspace.positions import LineIndex, Units, units_before

_SPAN = re.compile(r"(`+)(?P<inner>[^`]+)\1")
_FAMILY = re.compile(r"^- (?:parent|children|replaces): (?P<ids>.*)$")
_ID = re.compile(r"(?<![\w.])(?:0|[A-LS]\d+(?:\.[A-LS]\d+)*)(?![\w.])")
_OUTLINE = re.compile(r"^\s*- (?P<id>0|[A-LS]\d+(?:\.[A-LS]\d+)*) \[")
_TITLE = re.compile(r"^(?P<marks>#{1,6}) (?P<title>.+)$|^\*\*(?P<field>[^*]+)\*\*$")
_STRING, _FIELD = 15, 8


def links(index: LineIndex, run: str, workspace: str, units: Units) -> list[dict[str, Any]]:
    """Return links to nodes and to the lines that are cited.

    Args:
        index: the document's lines.
        run: whose document it is.
        workspace: absolute folder that citations are relative to; empty when unknown.
        units: what a column counts.
    """
    found = []
    for number in range(len(index)):
        line = index.line(number)
        for start, end, target in (*_nodes(line, run), *_places(line, workspace)):
            found.append({"range": _range(number, start, end, line, units), "target": target})
    return found


def _nodes(line: str, run: str) -> Iterator[tuple[int, int, str]]:
    family = _FAMILY.match(line)
    outline = _OUTLINE.match(line)
    if family:
        for match in _ID.finditer(line, family.start("ids")):
            if is_node_id(match[0]):
                yield match.start(), match.end(), virtual_uri(run, "node", f"{match[0]}.md")
    elif outline and is_node_id(outline["id"]):
        yield outline.start("id"), outline.end("id"), virtual_uri(run, "node", f"{outline['id']}.md")


def _places(line: str, workspace: str) -> Iterator[tuple[int, int, str]]:
    if not workspace:
        return
    for match in _SPAN.finditer(line):
        reference = parse_reference(match["inner"])
        if reference is None:
            continue
        path, first, _ = reference
        file = Path(workspace) / path
        if not Path(path).is_absolute() and file.is_file():
            yield match.start("inner"), match.end("inner"), f"{to_uri(file)}#L{first}"


def symbols(index: LineIndex) -> list[dict[str, Any]]:
    """Return headings and fields as an outline."""
    starts = [(number, match) for number in range(len(index)) if (match := _TITLE.match(index.line(number)))]
    found = []
    for at, (number, match) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(index) - 1
        last = {"line": max(end, number), "character": 0}
        here = {"line": number, "character": 0}
        found.append(
            {
                "name": (match["title"] or match["field"]).strip(),
                "kind": _FIELD if match["field"] else _STRING,
                "range": {"start": here, "end": last},
                "selectionRange": {"start": here, "end": here},
            }
        )
    return found


def _range(number: int, start: int, end: int, line: str, units: Units) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": number, "character": units_before(line, start, units)},
        "end": {"line": number, "character": units_before(line, end, units)},
    }
