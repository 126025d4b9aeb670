"""The front matter parser: what it accepts, where things stand, and that nothing makes it raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.presets.frontmatter import Document, read_document
from treewright.presets.marked import ListNode, MapNode, Node, ScalarNode


def plain(node: Node | None) -> object:
    """Return a node as plain text, lists and maps."""
    if isinstance(node, MapNode):
        return {entry.key.text: plain(entry.value) for entry in node.entries}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return node.text if node else None


def read(front: str) -> Document:
    return read_document(f"---\n{front}\n---\nbody\n", "a.md")


def accepted(front: str) -> object:
    document = read(front)
    assert [str(fault) for fault in document.faults] == []
    return plain(document.front)


@pytest.mark.parametrize(
    ("front", "value"),
    [
        ("a: one", {"a": "one"}),
        ("a: one two  # comment", {"a": "one two"}),
        ("a: reviewer's take  # note", {"a": "reviewer's take"}),
        ("a: C# is kept", {"a": "C# is kept"}),
        ("a: http://x.org/y", {"a": "http://x.org/y"}),
        ("a: 'it''s'", {"a": "it's"}),
        ('a: "x: y"', {"a": "x: y"}),
        ('name: "my:skill"', {"name": "my:skill"}),
        ("a: my:skill", {"a": "my:skill"}),
        ('a: "\\u00e9\\n\\"" # c', {"a": 'é\n"'}),
        ("a: \U0001f600 x", {"a": "\U0001f600 x"}),
        ("use-when: 何か、いつも。", {"use-when": "何か、いつも。"}),
        ("a:\n  b: 1\n  c:\n    d: 2\ne: 3", {"a": {"b": "1", "c": {"d": "2"}}, "e": "3"}),
        ("a:\n  - x\n  - y", {"a": ["x", "y"]}),
        ("a:\n- x\n- y\nb: z", {"a": ["x", "y"], "b": "z"}),
        ("a:\n  - k: 1\n    l: 2\n  - k: 3", {"a": [{"k": "1", "l": "2"}, {"k": "3"}]}),
        ("a:\n  - - x\n    - y\n  - z", {"a": [["x", "y"], "z"]}),
        ("a:\n  -\n    b: 1", {"a": [{"b": "1"}]}),
        ("a: []\nb: {}", {"a": [], "b": {}}),
        ("a: [x, 'y, z', \"w\"]", {"a": ["x", "y, z", "w"]}),
        ("a: [x, y,]", {"a": ["x", "y"]}),
        ("a: {b: c d, e: [f]}", {"a": {"b": "c d", "e": ["f"]}}),
        ("a: {k: http://x/y, l: z}", {"a": {"k": "http://x/y", "l": "z"}}),
        ("a: [\n  x, # first\n  y\n]\nb: z", {"a": ["x", "y"], "b": "z"}),
        ("a: >-\n  one\n  two\n\n  three\nb: z", {"a": "one two\nthree", "b": "z"}),
        ("a: |\n  one\n    two\nb: z", {"a": "one\n  two\n", "b": "z"}),
        ("a: |-\n  # no comment\n  x: y", {"a": "# no comment\nx: y"}),
        ("# first\n\na: b\n  # deep comment\nc: d", {"a": "b", "c": "d"}),
        ("'quoted key': v", {"quoted key": "v"}),
        ("a:\nb: c", {"a": "", "b": "c"}),
        ("", {}),
    ],
)
def test_the_subset_is_read(front: str, value: object) -> None:
    assert accepted(front) == value


@pytest.mark.requirement("exploration:preset:bom-and-crlf")
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_byte_order_mark_and_any_line_ends_are_handled(start: str, line_end: str) -> None:
    text = start + line_end.join(["---", "a: b", "c: 'open", "---", "body", ""])
    document = read_document(text, "a.md")
    assert plain(document.front) == {"a": "b", "c": ""}
    assert [(f.line, f.column, f.rule) for f in document.faults] == [(3, 4, "E112")]
    assert document.body == ("body", "")
    assert document.body_line == 5
    assert document.text == read_document(text.replace(line_end, "\n"), "a.md").text


def test_blanks_and_tabs_after_the_delimiters_are_tolerated() -> None:
    document = read_document("---\t \na: b\n--- \t\nbody", "a.md")
    assert document.faults == ()
    assert plain(document.front) == {"a": "b"}


def test_columns_count_code_points_and_not_bytes_or_utf16_units() -> None:
    document = read("a: '\U0001f600é' x")
    assert [(f.line, f.column, f.end_column) for f in document.faults] == [(2, 9, 10)]


def test_a_fault_does_not_hide_the_keys_after_it() -> None:
    document = read("a: 'open\nb: [1\nc: &x y\nd: fine")
    assert plain(document.front) == {"a": "", "b": "", "c": "", "d": "fine"}
    assert [f.rule for f in document.faults] == ["E112", "E110", "E107"]


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"])
def test_only_line_ends_end_a_line(separator: str) -> None:
    document = read(f"a: one{separator}two\nb: 'x' y")
    assert [f.line for f in document.faults if f.rule == "E106"] == [3]


_PIECES = st.sampled_from(
    ["---", "a", "b-c", ":", ": ", " ", "  ", "\n", "\n  ", "- ", "-", "[", "]", "{", "}", ",", "'", '"', "#", " #",
     "|", ">-", "\t", "\\", "\\u12", "&", "*", "!", "<<", "...", "é", "\U0001f600", "1", "yes", "\r\n", "\x00", "`", "@"]
)  # fmt: skip


@given(
    st.one_of(
        st.text(),
        st.lists(_PIECES).map("".join),
        st.lists(_PIECES).map(lambda p: "---\n" + "".join(p) + "\n---\n"),
    )
)
def test_no_text_makes_it_raise_and_every_fault_lies_in_the_text(text: str) -> None:
    document = read_document(text, "a.md")
    lines = document.text.split("\n")
    for fault in document.faults:
        assert 1 <= fault.line <= len(lines)
        # A tab in the indentation is read on as two spaces, which may move what follows on its line.
        room = len(lines[fault.line - 1]) + lines[fault.line - 1].count("\t")
        assert 1 <= fault.column <= room + 1
        assert fault.end_column >= fault.column


_TEXT = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
_VALUES = st.recursive(
    _TEXT, lambda v: st.lists(v, max_size=3) | st.dictionaries(_TEXT, v, max_size=3), max_leaves=6
)


def _flow(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    return "'" + str(value).replace("'", "''") + "'"


@given(_VALUES)
def test_what_is_written_in_brackets_is_read_back(value: object) -> None:
    assert accepted(f"a: {_flow(value)}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("x", "text"), ("12", "number"), ("1e3", "number"), ("0x1f", "number"), ("yes", "flag"), ("Off", "flag"), ("N", "text"),
     ("~", "nothing"), ("null", "nothing"), ("2026-11-30", "date"), ("1.2.3", "text"), ("no one", "text")],
)  # fmt: skip
def test_what_yaml_would_take_for_something_else_than_text_is_known(text: str, kind: str) -> None:
    document = read(f"a: {text}")
    assert document.front is not None
    value = document.front.get("a")
    assert isinstance(value, ScalarNode)
    assert value.kind == kind


@pytest.mark.parametrize(
    "front",
    [
        "a: " + "[" * 5000,
        "a: " + "{b: " * 5000,
        "a:\n  " + "- " * 5000 + "x",
        "\n".join(" " * i + "a:" for i in range(5000)),
        "a: " + "[" * 10 + "]" * 5000,
    ],
)
def test_nesting_thousands_deep_is_refused_and_does_not_crash(front: str) -> None:
    document = read(front)
    assert {f.rule for f in document.faults} <= {"E117", "E111"}
    assert document.faults
