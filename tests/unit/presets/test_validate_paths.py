"""Validating files and folders."""

import json
from pathlib import Path

import pytest

from treewright.presets.validator import as_json, default_paths, file_kind, validate_paths

SAMPLES = Path(__file__).parent / "samples"


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def sample(kind: str) -> str:
    return (SAMPLES / f"{kind}.md").read_text(encoding="utf-8")


@pytest.mark.requirement("exploration:validate:documents")
def test_everything_that_is_shipped_is_valid() -> None:
    assert [str(f) for f in validate_paths(default_paths())] == []


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("presets/a.md", "", "preset"),
        ("lenses/a.md", "", "lens"),
        ("presets/profiles/a.md", "", "profile"),
        ("presets/framings/a.md", "", "framing"),
        ("a.md", "---\nname: a\nroot_kind: topic\n---\n", "preset"),
        ("a.md", "\ufeff---\r\nname: a\r\nattacks: b\r\n---\r\n", "lens"),
        ("a.md", "---\nfield: a\n---\n", "profile"),
        ("a.md", "---\ntitle: a\n---\n", "page"),
        ("a.md", "# A page\n", "page"),
    ],
)
def test_what_a_file_is_shows_in_its_folder_or_its_keys(
    path: str, text: str, kind: str, tmp_path: Path
) -> None:
    assert file_kind(put(tmp_path / path, text), text) == kind


@pytest.mark.requirement("exploration:validate:one-line-a-fault")
@pytest.mark.requirement("presets:validate:line-format")
def test_a_fault_is_one_line_with_file_line_column_rule_and_message(tmp_path: Path) -> None:
    path = put(tmp_path / "presets" / "sample.md", sample("preset").replace("key: B", "key: R"))
    (fault,) = validate_paths([tmp_path])
    assert str(fault) == f"{path}:18:11: E207 the key R is already used by dimension 3"
    assert json.loads(as_json([fault]))[0] == {
        "path": str(path), "line": 18, "column": 11, "end_column": 12, "rule": "E207", "severity": "error",
        "message": "the key R is already used by dimension 3",
    }  # fmt: skip


def test_a_folder_is_walked_without_hidden_and_vendored_ones_and_without_following_links(
    tmp_path: Path,
) -> None:
    for folder in ("lenses", ".git/lenses", "node_modules/lenses", "vendor/lenses"):
        put(tmp_path / folder / "a.md", "bad")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert {f.path for f in validate_paths([tmp_path, tmp_path / "lenses" / "a.md"])} == {
        str(tmp_path / "lenses" / "a.md")
    }


@pytest.mark.requirement("presets:validate:unreadable")
@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("gone.md", None, "1:1: E100 there is no file"),
        ("bad.md", b"one\n\xff\xfe\n", "2:1: E100 bad.md is not UTF-8 on line 2"),
        ("data.json", b"{}", "1:1: E100 only Markdown files and languages.json are validated"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_fault(
    name: str, data: bytes | None, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data is not None:
        put(path, data)
    (fault,) = validate_paths([path])
    assert str(fault).startswith(f"{path}:{told}")


@pytest.mark.requirement("presets:validate:references")
def test_links_into_other_pages_are_followed(tmp_path: Path) -> None:
    put(
        tmp_path / "other.md",
        '# Top\n\n## A *second* part\n\n## A second part\n\n<a id="here"></a>\n\n```\n# No heading\n```\n',
    )
    good = [
        "other.md",
        "other.md#a-second-part",
        "other.md#a-second-part-1",
        "other.md#here",
        "https://x.org/y.md#z",
        "<other.md#top>",
    ]
    bad = ["other.md#no-heading", "other.md#a-third-part", "other/", "%6fther.mdx"]
    page = put(
        tmp_path / "page.md", "\n".join(f"[x]({target})" for target in good + bad) + "\n`[x](none.md)`\n"
    )
    assert [f.line for f in validate_paths([page])] == [len(good) + 1 + i for i in range(len(bad))]
    put(tmp_path / "other.md", "# No heading\n")
    assert [f.line for f in validate_paths([page])] == [2, 3, 4, 6, 8, 9, 10]


@pytest.mark.requirement("presets:validate:references")
def test_lines_of_examples_are_looked_up_beside_the_page_and_above(tmp_path: Path) -> None:
    put(tmp_path / "src" / "a.py", "1\n2\n3\n")
    put(tmp_path / ".git" / "HEAD", "")
    page = put(
        tmp_path / "docs" / "page.md",
        "src/a.py:3, src/a.py:1-3, other.py:99, at 12:30, http://h:8080\n`src/a.py:4`\n```\nsrc/a.py:2-5\n```\n",
    )
    assert [(f.line, f.column, f.rule) for f in validate_paths([page])] == [(2, 2, "E612"), (4, 1, "E612")]


def test_no_paths_no_faults() -> None:
    assert validate_paths([]) == []
