"""The audit over folders: linking, caching, decoding, honest records, proven edits, linear patterns."""

import ast
import pickle
from pathlib import Path

import pytest

from tests.unit.static.cases import FIXTURES, read_cases
from treewright.performers.static.audit import audit, conclude, establish, read_sources
from treewright.performers.static.cache import FactsCache
from treewright.performers.static.finding import Finding
from treewright.performers.static.manual import manual
from treewright.performers.static.python.checks.regex import ambiguous
from treewright.performers.static.python.patterns import condition
from treewright.performers.static.records import questions
from treewright.performers.static.rulebook import rules, table


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


VIEW = """from flask import Flask, request
from tools import run

app = Flask(__name__)


@app.route("/x")
def x():
    run(request.args["host"])
    return {}
"""
TOOLS = """import os


def run(host):
    os.system("ping " + host)
"""


@pytest.mark.requirement("exploration:offline:data-flow")
@pytest.mark.requirement("audit:flow:across-files")
def test_a_value_is_followed_into_another_file_and_every_step_is_quoted(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": VIEW, "tools.py": TOOLS})
    found = next(f for f in audit(tmp_path, workers=1).findings if f.rule == "shell-command-from-input")
    assert found.verdict == "CONFIRMED"
    assert [step.quote.where for step in found.exploit_path] == ["app.py:9", "tools.py:5"]
    assert found.scores.likelihood == 3


@pytest.mark.requirement("audit:citations:verbatim")
def test_every_quote_of_every_finding_stands_in_its_file(tmp_path: Path) -> None:
    for index, case in enumerate(read_cases(FIXTURES)):
        (tmp_path / f"case{index}.py").write_text(case.code, encoding="utf-8")
    result = audit(tmp_path, workers=1)
    assert len(result.findings) > 50
    for finding in result.findings:
        for quote in finding.quotes:
            lines = (tmp_path / quote.path).read_text(encoding="utf-8").split("\n")
            assert "\n".join(lines[quote.start - 1 : quote.end]) == quote.text
            assert quote.text.strip()


@pytest.mark.requirement("exploration:offline:fix-parses")
@pytest.mark.slow
@pytest.mark.requirement("audit:edits:proven")
def test_offered_edits_fit_parse_and_clear_their_finding(tmp_path: Path) -> None:
    proven = total = 0
    for index, case in enumerate(read_cases(FIXTURES)):
        folder = tmp_path / str(index)
        write(folder, {"sample.py": case.code})
        for finding in audit(folder, workers=1).findings:
            if finding.verdict != "CONFIRMED":
                continue
            total += 1
            if finding.edits_verified:
                proven += 1
                text = applied(case.code, finding)
                ast.parse(text)
                again = tmp_path / f"{index}-{proven}"
                write(again, {"sample.py": text})
                left = [
                    f
                    for f in audit(again, workers=1).findings
                    if f.verdict == "CONFIRMED" and f.rule == finding.rule
                ]
                before = [e for e in case.expected if e[0] == "CONFIRMED" and e[1] == finding.rule]
                assert len(left) < len(before)
    assert proven / total >= 0.7, f"{proven} of {total}"


def applied(text: str, finding: Finding) -> str:
    lines = text.split("\n")
    for edit in sorted(finding.edits, key=lambda e: (e.start_line, e.start_column), reverse=True):
        rows = lines[edit.start_line - 1 : edit.end_line]
        old = (
            rows[0][edit.start_column : edit.end_column]
            if len(rows) == 1
            else "\n".join([rows[0][edit.start_column :], *rows[1:-1], rows[-1][: edit.end_column]])
        )
        assert old == edit.old
        new = rows[0][: edit.start_column] + edit.new + rows[-1][edit.end_column :]
        lines[edit.start_line - 1 : edit.end_line] = new.split("\n")
    return "\n".join(lines)


@pytest.mark.requirement("audit:cache:content")
def test_a_second_audit_reads_facts_from_the_cache_and_says_the_same(tmp_path: Path) -> None:
    write(tmp_path / "code", {"app.py": VIEW, "tools.py": TOOLS})
    first = audit(tmp_path / "code", FactsCache(tmp_path / "facts.bin"), workers=1)
    cache = FactsCache(tmp_path / "facts.bin")
    second = audit(tmp_path / "code", cache, workers=1)
    assert not cache.made
    assert [f.statement for f in first.findings] == [f.statement for f in second.findings]
    write(tmp_path / "code", {"tools.py": TOOLS.replace('os.system("ping " + host)', "print(host)")})
    third = audit(tmp_path / "code", FactsCache(tmp_path / "facts.bin"), workers=1)
    assert not [f for f in third.findings if f.rule == "shell-command-from-input"]


class Evil:
    """Would run code when unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("ran",))


@pytest.mark.requirement("audit:cache:planted")
def test_a_planted_or_damaged_cache_is_thrown_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "code", {"a.py": "x = 1\n"})
    for data in (pickle.dumps(Evil()), b"nonsense", b"", pickle.dumps(("other", {}))):
        (tmp_path / "facts.bin").write_bytes(data)
        assert audit(tmp_path / "code", FactsCache(tmp_path / "facts.bin"), workers=1).files == 1
    assert capsys.readouterr().out == ""


@pytest.mark.requirement("audit:workers:same-answer")
def test_worker_processes_say_what_one_process_says(tmp_path: Path) -> None:
    body = VIEW + "\n".join(f"# filler {n} {'x' * 60}" for n in range(1500))
    write(tmp_path, {"app.py": body, "tools.py": TOOLS, "more.py": body.replace("tools", "others")})
    alone = audit(tmp_path, workers=1)
    together = audit(tmp_path, workers=2)
    assert [f.statement for f in alone.findings] == [f.statement for f in together.findings]
    assert alone.findings


@pytest.mark.requirement("audit:read:strange-files")
def test_strange_files_are_read_or_named_and_the_audit_goes_on(tmp_path: Path) -> None:
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfimport os\r\nos.chmod('a', 0o777)\r\n")
    (tmp_path / "latin.py").write_bytes(b"import os\n# caf\xe9 \x93\nos.chmod('a', 0o777)\n")
    (tmp_path / "wide.py").write_bytes("import os\r\nos.chmod('a', 0o777)\r\n".encode("utf-16"))
    (tmp_path / "nul.py").write_bytes(b"x\0")
    (tmp_path / "two.py").write_text("def broken(:\n    pass\n", encoding="utf-8")
    (tmp_path / "long.py").write_text("x = [" + "1, " * 300_000 + "]\n", encoding="utf-8")
    (tmp_path / "deep.py").write_text("x = " + "(" * 90 + "1" + ")" * 90 + "\n", encoding="utf-8")
    (tmp_path / "tower.py").write_text("x = " + "-" * 5000 + "1\n", encoding="utf-8")
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    result = audit(tmp_path, workers=1)
    named = dict(result.not_read)
    assert "binary" in named["nul.py"]
    assert "does not parse" in named["two.py"]
    assert {f.position.path for f in result.findings if f.rule == "file-open-to-everyone"} == {
        "bom.py", "latin.py", "wide.py",
    }  # fmt: skip


@pytest.mark.requirement("audit:records:each-framing")
def test_each_framing_records_what_it_examined(tmp_path: Path) -> None:
    write(tmp_path, {"clean.py": '"""Nothing here."""\n\n\ndef add(a, b):\n    return a + b\n'})
    result = audit(tmp_path, workers=1)
    assert not [f for f in result.findings if f.verdict != "PRUNED"]
    assert [record.framing for record in result.records] == list("ABCDEFGHIJKL")
    assert all(record.questions for record in result.records)


@pytest.mark.requirement("audit:comments:no-evidence")
def test_tests_and_docs_never_confirm(tmp_path: Path) -> None:
    code = "import os\nimport pytest\n\n\ndef test_x(host):\n    os.system('ping ' + host)\n"
    write(tmp_path, {"test_a.py": code})
    assert not [f for f in audit(tmp_path, workers=1).findings if f.verdict == "CONFIRMED"]


@pytest.mark.requirement("audit:library:callers-decide")
def test_what_callers_of_a_package_pass_is_theirs_to_check(tmp_path: Path) -> None:
    code = "def load(cursor, name):\n    cursor.execute('SELECT * FROM t WHERE n = ' + name)\n"
    write(tmp_path / "program", {"a.py": code})
    write(tmp_path / "package", {"pkg/__init__.py": "", "pkg/a.py": code})
    write(tmp_path / "site", {"pkg/__init__.py": "", "pkg/a.py": code, "manage.py": "import pkg\n"})
    verdicts = {
        name: [f.verdict for f in audit(tmp_path / name, workers=1).findings if f.cwe == 89]
        for name in ("program", "package", "site")
    }
    assert verdicts == {"program": ["CONFIRMED"], "package": ["MARGINAL"], "site": ["CONFIRMED"]}


@pytest.mark.parametrize(
    ("pattern", "exponential"),
    [
        (r"(a+)+$", True), (r"^(a|a)*$", True), (r"^(\w+\s?)*$", True), (r"(x*)*y", True), (r"^([a-z]+)*\d", True),
        (r"^(a|b)*$", False), (r"^\d+(\.\d+)*$", False), (r"(a+)+", False), (r"^(?:\w+,)*\w+$", False), ("[", False),
        (r"^[\w.]+@[\w.]+$", False), (r"(\"[^\"]*\")*$", False),
    ],
)  # fmt: skip
def test_ambiguous_repetitions_are_told_from_harmless_ones(pattern: str, exponential: bool) -> None:
    assert bool(ambiguous(pattern)) == exponential


@pytest.mark.requirement("audit:rules:data")
def test_rules_and_tables_are_whole() -> None:
    known = rules()
    assert len(known) >= 100
    for rule in known.values():
        assert rule.framing in questions()
        assert 1 <= rule.severity <= 3
        assert all((rule.title, rule.statement, rule.cause, rule.exploit, rule.fix, rule.searched))
        words = f"{rule.statement} {rule.cause} {rule.exploit} {rule.fix}".lower()
        assert not any(
            hedge in words for hedge in ("probably", "might", "perhaps", "possibly", "likely", "typically")
        )
    for name, key in (("calls", "call"), ("sinks", "sink")):
        for row in table("python", name)[key]:
            assert row["rule"] in known, row
            for text in row.get("where", ()):
                condition(text)


@pytest.mark.requirement("audit:rules:manual")
def test_the_rules_page_is_fresh() -> None:
    page = FIXTURES.parents[2] / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == manual(), (
        "run python -m treewright.performers.static.manual > docs/rules.md"
    )


@pytest.mark.requirement("audit:lints:isolated", "exploration:offline:lints")
def test_ruff_is_a_witness_and_the_projects_configuration_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def f():\n    return missing_name\n", "ruff.toml": "nonsense = [\n"})
    found = [f for f in audit(tmp_path, workers=1).findings if f.rule == "name-not-defined"]
    assert [f.position.where for f in found] == ["a.py:2"]


@pytest.mark.requirement("audit:shapes:data", "exploration:offline:lints")
def test_shapes_are_matched_by_ast_grep_at_the_right_column(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def f(größe):\n    ä = 'é'; return größe == größe\n"})
    found = next(f for f in audit(tmp_path, workers=1).findings if f.rule == "compared-with-itself")
    assert found.place == (2, 2, 20, 34)


@pytest.mark.requirement("audit:read:python-2")
def test_python_2_code_is_read_and_said_to_be(tmp_path: Path) -> None:
    old = "import os, sys\n\n\ndef main():\n    try:\n        print 'run', sys.argv[1]\n    except IOError, e:\n        print e\n"
    write(tmp_path, {"old.py": old + "    os.chmod('x', 0777)\n    os.system('ping ' + sys.argv[1])\n"})
    sources = read_sources(tmp_path)
    facts = establish(sources, workers=1)
    found = {
        (f.rule, f.position.start) for f in conclude(sources, facts).findings if f.verdict == "CONFIRMED"
    }
    assert found >= {("shell-command-from-input", 10), ("file-open-to-everyone", 9)}
    assert "Python 2" in facts["old.py"].decoding
