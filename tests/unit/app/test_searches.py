"""Searches as every surface starts them: real kernels, a real ledger, a journal that a crash may cut anywhere."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.unit.app.paid_endpoint import CALL_USD, paid_endpoint
from treewright.app import search_apply, searches
from treewright.app.context import Context
from treewright.app.search_drive import Searching
from treewright.app.search_outcome import SearchOutcome
from treewright.app.search_request import SearchRequest, SearchResumeRequest
from treewright.app.search_store import read_search
from treewright.app.treewright import Treewright
from treewright.data.codes import ExitClass
from treewright.errors import CapError, KernelError, RequestError, RunError, StoreError, WorkspaceError
from treewright.store.ledger import Ledger
from treewright.store.paths import find_root

BUGGY = '''"""Numbers."""

LIMIT = 10  # kept as it is


def largest(xs):
    # the first one is as good as any
    best = xs[0]
    for x in xs[1:]:
        if x < best:
            best = x
    return best
'''
CHECKS = "assert largest([3, 1, 2]) == 3\nassert largest([1, 5, 2]) == 5\nassert largest([-1, -5]) == -1\n"
ANSWERS = [
    "```python\ndef f(n):\n    return None\n```",
    "```python\ndef f(n):\n    return n + n\n```",
    "```python\ndef f(n):\n    return n * n\n```",
]
SQUARE = "assert f(0) == 0\nassert f(2) == 4\nassert f(3) == 9\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a program whose function fails its checks."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
    (tmp_path / "numbers_.py").write_text(BUGGY, encoding="utf-8")
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    return tmp_path


def asked(project: Path, **more: object) -> SearchRequest:
    usual: dict[str, object] = {
        "base": str(project),
        "file": "numbers_.py",
        "function": "largest",
        "check_files": ("checks.py",),
    }
    return SearchRequest.model_validate({**usual, **more})


def squares(project: Path, **more: object) -> SearchRequest:
    usual: dict[str, object] = {
        "base": str(project),
        "function": "f",
        "check_texts": (SQUARE,),
        "model": "paid",
        "generators": ("model",),
    }
    return SearchRequest.model_validate({**usual, **more})


def drive(searching: Searching) -> SearchOutcome:
    return asyncio.run(searching.drive())


def search(request: SearchRequest) -> SearchOutcome:
    return drive(searches.start(Context("cli"), request))


def committed(run: str) -> float:
    context = Context("cli")
    answer = Treewright("cli").cap_status(run)
    assert answer.state is not None
    assert Ledger(context.configuration().root.ledger)
    return float(answer.state.committed_usd)


@pytest.mark.requirement("search:app:offline-repair")
@pytest.mark.requirement("search:app:files-untouched")
def test_a_function_with_failing_checks_is_repaired_without_a_model_and_the_file_is_left_alone(
    project: Path,
) -> None:
    outcome = search(asked(project))
    assert outcome.status == "verified"
    assert outcome.exit is ExitClass.DONE
    assert outcome.report.chosen is not None
    assert "-        if x < best:" in outcome.report.chosen.diff
    assert (project / "numbers_.py").read_text(encoding="utf-8") == BUGGY
    assert not (project / ".treewright").exists()
    assert {"report.md", "result.json", "chosen.py", "change.diff"} <= {
        p.name for p in outcome.folder.iterdir()
    }


@pytest.mark.requirement("search:app:journal")
@pytest.mark.requirement("search:app:audit-file")
def test_the_run_is_journalled_indexed_and_audited_below_the_root(project: Path) -> None:
    outcome = search(asked(project))
    root = find_root()
    assert outcome.folder.parent == root.runs
    entry = Treewright("cli").runs()[0]
    assert (entry.id, entry.kind, entry.status, entry.path) == (
        outcome.run,
        "search",
        "verified",
        outcome.folder,
    )
    logged = read_search(outcome.folder)
    (audit,) = root.audit.glob(f"search-{outcome.run}-*.jsonl")
    lines = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(logged.events)
    assert {line["id"] for line in lines} == {f"urn:treewright:search:{project.name}:{outcome.run}"}
    assert [line["event"]["kind"] for line in lines][-1] == "search_concluded"


@pytest.mark.requirement("search:app:index-rebuilt")
def test_a_lost_index_finds_its_searches_again(project: Path) -> None:
    outcome = search(asked(project))
    context = Context("cli")
    context.configuration().root.index.write_text("{broken", encoding="utf-8")
    assert [entry.id for entry in Treewright("cli").runs()] == [outcome.run]


@pytest.mark.requirement("search:app:looked-at")
def test_a_search_is_shown_like_any_run(project: Path) -> None:
    outcome = search(asked(project))
    look = Treewright("cli").look(outcome.run[:8])
    assert look.summary()["verified"] is True
    assert look.summary()["status"] == "verified"
    assert look.outline().startswith("verified: b1")
    assert "compare" in look.node_markdown("b1")
    assert look.node("b0")["verdicts"][0]["passed"] is False
    assert "## The change" in look.report()
    with pytest.raises(RunError, match="no node"):
        look.node("b99")
    with pytest.raises(RequestError, match="SARIF"):
        look.sarif()
    with pytest.raises(RunError, match="code-branch search"):
        Treewright("cli").view(outcome.run)


@pytest.mark.requirement("search:app:apply")
def test_applying_writes_the_winner_and_nothing_else(project: Path) -> None:
    path = project / "numbers_.py"
    path.write_bytes(BUGGY.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    outcome = search(asked(project))
    assert search_apply.apply(Context("cli"), outcome.run) == path
    changed = path.read_bytes()
    assert changed == BUGGY.replace("x < best", "x > best").replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.requirement("search:app:apply-refused")
def test_a_file_that_changed_meanwhile_is_not_written_over(project: Path) -> None:
    outcome = search(asked(project))
    path = project / "numbers_.py"
    path.write_text(BUGGY + "\n# mine\n", encoding="utf-8")
    with pytest.raises(RunError, match="was changed since") as raised:
        search_apply.apply(Context("cli"), outcome.run)
    assert raised.value.code == "search_file_changed"
    assert path.read_text(encoding="utf-8") == BUGGY + "\n# mine\n"


@pytest.mark.requirement("search:app:apply-refused")
def test_what_is_not_verified_is_not_applied(project: Path) -> None:
    impossible = "assert largest([1]) == 1\nassert largest([1]) == 2\n"
    outcome = search(asked(project, check_files=(), check_texts=(impossible,), mutate_seconds=2.0))
    assert outcome.status == "best_so_far"
    assert outcome.exit is ExitClass.NOT_AS_ASKED
    with pytest.raises(RunError, match="No program passed every check"):
        search_apply.apply(Context("cli"), outcome.run)


@pytest.mark.requirement("search:app:refusals")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"file": "absent.py"}, "root_unparseable"),
        ({"check_files": ("absent.py",)}, "root_unparseable"),
        ({"check_files": ()}, "search_no_checks"),
        ({"function": "smallest"}, "search_no_function"),
        ({"generators": ("model",)}, "search_no_generator"),
        ({"generators": ("given",)}, "search_no_generator"),
        ({"check_files": ("checks.py::test_absent",)}, "search_bad_checks"),
        ({"file": "", "function": "f"}, "search_no_generator"),
    ],
)
def test_what_cannot_begin_is_refused_before_anything_is_written(
    project: Path, change: dict[str, object], code: str
) -> None:
    with pytest.raises((RequestError, WorkspaceError)) as raised:
        searches.start(Context("cli"), asked(project, **change))
    assert raised.value.code == code
    assert not find_root().runs.exists()


@pytest.mark.requirement("search:app:disabled")
def test_a_search_that_is_switched_off_is_refused(project: Path) -> None:
    root = find_root()
    root.prepare()
    root.config.write_text("[search]\nenabled = false\n", encoding="utf-8")
    with pytest.raises(CapError) as raised:
        searches.start(Context("cli"), asked(project))
    assert raised.value.code == "capability_disabled"


@pytest.mark.requirement("search:failure:kernels-unavailable")
def test_without_kernels_the_search_refuses_with_e052(project: Path) -> None:
    with pytest.raises(KernelError) as raised:
        searches.start(Context("cli"), asked(project, python=str(project / "no-python")))
    assert raised.value.code == "E052"
    false = project / "false-python"
    false.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    false.chmod(0o755)
    with pytest.raises(KernelError) as raised:
        searches.start(Context("cli"), asked(project, python=str(false)))
    assert raised.value.code == "E052"
    assert not find_root().runs.exists()


@pytest.mark.requirement("search:cap:ledger")
@pytest.mark.requirement("search:cap:continued")
def test_the_cap_halts_the_rest_and_a_higher_one_goes_on(project: Path, isolated_home: Path) -> None:
    with paid_endpoint(isolated_home / "treewright", ANSWERS) as server:
        outcome = search(squares(project, max_candidates=3))
        assert outcome.status == "spend_cap_reached"
        assert outcome.exit is ExitClass.NOT_AS_ASKED
        found = outcome.report
        assert (found.halted, found.reason, found.verified) == (True, "spend_cap", False)
        assert found.chosen is not None
        assert (found.chosen.id, found.chosen.passed, found.failing) == ("b1", 2, ("c3",))
        assert found.spend_usd == pytest.approx(2 * CALL_USD)
        assert len(server.prompts) == 2
        assert committed(outcome.run) == pytest.approx(2 * CALL_USD)
        again = drive(
            searches.resume(Context("cli"), SearchResumeRequest(run=outcome.run, spend_cap_usd=1.0))
        )
        assert again.status == "verified"
        assert len(server.prompts) == 3
        assert committed(outcome.run) == pytest.approx(3 * CALL_USD)


@pytest.mark.requirement("search:cap:nothing-paid")
def test_a_cap_of_zero_sends_nothing(project: Path, isolated_home: Path) -> None:
    with paid_endpoint(isolated_home / "treewright", ANSWERS) as server:
        outcome = search(squares(project, spend_cap_usd=0.0))
        assert server.prompts == []
    assert outcome.report.chosen is None
    assert outcome.exit is ExitClass.REFUSED


@pytest.mark.requirement("search:notices:w051-w052")
def test_many_candidates_and_an_absent_cap_are_noticed(project: Path, isolated_home: Path) -> None:
    with paid_endpoint(isolated_home / "treewright", []):
        for more, codes in (
            ({}, ["W052"]),
            ({"max_candidates": 6, "spend_cap_usd": 0.1}, ["W051"]),
            ({"max_candidates": 6}, ["W051", "W052"]),
        ):
            searching = searches.start(Context("cli"), squares(project, **more))
            searching.close()
            assert [notice.code for notice in searching.notices] == codes


@pytest.mark.requirement("search:app:stop")
def test_a_search_that_is_stopped_keeps_what_it_has_and_goes_on_later(
    project: Path, isolated_home: Path
) -> None:
    with paid_endpoint(isolated_home / "treewright", ANSWERS[:1]) as server:
        searching = searches.start(Context("cli"), squares(project, spend_cap_usd=2.0))

        async def stopped() -> SearchOutcome:
            driven = asyncio.ensure_future(searching.drive())
            assert await asyncio.to_thread(server.waiting.acquire, True, 20)
            searching.stop()
            return await asyncio.wait_for(driven, 15)

        outcome = asyncio.run(stopped())
        assert outcome.status == "stopped"
        assert outcome.exit is ExitClass.INTERRUPTED
        assert outcome.report.reason == "cancelled"
        assert Treewright("cli").runs()[0].status == "stopped"
        sent = len(server.prompts)
        server.answers.extend(ANSWERS[2:])
        server.let_go.set()
        again = drive(searches.resume(Context("cli"), SearchResumeRequest(run=outcome.run)))
        assert again.status == "verified"
        assert server.bodies[0]["temperature"] == 0
        assert not [one for one in server.bodies[sent:] if one["temperature"] == 0]


@pytest.mark.requirement("search:app:stop-elsewhere")
def test_another_process_asks_a_search_to_stop(project: Path, isolated_home: Path) -> None:
    with paid_endpoint(isolated_home / "treewright", ANSWERS[:1]) as server:
        searching = searches.start(Context("cli"), squares(project, spend_cap_usd=2.0))

        async def stopped() -> SearchOutcome:
            driven = asyncio.ensure_future(searching.drive())
            assert await asyncio.to_thread(server.waiting.acquire, True, 20)
            assert "cli" in Treewright("lsp").stop(searching.run)
            with pytest.raises(StoreError, match="being written"):
                searches.resume(Context("lsp"), SearchResumeRequest(run=searching.run))
            return await asyncio.wait_for(driven, 15)

        assert asyncio.run(stopped()).status == "stopped"


@pytest.mark.requirement("search:app:time-limit")
def test_a_time_limit_returns_the_best_so_far(project: Path) -> None:
    slow = "def largest(xs):\n    while True:\n        pass\n"
    (project / "slow.py").write_text(slow, encoding="utf-8")
    outcome = search(
        asked(project, generators=("given",), candidate_files=("slow.py", "numbers_.py"), time_limit_s=2.0)
    )
    assert outcome.report.halted
    assert outcome.report.reason == "timeout"
    assert outcome.report.duration_s < 12


@pytest.mark.requirement("search:app:holdout")
def test_held_out_checks_are_measured_at_the_end_only(project: Path) -> None:
    outcome = search(asked(project, holdout=0.4))
    assert outcome.report.holdout_total == 1
    assert outcome.report.holdout_passed == 1
    assert outcome.report.chosen is not None
    assert outcome.report.chosen.total == 2


@pytest.mark.requirement("search:app:offer")
def test_a_program_that_is_handed_in_later_is_executed_too(project: Path) -> None:
    request = SearchRequest(
        base=str(project), function="f", check_texts=(SQUARE,), candidate_texts=("def f(n):\n    return n\n",)
    )
    first = search(request)
    assert first.status == "best_so_far"
    searching = searches.offer(Context("mcp"), first.run, "def f(n):\n    return n ** 2\n")
    second = drive(searching)
    assert second.status == "verified"
    assert [branch.passed for branch in second.report.branches] == [1, 3]


@pytest.mark.requirement("search:app:pytest")
def test_tests_of_a_package_are_run_by_pytest_beside_the_candidate(project: Path) -> None:
    package = project / "src" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "rates.py").write_text("RATE = 3\n", encoding="utf-8")
    (package / "prices.py").write_text(
        "from .rates import RATE\n\n\ndef price(n):\n    return n + RATE\n", encoding="utf-8"
    )
    tests = project / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n", encoding="utf-8"
    )
    (tests / "test_prices.py").write_text(
        "from shop.prices import price\n\n\ndef test_three(three):\n    assert price(three) == 9\n\n\n"
        "def test_plain():\n    assert price(5) == 15\n    assert price(0) == 0\n",
        encoding="utf-8",
    )
    outcome = search(
        asked(project, file="src/shop/prices.py", function="price", check_files=("tests/test_prices.py",))
    )
    assert outcome.status == "verified", outcome.report
    assert outcome.report.chosen is not None
    assert "return n * RATE" in outcome.report.chosen.code
    assert outcome.report.chosen.total == 3


@pytest.mark.requirement("search:app:python")
def test_checks_run_under_the_projects_own_interpreter(project: Path) -> None:
    import subprocess
    import sys

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(project / ".venv")], check=True)
    (project / "check_where.py").write_text(
        f"import sys\nassert where() == {str(project / '.venv')!r}\n", "utf-8"
    )
    (project / "where.py").write_text(
        "import sys\n\n\ndef where():\n    return sys.prefix\n", encoding="utf-8"
    )
    outcome = search(
        asked(
            project, file="", function="where", check_files=("check_where.py",), candidate_files=("where.py",)
        )
    )
    assert outcome.status == "verified", outcome.report
    logged = read_search(outcome.folder)
    assert logged.opened is not None
    assert logged.opened.python.startswith(str(project / ".venv"))


@pytest.mark.requirement("search:app:untrusted-python")
def test_an_untrusted_folders_interpreter_is_not_started(project: Path) -> None:
    bait = project / ".venv" / "bin"
    bait.mkdir(parents=True)
    (bait / "python").write_text(f"#!/bin/sh\ntouch {project}/started\n", encoding="utf-8")
    (bait / "python").chmod(0o755)
    outcome = search(asked(project, trusted=False))
    assert outcome.status == "verified"
    assert not (project / "started").exists()


@pytest.mark.requirement("search:app:stdout")
def test_expected_output_of_a_script_is_a_check(project: Path) -> None:
    (project / "hello.py").write_text("name = input()\nprint('hello', name)\n", encoding="utf-8")
    (project / "hello.out").write_text("hello ada\n", encoding="utf-8")
    outcome = search(
        SearchRequest(
            base=str(project),
            check_files=("hello.out",),
            candidate_files=("hello.py",),
            stdin="ada\n",
        )
    )
    assert outcome.status == "verified", outcome.report
