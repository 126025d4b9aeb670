"""Whole runs with the model performer against an endpoint that answers by schema."""

from pathlib import Path

import pytest

from tests.unit.performers.answering import Answerer
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, events, grow, project, request
from treewright.app.treewright import Treewright
from treewright.store.run_folder import RunReader
from treewright.tree.event import NodeChecked, ProposalsChecked, RunStarted, SpendRecorded
from treewright.tree.node import Phase
from treewright.tree.run import Status

PRESETS = ("brainstorm", "attack", "design", "code-audit")
FILES = {
    "brainstorm": "shortlist.md",
    "attack": "confirmed.md",
    "design": "options.md",
    "code-audit": "findings.md",
}


@pytest.mark.parametrize("context", [4096, 32_000], ids=["small-context", "large-context"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.requirement("performers:model:every-preset")
def test_each_preset_runs_to_a_named_status_with_all_its_files(
    preset: str, context: int, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url, context_tokens=context)
        outcome = grow(Treewright("cli"), request(preset, folder, model))
    tree = RunReader(outcome.folder).tree
    assert outcome.status in (Status.CONVERGED, Status.ROUNDS_EXHAUSTED), outcome.reason
    assert len(tree.nodes) - 1 >= 12
    assert not tree.waiting[Phase.BLOCKED]
    assert {"REPORT.md", FILES[preset], "tree.md", "tree.json"} <= set(outcome.outputs)
    started = events(outcome.folder)[0]
    assert isinstance(started, RunStarted)
    assert started.options["prompts"].startswith("4+")
    assert not (outcome.folder / "answers.jsonl").exists() or not outcome.status.final


@pytest.mark.requirement("performers:model:hallucinated-citations")
@pytest.mark.requirement("exploration:evidence:lines-not-found")
@pytest.mark.parametrize("preset", ["attack", "code-audit"])
def test_no_invented_quotation_is_verified_and_no_node_rests_on_one(
    preset: str, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(invents=0.3)) as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = grow(Treewright("cli"), request(preset, folder, model))
    seen = 0
    for event in events(outcome.folder):
        groups = (
            event.citations
            if isinstance(event, ProposalsChecked)
            else [event.citations]
            if isinstance(event, NodeChecked)
            else []
        )
        for checked in (each for group in groups for each in group):
            if "invented_" in checked.citation.quote:
                seen += 1
                assert not checked.state.holds
    assert seen >= 5, "the model was to invent some"
    reader = RunReader(outcome.folder)
    for node in reader.tree.descendants():
        if node.counts and node.role is not None and node.checked_at >= 0:
            checked_event = reader.read(node.checked_at)
            assert isinstance(checked_event, NodeChecked)
            place = [
                c
                for c in checked_event.citations
                if c.citation.field in ("", "artifact_position", "code_position")
            ]
            assert any(c.state.holds for c in place), f"{node.id} rests on nothing"


@pytest.mark.requirement("performers:model:spend-recorded")
def test_every_call_is_recorded_with_its_tokens(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = grow(Treewright("cli"), request("brainstorm", folder, model))
        spent = [event for event in events(outcome.folder) if isinstance(event, SpendRecorded)]
        assert len(spent) == len(endpoint.delivered)
    assert sum(event.prompt_tokens for event in spent) > 1000
    assert RunReader(outcome.folder).tree.spend.usd == 0
