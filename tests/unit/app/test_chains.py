"""Chains: seeded and per-item stages, cuts, one cap, resuming."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.performers.answering import Answerer
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, events, project
from treewright.app.chains import ChainOutcome, ChainRequest
from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.errors import RequestError
from treewright.store.run_folder import RunReader
from treewright.tree.event import NodeSeeded, Noted, RunStarted
from treewright.tree.run import RunKind, Status

TOPIC = "How can builds become faster on old laptops?"


def wanted(folder: Path, model: str, **given: Any) -> ChainRequest:
    """Return a request for the usual chain, one round a stage."""
    chain = {name: given.pop(name) for name in ("stages", "top_k") if name in given}
    options = {"rounds": 1, "out": str(folder / "out"), "root": TOPIC, **given}
    return ChainRequest(
        exploration=ExplorationRequest(preset="brainstorm", base=str(folder), model=model, **options), **chain
    )


def run(app: Treewright, request: ChainRequest, stop_after: int = 0) -> ChainOutcome:
    """Start a chain and drive it; with `stop_after`, stop it when so many runs have begun."""
    chain = app.start_chain(request)
    begun = 0

    def on_stage(_: str, growing: object) -> None:
        nonlocal begun
        begun += growing is not None
        if stop_after and begun == stop_after and growing is not None:
            chain.stop()

    return asyncio.run(chain.drive(None, on_stage))


@pytest.mark.requirement("exploration:chain:stages", "exploration:chain:seeded-or-per-item")
@pytest.mark.requirement("exploration:chain:cuts-logged")
@pytest.mark.requirement("exploration:chain:layout")
def test_a_chain_seeds_design_and_attacks_each_carried_item(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=3)) as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = run(Treewright("cli"), wanted(folder, model, top_k=2, lang="de"))
    assert outcome.status is Status.CONVERGED, outcome.reason
    home = outcome.folder
    assert (home / "stage1-brainstorm" / "shortlist.md").is_file()
    seeded = [e for e in events(home / "stage2-design") if isinstance(e, NodeSeeded)]
    assert [e.node for e in seeded] == ["S1", "S2"]
    attacks = sorted(path for path in (home / "stage3-attack").iterdir() if path.is_dir())
    assert len(attacks) == 2
    for stage in ("stage1-brainstorm", "stage2-design", attacks[0].relative_to(home).as_posix()):
        started = events(home / stage)[0]
        assert isinstance(started, RunStarted)
        assert started.language.output == "de"
    report = (home / "CHAIN_REPORT.md").read_text(encoding="utf-8")
    cuts = [e.text for e in events(home) if isinstance(e, Noted) and "seeded" in e.text]
    assert len(cuts) == 2
    for cut in cuts:
        assert cut.partition(": ")[2] in report
        assert "seeded 2 of " in cut
    entries = Treewright("cli").runs()
    assert next(entry for entry in entries if entry.id == outcome.run).kind == RunKind.CHAIN


@pytest.mark.requirement("exploration:chain:empty-stops")
def test_an_empty_deliverable_stops_the_chain_and_names_the_stage(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=1)) as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = run(Treewright("cli"), wanted(folder, model, stages=("brainstorm", "design")))
    assert outcome.status is Status.EARLY_STOP
    assert outcome.reason == "empty_deliverable: stage1-brainstorm"
    assert not (outcome.folder / "stage2-design" / "journal.jsonl").exists()
    assert "stage1-brainstorm" in (outcome.folder / "CHAIN_REPORT.md").read_text(encoding="utf-8")


@pytest.mark.requirement("performers:chain:resumable")
def test_a_stopped_chain_resumes_and_repeats_no_call(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=3), latency_s=0.01) as endpoint:
        model = configure(isolated_home, endpoint.url)
        app = Treewright("cli")
        stopped = run(app, wanted(folder, model, stages=("brainstorm", "design"), top_k=1), stop_after=2)
        assert stopped.status is Status.STOPPED
        chain = app.chain_of(str(stopped.folder))
        assert chain is not None
        outcome = asyncio.run(chain.drive())
        delivered = endpoint.delivered
    assert outcome.status is Status.CONVERGED, outcome.reason
    assert len(delivered) == len(set(delivered))


@pytest.mark.requirement("exploration:ending:spend-cap")
def test_one_spend_cap_holds_for_the_whole_chain(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=3)) as endpoint:
        model = configure(isolated_home, endpoint.url, price_in_usd=1.0, price_out_usd=1.0)
        app = Treewright("cli")
        request = wanted(folder, model, stages=("brainstorm", "design"), top_k=1, spend_cap_usd=0.2)
        outcome = run(app, request)
        assert outcome.status is Status.SPEND_CAP_REACHED
        spent = sum(
            RunReader(path.parent).tree.spend.usd for path in outcome.folder.glob("stage*/journal.jsonl")
        )
        assert spent <= 0.2
        chain = app.chain_of(outcome.run, spend_cap_usd=20.0)
        assert chain is not None
        assert asyncio.run(chain.drive()).status is Status.CONVERGED


@pytest.mark.parametrize("stages", [(), ("brainstorm", "nonsense")])
def test_stages_that_cannot_be_are_refused_before_anything_is_written(
    stages: tuple[str, ...], tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    model = configure(isolated_home, "http://127.0.0.1:9/v1")
    start: Callable[[], object] = lambda: Treewright("cli").start_chain(wanted(folder, model, stages=stages))  # noqa: E731
    with pytest.raises((RequestError, Exception), match=r"stage|preset"):
        start()
    assert not (folder / "out").exists()
