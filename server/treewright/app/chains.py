"""Chains of explorations: started, driven stage by stage, resumed where they were cut off.

A chain is a run of its own kind. Its journal tells the request, each cut and what became of each stage's runs; those are ordinary runs
in folders of their own, so that a chain that was killed goes on with exactly what its stages have not done. One spend cap holds for all.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from treewright.app import explorations
from treewright.app.context import Context, timestamp
from treewright.app.describe import entry_of
from treewright.app.explorations import Growing, Outcome
from treewright.app.materials import Loaded
from treewright.app.request import ExplorationRequest, Listener, ResumeRequest
from treewright.explore.chaining import (
    DEFAULT_STAGES,
    DEFAULT_TOP_K,
    SEEDED_KINDS,
    Carried,
    StageRecord,
    carry,
    chain_report,
    item_file,
    item_name,
    read_stages,
    seeds_file,
    stage_folder,
)
from treewright.presets.schema import Preset
from treewright.regular import LARGEST_STORED, read_regular_text
from treewright.store.artifacts import write_artifact
from treewright.store.locks import stop_requested
from treewright.store.run_folder import JOURNAL, RunReader, RunWriter
from treewright.tree.event import Event, Noted, StatusChanged
from treewright.tree.run import Status

REPORT = "CHAIN_REPORT.md"
SEEDS = "seeds.md"
PRIOR_REPORT = "prior-report.md"
_OVER = (
    Status.CONVERGED,
    Status.EARLY_STOP,
    Status.WIDTH_CAP_REACHED,
    Status.DEPTH_CAP_REACHED,
    Status.ROUNDS_EXHAUSTED,
)
"""Statuses after which a stage hands its deliverable on; the others pause the chain."""
_POLL_S = 0.3


class ChainRequest(BaseModel):
    """A new chain.

    Attributes:
        stages: presets by name or path, in order.
        top_k: entries of each deliverable that are carried on.
        exploration: the root and the flags that hold for every stage; its `preset` is not looked at.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stages: tuple[str, ...] = DEFAULT_STAGES
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=100)
    exploration: ExplorationRequest


@dataclass(slots=True)
class ChainOutcome:
    """How driving a chain ended.

    Attributes:
        run: its id.
        folder: where it is.
        status, reason: where it stands.
        stages: what became of each.
    """

    run: str
    folder: Path
    status: Status
    reason: str
    stages: list[StageRecord] = field(default_factory=list)


OnStage = Callable[[str, Growing | None], None]
"""Told in words what begins, with the run that grows, or None for a remark."""


class Chain:
    """A chain that is open for writing, ready to be driven."""

    def __init__(
        self, context: Context, writer: RunWriter, request: ChainRequest, loaded: Sequence[Loaded]
    ) -> None:
        """Take over an open chain; see `chain_open`."""
        self._context = context
        self._writer = writer
        self._request = request
        self._loaded = list(loaded)
        self._growing: Growing | None = None
        self._stopped = False

    @property
    def run(self) -> str:
        """The chain's id."""
        started = self._writer.tree.started
        return started.run if started else ""

    @property
    def folder(self) -> Path:
        """The chain's folder."""
        return self._writer.folder

    def stop(self) -> None:
        """Ask the chain to stop; nothing is lost."""
        self._stopped = True
        if self._growing is not None:
            self._growing.stop()

    async def drive(self, listener: Listener | None = None, on_stage: OnStage | None = None) -> ChainOutcome:
        """Run the stages that are left, write the report and close the chain.

        Raises:
            TreewrightError: a stage cannot be started; the chain can be resumed.
        """
        told = on_stage or (lambda *_: None)
        watch = asyncio.ensure_future(self._watch())
        try:
            status, reason = await self._stages(listener, told)
            self.commit([StatusChanged(status=status, reason=reason)])
            stages = self._records()
            return ChainOutcome(self.run, self.folder, status, reason, stages)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._write_report()
            self._writer.close()

    async def _watch(self) -> None:
        """Stop when another process asks for it."""
        while not self._stopped:
            await asyncio.sleep(_POLL_S)
            if stop_requested(self.folder):
                self.stop()

    async def _stages(self, listener: Listener | None, told: OnStage) -> tuple[Status, str]:
        before: list[Path] = []
        for number, loaded in enumerate(self._loaded, 1):
            preset = loaded.materials.preset
            name = stage_folder(number, preset.name)
            requests, empty = self._requests(number, preset, before, told)
            if empty:
                return (
                    Status.EARLY_STOP,
                    f"empty_deliverable: {stage_folder(number - 1, self._preset(number - 1).name)}",
                )
            folders: list[Path] = []
            for request in requests:
                outcome = await self._one(name, request, listener, told)
                if outcome is None:
                    return Status.STOPPED, "by the user"
                self._note_run(number, outcome, preset)
                if outcome.status not in _OVER:
                    return outcome.status, f"{name}: {outcome.reason}".rstrip(": ")
                folders.append(outcome.folder)
            before = folders
        return Status.CONVERGED, ""

    def _preset(self, number: int) -> Preset:
        return self._loaded[number - 1].materials.preset

    async def _one(
        self, name: str, request: ExplorationRequest, listener: Listener | None, told: OnStage
    ) -> Outcome | None:
        """Start, resume or look up one run of a stage; None when the chain was stopped before it."""
        folder = Path(request.out)
        if (folder / JOURNAL).exists():
            reader = RunReader(folder)
            tree = reader.tree
            if tree.started is not None and tree.status in _OVER:
                return Outcome(tree.started.run, folder, tree.status, tree.reason)
        if self._stopped:
            return None
        if (folder / JOURNAL).exists() and RunReader(folder).tree.started is not None:
            resumed = ResumeRequest(
                run=str(folder),
                model=request.model,
                spend_cap_usd=self._writer.tree.caps.spend_usd,
                concurrency=request.concurrency,
                trusted=request.trusted,
            )
            growing = explorations.resume(self._context, resumed)
        else:
            growing = explorations.start(self._context, request)
        self._growing = growing
        told(f"{name}: {folder.relative_to(self.folder)}", growing)
        try:
            return await growing.drive(listener)
        finally:
            self._growing = None

    def _requests(
        self, number: int, preset: Preset, before: list[Path], told: OnStage
    ) -> tuple[list[ExplorationRequest], bool]:
        """Return the runs of a stage, and whether there is nothing to start them from."""
        home = self.folder / stage_folder(number, preset.name)
        started = self._writer.tree.started
        assert started is not None
        shared: dict[str, Any] = {
            "preset": str(self._loaded[number - 1].source),
            "out": str(home),
            "lang": started.language.output,
            "spend_account": started.run,
            "spend_cap_usd": self._writer.tree.caps.spend_usd,
        }
        base = self._request.exploration
        if number == 1:
            return [base.model_copy(update=shared)], False
        carried = self._carry(number, before, told)
        if not carried.items:
            return [], True
        shared |= {"seed_from": "", "focus": "", "mode": ""}
        if preset.root_kind in SEEDED_KINDS:
            shared |= {
                "root": self._topic(carried),
                "seed_from": str(self._write_seeds(home, carried, before)),
            }
            return [base.model_copy(update=shared)], False
        found = []
        for place, seed in enumerate(carried.items, 1):
            item = home / f"{item_name(place, seed)}.md"
            write_artifact(item, item_file(seed))
            out = str(home / item_name(place, seed))
            found.append(base.model_copy(update={**shared, "root": str(item), "out": out}))
        return found, False

    def _topic(self, carried: Carried) -> str:
        """Return what a seeded stage is about: the chain's own words, else what is carried."""
        started = self._writer.tree.started
        assert started is not None
        return started.root.text or "; ".join(seed.statement for seed in carried.items)

    def _carry(self, number: int, before: list[Path], told: OnStage) -> Carried:
        primary = self._preset(number - 1).output_artifacts.primary
        texts = [read_regular_text(folder / primary, LARGEST_STORED) for folder in before]
        carried = carry(texts, self._request.top_k)
        said = f"stage {number} {self._preset(number).name}: {carried.text}"
        known = self._records()[number - 1]
        if known.cut != carried.text:
            data = {"stage": number, "cut": carried.text, "dropped": carried.dropped}
            self.commit([Noted(text=said, data=data)])
        told(said, None)
        return carried

    def _write_seeds(self, home: Path, carried: Carried, before: list[Path]) -> Path:
        """Write what a seeded stage starts from and may cite: the entries, and the report they come with."""
        write_artifact(home / SEEDS, seeds_file(carried))
        report = before[0] / "REPORT.md"
        with contextlib.suppress(FileNotFoundError):
            write_artifact(home / PRIOR_REPORT, read_regular_text(report, LARGEST_STORED))
        return home / SEEDS

    def _note_run(self, number: int, outcome: Outcome, preset: Preset) -> None:
        folder = outcome.folder.relative_to(self.folder).as_posix()
        data = {
            "stage": number,
            "folder": folder,
            "run": outcome.run,
            "status": outcome.status.value
            + (f"={outcome.reason}" if outcome.status is Status.EARLY_STOP else ""),
            "deliverable": f"{folder}/{preset.output_artifacts.primary}",
        }
        known = {key: str(value) for key, value in data.items() if key != "stage"}
        if known not in self._records()[number - 1].runs:
            self.commit([Noted(text=f"stage {number} {preset.name}: {data['status']}", data=data)])

    def _records(self) -> list[StageRecord]:
        names = [loaded.materials.preset.name for loaded in self._loaded]
        return read_stages(names, _notes(self._writer))

    def commit(self, events: list[Event]) -> None:
        """Make events of the chain durable, and tell the index where it stands.

        Raises:
            StoreError: the disk refused.
        """
        self._writer.stage(events)
        self._writer.commit()
        entry = entry_of(self.folder, self._writer.tree, timestamp())
        if entry is not None:
            self._context.index().put(entry)

    def _write_report(self) -> None:
        tree = self._writer.tree
        assert tree.started is not None
        stages = self._records()
        text = chain_report(
            tree.started.root.text or tree.started.root.path,
            tree.status.value,
            tree.reason,
            tree.started.language.output,
            stages,
            _spend(self.folder),
        )
        write_artifact(self.folder / REPORT, text)


def _notes(reader: RunReader) -> Iterator[dict[str, Any]]:
    for at in range(1, reader.last + 1):
        event = reader.read(at)
        if isinstance(event, Noted):
            yield event.data


def _spend(folder: Path) -> dict[str, float]:
    total = {"usd": 0.0, "tokens": 0.0, "calls": 0.0}
    for path in sorted(folder.glob(f"stage*/**/{JOURNAL}")):
        spend = RunReader(path.parent).tree.spend
        total["usd"] += spend.usd
        total["tokens"] += spend.prompt_tokens + spend.completion_tokens
        total["calls"] += spend.calls
    return total
