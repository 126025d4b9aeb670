"""The manifest of requirements agrees with the tests; and the check itself can fail."""

from pathlib import Path

import pytest

from tests import requirement_manifest as manifest

PROVEN = '["area:thing:works"]\nsentence = "It works."\nsource = "x 1"\n'
PLANNED = '["area:thing:later"]\nsentence = "It will."\nsource = "x 2"\nplanned = true\n'
TEST = 'import pytest\n@pytest.mark.requirement("area:thing:works")\ndef test_it() -> None: ...\n'


def checkout(folder: Path, areas: str, test: str, budget: str = "") -> Path:
    """Lay out a checkout with one manifest file and one test."""
    (folder / "tests/requirements").mkdir(parents=True)
    (folder / "tests/requirements/area.toml").write_text(areas, encoding="utf-8")
    (folder / "tests/requirements/planned.toml").write_text(budget, encoding="utf-8")
    (folder / "tests/test_area.py").write_text(test, encoding="utf-8")
    return folder


def test_every_requirement_is_proven_or_planned_and_every_claim_is_known() -> None:
    told = manifest.faults()
    assert not told, "\n" + "\n".join(told)


def test_agreement_is_silent(tmp_path: Path) -> None:
    assert manifest.faults(checkout(tmp_path, PROVEN + PLANNED, TEST, "area = 1\n")) == []


@pytest.mark.parametrize(
    ("areas", "test", "budget", "told"),
    [
        pytest.param(PROVEN, "", "", "no test proves area:thing:works", id="uncovered"),
        pytest.param(PLANNED, TEST, "area = 1\n", "area:thing:works is in no", id="unknown"),
        pytest.param(PROVEN + PLANNED, TEST.replace("works", "later"), "area = 1\n", "remove its planned", id="done"),
        pytest.param(PROVEN + PLANNED, TEST, "", "1 are planned, and planned.toml allows 0", id="over-budget"),
        pytest.param(PROVEN + PLANNED, TEST, "area = 2\n", "may go down from 2 to 1", id="stale-budget"),
        pytest.param(PROVEN, TEST.replace('"area:thing:works"', "NAME"), "", "must be a plain string", id="computed"),
    ],
)  # fmt: skip
def test_each_disagreement_is_told(tmp_path: Path, areas: str, test: str, budget: str, told: str) -> None:
    assert told in "\n".join(manifest.faults(checkout(tmp_path, areas, test, budget)))


@pytest.mark.parametrize(
    "claim",
    [
        'pytestmark = [pytest.mark.requirement("area:thing:works", "area:thing:later")]\n',
        'CASES = [pytest.param(1, marks=pytest.mark.requirement("area:thing:works", "area:thing:later"))]\n',
    ],
)
def test_claims_of_a_module_and_of_a_case_count(tmp_path: Path, claim: str) -> None:
    root = checkout(tmp_path, PROVEN + PLANNED.replace("planned = true\n", ""), claim)
    assert manifest.faults(root) == []


def test_claims_of_typescript_tests_count(tmp_path: Path) -> None:
    root = checkout(tmp_path, PROVEN, "")
    (root / "extension/test").mkdir(parents=True)
    (root / "extension/test/a.test.ts").write_text('requirement("area:thing:works")\n', encoding="utf-8")
    assert manifest.faults(root) == []


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('["thing"]\nsentence = "x"\nsource = "y"\n', "not of the form"),
        ('["a:b:c"]\nsource = "y"\n', "lacks its sentence"),
        ('["a:b:c"]\nsentence = "x"\nsource = " "\n', "lacks its source"),
        ('["a:b:c"]\nsentence = "x"\nsource = "y"\nplaned = true\n', "unknown keys: planed"),
        ('["a:b:c"]\nsentence = "x"\nsource = "y"\nplanned = "no"\n', "no boolean"),
    ],
)
def test_a_malformed_entry_is_refused(tmp_path: Path, entry: str, told: str) -> None:
    root = checkout(tmp_path, entry, "")
    with pytest.raises(ValueError, match=told):
        manifest.read_requirements(root / "tests/requirements")


def test_an_identifier_is_listed_once(tmp_path: Path) -> None:
    root = checkout(tmp_path, PROVEN, "")
    (root / "tests/requirements/other.toml").write_text(PROVEN, encoding="utf-8")
    with pytest.raises(ValueError, match=r"is listed in area\.toml too"):
        manifest.read_requirements(root / "tests/requirements")


def test_shrinking_never_raises_a_number(tmp_path: Path) -> None:
    two_planned = PLANNED + PLANNED.replace(":later", ":much-later")
    root = checkout(tmp_path, two_planned, "", "area = 1\n")
    folder = root / "tests/requirements"
    (folder / "new.toml").write_text(PLANNED.replace("area:", "new:"), encoding="utf-8")
    manifest.shrink_budget(folder)
    assert manifest.read_budget(folder) == {"area": 1, "new": 1}


def test_planned_is_taken_from_what_is_proven_and_nothing_else_is_touched(tmp_path: Path) -> None:
    comment = "# kept as it is\n"
    root = checkout(tmp_path, comment + PLANNED + PROVEN + "planned = true\n", TEST)
    manifest.take_planned_from_proven(root)
    text = (root / "tests/requirements/area.toml").read_text(encoding="utf-8")
    assert text == comment + PLANNED + PROVEN
