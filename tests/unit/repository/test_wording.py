"""What people read agrees in number: one node, two nodes."""

import re

import pytest

from tests.unit.repository.source import ROOT, tracked_files
from treewright.counted import counted

NOUNS = "errors|warnings|files|findings|nodes|tasks|runs|sessions|presets|rounds|framings|calls|faults|branches|edits|places|sites"
_NUMBERED = re.compile(rf"\\}} (?:{NOUNS})\\b")
ALLOWED = {"server/treewright/performers/model/compose.py": "a model reads it, not a person"}


@pytest.mark.parametrize(
    ("count", "noun", "plural", "said"),
    [
        (0, "node", "", "0 nodes"),
        (1, "node", "", "1 node"),
        (2, "node", "", "2 nodes"),
        (1, "branch", "branches", "1 branch"),
        (3, "branch", "branches", "3 branches"),
    ],
)
def test_a_noun_agrees_with_its_number(count: int, noun: str, plural: str, said: str) -> None:
    assert counted(count, noun, plural) == said


def test_no_sentence_sets_a_plural_behind_any_number() -> None:
    told = [
        f"{name}:{number}: say it with treewright.counted"
        for path in tracked_files()
        if (name := path.relative_to(ROOT).as_posix()).startswith("server/treewright/")
        and path.suffix == ".py"
        and name not in ALLOWED
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _NUMBERED.search(line)
    ]
    assert told == []
