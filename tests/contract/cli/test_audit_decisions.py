"""Decisions, baselines and changes only: an audit as a gate in continuous integration."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cli.terminal import FLAWED, Command
from treewright.presets.loader import load_preset
from treewright.surfaces.cli.commands.exploration import VERDICTS

NEW = """import os
from flask import Flask, request

app = Flask(__name__)


@app.route("/run")
def run():
    os.system(request.args["cmd"])
    return "done"
"""


def _confirmed(ran: Any) -> list[Any]:
    results = ran.json()["runs"][0]["results"]
    return [r for r in results if r["properties"]["verdict"] == "CONFIRMED"]


@pytest.mark.requirement("audit:decisions:respected")
def test_an_accepted_risk_is_suppressed_in_later_runs_although_its_lines_moved(
    treewright: Command, flawed: Path
) -> None:
    first = treewright("audit", ".", "--out", "a", "--fail-on", "confirmed", cwd=flawed)
    assert first.code == 1
    tree = json.loads((flawed / "a" / "tree.json").read_text(encoding="utf-8"))
    node = next(n["id"] for n in tree["tree"] if n["verdict"] == "CONFIRMED")
    done = treewright("accept", "a", node, "--reason", "only we call it", cwd=flawed)
    assert done.code == 0, done.err
    (flawed / "app.py").write_text("# a new first line\n\n" + FLAWED, encoding="utf-8")
    second = treewright("audit", ".", "--out", "b", "--fail-on", "confirmed", cwd=flawed)
    assert second.code == 0, second.out + second.err
    assert "only we call it" in (flawed / "b" / "REPORT.md").read_text(encoding="utf-8")
    log = treewright("report", "b", "--format", "sarif", cwd=flawed)
    kept = _confirmed(log)
    assert [r["suppressions"][0]["justification"] for r in kept] == ["accepted risk: only we call it"] * len(
        kept
    )
    assert kept


def test_a_dismissed_finding_counts_again_once_it_is_reopened(treewright: Command, flawed: Path) -> None:
    treewright("audit", ".", "--out", "a", "-q", cwd=flawed)
    tree = json.loads((flawed / "a" / "tree.json").read_text(encoding="utf-8"))
    node = next(n["id"] for n in tree["tree"] if n["verdict"] == "CONFIRMED")
    assert treewright("dismiss", "a", node, "--reason", "a test double", cwd=flawed).code == 0
    log = treewright("report", "a", "--format", "sarif", cwd=flawed)
    assert "false alarm: a test double" in log.out
    assert treewright("reopen", "a", node, cwd=flawed).code == 0
    assert "suppressions" not in treewright("report", "a", "--format", "sarif", cwd=flawed).out


def test_a_decision_needs_a_reason_and_a_finding(treewright: Command, flawed: Path) -> None:
    treewright("audit", ".", "--out", "a", "-q", cwd=flawed)
    assert treewright("accept", "a", "D1", cwd=flawed).code == 2
    assert treewright("accept", "a", "Z9", "--reason", "x", cwd=flawed).code == 4


@pytest.mark.requirement("audit:baseline:accepts-what-stands")
def test_a_baseline_accepts_what_stands_and_nothing_new(treewright: Command, flawed: Path) -> None:
    written = treewright("audit", ".", "--out", "a", "--write-baseline", "base.json", cwd=flawed)
    assert written.code == 0, written.err
    assert json.loads((flawed / "base.json").read_text(encoding="utf-8"))["findings"]
    gate = ("--baseline", "base.json", "--fail-on", "confirmed")
    assert treewright("audit", ".", "--out", "b", *gate, cwd=flawed).code == 0
    (flawed / "new.py").write_text(
        NEW,
        encoding="utf-8",
    )
    ran = treewright("audit", ".", "--out", "c", *gate, cwd=flawed)
    assert ran.code == 1
    log = treewright("report", "c", "--format", "sarif", cwd=flawed)
    open_ones = [r for r in _confirmed(log) if "suppressions" not in r]
    assert {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in open_ones} == {"new.py"}


def test_a_baseline_that_is_none_is_refused_before_anything_runs(treewright: Command, flawed: Path) -> None:
    (flawed / "base.json").write_text("[]", encoding="utf-8")
    ran = treewright("audit", ".", "--out", "a", "--baseline", "base.json", cwd=flawed)
    assert ran.code == 2
    assert "--write-baseline" in ran.err
    assert not (flawed / "a").exists()


@pytest.mark.requirement("audit:changed-since:only-changes")
def test_changed_since_reports_only_what_the_change_touches(treewright: Command, flawed: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=flawed, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    unchanged = treewright(
        "audit", ".", "--out", "../a", "--changed-since", "HEAD", "--fail-on", "confirmed", cwd=flawed
    )
    assert unchanged.code == 0, unchanged.err
    (flawed / "more.py").write_text(NEW, encoding="utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "two")
    changed = treewright(
        "audit", ".", "--out", "../b", "--changed-since", "HEAD~1", "--format", "sarif", cwd=flawed
    )
    files = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in _confirmed(changed)}
    assert files == {"more.py"}


def test_a_revision_that_git_does_not_know_is_refused_before_anything_is_written(
    treewright: Command, flawed: Path
) -> None:
    ran = treewright("audit", ".", "--out", "../a", "--changed-since", "no-such-branch", cwd=flawed)
    assert ran.code == 2
    assert "no revision 'no-such-branch'" in ran.err
    assert not (flawed.parent / "a").exists()


def test_a_label_that_no_finding_can_have_is_refused_instead_of_never_failing(
    treewright: Command, flawed: Path
) -> None:
    ran = treewright("audit", ".", "--out", "../a", "--fail-on", "critical", cwd=flawed)
    assert ran.code == 2
    assert "'confirmed'" in ran.err
    labels = load_preset("code-audit").verdict_enum.values()
    assert {label.casefold() for label in labels} == set(VERDICTS)


def test_fail_on_takes_several_labels_in_any_case(treewright: Command, flawed: Path) -> None:
    (flawed / "app.py").write_text("import os\n\nos.makedirs('x', 0o777)\n", encoding="utf-8")
    neither = treewright("audit", ".", "--out", "a", "--fail-on", "Refuted", cwd=flawed)
    either = treewright(
        "audit",
        ".",
        "--out",
        "b",
        "--fail-on",
        "refuted",
        "--fail-on",
        "MARGINAL",
        "--fail-on",
        "confirmed",
        cwd=flawed,
    )
    assert (neither.code, either.code) == (0, 1)
