"""The pages of docs/reference are what the code would have them, and leave nothing unsaid."""

from pathlib import Path

import pytest

from tests.unit.repository.source import ROOT
from tools.reference.__main__ import FOLDER, all_pages, pages, stale
from tools.reference.settings import comments
from tools.reference.words import LANGUAGES, Words, translations
from treewright.data import data_path
from treewright.data.codes import code_meanings
from treewright.store.settings import trust_rules
from treewright.surfaces.cli.main import COMMANDS, SECTIONS


@pytest.mark.requirement("docs:reference:generated")
def test_every_page_is_as_the_code_has_it() -> None:
    assert stale(FOLDER, all_pages()) == [], "run make docs"
    assert {path.name for path in FOLDER.iterdir()} == set(all_pages())


@pytest.mark.requirement("docs:reference:languages")
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_the_reference_is_translated_and_no_translation_is_left_over(language: str) -> None:
    words = Words(language)
    pages(words)
    assert words.missing == [], "python -m tools.reference --missing"
    assert sorted(set(translations(language)) - words.used) == [], (
        f"take these out of tools/reference/{language}"
    )


def test_a_page_that_was_changed_by_hand_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("as it should be\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("changed\n", encoding="utf-8")
    assert stale(tmp_path, {"a.md": "as it should be\n", "b.md": "as it was\n", "c.md": "x\n"}) == [
        "b.md",
        "c.md",
    ]


def test_every_command_stands_in_one_group_of_the_help() -> None:
    grouped = [name for names in SECTIONS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)


def test_every_setting_says_what_it_is() -> None:
    assert [key for key in trust_rules() if key not in comments() and key != "providers"] == []


def test_every_error_code_says_what_to_do() -> None:
    assert [code for code, meaning in code_meanings().items() if not meaning.act.endswith((".", "?"))] == []


def test_every_option_says_what_it_does() -> None:
    bare = [
        line
        for line in (FOLDER / "commands.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `-") and line.rstrip().endswith("|  |")
    ]
    assert bare == []


def test_every_area_of_codes_has_a_title() -> None:
    areas = {path.stem for path in data_path("errors").glob("*.toml")}
    assert {meaning.area for meaning in code_meanings().values()} <= areas
    listed = (ROOT / "docs" / "languages.json").read_text(encoding="utf-8")
    assert [name for name in pages(Words("en")) if f'"docs/reference/{name}"' not in listed] == []
