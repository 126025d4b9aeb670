"""Scripts in the pipeline: linking across files, languages side by side, packages, strange files, proven edits, wording."""

import json
import time
from pathlib import Path

import pytest

from tests.unit.static.javascript_cases import FIXTURES, read_cases
from treewright.explore.rules.body import check_body
from treewright.performers.static.audit import audit, conclude, establish, read_sources
from treewright.performers.static.body import Located, derivation
from treewright.performers.static.cache import FactsCache
from treewright.performers.static.finding import Finding
from treewright.performers.static.ground import ground
from treewright.performers.static.javascript.checks.regex import as_python
from treewright.performers.static.javascript.mend import applied
from treewright.performers.static.javascript.source import embedded, module_name, parse, resolve
from treewright.performers.static.python.checks.regex import ambiguous
from treewright.performers.static.python.patterns import condition
from treewright.performers.static.rulebook import rules, rules_for, table
from treewright.presets.loader import load_preset


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def confirmed(root: Path) -> list[Finding]:
    return [f for f in audit(root, workers=1).findings if f.verdict == "CONFIRMED"]


SERVER = """const express = require('express');
const { run } = require('./lib/tools');
const app = express();
app.get('/x', (req, res) => {
  run(req.query.host);
  res.end();
});
"""
TOOLS = """const { exec } = require('child_process');
function run(host) {
  exec('ping ' + host);
}
module.exports = { run };
"""


@pytest.mark.requirement("audit:javascript:across-files")
def test_a_value_is_followed_through_require_and_every_step_is_quoted(tmp_path: Path) -> None:
    write(tmp_path, {"server.js": SERVER, "lib/tools.js": TOOLS})
    found = next(f for f in confirmed(tmp_path) if f.rule == "shell-command-from-input")
    assert [step.quote.where for step in found.exploit_path] == ["server.js:5", "lib/tools.js:3"]
    assert found.scores.likelihood == 3


@pytest.mark.parametrize(
    ("exported", "used"),
    [
        ("export function run(host) { exec('ping ' + host); }", "import { run } from './lib/tools.js';"),
        ("export default function (host) { exec('ping ' + host); }", "import run from './lib/tools';"),
        ("const go = (host) => exec('ping ' + host);\nexport { go as run };", "import { run } from './lib/tools';"),
        ("export default { run(host) { exec('ping ' + host); } };", "import tools from './lib/tools';\nconst run = (h) => tools.run(h);"),
    ],
)  # fmt: skip
@pytest.mark.requirement("audit:javascript:modules")
def test_a_value_is_followed_through_every_form_of_module(exported: str, used: str, tmp_path: Path) -> None:
    server = f"import express from 'express';\n{used}\nconst app = express();\napp.get('/x', (req, res) => {{\n  run(req.query.host);\n  res.end();\n}});\n"
    write(
        tmp_path,
        {"server.js": server, "lib/tools.js": f"import {{ exec }} from 'child_process';\n{exported}\n"},
    )
    found = [f for f in confirmed(tmp_path) if f.rule == "shell-command-from-input"]
    assert [f.position.path for f in found] == ["lib/tools.js"]
    assert found[0].scores.likelihood == 3


def test_a_service_handed_in_by_a_constructor_is_followed(tmp_path: Path) -> None:
    service = 'export class Users {\n  constructor(private db: any) {}\n  find(name: string) {\n    return this.db.query("SELECT * FROM u WHERE n = \'" + name + "\'");\n  }\n}\n'
    controller = "import { Controller, Get, Query } from '@nestjs/common';\nimport { Users } from './users.service';\n\n@Controller('u')\nexport class UsersController {\n  constructor(private readonly users: Users) {}\n  @Get()\n  list(@Query('name') name: string) {\n    return this.users.find(name);\n  }\n}\n"
    write(tmp_path, {"users.service.ts": service, "users.controller.ts": controller})
    found = next(f for f in confirmed(tmp_path) if f.cwe == 89)
    assert [step.quote.path for step in found.exploit_path] == ["users.controller.ts", "users.controller.ts", "users.service.ts"]  # fmt: skip


@pytest.mark.requirement("audit:javascript:mixed")
def test_languages_stand_side_by_side_in_one_audit_and_one_cache(tmp_path: Path) -> None:
    python = (
        "import os\nimport sys\n\n\ndef run(host):\n    os.system('ping ' + host)\n\n\nrun(sys.argv[1])\n"
    )
    write(tmp_path / "code", {"server.js": SERVER, "lib/tools.js": TOOLS, "tools.py": python})
    write(
        tmp_path / "code",
        {"package.json": '{\n  "private": true,\n  "dependencies": {\n    "express": "^5.0.0"\n  }\n}\n'},
    )
    cache = FactsCache(tmp_path / "facts.bin")
    sources = read_sources(tmp_path / "code")
    facts = establish(sources, cache, workers=1)
    result = conclude(sources, facts)
    found = {
        f.position.path
        for f in result.findings
        if f.rule == "shell-command-from-input" and f.verdict == "CONFIRMED"
    }
    assert found == {"lib/tools.js", "tools.py"}
    root = ground(sources, facts, result, Located(""))
    assert "in JavaScript and Python" in str(root.fields["target_summary"])
    assert "`express` ^5.0.0" in root.fields["external_dependencies"]
    again = FactsCache(tmp_path / "facts.bin")
    assert establish(sources, again, workers=1).keys() == facts.keys()
    assert not again.made


@pytest.mark.requirement("audit:javascript:library")
def test_what_callers_of_an_npm_package_pass_is_theirs_to_check(tmp_path: Path) -> None:
    manifest = {"name": "x", "version": "1.0.0", "main": "index.js"}
    write(tmp_path / "package", {"index.js": TOOLS, "package.json": json.dumps(manifest)})
    write(tmp_path / "program", {"index.js": TOOLS, "package.json": json.dumps(manifest | {"private": True})})
    verdicts = {
        n: [f.verdict for f in audit(tmp_path / n, workers=1).findings if f.cwe == 78]
        for n in ("package", "program")
    }
    assert verdicts == {"package": ["MARGINAL"], "program": ["CONFIRMED"]}


@pytest.mark.requirement("audit:javascript:tests-never-confirm")
@pytest.mark.parametrize("name", ["a.test.js", "a.spec.ts", "__tests__/a.js", "test/a.mjs"])
def test_scripts_of_tests_never_confirm(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: SERVER.replace("run(req.query.host)", "eval(req.query.host)")})
    assert not confirmed(tmp_path)


@pytest.mark.requirement("audit:javascript:strange-files")
def test_strange_scripts_are_read_or_named_and_the_audit_goes_on(tmp_path: Path) -> None:
    (tmp_path / "wide.js").write_bytes("new Buffer(12);\r\n".encode("utf-16"))
    (tmp_path / "signs.js").write_bytes("const a = '😀', b = new Buffer(12);\r\n".encode())
    (tmp_path / "half.js").write_text("function ( {\nconst x = ;\nnew Buffer(12);\n", encoding="utf-8")
    (tmp_path / "tower.js").write_text("x = " + "(" * 3000 + "1" + ")" * 3000 + ";\n", encoding="utf-8")
    (tmp_path / "packed.js").write_text("a=1;" * 4000 + "\n", encoding="utf-8")
    (tmp_path / "empty.ts").write_text("", encoding="utf-8")
    (tmp_path / "nul.js").write_bytes(b"x\0")
    write(tmp_path, {"node_modules/x/index.js": "new Buffer(12);\n", "dist/x.js": "new Buffer(12);\n"})
    result = audit(tmp_path, workers=1)
    named = dict(result.not_read)
    assert "does not parse" in named["half.js"]
    assert "minified" in named["packed.js"]
    assert "binary" in named["nul.js"]
    found = {f.position.path: f.place for f in result.findings if f.rule == "buffer-left-unfilled"}
    assert {"wide.js", "signs.js"} <= found.keys()
    assert found["signs.js"] == (1, 1, 19, 33)
    assert not any(path.startswith(("node_modules", "dist")) for path in found)


@pytest.mark.requirement("audit:javascript:comments-no-evidence")
def test_a_comment_that_claims_a_check_is_no_check(tmp_path: Path) -> None:
    claim = SERVER.replace("  run(req", "  // host was validated and escaped, sanitizer passed\n  run(req")
    write(tmp_path, {"server.js": claim, "lib/tools.js": TOOLS})
    assert any(f.rule == "shell-command-from-input" for f in confirmed(tmp_path))


@pytest.mark.slow
@pytest.mark.requirement("audit:javascript:edits-proven")
def test_offered_edits_of_scripts_fit_parse_and_clear_their_finding(tmp_path: Path) -> None:
    proven = total = 0
    for index, case in enumerate([*read_cases(FIXTURES), *read_cases(FIXTURES / "unseen")]):
        folder = tmp_path / str(index)
        write(folder, {f"sample.{case.suffix}": case.code})
        before = confirmed(folder)
        for finding in before:
            total += 1
            if not finding.edits_verified:
                continue
            proven += 1
            raw = [(e.start_line, e.start_column, e.end_line, e.end_column, e.new) for e in finding.edits]
            text = applied(case.code, raw)
            assert not parse(f"sample.{case.suffix}", text).broken
            again = tmp_path / f"{index}-{proven}"
            write(again, {f"sample.{case.suffix}": text})
            same = [f for f in before if f.rule == finding.rule]
            assert len([f for f in confirmed(again) if f.rule == finding.rule]) < len(same)
    assert proven / total >= 0.7, f"{proven} of {total}"


@pytest.mark.requirement("audit:javascript:statement-bound")
def test_a_statement_is_rewritten_with_bound_values(tmp_path: Path) -> None:
    code = "const mysql = require('mysql2/promise');\nconst pool = mysql.createPool({});\nmodule.exports = async (req, res) => {\n  res.json(await pool.query(`SELECT * FROM t WHERE a = '${req.query.a}' AND b = ${req.query.b}`));\n};\n"
    write(tmp_path, {"a.js": code})
    found = next(f for f in confirmed(tmp_path) if f.cwe == 89)
    assert [e.new for e in found.edits] == [
        "'SELECT * FROM t WHERE a = ? AND b = ?', [req.query.a, req.query.b]"
    ]


@pytest.mark.requirement("audit:javascript:bodies")
def test_no_finding_of_a_script_breaks_a_rule_of_the_engine(tmp_path: Path) -> None:
    preset = load_preset("code-audit")
    for index, case in enumerate([*read_cases(FIXTURES), *read_cases(FIXTURES / "unseen")]):
        write(tmp_path, {f"case{index}.{case.suffix}": case.code})
    sources = read_sources(tmp_path)
    found = conclude(sources, establish(sources, workers=1)).findings
    faults = {
        (finding.rule, violation.rule, violation.field, violation.quote)
        for finding in found
        for violation in check_body(preset, derivation(preset, finding, Located(""), sources.lines), "en")
        if violation.field not in {"parent_framing", "verdict_provisional"}
    }
    assert not sorted(faults)
    assert len({finding.rule for finding in found}) > 40


@pytest.mark.requirement("audit:javascript:words")
def test_findings_of_scripts_do_not_speak_of_python(tmp_path: Path) -> None:
    for index, case in enumerate([*read_cases(FIXTURES), *read_cases(FIXTURES / "unseen")]):
        write(tmp_path, {f"case{index}.{case.suffix}": case.code})
    for finding in audit(tmp_path, workers=1).findings:
        words = " ".join(
            [
                finding.statement,
                finding.root_cause,
                finding.fix,
                finding.searched,
                *(s.what for s in finding.exploit_path),
            ]
        )
        for word in (
            "Python",
            "subprocess",
            "urlsplit",
            "os.environ",
            "json.loads",
            "hashlib",
            "markupsafe",
            "secrets.token",
        ):
            assert word not in words, (finding.rule, word)


@pytest.mark.requirement("audit:javascript:data")
def test_the_tables_of_the_language_are_whole() -> None:
    known = rules()
    for name, keys in (
        ("calls", ["call"]),
        ("sinks", ["sink", "assign"]),
        ("shapes", ["shape"]),
        ("fixes", ["wrap", "swap"]),
    ):
        for key in keys:
            for row in table("javascript", name)[key]:
                assert row["rule"] in known, row
                for text in row.get("where", ()):
                    condition(text)
    assert set(rules_for("typescript")) == set(known)
    assert rules_for("python") == known


@pytest.mark.parametrize(
    ("path", "wanted", "module"),
    [
        ("a/b.js", "./c", "a/c"), ("a/b.js", "../c/index.js", "./c"), ("b.ts", "./users.service", "./users_service"),
        ("b.ts", ".", "./index"), ("b.ts", "node:fs/promises", "fs.promises"), ("b.ts", "@/lib/x", "src/lib/x"),
    ],
)  # fmt: skip
def test_imports_lead_to_modules(path: str, wanted: str, module: str) -> None:
    assert resolve(path, wanted) == module
    assert "/" not in wanted or wanted.startswith(("node:", ".", "@")), "project modules always have a slash"
    assert module_name("tools.py") != module_name("tools.js").removeprefix("./")


def test_only_the_scripts_of_a_component_are_parsed_and_keep_their_place() -> None:
    text = '<template>\n  <p>{{ x }}</p>\n</template>\n<script lang="ts">\nconst a: number = 1;\n</script>\n'
    script, typed = embedded(text)
    assert typed
    assert len(script) == len(text)
    assert script.split("\n")[4] == "const a: number = 1;"
    assert script.split("\n")[1].strip() == ""


@pytest.mark.parametrize(
    ("pattern", "exponential"),
    [(r"(?<w>a+)+$", True), (r"^(\/\w+)+$", False), (r"^([^\/]+)*x$", True), (r"^\u{1F600}+$", False), (r"([\s\S])*", False)],
)  # fmt: skip
def test_patterns_of_the_language_are_read(pattern: str, exponential: bool) -> None:
    assert bool(ambiguous(as_python(pattern))) == exponential


@pytest.mark.requirement("audit:javascript:speed")
def test_the_cost_of_a_long_script_grows_with_its_lines_only(tmp_path: Path) -> None:
    unit = SERVER.split("\n", 3)[3]
    spent = []
    for size in (40, 160):
        folder = tmp_path / str(size)
        write(folder, {"server.js": "\n".join(SERVER.split("\n")[:3]) + "\n" + unit * size})
        sources = read_sources(folder)
        start = time.process_time()
        establish(sources, workers=1)
        spent.append(time.process_time() - start)
    assert spent[1] < spent[0] * 4 * 3 + 0.5
