"""Every Markdown case of tests/fixtures/static says exactly what the audit says."""

from pathlib import Path

import pytest

from tests.unit.static.cases import FIXTURES, Case, read_cases
from treewright.performers.static.audit import audit

CASES = read_cases(FIXTURES)


@pytest.mark.requirement("audit:cases:labelled-lines")
@pytest.mark.parametrize("case", CASES, ids=[f"{case.file}: {case.title}" for case in CASES])
def test_the_audit_says_what_the_case_says(case: Case, tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(case.code, encoding="utf-8")
    found = audit(tmp_path, workers=1)
    assert not found.not_read
    said = {(f.verdict, f.rule, line) for f in found.findings for line in (f.position.start, f.position.end)}
    missing = [entry for entry in case.expected if entry not in said]
    listing = "\n".join(
        f"{f.verdict} {f.rule} {f.position.where} {f.scores.by_key()}" for f in found.findings
    )
    assert not missing, f"not said: {missing}\nsaid:\n{listing}"
    if not case.lenient:
        wanted = {(rule, line) for verdict, rule, line in case.expected if verdict == "CONFIRMED"}
        alarms = [
            f"{f.rule} {f.position.where}"
            for f in found.findings
            if f.verdict == "CONFIRMED"
            and not {(f.rule, f.position.start), (f.rule, f.position.end)} & wanted
        ]
        assert not alarms, f"false alarms: {alarms}"
