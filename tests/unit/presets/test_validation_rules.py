"""Each validation rule, broken once: the message with its line and column."""

import re
import tomllib
from pathlib import Path

import pytest

from treewright.data import data_path
from treewright.presets.validator import rules, validate_text

HERE = Path(__file__).parent
CASES = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["case"]
NAMES = {"preset": "sample.md", "profile": "sample.md", "lens": "sample.md", "framing": "K.md"}
# These are about files rather than texts; test_validate_paths.py and test_documents.py break them.
ABOUT_FILES = {"E100", *(f"E60{n}" for n in range(1, 10))}


def sample(kind: str) -> str:
    return (HERE / "samples" / f"{kind}.md").read_text(encoding="utf-8")


def told(kind: str, text: str, folder: Path | None = None) -> list[str]:
    faults = validate_text(kind, text, NAMES[kind], folder)  # type: ignore[arg-type]
    return [str(fault).removeprefix(NAMES[kind] + ":") for fault in faults]


@pytest.mark.parametrize("kind", NAMES)
def test_the_samples_have_no_fault(kind: str, tmp_path: Path) -> None:
    assert told(kind, sample(kind), tmp_path) == []


@pytest.mark.requirement(
    "presets:validate:rule-with-place",
    "exploration:preset:faults-located",
    "exploration:preset:root-kind",
    "exploration:preset:verdict-roles",
    "exploration:preset:convergence-metric",
    "exploration:preset:five-dimensions",
    "exploration:preset:twelve-fields",
    "exploration:preset:field-rules",
    "exploration:preset:artifacts",
    "exploration:preset:glossary-paths",
    "exploration:preset:malformed-front-matter",
)
@pytest.mark.parametrize("case", CASES, ids=[f"{c['told'][0].split()[1]}-{i}" for i, c in enumerate(CASES)])
def test_a_broken_rule_is_told_with_line_and_column(case: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text("a\nb\nc", encoding="utf-8")
    kind = str(case.get("kind", "preset"))
    text = sample(kind)
    assert text.count(str(case["old"])) == 1, "the case must change exactly one place"
    assert told(kind, text.replace(str(case["old"]), str(case["new"])), tmp_path) == case["told"]


@pytest.mark.requirement("presets:validate:every-rule-tested")
def test_every_rule_has_a_case_that_breaks_it() -> None:
    broken = {line.split()[1] for case in CASES for line in case["told"]}
    assert broken | ABOUT_FILES == set(rules())


@pytest.mark.requirement("presets:validate:every-rule-tested")
def test_every_rule_id_in_the_code_is_in_the_table() -> None:
    folder = data_path().parent / "presets"
    code = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert set(re.findall(r"\"([EW]\d{3})\"", code)) == set(rules())


@pytest.mark.requirement("presets:validate:all-faults-at-once")
def test_all_faults_of_a_file_are_told_in_reading_order() -> None:
    text = sample("preset")
    for old, new in (
        ("use-when: Never.", "use-when: 12"),
        ("root_kind: artifact", "root_kind: artefact"),
        ("key: B", "key: R"),
        ("  fix: remedy", "  fix: cure"),
        ("primary: yes-list.md", "primary: ../escape.md"),
        ("None.\n", ""),
    ):
        text = text.replace(old, new)
    lines = told("preset", text)
    assert [line.split()[1] for line in lines] == ["E121", "E123", "E207", "E209", "E211", "E217"]
    places = [tuple(map(int, line.split(":")[:2])) for line in lines]
    assert places == sorted(places)


@pytest.mark.requirement("presets:validate:no-echo")
def test_a_value_that_cannot_be_read_is_told_once_and_not_also_as_missing() -> None:
    text = sample("preset").replace('description: "A preset for tests."', 'description: "open')
    assert [line.split()[1] for line in told("preset", text)] == ["E112"]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    "text", ["", "\n", "---", "---\n---", "---\n---\n", "﻿", "\x00", "--- \n: : :\n---\n"]
)
def test_a_fragment_is_told_and_never_raises(kind: str, text: str) -> None:
    assert told(kind, text)
