"""Citations of files are checked against what really stands there."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.tree.citation import Citation, CitationState
from treewright.workspace.citations import CitationChecker, QuotedText, parse_reference, same_up_to_space
from treewright.workspace.spelling import disk_spelling

SOURCE = "import os\n\ndef run(cmd):\n    # shell\n    return os.system(cmd)\n\n\ndef main():\n    run('ls')\n    run('ls')\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "a.py").write_text(SOURCE, encoding="utf-8")
    return folder


def cite(path: str, start: int = 0, end: int = 0, quote: str = "") -> Citation:
    return Citation(path=path, start=start, end=end, quote=quote)


@pytest.mark.requirement("exploration:evidence:lines-with-quote")
@pytest.mark.requirement("store:citations:verified")
@pytest.mark.parametrize(
    ("start", "end", "quote"),
    [
        (5, 5, "    return os.system(cmd)"),
        (5, 0, "return  os.system(cmd)\n"),
        (3, 5, "def run(cmd):\n# shell\n\treturn os.system(cmd)"),
        (8, 9, "def main():\r\n    run('ls')"),
    ],
)
def test_a_quote_that_equals_the_lines_up_to_white_space_is_verified(
    workspace: Path, start: int, end: int, quote: str
) -> None:
    checked = CitationChecker(workspace).check(cite("pkg/a.py", start, end, quote))
    assert (checked.state, checked.reason) == (CitationState.VERIFIED, "")


@pytest.mark.requirement("exploration:evidence:lines-corrected")
@pytest.mark.requirement("store:citations:corrected")
@pytest.mark.parametrize(
    ("start", "end", "quote", "found"),
    [
        (1, 1, "return os.system(cmd)", (5, 5)),
        (900, 901, "def run(cmd):\n    # shell", (3, 4)),
        (0, 0, "def main():", (8, 8)),
        (3, 8, "return os.system(cmd)", (5, 5)),
        (1, 1, "run('ls')", (9, 9)),
        (11, 11, "run('ls')", (10, 10)),
    ],
)
def test_a_quote_found_elsewhere_corrects_the_lines_to_the_nearest_and_says_so(
    workspace: Path, start: int, end: int, quote: str, found: tuple[int, int]
) -> None:
    checked = CitationChecker(workspace).check(cite("pkg/a.py", start, end, quote))
    assert checked.state is CitationState.CORRECTED
    assert (checked.citation.start, checked.citation.end) == found
    assert f"{found[0]}" in checked.reason


@pytest.mark.requirement("store:citations:unverified")
@pytest.mark.parametrize(
    ("path", "start", "end", "quote"),
    [
        ("pkg/a.py", 5, 5, "return subprocess.run(cmd)"),
        ("pkg/a.py", 5, 5, "os.system"[::-1]),
        ("pkg/a.py", 11, 11, ""),
        ("pkg/a.py", 5, 3, ""),
        ("pkg/a.py", 0, 0, ""),
        ("pkg/b.py", 1, 1, "import os"),
        ("pkg", 1, 1, "import os"),
        ("", 1, 1, "import os"),
        ("pkg/a.py\0", 1, 1, "import os"),
        ("x" * 5000, 1, 1, "import os"),
        ("é" * 5000, 1, 1, "import os"),
        ("é\ud800/é", 1, 1, "import os"),
    ],
)
def test_what_is_not_there_is_unverified_with_a_reason(
    workspace: Path, path: str, start: int, end: int, quote: str
) -> None:
    given_citation = cite(path, start, end, quote)
    checked = CitationChecker(workspace).check(given_citation)
    assert checked.state is CitationState.UNVERIFIED
    assert checked.reason
    assert checked.citation == given_citation


@pytest.mark.requirement("exploration:evidence:lines-weak")
@pytest.mark.requirement("store:citations:weak")
def test_lines_without_a_quote_or_with_a_part_of_one_are_weak(workspace: Path) -> None:
    checker = CitationChecker(workspace)
    assert checker.check(cite("pkg/a.py", 5, 5, " \n")).state is CitationState.WEAK
    assert checker.check(cite("pkg/a.py", 5, 5, "os.system(cmd)")).state is CitationState.WEAK
    assert checker.check(cite("pkg/a.py", 5, 5, "s.system(cmd)")).state is CitationState.UNVERIFIED


@pytest.mark.requirement("exploration:evidence:outside-workspace")
@pytest.mark.requirement("store:citations:inside")
def test_nothing_outside_the_workspace_is_looked_at(workspace: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2\n", encoding="utf-8")
    (workspace / "link.txt").symlink_to(secret)
    (workspace / "up").symlink_to(tmp_path)
    (workspace / "self").symlink_to(workspace / "self")
    (tmp_path / "ws-other").mkdir()
    (tmp_path / "ws-other" / "a.py").write_text("hunter2\n", encoding="utf-8")
    read: list[Path] = []

    def reading(path: Path) -> object:
        read.append(path)
        raise AssertionError(path)

    checker = CitationChecker(workspace, reading)  # type: ignore[arg-type]  # it must not be called
    for path in ["../secret.txt", "link.txt", "up/secret.txt", str(secret), "self", "../ws-other/a.py"]:
        checked = checker.check(cite(path, 1, 1, "hunter2"))
        assert checked.state is CitationState.UNVERIFIED, path
        assert "hunter2" not in checked.reason
    assert not read


def test_links_and_dots_that_stay_inside_are_followed(workspace: Path) -> None:
    (workspace / "alias.py").symlink_to(workspace / "pkg" / "a.py")
    checker = CitationChecker(workspace)
    for path in ["alias.py", "pkg/../pkg/a.py", "./pkg/a.py", str(workspace / "pkg" / "a.py"), "pkg\\a.py"]:
        assert checker.check(cite(path, 1, 1, "import os")).state is CitationState.VERIFIED, path


def test_a_name_in_the_other_unicode_form_finds_the_file(workspace: Path) -> None:
    (workspace / "o\u0308l").mkdir()
    (workspace / "o\u0308l" / "schön.py").write_text("x = 'scho\u0308n'\n", encoding="utf-8")
    for name in ("öl/schön.py", "öl/scho\u0308n.py", "o\u0308l\\scho\u0308n.py"):
        checked = CitationChecker(workspace).check(cite(name, 1, 1, "x = 'schön'"))
        assert checked.state is CitationState.VERIFIED, name


@pytest.mark.requirement("store:paths:unicode-form")
def test_a_typed_path_is_found_with_the_disks_spelling(tmp_path: Path) -> None:
    typed, kept = tmp_path / "ö" / "é.md", tmp_path / "o\u0308" / "e\u0301.md"
    assert disk_spelling(typed) == typed, "nothing there"
    kept.parent.mkdir()
    kept.touch()
    assert str(disk_spelling(typed)) == str(kept)
    typed.parent.mkdir()
    typed.touch()
    assert str(disk_spelling(typed)) == str(typed), "an exact match wins"
    assert disk_spelling(Path("ö/x")) == Path("ö/x")


def test_a_pipe_a_binary_and_a_device_are_not_read(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "bin").write_bytes(b"a\0b")
    checker = CitationChecker(workspace)
    for path in ["pipe", "bin"]:
        assert checker.check(cite(path, 1, 1, "a")).state is CitationState.UNVERIFIED


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(workspace: Path) -> None:
    from treewright.workspace.decode import Decoded, Unreadable, read_source

    reads: list[Path] = []

    def counting(path: Path) -> Decoded | Unreadable:
        reads.append(path)
        return read_source(path)

    checker = CitationChecker(workspace, counting)
    citation = cite("pkg/a.py", 1, 1, "import os")
    states = [checked.state for checked in checker.check_all([citation] * 3000)]
    assert states == [CitationState.VERIFIED] * 3000
    assert len(reads) == 1
    (workspace / "pkg" / "a.py").write_text("# new\nimport os\n", encoding="utf-8")
    assert checker.check(citation).state is CitationState.CORRECTED
    assert len(reads) == 2
    (workspace / "pkg" / "a.py").unlink()
    assert checker.check(citation).state is CitationState.UNVERIFIED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py:3", ("a.py", 3, 3)),
        (" src/my file.py:3-7 ", ("src/my file.py", 3, 7)),
        ("c:\\x\\a.py:12", ("c:\\x\\a.py", 12, 12)),
        ("a.py#L3-L9", ("a.py", 3, 9)),
        ("a.py:9-3", ("a.py", 9, 9)),
        ("a.py", None),
        ("a.py:0", None),
        (":3", None),
        ("a.py:99999999999", None),
        ("", None),
    ],
)
def test_references_are_read_from_text(text: str, expected: tuple[str, int, int] | None) -> None:
    assert parse_reference(text) == expected


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader_of_references(text: str) -> None:
    found = parse_reference(text)
    assert found is None or (1 <= found[1] <= found[2] and found[0])


@given(st.lists(st.sampled_from(["a", "b", "a b", "", " a", "b\u00a0c"]), min_size=1, max_size=12), st.data())
def test_every_stretch_of_lines_is_found_and_nothing_else_is(lines: list[str], data: st.DataObject) -> None:
    text = QuotedText("\n".join(lines))
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    quote = same_up_to_space("\n".join(lines[start - 1 : end]))
    if not quote:
        return
    places = list(text.find(quote))
    for place in places:
        assert same_up_to_space("\n".join(lines[place.start - 1 : place.end])) == quote
    assert any(start <= place.start <= place.end <= end for place in places)


def test_a_file_of_one_very_long_line_does_not_slow_a_search_down(workspace: Path) -> None:
    (workspace / "min.js").write_text("x " * 500_000 + "\ny\n", encoding="utf-8")
    checker = CitationChecker(workspace)
    checked = checker.check_all([cite("min.js", 2, 2, "x")] * 200)
    assert {each.state for each in checked} == {CitationState.UNVERIFIED}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.sampled_from("../pkga\\:é\0 ~*") | st.characters(), max_size=20),
    st.integers(0, 20),
    st.integers(0, 20),
    st.text(max_size=30),
)
def test_no_citation_breaks_the_checker(workspace: Path, path: str, start: int, end: int, quote: str) -> None:
    checked = CitationChecker(workspace).check(cite(path, start, end, quote))
    assert checked.state is not CitationState.VERIFIED or "a.py" in path
    assert checked.reason or checked.state is CitationState.VERIFIED


def test_what_is_kept_of_many_large_files_is_bounded(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treewright.workspace.citations._KEPT_CHARACTERS", 10_000)
    for number in range(8):
        (workspace / f"{number}.py").write_text(f"x{number} = 1\n" * 200, encoding="utf-8")
    checker = CitationChecker(workspace)
    for _ in range(2):
        for number in range(8):
            checked = checker.check(cite(f"{number}.py", 3, 3, f"x{number} = 1"))
            assert checked.state is CitationState.VERIFIED
        assert sum(text.size for _, text in checker._texts.values() if isinstance(text, QuotedText)) <= 10_000
