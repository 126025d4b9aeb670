"""The threat model: every test that it names exists, in both languages the same ones; licences are what they are said to be."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.unit.repository.source import ROOT
from tools import licences

PAGES = ("docs/security.md", "docs/security.zh.md")
_NAMED = re.compile(r"`((?:tests|extension/test)/[\w/.-]+\.(?:py|ts))(?:::(\w+))?`")


@cache
def functions(path: Path) -> frozenset[str]:
    """Return the names of a test module's functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def named(page: str) -> list[tuple[str, str]]:
    """Return the tests that a page names."""
    return [(path, test) for path, test in _NAMED.findall((ROOT / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.requirement("trust:document:checked")
def test_every_test_that_the_page_names_exists(page: str) -> None:
    found = named(page)
    assert len(found) > 40
    for path, test in found:
        assert (ROOT / path).is_file(), path
        assert not test or test in functions(ROOT / path), f"{path}::{test}"


@pytest.mark.requirement("trust:document:checked")
def test_both_languages_name_the_same_tests() -> None:
    english, chinese = (sorted(set(named(page))) for page in PAGES)
    assert english == chinese


@pytest.mark.parametrize("page", PAGES)
def test_every_row_of_a_table_names_a_test(page: str) -> None:
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    heads = [row for row in rows if not _NAMED.search(row)]
    assert len(heads) == 3, heads  # the first line of each table


@pytest.mark.requirement("trust:licences:listed")
def test_every_package_is_listed_with_the_licence_that_it_states() -> None:
    assert licences.faults(ROOT) == []


def test_a_package_that_is_not_listed_is_told(tmp_path: Path) -> None:
    for name in ("requirements", "extension"):
        (tmp_path / name).mkdir()
    (tmp_path / "requirements" / "runtime.txt").write_text(
        "nowhere-listed==1 \\\n    --hash=sha256:0\n", encoding="utf-8"
    )
    lock = '{"packages": {"": {}, "node_modules/a": {"version": "1"}}}'
    (tmp_path / "extension" / "package-lock.json").write_text(lock, encoding="utf-8")
    (tmp_path / "LICENSE-NOTICES").write_text("x\n", encoding="utf-8")
    told = licences.faults(tmp_path)
    assert len(told) == 3
    assert "nowhere-listed" in told[0]
