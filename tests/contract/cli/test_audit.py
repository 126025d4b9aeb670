"""`treewright audit`: the product's main job, offline, as a user runs it."""

import json
import re
from pathlib import Path

import pytest

from tests.contract.cli.terminal import CLEAN, FLAWED, Command

OUTPUTS = {
    "REPORT.md",
    "findings.md",
    "marginal.md",
    "refuted.md",
    "glossary-anchors.md",
    "tree.md",
    "tree.json",
    "tree.html",
    "tree.svg",
    "findings.sarif",
    "journal.jsonl",
}


@pytest.mark.requirement("cli:audit:offline")
@pytest.mark.requirement(
    "exploration:output:tree-json", "exploration:output:report", "exploration:offline:says-so"
)
def test_an_audit_finds_the_flaw_and_leaves_a_complete_folder(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    ran = treewright("audit", flawed, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert {path.name for path in (tmp_path / "out").iterdir()} >= OUTPUTS
    assert "CONVERGED" in ran.out
    findings = (tmp_path / "out" / "findings.md").read_text(encoding="utf-8")
    assert "CWE-89" in findings
    assert "app.py:10" in findings
    report = (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")
    assert "no language model took part" in report
    tree = json.loads((tmp_path / "out" / "tree.json").read_text(encoding="utf-8"))
    assert tree["citations"]["held"] == tree["citations"]["all"] > 0


@pytest.mark.requirement("exploration:evidence:states-shown")
def test_every_citation_opens_at_the_quoted_line(treewright: Command, flawed: Path, tmp_path: Path) -> None:
    treewright("audit", flawed, "--out", tmp_path / "out", "-q")
    tree = json.loads((tmp_path / "out" / "tree.json").read_text(encoding="utf-8"))
    cited = [c["citation"] for node in tree["tree"] for c in node["citations"]]
    assert cited
    for citation in cited:
        lines = (flawed / citation["path"]).read_text(encoding="utf-8").splitlines()
        assert "\n".join(lines[citation["start"] - 1 : citation["end"]]) == citation["quote"]


@pytest.mark.requirement("exploration:offline:clean-project")
def test_a_clean_project_converges_with_an_honest_empty_list(treewright: Command, tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / "add.py").write_text(CLEAN, encoding="utf-8")
    ran = treewright("audit", "clean", "--out", "out")
    assert ran.code == 0, ran.err
    assert "None: no finding has this verdict." in (tmp_path / "out" / "findings.md").read_text(
        encoding="utf-8"
    )
    assert "examined" in (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")


@pytest.mark.requirement("exploration:resume:new-folder")
def test_without_out_a_new_folder_is_made_in_the_workspace_each_time(
    treewright: Command, flawed: Path
) -> None:
    assert treewright("audit", cwd=flawed).code == 0
    assert treewright("audit", cwd=flawed).code == 0
    names = sorted(path.name for path in (flawed / ".treewright" / "code-audit").iterdir())
    assert len(names) == 2
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}__project", names[0])
    assert names[1] == names[0] + "-2"


@pytest.mark.requirement("exploration:resume:finished-refused")
def test_a_finished_run_in_out_is_refused_with_a_hint(treewright: Command, flawed: Path) -> None:
    assert treewright("audit", "--out", "out", cwd=flawed).code == 0
    journal = (flawed / "out" / "journal.jsonl").read_bytes()
    ran = treewright("audit", "--out", "out", cwd=flawed)
    assert ran.code == 2
    assert "holds a run already (CONVERGED)" in ran.err
    assert "--out" in ran.err
    assert (flawed / "out" / "journal.jsonl").read_bytes() == journal


def test_spaces_and_letters_of_any_script_in_paths_change_nothing(treewright: Command, flawed: Path) -> None:
    odd = flawed / "a b" / "dätei 文件.py"
    odd.parent.mkdir()
    (flawed / "app.py").rename(odd)
    ran = treewright("audit", ".", "--format", "json", cwd=flawed)
    assert ran.json()["status"] == "CONVERGED"
    assert ran.json()["verdicts"]["CONFIRMED"] == 1
    assert ran.json()["unresolved"] == 0


def test_what_could_not_be_read_is_told_at_the_terminal_too(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    (flawed / "broken.py").write_text("def (:\n", encoding="utf-8")
    assert "not read: 1 (REPORT.md names each, and why)" in treewright("audit", flawed, "--out", "a").out
    assert "broken.py" in (tmp_path / "a" / "REPORT.md").read_text(encoding="utf-8")


@pytest.mark.requirement("cli:audit:fail-on")
def test_fail_on_confirmed_exits_1_only_when_there_is_one(
    treewright: Command, flawed: Path, tmp_path: Path
) -> None:
    assert treewright("audit", flawed, "--fail-on", "confirmed", "--out", "a").code == 1
    (flawed / "app.py").write_text(CLEAN, encoding="utf-8")
    assert treewright("audit", flawed, "--fail-on", "confirmed", "--out", "b").code == 0


@pytest.mark.requirement("cli:audit:sarif")
@pytest.mark.requirement("exploration:output:sarif", "exploration:output:cwe")
def test_sarif_on_stdout_has_the_finding_at_its_line(treewright: Command, flawed: Path) -> None:
    ran = treewright("audit", flawed, "--format", "sarif")
    log = ran.json()
    assert log["version"] == "2.1.0"
    result = next(r for r in log["runs"][0]["results"] if r["properties"]["verdict"] == "CONFIRMED")
    region = result["locations"][0]["physicalLocation"]
    assert region["artifactLocation"]["uri"] == "app.py"
    assert region["region"]["startLine"] == 10
    assert result["level"] == "error"
    rule = next(r for r in log["runs"][0]["tool"]["driver"]["rules"] if r["id"] == result["ruleId"])
    assert "external/cwe/cwe-89" in rule["properties"]["tags"]


@pytest.mark.requirement("cli:audit:json")
def test_json_on_stdout_is_one_object(treewright: Command, flawed: Path) -> None:
    ran = treewright("audit", flawed, "--format", "json")
    assert ran.json()["status"] == "CONVERGED"
    assert ran.json()["verdicts"]["CONFIRMED"] == 1
    assert ran.err == ""


def test_a_fingerprint_survives_lines_added_above(treewright: Command, flawed: Path) -> None:
    def marks() -> set[str]:
        log = treewright("audit", flawed, "--format", "sarif").json()
        return {r["partialFingerprints"]["treewright/v1"] for r in log["runs"][0]["results"]}

    before = marks()
    (flawed / "app.py").write_text("\n\n\n" + FLAWED, encoding="utf-8")
    assert marks() == before


@pytest.mark.requirement("exploration:flow:root-directory")
def test_hard_files_are_passed_over_and_named(treewright: Command, flawed: Path) -> None:
    (flawed / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    (flawed / "crlf.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    (flawed / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\ns = '\xe9'\n")
    (flawed / "quotes.py").write_bytes(b"# \x92quoted\x93\nx = 1\n")
    (flawed / "nul.py").write_bytes(b"x = 1\x00\n")
    (flawed / "long.py").write_text("x = '" + "a" * 1_000_000 + "'\n", encoding="utf-8")
    (flawed / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (flawed / "two.py").write_text('print "hello"\n', encoding="utf-8")
    (flawed / "loop").symlink_to(flawed)
    (flawed / "dangling.py").symlink_to(flawed / "nowhere.py")
    ran = treewright("audit", flawed, "--out", flawed / "out")
    assert ran.code == 0, ran.err
    report = (flawed / "out" / "REPORT.md").read_text(encoding="utf-8")
    for name in ("nul.py", "broken.py", "loop", "dangling.py"):
        assert f"`{name}`" in report, name
    assert "app.py:10" in (flawed / "out" / "findings.md").read_text(encoding="utf-8")
