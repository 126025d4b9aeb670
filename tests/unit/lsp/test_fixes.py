"""Fixes as edits of texts: exactly what was proposed, or nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from treewright.app.findings import Finding
from treewright.store.decisions import finding_key
from treewright.surfaces.lsp.documents import Documents
from treewright.surfaces.lsp.fixes import ClientEdits, workspace_edit
from treewright.tree.citation import Edit
from treewright.tree.run import Role
from treewright.workspace.positions import LineIndex, Position, Units

LINE = st.text(st.sampled_from("ab 😀é"), max_size=5)
LINES = st.lists(LINE, min_size=1, max_size=6)


def finding(*edits: Edit) -> Finding:
    return Finding(
        run="r",
        node="D1",
        workspace=Path("/w"),
        path="a.py",
        start=1,
        end=1,
        quote="x",
        checked_at=0,
        statement="s",
        title="t",
        label="CONFIRMED",
        role=Role.ADVANCES,
        severity=3,
        total=12,
        cwe="",
        key=finding_key("r", "", "x"),
        edits=edits,
    )


def documents(text: str, units: Units = "utf-16") -> Documents:
    found = Documents()
    found.units = units
    found.open(types.TextDocumentItem("file:///w/a.py", "python", 3, text))
    return found


def edited(text: str, edit: Edit, moved: int = 0, units: Units = "utf-16") -> str | None:
    """Return a text with a fix applied as a client would, or None when it is not offered."""
    client = ClientEdits(versioned=True, annotated=False, units=units)
    made = workspace_edit(finding(edit), documents(text, units), moved, client)
    if made is None:
        return None
    (change,) = made["documentChanges"]
    assert change["textDocument"]["version"] == 3
    index = LineIndex(text)
    (each,) = change["edits"]
    low = index.offset(_position(each["range"]["start"]), units)
    high = index.offset(_position(each["range"]["end"]), units)
    return text[:low] + each["newText"] + text[high:]


def _position(at: dict[str, Any]) -> Position:
    return Position(at["line"], at["character"])


@pytest.mark.requirement("lsp:fix:exact")
@given(LINES, st.data(), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.sampled_from(["\n", "\r\n"]))
def test_a_fix_replaces_its_lines_and_nothing_else(
    lines: list[str], data: st.DataObject, units: Units, ending: str
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    new = data.draw(st.lists(LINE, max_size=4))
    text = "".join(line + ending for line in lines)
    edit = Edit(
        path="a.py",
        start=first + 1,
        end=last + 1,
        old="".join(line + "\n" for line in lines[first : last + 1]),
        new="".join(line + "\n" for line in new),
    )
    wanted = "".join(line + ending for line in [*lines[:first], *new, *lines[last + 1 :]])
    assert edited(text, edit, units=units) == wanted


@given(LINES, LINES)
def test_a_fix_moves_with_its_finding(above: list[str], lines: list[str]) -> None:
    text = "".join(line + "\n" for line in [*above, *lines])
    edit = Edit(path="a.py", start=1, end=1, old=lines[0] + "\n", new="NEW\n")
    wanted = "".join(line + "\n" for line in [*above, "NEW", *lines[1:]])
    assert edited(text, edit, moved=len(above)) == wanted


def test_an_insertion_puts_lines_before_a_line() -> None:
    edit = Edit(path="a.py", start=2, end=1, old="", new="import os\n")
    assert edited("a\nb\n", edit) == "a\nimport os\nb\n"


@pytest.mark.parametrize("text", ["other\n", "x \n", "", "\nx = 1"])
def test_nothing_is_offered_where_the_old_text_does_not_stand(text: str) -> None:
    assert edited(text, Edit(path="a.py", start=1, end=1, old="x = 1\n", new="y\n")) is None


def test_a_last_line_without_an_end_gets_none() -> None:
    assert edited("a\nb", Edit(path="a.py", start=2, end=2, old="b\n", new="c\n")) == "a\nc"


def test_edits_that_overlap_are_refused_together() -> None:
    one = Edit(path="a.py", start=1, end=2, old="a\nb\n", new="c\n")
    other = Edit(path="a.py", start=2, end=2, old="b\n", new="d\n")
    client = ClientEdits(versioned=True, annotated=True, units="utf-16")
    assert workspace_edit(finding(one, other), documents("a\nb\n"), 0, client) is None


def test_a_client_without_versions_gets_plain_changes() -> None:
    client = ClientEdits(versioned=False, annotated=False, units="utf-16")
    edit = Edit(path="a.py", start=1, end=1, old="a\n", new="b\n")
    made = workspace_edit(finding(edit), documents("a\n"), 0, client)
    assert made
    assert list(made["changes"]) == ["file:///w/a.py"]
