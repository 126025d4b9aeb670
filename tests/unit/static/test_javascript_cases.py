"""Every Markdown case of tests/fixtures/static/javascript says exactly what the audit says."""

from pathlib import Path

import pytest

from tests.unit.static.javascript_cases import FIXTURES, Case, read_cases
from treewright.performers.static.audit import audit
from treewright.performers.static.finding import Audit

CASES = read_cases(FIXTURES)
UNSEEN = read_cases(FIXTURES / "unseen")


def audited(case: Case, folder: Path) -> Audit:
    (folder / f"sample.{case.suffix}").write_text(case.code, encoding="utf-8")
    return audit(folder, workers=1)


def said(found: Audit) -> set[tuple[str, str, int]]:
    return {(f.verdict, f.rule, line) for f in found.findings for line in (f.position.start, f.position.end)}


def alarms(case: Case, found: Audit) -> list[str]:
    wanted = {(rule, line) for verdict, rule, line in case.expected if verdict == "CONFIRMED"}
    return [
        f"{f.rule} {f.position.where}"
        for f in found.findings
        if f.verdict == "CONFIRMED" and not {(f.rule, f.position.start), (f.rule, f.position.end)} & wanted
    ]


@pytest.mark.requirement("audit:javascript:labelled-lines")
@pytest.mark.parametrize("case", CASES, ids=[f"{case.file}: {case.title}" for case in CASES])
def test_the_audit_says_of_scripts_what_the_case_says(case: Case, tmp_path: Path) -> None:
    found = audited(case, tmp_path)
    assert not found.not_read
    listing = "\n".join(f"{f.verdict} {f.rule} {f.position.where}" for f in found.findings)
    missing = [entry for entry in case.expected if entry not in said(found)]
    assert not missing, f"not said: {missing}\nsaid:\n{listing}"
    assert not alarms(case, found)


@pytest.mark.requirement("exploration:offline:mitigation-searched")
@pytest.mark.requirement("audit:javascript:twins-quoted")
@pytest.mark.parametrize(
    "case", [c for c in CASES if any(e[0] == "REFUTED" for e in c.expected)], ids=lambda c: c.title
)
def test_a_refuted_finding_quotes_its_mitigation(case: Case, tmp_path: Path) -> None:
    found = audited(case, tmp_path)
    lines = case.code.split("\n")
    for finding in found.findings:
        if finding.verdict == "REFUTED":
            assert finding.mitigations
            for mitigation in finding.mitigations:
                quote = mitigation.quote
                assert "\n".join(lines[quote.start - 1 : quote.end]) == quote.text
                assert mitigation.why


@pytest.mark.requirement("audit:javascript:unseen-recall")
def test_unseen_scripts_are_found_and_their_twins_refuted(tmp_path: Path) -> None:
    confirmed, refuted, false = [0, 0], [0, 0], 0
    for index, case in enumerate(UNSEEN):
        folder = tmp_path / str(index)
        folder.mkdir()
        found = audited(case, folder)
        have = said(found)
        for entry in case.expected:
            counts = confirmed if entry[0] == "CONFIRMED" else refuted
            counts[0] += entry in have
            counts[1] += 1
        false += len(alarms(case, found))
    assert confirmed[1] >= 45
    assert len({number for case in UNSEEN for number in case.cwes}) >= 25
    assert confirmed[0] / confirmed[1] >= 0.85, confirmed
    assert refuted[0] / refuted[1] >= 0.9, refuted
    assert false <= 2
