"""What an earlier audit found out is taken again where nothing it rests on has changed, and never where something has."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.static.growing import Growing
from treewright.performers.static.audit import audit, conclude, establish, read_sources
from treewright.performers.static.cache import FactsCache
from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Finding
from treewright.performers.static.judging import Judge, Symbols
from treewright.performers.static.languages import analyse
from treewright.performers.static.project import Project, Replaced
from treewright.performers.static.proving import stands

TOOLS = "import os\n\n\ndef _ping(host):\n    os.system('ping ' + host)\n"
CLEAN = "import os\n\n\ndef _ping(host):\n    print(host)\n"
VIEW = "from flask import Flask, request\nimport tools\n\napp = Flask(__name__)\n\n\n@app.route('/')\ndef index():\n    return str(tools._ping({}))\n"
SAFE = "def name(request):\n    return 'fixed'\n"
OPEN = "def name(request):\n    return request.args['q']\n"


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def warm(folder: Path) -> tuple[list[Finding], FactsCache]:
    cache = FactsCache(folder.parent / "audit.db")
    return audit(folder, cache, workers=1).findings, cache


@pytest.mark.requirement("audit:cache:same-as-cold")
@pytest.mark.parametrize("seed", range(4))
def test_after_any_edit_a_warm_audit_says_what_a_cold_one_says(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    project = Growing(seed)
    project.write(folder)
    warm(folder)
    for _ in range(12):
        done = project.edit()
        project.write(folder)
        found, _ = warm(folder)
        assert found == audit(folder, workers=1).findings, done


@pytest.mark.requirement("audit:cache:callee-elsewhere")
def test_a_callee_changed_in_another_file_changes_what_its_callers_lead_to(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    write(folder, {"view.py": VIEW.format("request.args['host']"), "tools.py": TOOLS})
    wrong = [f for f in warm(folder)[0] if f.rule == "shell-command-from-input"]
    assert [f.verdict for f in wrong] == ["CONFIRMED"]
    assert {step.quote.path for step in wrong[0].exploit_path} == {"view.py", "tools.py"}
    write(folder, {"view.py": VIEW.format("'localhost'")})
    assert not [
        f for f in warm(folder)[0] if f.rule == "shell-command-from-input" and f.verdict == "CONFIRMED"
    ]
    write(folder, {"view.py": VIEW.format("source.name(request)") + "\nimport source\n", "source.py": SAFE})
    assert not [
        f for f in warm(folder)[0] if f.rule == "shell-command-from-input" and f.verdict == "CONFIRMED"
    ]
    write(folder, {"source.py": "from flask import request\n\n\n" + OPEN.replace("(request)", "(_)")})
    again = [f for f in warm(folder)[0] if f.rule == "shell-command-from-input"]
    assert [f.verdict for f in again] == ["CONFIRMED"]
    assert any(step.quote.path == "source.py" for step in again[0].exploit_path)


@pytest.mark.requirement("audit:cache:only-what-changed")
def test_the_work_of_a_warm_audit_follows_the_change_and_not_the_project(tmp_path: Path) -> None:
    made: list[dict[str, int]] = []
    for size in (6, 24):
        folder = tmp_path / str(size) / "code"
        folder.parent.mkdir()
        folder.mkdir()
        for number in range(size):
            text = VIEW.format("request.args['host']").replace("tools", f"tools{number}")
            write(folder, {f"view{number}.py": text, f"tools{number}.py": TOOLS})
        _, cold = warm(folder)
        assert cold.made["facts"] == 2 * size and cold.made["proof"] >= size
        _, nothing = warm(folder)
        assert not nothing.made
        write(folder, {"tools0.py": TOOLS + "\n\ndef more():\n    return 1\n"})
        _, changed = warm(folder)
        made.append(dict(changed.made))
    assert made[0] == made[1]
    assert made[0]["facts"] == 1 and made[0]["outcome"] <= 2


def test_a_new_module_does_not_make_the_others_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    write(
        folder,
        {
            "view.py": VIEW.format("request.args['host']"),
            "tools.py": TOOLS,
            "own.py": "import other\nother.f(1)\n",
        },
    )
    warm(folder)
    write(folder, {"further.py": "x = 1\n"})
    assert warm(folder)[1].made["facts"] == 1
    write(folder, {"other.py": "def f(x):\n    return x\n"})  # own.py asked whether `other` is the project's
    assert warm(folder)[1].made["facts"] == 2


def test_a_file_replaced_in_a_project_gives_the_same_answers_as_the_project_built_anew(
    tmp_path: Path,
) -> None:
    grown = Growing(7)
    grown.write(tmp_path)
    sources = read_sources(tmp_path)
    facts = establish(sources, workers=1)
    for _ in range(10):
        grown.edit()
    grown.others.clear()
    grown.write(tmp_path)
    later = establish(read_sources(tmp_path), workers=1)
    for path in facts:
        mixed = {**facts, path: later[path]}
        quick, whole = Replaced(Project(facts), later[path]), Project(mixed)
        names = {
            call.callee for file in mixed.values() for function in file.functions for call in function.calls
        }
        queries = [("name", name) for name in names] + [("callers", whole.find(name)) for name in names]
        queries += [("writes", field) for file in mixed.values() for field in file.field_writes]
        assert [quick.answer(query) for query in queries] == [whole.answer(query) for query in queries]


@pytest.mark.requirement("audit:edits:kept")
def test_a_proof_whose_way_begins_in_another_file_is_kept_until_that_file_changes(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    reads = "def _ping(host):\n    with open('/srv/' + host) as stream:\n        return stream.read()\n"
    write(folder, {"view.py": VIEW.format("request.args['host']"), "tools.py": reads})
    first, cold = warm(folder)
    wrong = next(f for f in first if f.rule == "path-from-input")
    assert wrong.edits_verified and wrong.exploit_path[0].quote.path == "view.py"
    assert cold.made["proof"] == 1
    second, kept = warm(folder)
    assert second == first and not kept.made["proof"]
    write(folder, {"view.py": "# moved\n" + VIEW.format("request.args['host']")})
    third, anew = warm(folder)
    assert anew.made["proof"] == 1
    assert third == audit(folder, workers=1).findings


def test_a_kept_edit_whose_old_text_does_not_stand_there_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    write(
        folder,
        {"a.py": "import yaml\n\n\ndef load(stream):\n    return yaml.load(stream, Loader=yaml.Loader)\n"},
    )
    finding = next(f for f in warm(folder)[0] if f.edits_verified)
    lines = (folder / "a.py").read_text(encoding="utf-8").split("\n")
    assert stands(finding.edits[0], lines)
    assert not stands(replace(finding.edits[0], old="os.remove"), lines)
    assert not stands(finding.edits[0], lines[:2])


def test_many_ways_between_functions_cost_no_more_than_the_functions(tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        parts = ["import os\nimport sys\n"]
        for number in range(count):
            calls = "".join(f"    a = f{max(number - back, 0)}(a)\n" for back in (1, 2, 3))
            parts.append(f"def f{number}(a):\n{calls if number else ''}    return a\n")
        parts.append(f"os.system(f{count - 1}(sys.argv[1]))\n")
        facts = _facts(tmp_path, "\n".join(parts))
        return _fastest(lambda: Judge(facts, {}, lambda _: []).all())

    # The ways from the last function to the first are as many as the third power of its depth; the functions are not.
    assert seconds(80) < 8 * max(seconds(20), 0.005)


def test_the_innermost_symbol_is_found_for_every_line(tmp_path: Path) -> None:
    text = "x = 1\n\n\nclass A:\n    def f(self):\n        def g():\n            return 1\n        return g\n\n    y = 2\n\n\nz = 3\n"
    file = _facts(tmp_path, text)["a.py"]
    symbols = Symbols(file)
    names = [symbols.at(line).removeprefix("a.") for line in (1, 4, 5, 7, 8, 10, 13)]
    assert names == ["<module>", "A", "A.f", "A.f.g", "A.f", "A", "<module>"]


def _facts(folder: Path, text: str) -> dict[str, FileFacts]:
    write(folder, {"a.py": text})
    return establish(read_sources(folder), workers=1)


def _fastest(run: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
    return min(found)


def test_conclude_without_a_cache_keeps_nothing(tmp_path: Path) -> None:
    write(tmp_path / "code", {"a.py": TOOLS})
    sources = read_sources(tmp_path / "code")
    conclude(sources, establish(sources, workers=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code"]


LARGE: dict[str, Callable[[int], str]] = {
    "functions.py": lambda n: "import os\n" + "".join(f"def f{i}(a):\n    os.system(a)\n" for i in range(n)),
    "module.py": lambda n: (
        "import os, sys\na = sys.argv[1]\n"
        + "".join(f"v{i} = a + '{i}'\nos.system(v{i})\n" for i in range(n))
    ),
    "calls.py": lambda n: "import m\ndef f(a):\n" + "".join(f"    m.g{i}(a)\n" for i in range(n)),
    "table.py": lambda n: "T = {\n" + "".join(f"    'k{i}': ('v', {i}),\n" for i in range(n)) + "}\n",
    "functions.js": lambda n: (
        "const c = require('child_process');\n"
        + "".join(f"function f{i}(a) {{ c.exec(a); }}\n" for i in range(n))
    ),
    "body.js": lambda n: (
        "function f(a) {\n" + "".join(f"  a = g(a, {i}); var b{i} = a;\n" for i in range(n)) + "}\n"
    ),
}


@pytest.mark.slow
@pytest.mark.requirement("audit:cost:linear")
@pytest.mark.parametrize("name", LARGE)
def test_no_form_of_file_costs_the_square_of_its_length(name: str) -> None:
    def seconds(count: int) -> float:
        text = LARGE[name](count)
        return _fastest(lambda: analyse(name, text, "", frozenset({"m"}), False))

    assert seconds(1600) < 9 * max(
        seconds(400), 0.01
    )  # four times as long; the square would be sixteen times


def test_a_minified_file_of_a_megabyte_is_named_and_not_followed() -> None:
    text = "var a=function(b){return b.c(b)};" * 35_000
    begun = time.process_time()
    assert "minified" in analyse("a.js", text, "", frozenset(), False).fault
    assert time.process_time() - begun < 2
