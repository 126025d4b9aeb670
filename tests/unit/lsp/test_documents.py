"""Open texts follow edits in every unit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from treewright.surfaces.lsp.documents import Documents
from treewright.workspace.positions import LineIndex, Units

TEXT = st.text(st.sampled_from("ab\n\r😀é漢"), max_size=30)


def opened(text: str, units: Units = "utf-16") -> Documents:
    documents = Documents()
    documents.units = units
    documents.open(types.TextDocumentItem("file:///a.py", "python", 1, text))
    return documents


def change(documents: Documents, range_: Any, text: str) -> str:
    event: Any = (
        types.TextDocumentContentChangePartial(range=range_, text=text)
        if range_
        else types.TextDocumentContentChangeWholeDocument(text=text)
    )
    identifier = types.VersionedTextDocumentIdentifier(version=2, uri="file:///a.py")
    documents.change(types.DidChangeTextDocumentParams(text_document=identifier, content_changes=[event]))
    document = documents.get("file:///a.py")
    assert document
    return document.text


@pytest.mark.requirement("lsp:positions:edits")
@given(TEXT, st.integers(0, 30), st.integers(0, 30), TEXT, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_an_edit_changes_exactly_its_range(text: str, one: int, other: int, new: str, units: Units) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    if any(text[at - 1 : at + 1] == "\r\n" for at in (start, end)):
        return  # no position lies inside a line end
    index = LineIndex(text)
    low, high = index.position(start, units), index.position(end, units)
    range_ = types.Range(types.Position(low.line, low.column), types.Position(high.line, high.column))
    assert change(opened(text, units), range_, new) == text[:start] + new + text[end:]


def test_a_form_feed_or_line_separator_ends_no_line() -> None:
    text = "a\x0cb\u2028c\nd\n"
    range_ = types.Range(types.Position(1, 0), types.Position(1, 1))
    assert change(opened(text), range_, "D") == "a\x0cb\u2028c\nD\n"


def test_the_whole_text_may_be_replaced() -> None:
    assert change(opened("a"), None, "b") == "b"


def test_a_range_beyond_the_end_means_the_end() -> None:
    range_ = types.Range(types.Position(9, 9), types.Position(99, 0))
    assert change(opened("a\n"), range_, "b") == "a\nb"


def test_a_document_is_found_by_any_spelling_of_its_address() -> None:
    documents = Documents()
    documents.open(types.TextDocumentItem("file:///x%20y/a.py", "python", 1, "t"))
    found = documents.get("file:///x y/a.py")
    assert found
    assert found.uri == "file:///x%20y/a.py"
    documents.close("file:///x%20y/./a.py")
    assert documents.get("file:///x%20y/a.py") is None
