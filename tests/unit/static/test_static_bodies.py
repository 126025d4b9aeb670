"""What the static performer hands to the engine breaks no rule of the engine."""

from pathlib import Path

import pytest

from tests.unit.static.cases import FIXTURES, read_cases
from treewright.explore.rules.body import check_body
from treewright.performers.static.audit import audit, read_sources
from treewright.performers.static.body import Located, derivation
from treewright.presets.loader import load_preset


@pytest.mark.requirement("exploration:offline:facts-only")
@pytest.mark.requirement("audit:bodies:no-violation")
def test_no_finding_of_any_case_breaks_a_rule_of_the_engine(tmp_path: Path) -> None:
    preset = load_preset("code-audit")
    for index, case in enumerate([*read_cases(FIXTURES), *read_cases(FIXTURES / "unseen")]):
        (tmp_path / f"case{index}.py").write_text(case.code, encoding="utf-8")
    sources = read_sources(tmp_path)
    found = audit(tmp_path, workers=1).findings
    faults = [
        (finding.rule, violation.rule, violation.field, violation.quote)
        for finding in found
        for violation in check_body(preset, derivation(preset, finding, Located(""), sources.lines), "en")
        if violation.field not in {"parent_framing", "verdict_provisional"}
    ]
    assert not sorted(set(faults))
    assert len({finding.rule for finding in found}) > 80
