"""Pages and their translations."""

import json
from pathlib import Path

import pytest

from treewright.presets.documents import pair_text_faults, source_digest
from treewright.presets.validator import validate_paths

SOURCE = """# Title

English · [中文](page.zh.md)

Run `treewright validate` with `--format json` to see every fault of a file at once.

## Second

```sh
treewright validate  # look at everything
```
"""
GOOD = """# 标题

[English](page.md) · 中文

运行 `treewright validate` 并加上 `--format json`,即可一次看到文件的所有错误。

## 第二节

```sh
treewright validate  # 检查全部
```
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "page.md").write_text(SOURCE, encoding="utf-8")
    (folder / "page.zh.md").write_text(GOOD, encoding="utf-8")
    manifest(folder)
    return folder


def manifest(folder: Path, **change: object) -> None:
    pages = {"docs/page.md": {"zh": "docs/page.zh.md", "digest": source_digest(SOURCE)}}
    data = {"source": "en", "translations": ["zh"], "pages": pages, **change}
    (folder / "languages.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


def told(folder: Path) -> list[str]:
    return [str(f).removeprefix(f"{folder}/") for f in validate_paths([folder])]


def test_a_good_pair_has_no_fault(docs: Path) -> None:
    assert told(docs) == []


@pytest.mark.requirement("presets:documents:digest")
def test_a_digest_does_not_depend_on_line_ends_and_a_changed_source_makes_the_pair_stale(docs: Path) -> None:
    (docs / "page.md").write_bytes(("\ufeff" + SOURCE).replace("\n", "\r\n").encode())
    assert told(docs) == []
    changed = SOURCE.replace("at once", "together")
    (docs / "page.md").write_text(changed, encoding="utf-8")
    assert told(docs) == [
        "languages.json:7:3: E603 docs/page.md changed since docs/page.zh.md was reviewed; review it, then set the digest to "
        + source_digest(changed)
    ]


@pytest.mark.requirement("presets:documents:manifest")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"source": "en",\n "pages": }', "2:11: E601 not valid JSON: Expecting value"),
        ("[]", "1:1: E601 the manifest must be a map with source, translations and pages"),
        ('{"source": "en", "translations": ["ZH!"], "pages": {}}', "1:18: E601 ZH! is no language tag"),
        ('{"source": "en", "translations": ["zh"], "pages": {\n "docs/page.md": {"zh": "docs/page.zh.md"}}}', "2:2: E601 docs/page.md: an entry holds zh and digest, or not_translated"),
        ('{"source": "en", "translations": ["zh"], "pages": {\n "docs/page.md": {"not_translated": ""}}}', "2:2: E601 docs/page.md: an entry maps keys to text"),
        ('{"source": "en", "translations": ["zh"], "pages": {\n "../x.md": {"not_translated": "y"}}}', "2:2: E601 ../x.md: a page is named by its path below the project"),
        ('{"source": "en", "translations": ["zh"], "pages": {\n "docs/page.md": {"zh": "docs/page.zh.md", "digest": "12"}}}', "2:2: E601 docs/page.md: digest must be a SHA-256 in lower case hexadecimal digits"),
    ],
)  # fmt: skip
def test_a_malformed_manifest_is_told_with_its_place(text: str, fault: str, docs: Path) -> None:
    (docs / "languages.json").write_text(text, encoding="utf-8")
    assert [line for line in told(docs) if line.startswith("languages")] == [f"languages.json:{fault}"]


@pytest.mark.requirement("presets:documents:manifest")
def test_a_missing_half_and_an_unlisted_page_are_told(docs: Path) -> None:
    (docs / "page.zh.md").unlink()
    (docs / "page.md").write_text("# Title\n", encoding="utf-8")
    (docs / "more.md").write_text("# More\n", encoding="utf-8")
    assert told(docs) == [
        "languages.json:6:2: E609 docs/more.md is not listed; translate it, or list it under not_translated with the reason",
        "languages.json:7:3: E602 docs/page.zh.md is listed and cannot be read",
    ]
    manifest(docs, pages={"docs/": {"not_translated": "a folder"}})
    assert told(docs) == []


@pytest.mark.requirement("presets:documents:pairs")
@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("[English](page.md) · 中文", "中文", ["1:1: E604 a banner with a link to page.md is missing from the first five lines"]),
        ("## 第二节", "### 第二节", ["7:1: E605 the heading should have level 2, as Second on line 7 there"]),
        ("## 第二节\n", "", ["1:1: E605 1 heading here, 2 in the source"]),
        ("treewright validate  # 检查全部", "treewright check  # 检查全部", ["9:1: E606 the code block differs from the one on line 9 of the source"]),
        ("```sh\n", "```bash\n", ["9:1: E606 the code block differs from the one on line 9 of the source"]),
        ("`--format json`", "`--格式 json`", ["1:1: E607 the machine token `--format json` of the source is missing here (1 times)", "5:30: E607 the machine token `--格式 json` is not in the source"]),
        ("即可一次看到文件的所有错误", "to see every fault of a file at once, which is what was asked for here", ["5:1: E608 this paragraph is not in zh"]),
    ],
)  # fmt: skip
def test_a_translation_that_departs_from_its_source_is_told(old: str, new: str, faults: list[str]) -> None:
    assert GOOD.count(old) == 1
    found = pair_text_faults(SOURCE, GOOD.replace(old, new), "page.md", "page.zh.md", "zh")
    assert sorted(str(f).removeprefix("page.zh.md:") for f in found) == faults


@pytest.mark.requirement("presets:documents:language")
def test_comments_and_code_do_not_make_a_page_chinese() -> None:
    english = GOOD.split("\n\n")
    english[0], english[2] = (
        "# Title",
        "Run `treewright validate` with `--format json` to see it all. <!-- 一次看到文件的所有错误,一次看到文件的所有错误 -->",
    )
    english[3] = "## Second"
    found = pair_text_faults(
        SOURCE, "\n\n".join(english).replace("中文", "zh"), "page.md", "page.zh.md", "zh"
    )
    assert {f.rule for f in found} == {"E608"}


@pytest.mark.requirement("presets:documents:language")
def test_in_a_language_of_latin_letters_a_paragraph_left_as_it_was_is_told() -> None:
    german = (
        SOURCE.replace("page.zh.md", "page.md")
        .replace("# Title", "# Titel")
        .replace("## Second", "## Zweites")
    )
    found = pair_text_faults(SOURCE.replace("zh", "de"), german, "page.md", "page.de.md", "de")
    assert [(f.rule, f.line) for f in found] == [("E608", 5)]
