"""Recall and false alarms of the offline audit beside bandit and ruff's S rules, in one run on the same samples.

Usage: python tests/bench/audit_recall.py [FOLDER_OF_PACKAGES]

A sample counts as found when a finding's CWE is the sample's, or both stand in the family of one rule (its CWE and its
neighbours in data/static/rules); the same families serve all three tools. Twins are the blocks with a mitigation: their
`# refuted:` lines must be said, and nothing may be confirmed there. With a folder, each package in it is read too.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.unit.static.cases import FIXTURES, Case, read_cases  # noqa: E402
from treewright.performers.static.audit import audit  # noqa: E402
from treewright.performers.static.rulebook import rules  # noqa: E402

FAMILIES = [frozenset({rule.cwe, *rule.related}) for rule in rules().values()]


def same_family(found: int, wanted: Iterable[int]) -> bool:
    """Whether a finding's weakness is one of the wanted ones or a neighbour of it."""
    return any(found == one or any(found in group and one in group for group in FAMILIES) for one in wanted)


def bandit(folder: Path) -> list[tuple[str, int]]:
    """(file name, CWE) of each issue, and None for a missing CWE left out."""
    command = [sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    issues = json.loads(done.stdout)["results"]
    return [(Path(i["filename"]).name, int((i.get("issue_cwe") or {}).get("id", 0))) for i in issues]


def bandit_map(folder: Path) -> dict[str, int]:
    """CWE of each bandit test id, from what bandit says of the samples; ruff's S codes are the same numbers."""
    command = [sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    known = {}
    for issue in json.loads(done.stdout)["results"]:
        known[issue["test_id"].replace("B", "S")] = int((issue.get("issue_cwe") or {}).get("id", 0))
    return known


def ruff(folder: Path, cwes: dict[str, int]) -> list[tuple[str, int]]:
    """(file name, CWE) of each S finding whose number bandit knows."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--select", "S", "--ignore", "S101",
               "--output-format", "json", "--no-cache", str(folder)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return [(Path(i["filename"]).name, cwes.get(i["code"], 0)) for i in json.loads(done.stdout)]


def measure(cases: list[Case], title: str) -> None:
    """Print one table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index, case in enumerate(cases):
            (folder / f"s{index}.py").write_text(case.code, encoding="utf-8")
        ours = audit(folder)
        theirs = {"bandit": bandit(folder)}
        theirs["ruff S"] = ruff(folder, bandit_map(folder))

    def mitigated(case: Case) -> bool:
        return case.title.startswith("Twin") or (
            bool(case.expected) and not any(verdict == "CONFIRMED" for verdict, _, _ in case.expected)
        )

    wanted = {f"s{i}.py": case.cwes for i, case in enumerate(cases) if case.cwes and not mitigated(case)}
    safe = {f"s{i}.py": case.cwes for i, case in enumerate(cases) if case.cwes and mitigated(case)}
    alarms = {"Treewright, CONFIRMED": {f.position.path for f in ours.findings
              if f.verdict == "CONFIRMED" and same_family(f.cwe, safe.get(f.position.path, ()))}}  # fmt: skip
    alarms |= {
        tool: {file for file, cwe in found if same_family(cwe, safe.get(file, ()))}
        for tool, found in theirs.items()
    }
    print(f"\n## {title}: {len(wanted)} samples, {len({c for w in wanted.values() for c in w})} CWE ids\n")
    print("| tool | found | share |\n| --- | --- | --- |")
    for verdicts in (("CONFIRMED",), ("CONFIRMED", "MARGINAL")):
        hits = {
            f.position.path
            for f in ours.findings
            if f.verdict in verdicts and same_family(f.cwe, wanted.get(f.position.path, ()))
        }
        print(f"| Treewright, {' or '.join(verdicts)} | {len(hits)} | {len(hits) / len(wanted):.0%} |")
    for tool, found in theirs.items():
        hits = {file for file, cwe in found if same_family(cwe, wanted.get(file, ()))}
        print(f"| {tool} | {len(hits)} | {len(hits) / len(wanted):.0%} |")
    fixed = [f.edits_verified for f in ours.findings if f.verdict == "CONFIRMED"]
    print(f"\nCONFIRMED with a proven edit: {sum(fixed)} of {len(fixed)}")
    if safe:
        refuted = {f.position.path for f in ours.findings
                   if f.verdict == "REFUTED" and same_family(f.cwe, safe.get(f.position.path, ()))}  # fmt: skip
        print(
            f"\nMitigated blocks refuted with a quote: {len(refuted - alarms['Treewright, CONFIRMED'])} of {len(safe)}"
        )
    for tool, files in alarms.items() if safe else ():
        print(f"\nAlarms of {tool} on {len(safe)} mitigated blocks: {len(files)}")
    twins = [
        (f"s{i}.py", rule, line)
        for i, case in enumerate(cases)
        for verdict, rule, line in case.expected
        if verdict == "REFUTED"
    ]
    if twins:
        said = {
            (f.position.path, f.rule, line)
            for f in ours.findings
            if f.verdict == "REFUTED"
            for line in (f.position.start, f.position.end)
        }
        print(
            f"\nTwins refuted with the mitigation quoted: {sum(twin in said for twin in twins)} of {len(twins)}"
        )


def packages(folder: Path) -> None:
    """Print what is said of maintained code."""
    print(
        "\n## Maintained packages\n\n| package | lines | CONFIRMED | MARGINAL | REFUTED |\n| --- | --- | --- | --- | --- |"
    )
    totals = [0, 0, 0, 0]
    for package in sorted(path for path in folder.iterdir() if path.is_dir()):
        result = audit(package)
        counts = [sum(f.verdict == v for f in result.findings) for v in ("CONFIRMED", "MARGINAL", "REFUTED")]
        totals = [a + b for a, b in zip(totals, [result.lines, *counts], strict=True)]
        print(f"| {package.name} | {result.lines} | {' | '.join(map(str, counts))} |")
    print(f"| all | {' | '.join(map(str, totals))} |")


if __name__ == "__main__":
    measure(read_cases(FIXTURES / "blind"), "Blind list")
    measure(read_cases(FIXTURES / "later"), "Later list")
    measure(read_cases(FIXTURES / "unseen"), "Unseen half")
    measure(read_cases(FIXTURES), "Tuned half")
    if len(sys.argv) > 1:
        packages(Path(sys.argv[1]))
