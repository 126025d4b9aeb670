"""Measures the offline audit, bandit and ruff's S rules on a public labelled set in a checkout given by path.

Usage: python tests/bench/audit_public.py SET PATH [--half dev|held] [--show missed|alarms|twins] [--alone] [--quick] [--limit N]

SET is one of public_sets.SETS. Vulnerable marks count as found when a finding of the right family of weaknesses (a
rule's CWE and its neighbours, the same families for all tools) touches the marked lines; safe marks count as an alarm
when a CONFIRMED one does, and as refuted when a REFUTED one does. Keys and CWE ids are shown of the dev half only. `--alone`
gives each sample a folder of its own.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench")]

from public_sets import SETS, Mark, Sample  # noqa: E402

from treewright.performers.static.audit import audit, establish, read_sources  # noqa: E402
from treewright.performers.static.cache import FactsCache  # noqa: E402
from treewright.performers.static.finding import Finding  # noqa: E402
from treewright.performers.static.judging import Judge  # noqa: E402
from treewright.performers.static.rulebook import rules_for  # noqa: E402

FAMILIES = [
    frozenset({rule.cwe, *rule.related}) for language in ("python", "javascript") for rule in rules_for(language).values()
]  # fmt: skip

Found = tuple[str, int, int, int]
"""Verdict or tool, CWE, first and last line."""


def same_family(found: int, mark: Mark) -> bool:
    """Whether a finding's weakness is one that the mark names, or a neighbour of it."""
    return any(found == one or any(found in g and one in g for g in FAMILIES) for one in mark.cwes)


def touches(found: Found, mark: Mark) -> bool:
    """Whether a finding is of the mark's weakness and on its lines."""
    return same_family(found[1], mark) and (
        not mark.first or (found[2] <= mark.last and found[3] >= mark.first)
    )


def others(folder: Path) -> dict[str, list[Found]]:
    """By file name, what bandit and ruff say."""
    said: dict[str, list[Found]] = defaultdict(list)
    cwes: dict[str, int] = {}
    command = [sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    for issue in json.loads(done.stdout)["results"]:
        cwe = cwes[issue["test_id"].replace("B", "S")] = int((issue.get("issue_cwe") or {}).get("id", 0))
        lines = issue["line_range"] or [issue["line_number"]]
        said[Path(issue["filename"]).name].append(("bandit", cwe, lines[0], lines[-1]))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--select", "S", "--ignore", "S101",
               "--output-format", "json", "--no-cache", str(folder)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    for issue in json.loads(done.stdout):
        at = (issue["location"]["row"], issue["end_location"]["row"])
        said[Path(issue["filename"]).name].append(("ruff S", cwes.get(issue["code"] or "", 0), *at))
    return said


def unproven(target: Path) -> list[Finding]:
    """The findings before any edit is tried."""
    sources = read_sources(target)
    return Judge(establish(sources), sources.libraries, sources.lines, FactsCache(None)).all()


def ours(folder: Path, names: list[str], alone: bool, quick: bool) -> dict[str, list[Found]]:
    """By file name, what the audit says."""
    said: dict[str, list[Found]] = defaultdict(list)
    for target in [folder / name for name in names] if alone else [folder]:
        for f in unproven(target) if quick else audit(target).findings:
            said[Path(f.position.path).name].append((f.verdict, f.cwe, f.position.start, f.position.end))
    return said


def measure(samples: list[Sample], title: str, given: argparse.Namespace) -> None:
    """Print the figures of one half."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = [f"c{index}{sample.suffix}" for index, sample in enumerate(samples)]
        for file, sample in zip(names, samples, strict=True):
            (folder / file).write_text(sample.code, encoding="utf-8", errors="replace")
        if (beside := given.path / "helpers").is_dir():
            shutil.copytree(beside, folder / "helpers")  # what the samples of this set import
        said = ours(folder, names, given.alone, given.quick)
        rivals = defaultdict(list) if given.quick else others(folder)
    wanted: Counter[str] = Counter()
    by_cwe: dict[int, Counter[str]] = defaultdict(Counter)
    for file, sample in zip(names, samples, strict=True):
        for mark in sample.marks:
            here = {f[0] for f in [*said[file], *rivals[file]] if touches(f, mark)}
            group = "vulnerable" if mark.vulnerable else "safe"
            quiet = "CONFIRMED" not in here and "REFUTED" in here
            words = {group, *(f"{group} {one}" for one in here)} | (
                {"safe quiet"} if not mark.vulnerable and quiet else set()
            )
            if mark.vulnerable and here & {"CONFIRMED", "MARGINAL"}:
                words.add("vulnerable with MARGINAL")
            wanted.update(words)
            by_cwe[min(mark.cwes)].update(words)
            missed = mark.vulnerable and "CONFIRMED" not in here
            alarm = not mark.vulnerable and "CONFIRMED" in here
            twin = not mark.vulnerable and not alarm and not quiet
            if sample.half == "dev" and {"missed": missed, "alarms": alarm, "twins": twin}.get(given.show):
                print(f"{given.show}: {sample.key}:{mark.first} CWE {sorted(mark.cwes)} {sorted(here)}")
    print(f"\n## {title}: {len(samples)} files, {wanted['vulnerable']} vulnerable, {wanted['safe']} safe")
    for key in ("vulnerable CONFIRMED", "vulnerable with MARGINAL", "vulnerable bandit", "vulnerable ruff S"):
        print(f"  {key}: {wanted[key]} ({wanted[key] / max(wanted['vulnerable'], 1):.0%})")
    for key in ("safe CONFIRMED", "safe quiet", "safe bandit", "safe ruff S") if wanted["safe"] else ():
        print(f"  {key}: {wanted[key]} ({wanted[key] / wanted['safe']:.0%})")
    for cwe, c in sorted(by_cwe.items()) if samples and samples[0].half == "dev" else ():
        print(
            f"    CWE-{cwe}: {c['vulnerable CONFIRMED']}/{c['vulnerable']} (bandit {c['vulnerable bandit']});"
            f" safe {c['safe']}: alarms {c['safe CONFIRMED']}, refuted {c['safe quiet']} (bandit {c['safe bandit']})"
        )


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=sorted(SETS))
    parser.add_argument("path", type=Path)
    parser.add_argument("--half", choices=("dev", "held"))
    parser.add_argument("--show", choices=("missed", "alarms", "twins"), default="")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument(
        "--quick", action="store_true", help="our own verdicts before any edit is proven, nothing beside"
    )
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    samples = list(SETS[given.set](given.path))
    for half in ("dev", "held") if given.half is None else (given.half,):
        chosen = [sample for sample in samples if sample.half == half]
        measure(chosen[: given.limit or None], f"{given.set}, {half}", given)


if __name__ == "__main__":
    main()
