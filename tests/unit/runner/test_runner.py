"""Ready tasks to performers and back: concurrency, pauses, stops, failures."""

import asyncio
from pathlib import Path

import pytest

from tests.unit.explore.growing import FRAMINGS, seeded
from treewright.errors import CapError, ModelError
from treewright.explore.engine import Explorer
from treewright.explore.materials import Materials
from treewright.explore.ports import Performance
from treewright.explore.tasks import Brief, TaskKind, VerifyResult
from treewright.performers.scripted import ScriptedPerformer
from treewright.presets.loader import load_preset
from treewright.runner import Runner
from treewright.store.locks import request_stop
from treewright.store.run_folder import RunReader, RunWriter
from treewright.tree.citation import CheckedCitation, CitationState
from treewright.tree.event import RunStarted, SpendRecorded
from treewright.tree.run import RootSpec, Status


class Checks:
    """Says that every citation holds."""

    name = "checks"

    async def perform(self, brief: Brief) -> Performance:
        """Answer."""
        states = [
            [CheckedCitation(citation=c, state=CitationState.VERIFIED) for c in group]
            for group in brief.checks
        ]
        return Performance(result=VerifyResult(citations=states))


def begun(folder: Path) -> tuple[RunWriter, Explorer]:
    """Return a started run."""
    folder.mkdir(exist_ok=True)
    writer = RunWriter.create(folder, "cli")
    preset = load_preset("brainstorm")
    explorer = Explorer(writer.tree, Materials(preset, FRAMINGS), writer)
    started = RunStarted(
        run="r", preset=preset.name, preset_digest=preset.digest, root=RootSpec(kind="topic"), mode="research"
    )
    writer.stage(explorer.begin(started))
    writer.commit()
    return writer, explorer


class Gauge:
    """Counts how many tasks are performed at once."""

    name = "gauge"

    def __init__(self) -> None:
        self.now = self.most = 0
        self.rule = seeded(advance=0)

    async def perform(self, brief: Brief) -> Performance:
        """Answer after letting others in."""
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(20):
            await asyncio.sleep(0)
        self.now -= 1
        return Performance(result=self.rule(brief))


@pytest.mark.requirement("exploration:flow:fan-out-concurrent")
@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (5, 5), (12, 12), (40, 13)])
def test_a_fan_out_is_performed_side_by_side_within_the_concurrency(
    tmp_path: Path, concurrency: int, most: int
) -> None:
    writer, explorer = begun(tmp_path / "run")
    gauge = Gauge()
    with writer:
        status = asyncio.run(Runner(writer, explorer, gauge, Checks(), concurrency=concurrency).run())
    assert status is Status.CONVERGED
    assert gauge.most == most


@pytest.mark.requirement("exploration:ending:overload-pauses")
@pytest.mark.parametrize("code", ["model_over_quota", "model_overloaded", "model_unreachable"])
def test_quota_and_overload_pause_a_run_that_then_goes_on_without_repeating_work(
    tmp_path: Path, code: str
) -> None:
    folder = tmp_path / "run"
    writer, explorer = begun(folder)
    fault = ModelError(code, "come back later")
    performer = ScriptedPerformer(seeded(advance=0), {"derive/C1/0.1": fault})
    with writer:
        assert (
            asyncio.run(Runner(writer, explorer, performer, Checks(), concurrency=3).run()) is Status.PAUSED
        )
    assert code in RunReader(folder).tree.reason
    again = RunWriter.open(folder, "cli")
    second = ScriptedPerformer(seeded(advance=0))
    with again:
        explorer = Explorer(again.tree, explorer.materials, again)
        again.stage(explorer.resume())
        again.commit()
        assert asyncio.run(Runner(again, explorer, second, Checks()).run()) is Status.CONVERGED
    repeated = set(performer.performed) & set(second.performed)
    assert repeated == {"derive/C1/0.1"}


@pytest.mark.requirement("exploration:ending:spend-cap")
def test_a_refused_reservation_lets_what_is_in_flight_finish_then_pauses_by_name(tmp_path: Path) -> None:
    writer, explorer = begun(tmp_path / "run")
    refusal = CapError("spend_cap_exceeded", "0.10 USD are over what is left")
    performer = ScriptedPerformer(seeded(advance=0), {"propose/0/B/1": refusal}, latency_s=0.001)
    with writer:
        status = asyncio.run(Runner(writer, explorer, performer, Checks(), concurrency=12).run())
        assert status is Status.SPEND_CAP_REACHED
        answered = [letter for letter, s in writer.tree.passes["0"].framings.items() if s.answer_at > 0]
    assert answered == list("ACDEFGHIJKL")


def test_a_stop_request_of_another_process_is_honoured_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    writer, explorer = begun(folder)
    asked: list[str] = []

    class Asking(ScriptedPerformer):
        async def perform(self, brief: Brief) -> Performance:
            if brief.task.kind is TaskKind.DERIVE and not asked:
                asked.append(brief.task.id)
                request_stop(folder, "mcp", "enough")
            await asyncio.sleep(0.02)
            return await super().perform(brief)

    with writer:
        status = asyncio.run(
            Runner(writer, explorer, Asking(seeded(advance=0)), Checks(), concurrency=2).run()
        )
    assert status is Status.STOPPED
    assert RunReader(folder).tree.status is Status.STOPPED


def test_a_cancelled_run_is_recorded_as_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    writer, explorer = begun(folder)
    performer = ScriptedPerformer(seeded(advance=0), latency_s=30)

    async def cancelled() -> None:
        running = asyncio.ensure_future(Runner(writer, explorer, performer, Checks()).run())
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with writer:
        asyncio.run(cancelled())
    assert RunReader(folder).tree.status is Status.STOPPED


def test_what_a_task_spent_is_recorded_also_when_it_failed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    writer, explorer = begun(folder)
    spent = SpendRecorded(task="t", provider="p", usd=0.25, prompt_tokens=10, completion_tokens=5)
    fault = ModelError("model_empty", "nothing came", details={"spent": [spent], "raw": "…"})
    performer = ScriptedPerformer(seeded(advance=0), {"derive/A1/0.1": fault})
    with writer:
        asyncio.run(Runner(writer, explorer, performer, Checks()).run())
    tree = RunReader(folder).tree
    assert tree.spend.usd == 0.25
    assert tree.status is Status.CONVERGED
    assert len(tree.failures) == 1


def test_a_crash_of_a_performer_is_no_failed_attempt_and_what_was_done_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    writer, explorer = begun(folder)
    performer = ScriptedPerformer(seeded(advance=0), {"derive/A1/0.1": ZeroDivisionError("ours")})
    with writer, pytest.raises(ZeroDivisionError):
        asyncio.run(Runner(writer, explorer, performer, Checks()).run())
    tree = RunReader(folder).tree
    assert tree.grounded_at > 0
    assert tree.failures == []
