"""The sample project is what its list says it is."""

import ast
import tomllib
from typing import Any

import pytest

from tests.unit.repository.source import ROOT

EXAMPLES = ROOT / "docs" / "examples"
FLAWS: list[dict[str, Any]] = tomllib.loads((EXAMPLES / "flawed-shop.toml").read_text(encoding="utf-8"))[
    "flaw"
]


def lines_with(place: dict[str, str]) -> list[int]:
    """Return the numbers of the lines that hold a place's quote."""
    text = (EXAMPLES / "flawed-shop" / place["file"]).read_text(encoding="utf-8")
    return [number for number, line in enumerate(text.splitlines(), 1) if place["quote"] in line]


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: f"{flaw['file']}:{flaw['quote']}")
def test_each_flaw_and_its_twin_stand_on_one_line(flaw: dict[str, Any]) -> None:
    assert len(lines_with(flaw)) == 1
    assert "twin" not in flaw or len(lines_with(flaw["twin"])) == 1


def test_the_readme_lists_each_flaw() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [flaw["name"] for flaw in FLAWS if f"| {flaw['name']} | `{flaw['file']}` |" not in readme] == []


def test_the_sample_parses() -> None:
    for path in (EXAMPLES / "flawed-shop").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
