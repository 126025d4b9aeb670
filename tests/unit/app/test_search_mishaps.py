"""What goes wrong around a search: models that do not answer, kernels that are gone, logs that a crash cut off, damage."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.app.paid_endpoint import CALL_USD, paid_endpoint
from treewright.app import search_hosts, searches
from treewright.app.context import Context
from treewright.app.search_outcome import SearchOutcome
from treewright.app.search_request import SearchRequest, SearchResumeRequest
from treewright.app.search_sources import lay_out, split_target
from treewright.app.search_store import read_search
from treewright.app.search_tracer import find_tracer
from treewright.app.treewright import Treewright
from treewright.data.codes import ExitClass
from treewright.errors import KernelError, RunError, StoreError
from treewright.store.paths import find_root

SQUARE = "assert f(0) == 0\nassert f(2) == 4\nassert f(3) == 9\n"
NEAR = "def f(n):\n    return n + n\n"
RIGHT = "```python\ndef f(n):\n    return n * n\n```"


def asked(folder: Path, **more: object) -> SearchRequest:
    usual: dict[str, object] = {"base": str(folder), "function": "f", "check_texts": (SQUARE,)}
    return SearchRequest.model_validate({**usual, **more})


def search(request: SearchRequest) -> SearchOutcome:
    return asyncio.run(searches.start(Context("cli"), request).drive())


def again(run: str, **more: object) -> SearchOutcome:
    request = SearchResumeRequest.model_validate({"run": run, **more})
    return asyncio.run(searches.resume(Context("cli"), request).drive())


@pytest.mark.requirement("search:app:model-pauses")
def test_an_endpoint_that_is_not_there_pauses_the_search(tmp_path: Path, isolated_home: Path) -> None:
    home = isolated_home / "treewright"
    with paid_endpoint(home, []):
        pass  # its address is known, and nobody listens there any more
    outcome = search(asked(tmp_path, model="paid", generators=("model",)))
    assert outcome.status == "paused"
    assert outcome.exit is ExitClass.MODEL
    assert outcome.reason
    with paid_endpoint(home, [RIGHT]):
        resumed = again(outcome.run)
    assert resumed.status == "verified"


@pytest.mark.requirement("search:failure:kernels-unavailable")
def test_kernels_that_are_all_lost_are_an_error_and_no_result(tmp_path: Path) -> None:
    searching = searches.start(Context("cli"), asked(tmp_path, candidate_texts=(NEAR,)))
    searching._hosts.close()
    with pytest.raises(KernelError) as raised:
        asyncio.run(searching.drive())
    assert raised.value.code == "E052"


@pytest.mark.requirement("search:app:audit-file")
def test_what_a_crash_left_out_of_the_audit_log_is_added(tmp_path: Path) -> None:
    first = search(asked(tmp_path, candidate_texts=(NEAR,)))
    (path,) = find_root().audit.glob(f"search-{first.run}-*.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[2][:40], encoding="utf-8")
    searching = searches.offer(Context("cli"), first.run, "def f(n):\n    return n ** 2\n")
    assert asyncio.run(searching.drive()).status == "verified"
    told = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            told.append(json.loads(line)["event"]["kind"])
        except ValueError:
            assert line == lines[2][:40]
    assert told == [event.kind for event in read_search(first.folder).events]


@pytest.mark.requirement("search:app:damage")
def test_a_damaged_search_is_shown_recovered_and_continued(tmp_path: Path) -> None:
    first = search(asked(tmp_path, candidate_texts=(NEAR,)))
    journal = first.folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"return n + n", b"return n - n")
    journal.write_bytes(b"".join(lines))
    assert Treewright("cli").look(first.run).summary()["damaged_lines"] == [3]
    with pytest.raises(StoreError) as raised:
        searches.resume(Context("cli"), SearchResumeRequest(run=first.run))
    assert raised.value.code == "journal_damaged"
    assert Treewright("cli").recover(first.run)["original"]
    assert again(first.run).status in ("best_so_far", "verified")


@pytest.mark.requirement("search:app:refusals")
def test_what_is_verified_or_was_never_begun_is_not_resumed(tmp_path: Path) -> None:
    first = search(asked(tmp_path, candidate_texts=("def f(n):\n    return n * n\n",)))
    with pytest.raises(RunError) as raised:
        searches.resume(Context("cli"), SearchResumeRequest(run=first.run))
    assert raised.value.code == "search_verified"
    lines = (first.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (first.folder / "journal.jsonl").write_bytes(lines[0])
    with pytest.raises(RunError) as raised:
        searches.resume(Context("cli"), SearchResumeRequest(run=str(first.folder)))
    assert raised.value.code == "run_empty"


@pytest.mark.requirement("search:app:killed")
def test_an_answer_that_was_kept_but_not_settled_is_neither_lost_nor_asked_again(
    tmp_path: Path, isolated_home: Path
) -> None:
    with paid_endpoint(isolated_home / "treewright", [RIGHT]) as server:
        searching = searches.start(
            Context("cli"), asked(tmp_path, model="paid", generators=("model",), spend_cap_usd=1.0)
        )
        task = searching.engine.ready()[0]
        assert searching._reserve(task)  # type: ignore[arg-type]  # the greedy draft
        assert searching._model is not None
        answer = asyncio.run(searching._model.complete(task))  # type: ignore[arg-type]
        searching.writer.answer(answer.result)
        searching.close()  # killed here: charged nowhere, handed in nowhere
        outcome = again(searching.run)
        assert outcome.status == "verified"
        assert len(server.prompts) == 1
        assert outcome.report.spend_usd == pytest.approx(CALL_USD)
        state = Treewright("cli").cap_status(outcome.run).state
        assert state is not None
        assert float(state.committed_usd) == pytest.approx(CALL_USD)
        assert state.open_reservations == ()


@pytest.mark.requirement("search:trajectory:spans")
def test_no_tracer_is_looked_for_unless_one_is_configured() -> None:
    assert find_tracer({}) is None
    assert find_tracer({"OTEL_TRACES_EXPORTER": "none"}) is None


@pytest.mark.requirement("search:cli:several-values")
def test_a_colon_divides_a_file_from_a_function_only(tmp_path: Path) -> None:
    (tmp_path / "odd:name.py").write_text("", encoding="utf-8")
    for target, parts in (
        ("a.py", ("a.py", "")),
        ("a.py:f", ("a.py", "f")),
        ("a.py:A.f", ("a.py", "A.f")),
        ("odd:name.py", ("odd:name.py", "")),
        ("C:code", ("C:code", "")),
        ("a.py:3", ("a.py:3", "")),
    ):
        assert split_target(target, tmp_path) == parts


@pytest.mark.requirement("search:app:pytest")
def test_a_program_is_laid_out_as_its_package_has_it(tmp_path: Path) -> None:
    package = tmp_path / "src" / "shop" / "core"
    package.mkdir(parents=True)
    for name in ("src/shop/__init__.py", "src/shop/core/__init__.py", "src/shop/core/a.py", "src/shop/b.py"):
        (tmp_path / name).write_text("X = 1\n", encoding="utf-8")
    (tmp_path / "src" / "elsewhere.py").write_text("X = 2\n", encoding="utf-8")
    layout = lay_out(package / "a.py", tmp_path)
    assert layout.package == "shop.core"
    assert set(layout.files) == {
        *("shop/__init__.py", "shop/b.py", "shop/core/__init__.py", "shop/core/a.py", "src/shop/core/a.py"),
    }
    assert layout.files["shop/b.py"] == "X = 1\n"
    assert "solution.py" in layout.files["shop/core/a.py"]


@pytest.mark.requirement("search:app:pytest-missing")
def test_an_interpreter_without_pytest_is_a_named_error(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
    (tmp_path / "near.py").write_text(NEAR, encoding="utf-8")
    (tmp_path / "test_near.py").write_text(
        "import pytest\nfrom near import f\n\n\n@pytest.fixture\ndef two():\n    return 2\n\n\n"
        "def test_it(two):\n    assert f(two) == 4\n",
        encoding="utf-8",
    )
    request = SearchRequest(base=str(tmp_path), file="near.py", function="f", check_files=("test_near.py",))
    searching = searches.start(Context("cli"), request)
    with pytest.raises(KernelError) as raised:
        asyncio.run(searching.drive())
    assert raised.value.code == "search_pytest_missing"
    assert "-m pip install pytest" in raised.value.hint
    assert Treewright("cli").look(searching.run).summary()["status"] == "paused"


@pytest.mark.requirement("search:app:no-forks")
def test_where_forking_is_not_to_be_had_edits_are_screened_in_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_hosts, "can_fork", lambda: False)
    (tmp_path / "near.py").write_text("def f(n):\n    return n\n", encoding="utf-8")
    outcome = search(
        SearchRequest(
            base=str(tmp_path),
            file="near.py",
            function="f",
            check_texts=("assert f(0) == 1\nassert f(2) == 3\n",),
            mutate_seconds=20.0,
        )
    )
    assert outcome.status == "verified", outcome.report
