"""Searching for a verified fix: the tests that reach a finding, and the audit that must not find it again."""

import asyncio
from pathlib import Path

import pytest

from treewright.app.context import Context
from treewright.app.request import ExplorationRequest
from treewright.app.search_findings import likely_tests, proposed
from treewright.app.search_fix import fix_for_finding
from treewright.app.search_hosts import absolute_imports
from treewright.app.search_request import SearchResumeRequest
from treewright.app.search_store import read_search
from treewright.app.searches import resume
from treewright.app.treewright import Treewright
from treewright.errors import RequestError, RunError
from treewright.search.functions import defines, function_at, lines_of
from treewright.tree.run import Role

LOADER = '''"""Settings."""

import yaml


def read(text):
    """Read settings."""
    found = yaml.load(text, Loader=yaml.Loader)
    return dict(found or {})


def other(n):
    return n + 1
'''
WEB = """from flask import Flask, request

from shop.settings import read

app = Flask(__name__)


@app.route("/settings", methods=["POST"])
def settings():
    return read(request.get_data())
"""
TESTS = """from shop.settings import other, read


def test_reading():
    assert read("a: 1") == {"a": 1}
    assert read("") == {}


def test_other():
    assert other(1) == 2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with one finding in a function that tests reach."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\nversion = "0"\n', encoding="utf-8")
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "settings.py").write_text(LOADER, encoding="utf-8")
    (package / "web.py").write_text(WEB, encoding="utf-8")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_settings.py").write_text(TESTS, encoding="utf-8")
    (tests / "test_elsewhere.py").write_text("def test_one():\n    assert 1\n", encoding="utf-8")
    return tmp_path


def audited(project: Path) -> tuple[str, str]:
    """Audit a project and return the run, and the confirmed finding of `yaml.load`."""
    app = Treewright("cli")
    growing = app.start(ExplorationRequest(preset="code-audit", root=".", base=str(project)))
    asyncio.run(growing.drive())
    tree = growing.writer.tree
    nodes = [
        node
        for node in tree.nodes.values()
        if "yaml.load" in node.statement and "settings.py" in node.position and node.role is Role.ADVANCES
    ]
    assert nodes, [node.statement for node in tree.nodes.values()]
    return growing.run, nodes[0].id


@pytest.mark.requirement("search:fix:verified")
@pytest.mark.requirement("search:fix:tests-that-reach")
def test_a_findings_fix_is_offered_only_when_tests_pass_and_the_audit_is_content(project: Path) -> None:
    run, node = audited(project)
    searching = fix_for_finding(Context("lsp"), run, node)
    sources = [check.source for check in searching.engine.state.plan.checks]
    assert len(sources) == 3, sources
    assert all("read(" in source for source in sources[:2])
    assert "the audit no longer finds" in sources[2]
    outcome = asyncio.run(searching.drive())
    assert outcome.status == "verified", outcome.report
    found = outcome.report
    assert found.chosen is not None
    assert (found.branches[0].passed, found.branches[0].total) == (2, 3)
    assert "yaml.Loader)" not in found.chosen.code
    assert (project / "shop" / "settings.py").read_text(encoding="utf-8") == LOADER


@pytest.mark.requirement("search:fix:verified")
def test_the_audit_judges_a_resumed_search_too(project: Path) -> None:
    run, node = audited(project)
    searching = fix_for_finding(Context("lsp"), run, node)
    folder = searching.folder
    searching.close()
    logged = read_search(folder)
    assert logged.opened is not None
    assert logged.opened.audited is not None
    outcome = asyncio.run(resume(Context("cli"), SearchResumeRequest(run=str(folder))).drive())
    assert outcome.status == "verified", outcome.report


@pytest.mark.requirement("search:fix:refusals")
def test_what_no_search_can_fix_is_refused(project: Path) -> None:
    run, node = audited(project)
    with pytest.raises(RunError):
        fix_for_finding(Context("lsp"), run, "Z99")
    (project / "shop" / "settings.py").write_text("def read(:\n", encoding="utf-8")
    with pytest.raises(RequestError) as raised:
        fix_for_finding(Context("lsp"), run, node)
    assert raised.value.code == "search_bad_start"


@pytest.mark.requirement("search:fix:tests-that-reach")
def test_tests_that_name_the_module_come_first(project: Path) -> None:
    found = likely_tests(project / "shop" / "settings.py", "read", project)
    assert [path.name for path in found] == ["test_settings.py"]


@pytest.mark.requirement("search:fix:tests-that-reach")
def test_functions_are_found_by_line_and_by_name() -> None:
    program = (
        "import x\n\n\nclass A:\n    @x\n    def f(self):\n        def inner():\n            return 1\n        return inner\n"
        "\n\nif x:\n    def g():\n        return 2\n"
    )
    assert [function_at(program, line) for line in (1, 4, 5, 8, 9, 13)] == ["", "", "A.f", "A.f", "A.f", "g"]
    assert defines(program, "A.f")
    assert defines(program, "g")
    assert not defines(program, "A.g")
    assert not defines(program, "f")
    assert lines_of(program, "A.f") == range(7, 10)
    assert lines_of(program, "absent") is None


@pytest.mark.requirement("search:app:pytest")
def test_relative_imports_name_their_package() -> None:
    program = "from . import a\nfrom .b import c\nif x:\n    from ..d import (\n        e,\n    )\nfrom f import g\n"
    assert absolute_imports(program, "shop.core") == (
        "from shop.core import a\nfrom shop.core.b import c\nif x:\n    from shop.d import (\n        e,\n    )\nfrom f import g\n"
    )
    assert absolute_imports(program, "") == program


@pytest.mark.requirement("search:fix:verified")
def test_a_proposed_change_that_no_longer_fits_is_no_candidate(project: Path) -> None:
    from treewright.app.findings import one_finding
    from treewright.app.search_sources import read_program

    run, node = audited(project)
    finding = one_finding(Context("lsp"), run, node)
    path = project / "shop" / "settings.py"
    fixed = proposed(finding, read_program(project, str(path)))
    assert "yaml.Loader" not in fixed
    assert fixed.count("\n") == LOADER.count("\n")
    path.write_text(LOADER.replace("found = yaml", "found  =  yaml"), encoding="utf-8")
    assert proposed(finding, read_program(project, str(path))) == ""
