"""Runs whose tasks somebody outside fills in, one by one: the next task, its answer, and what follows from it.

Nothing drives such a run. Its lock is held only while an answer is taken in: it is journalled, our own code checks what it cites, and
what follows by itself is written. So several callers, and other processes, may work on one run, each on a task of its own
(contract: surfaces, 4 and 5).
"""

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.app import explorations
from treewright.app.context import Context, timestamp
from treewright.app.describe import entry_of
from treewright.app.explorations import raised_caps
from treewright.app.guided import READY_LOOKED_AT, Due, Standing, Taken, faults_against, standing_of
from treewright.app.listing import keep_listing
from treewright.app.materials import Loaded, load_for
from treewright.app.outputs import write_outputs, write_views
from treewright.app.performers import GUIDED, Chosen, Hired, choose_verifier
from treewright.app.picked_up import PickedUp, picked_up_of
from treewright.app.request import ExplorationRequest, ResumeRequest
from treewright.app.runs import find_run
from treewright.errors import RunError, StoreError
from treewright.explore import language
from treewright.explore.engine import Explorer
from treewright.explore.glossary import Ask
from treewright.explore.tasks import Brief, Result, Task, TaskKind
from treewright.store.locks import run_holder
from treewright.store.run_folder import RunReader, RunWriter
from treewright.tree.event import Event
from treewright.tree.run import Status

LOCK_PATIENCE_S = 3.0
"""How long the end of another caller's submit is waited for; a run that is driven is refused at once."""
_LOCK_LOOK_S = 0.05
_SNAPSHOT_EVENTS = 200
_VIEWS_SHARE = 20
"""Views of a growing run may cost a twentieth of the time (contract: design, "The store")."""


@dataclass(slots=True)
class _Open:
    """What is kept of a run between calls."""

    folder: Path
    loaded: Loaded
    reader: RunReader
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    verifier: Hired | None = None
    views_due: float = 0.0
    since_snapshot: int = 0


class Guide:
    """Steps runs. Used on one event loop; files are read and written in worker threads."""

    def __init__(self, context: Context) -> None:
        """Open nothing yet."""
        self._context = context
        self._runs: dict[Path, _Open] = {}

    async def close(self) -> None:
        """Release what checking holds open."""
        for each in self._runs.values():
            if each.verifier is not None:
                await each.verifier.close()
        self._runs.clear()

    async def start(self, request: ExplorationRequest, performer: str, ask: Ask | None = None) -> Standing:
        """Start a run whose tasks `performer` (`caller` or `sampling`) fills in.

        Raises:
            TreewrightError: see `explorations.start`.
        """
        return await asyncio.to_thread(self._start, request, performer, ask)

    def _start(self, request: ExplorationRequest, performer: str, ask: Ask | None) -> Standing:
        asked = request.model_copy(update={"model": performer})
        growing = explorations.start(self._context, asked, ask, Chosen(performer, _nobody))
        try:
            _settle(growing.writer, growing.explorer, [])
            self._index(growing.folder, growing.writer)
            return standing_of(growing.folder, growing.explorer, tuple(growing.notices))
        finally:
            growing.writer.close()

    async def standing(self, run: str) -> Standing:
        """Return where a run stands.

        Raises:
            TreewrightError: it cannot be found or read.
        """
        held = await self._open(run)
        return await asyncio.to_thread(lambda: standing_of(held.folder, _explorer(held)))

    async def next(self, run: str, skip: Collection[str] = ()) -> Due | Standing:
        """Return the next task, or where the run stands when there is none.

        Args:
            run: an id, a folder, or `last`.
            skip: tasks that others are at.

        Raises:
            RunError: `run_driven` when a performer of its own is at work on it.
            TreewrightError: it cannot be found, read, or (to finish what was cut off) written.
        """
        held = await self._open(run)
        found = await asyncio.to_thread(self._due, held, skip)
        if found is None:
            async with held.turn:
                await self._write(held, lambda _: [])
            found = await asyncio.to_thread(self._due, held, skip)
        return found or await self.standing(run)

    def _due(self, held: _Open, skip: Collection[str]) -> Due | Standing | None:
        """Return a task or the standing; None when something has to be written first: checks, or what follows by itself."""
        explorer = _explorer(held)
        if explorer.tree.status is not Status.GROWING:
            return standing_of(held.folder, explorer)
        _refuse_driven(held.folder, explorer)
        ready = explorer.ready(READY_LOOKED_AT)
        mine = [task for task in ready if task.kind is not TaskKind.VERIFY]
        task = next((task for task in mine if task.id not in skip), None)
        if task is not None:
            return Due(task, explorer.brief(task), standing_of(held.folder, explorer))
        return standing_of(held.folder, explorer) if mine else None

    async def submit(self, run: str, task: str, read: Callable[[Brief], Any]) -> Taken:
        """Take an answer in.

        Args:
            run: an id, a folder, or `last`.
            task: the task's id.
            read: makes a result of the answer; whatever else it returns is handed back and nothing is written.

        Raises:
            TreewrightError: the run cannot be found, read or written, or another process drives it.
        """
        held = await self._open(run)
        async with held.turn:
            explorer = await asyncio.to_thread(_explorer, held)
            found = explorer.find(task)
            if found is None or found.kind is TaskKind.VERIFY:
                return Taken(False, (), await asyncio.to_thread(standing_of, held.folder, explorer))
            value = await asyncio.to_thread(lambda: read(explorer.brief(found)))
            if not isinstance(value, Result):
                return Taken(False, (), await asyncio.to_thread(standing_of, held.folder, explorer), value)
            accepted = await self._write(held, lambda writing: writing.accept(task, value))
            return await asyncio.to_thread(self._taken, held, found, accepted)

    async def fail(self, run: str, task: str, code: str, message: str, raw: str = "") -> Taken:
        """Record that a task cannot be filled in; the engine asks again, goes another way, or gives it up.

        Raises:
            TreewrightError: as `submit`.
        """
        held = await self._open(run)
        async with held.turn:
            explorer = await asyncio.to_thread(_explorer, held)
            found = explorer.find(task)
            if found is None or found.kind is TaskKind.VERIFY:
                return Taken(False, (), standing_of(held.folder, explorer))
            failed = await self._write(held, lambda writing: writing.fail(task, code, message, raw))
            return await asyncio.to_thread(self._taken, held, found, failed)

    def _taken(self, held: _Open, task: Task, accepted: bool) -> Taken:
        explorer = _explorer(held)
        return Taken(accepted, tuple(faults_against(explorer, task)), standing_of(held.folder, explorer))

    async def stop(self, run: str, reason: str = "") -> Standing:
        """Stop a guided run; `resume` goes on.

        Raises:
            TreewrightError: it cannot be found or written.
        """
        held = await self._open(run)
        async with held.turn:
            await self._write(held, lambda e: e.stop(Status.STOPPED, reason or "by the user"), checks=False)
        return await self.standing(run)

    async def resume(self, request: ResumeRequest, performer: str) -> tuple[PickedUp, Standing]:
        """Go on with a run as a guided one.

        Raises:
            TreewrightError: it cannot be found or continued; it is left as it was.
        """
        held = await self._open(request.run)
        started = held.reader.tree.started
        assert started is not None
        settled = language.settle_resumed(started.language, request.lang)
        options: dict[str, object] = {"language_source": settled.source, "model": performer}
        if request.min_novelty_ratio is not None:
            options["min_novelty_ratio"] = request.min_novelty_ratio
        async with held.turn:
            await self._write(
                held, lambda e: e.resume(raised_caps(e.tree.caps, request), options), even_stopped=True
            )
        picked = await asyncio.to_thread(lambda: picked_up_of(_explorer(held).tree))
        return picked, await self.standing(request.run)

    # --- reading and writing --------------------------------------------------------------------------------

    async def _open(self, run: str) -> _Open:
        folder = await asyncio.to_thread(lambda: find_run(self._context, run).folder)
        if folder not in self._runs:
            opened = await asyncio.to_thread(self._read, folder)
            self._runs.setdefault(folder, opened)
        return self._runs[folder]

    def _read(self, folder: Path) -> _Open:
        reader = RunReader(folder)
        if reader.tree.started is None:
            raise RunError("run_empty", "This run was cut off before it began.", "Start it again.")
        root = self._context.configuration().root.folder
        return _Open(folder, load_for(reader.tree.started, root), reader)

    async def _write(
        self,
        held: _Open,
        act: Callable[[Explorer], list[Event]],
        *,
        checks: bool = True,
        even_stopped: bool = False,
    ) -> bool:
        """Hold the run's lock while something is written and all that follows from it; tell whether `act` changed anything."""
        writer = await self._take(held.folder)
        try:
            explorer = Explorer(writer.tree, held.loaded.materials, writer, held.loaded.priority)
            before = writer.last
            growing = writer.tree.status is Status.GROWING
            first = await asyncio.to_thread(act, explorer) if growing or even_stopped else []
            await asyncio.to_thread(_settle, writer, explorer, first)
            while checks and (due := await asyncio.to_thread(_checks_due, explorer)):
                for task in due:
                    await self._check(held, writer, explorer, task)
            await asyncio.to_thread(self._keep, held, writer, before)
            return bool(first)
        finally:
            writer.close()

    async def _take(self, folder: Path) -> RunWriter:
        end = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                return await asyncio.to_thread(RunWriter.open, folder, self._context.surface)
            except StoreError as fault:
                if fault.code != "run_locked" or time.monotonic() > end:
                    raise
            await asyncio.sleep(_LOCK_LOOK_S)

    async def _check(self, held: _Open, writer: RunWriter, explorer: Explorer, task: Task) -> None:
        """Check citations and numbers with our own code, whoever filled the task in."""
        started = writer.tree.started
        assert started is not None
        if held.verifier is None:
            held.verifier = await asyncio.to_thread(self._verifier, Path(started.root.workspace), writer)
        performance = await held.verifier.performer.perform(await asyncio.to_thread(explorer.brief, task))
        events = [*performance.spent, *explorer.accept(task.id, performance.result)]
        await asyncio.to_thread(_settle, writer, explorer, events)

    def _verifier(self, workspace: Path, writer: RunWriter) -> Hired:
        configuration = self._context.configuration(workspace if workspace.is_dir() else None)
        return choose_verifier(workspace, writer.tree.options, configuration)

    def _keep(self, held: _Open, writer: RunWriter, before: int) -> None:
        """Write what a stopped run puts out, or from time to time the views of a growing one."""
        preset = held.loaded.materials.preset
        changed = writer.size > 0 and writer.last > before
        if not changed:
            return
        held.since_snapshot += writer.last - before
        begun = time.monotonic()
        if writer.tree.status is not Status.GROWING:
            write_outputs(
                held.folder, writer.tree, preset, writer, self._context.configuration().root.decisions
            )
            held.since_snapshot = _SNAPSHOT_EVENTS
        elif begun >= held.views_due:
            write_views(held.folder, writer.tree, preset, writer)
            took = time.monotonic() - begun
            held.views_due = begun + max(2.0, took * _VIEWS_SHARE)
        if held.since_snapshot >= _SNAPSHOT_EVENTS:
            writer.save_snapshot()
            keep_listing(writer, preset)
            held.since_snapshot = 0
        self._index(held.folder, writer)

    def _index(self, folder: Path, writer: RunWriter) -> None:
        entry = entry_of(folder, writer.tree, timestamp())
        if entry is not None:
            self._context.index().put(entry)


def _nobody(*_: Any) -> Hired:
    raise RunError("run_guided", "The tasks of this run are filled in one by one.", "Ask for the next task.")


def _explorer(held: _Open) -> Explorer:
    """Return the engine over the run as it stands now, other processes' work included."""
    try:
        if held.reader.grown():
            held.reader.refresh()
    except StoreError as fault:
        if fault.code != "journal_replaced":
            raise
        held.reader = RunReader(held.folder)
    return Explorer(held.reader.tree, held.loaded.materials, held.reader, held.loaded.priority)


def _refuse_driven(folder: Path, explorer: Explorer) -> None:
    model = str(explorer.tree.option("model", ""))
    holder = run_holder(folder) if model not in GUIDED else None
    if holder is not None:
        raise RunError(
            "run_driven",
            f"This run is driven by {holder.named()}; its tasks are not handed out.",
            "Look at it with tree_status, or stop it first and resume it as caller.",
            {"holder": holder.named()},
        )


def _settle(writer: RunWriter, explorer: Explorer, events: list[Event]) -> None:
    """Fold and journal events and all that follows from them, as one append."""
    staged = list(events)
    writer.stage(events)
    while following := explorer.settle():
        writer.stage(following)
        staged.extend(following)
    if staged:
        writer.commit()


def _checks_due(explorer: Explorer) -> list[Task]:
    return [task for task in explorer.ready(READY_LOOKED_AT) if task.kind is TaskKind.VERIFY]
