"""Starting, resuming and driving explorations."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.app.context import Context, new_run_id, timestamp, utc_now
from treewright.app.describe import entry_of
from treewright.app.glossary import glossary_step
from treewright.app.listing import keep_listing
from treewright.app.materials import Loaded, load_for, load_materials
from treewright.app.outputs import write_outputs, write_views
from treewright.app.performers import Chosen, Hired, choose_performer, choose_verifier
from treewright.app.picked_up import PickedUp, picked_up_of
from treewright.app.request import ExplorationRequest, Listener, Notice, Progress, ResumeRequest
from treewright.app.roots import ResolvedRoot, resolve_root
from treewright.app.runs import find_run, not_begun
from treewright.errors import RequestError, RunError
from treewright.explore import language
from treewright.explore.engine import Explorer
from treewright.explore.glossary import Ask
from treewright.explore.mode import mode_of
from treewright.explore.seeding import read_seeds, seed_events
from treewright.presets.schema import Preset
from treewright.runner import Growth, Runner
from treewright.store.config import Configuration
from treewright.store.durable import shown
from treewright.store.paths import new_run_folder
from treewright.store.run_folder import JOURNAL, RunReader, RunWriter
from treewright.tree.event import NodeSeeded, RunStarted
from treewright.tree.run import Caps, Status
from treewright.workspace.decode import Unreadable, read_source

if TYPE_CHECKING:
    from treewright.app.estimate import Estimate


@dataclass(slots=True)
class Outcome:
    """How driving a run ended.

    Attributes:
        run: its id.
        folder: where it is.
        status, reason: where it stands.
        outputs: names of the files written, most important first.
        notices: what the user should know.
    """

    run: str
    folder: Path
    status: Status
    reason: str = ""
    outputs: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


class Growing:
    """A run that is open for writing, ready to be driven."""

    def __init__(
        self,
        context: Context,
        writer: RunWriter,
        loaded: Loaded,
        chosen: Chosen,
        configuration: Configuration,
        concurrency: int | None,
    ) -> None:
        """Take over an open run; use `start` or `resume`. Without a concurrency it is the performer's, or the configured one."""
        self.context = context
        self.writer = writer
        self.loaded = loaded
        self.configuration = configuration
        self.notices: list[Notice] = [*loaded.notices, *chosen.notices]
        self.explorer = Explorer(writer.tree, loaded.materials, writer, loaded.priority)
        self._chosen = chosen
        self._concurrency = concurrency or chosen.at_once or configuration.settings.explore.concurrency
        self._runner: Runner | None = None
        self._stop_asked = False

    @property
    def run(self) -> str:
        """The run's id."""
        started = self.writer.tree.started
        return started.run if started else ""

    def estimate(self) -> "Estimate | None":
        """Return what expanding one node takes; None when no model is asked."""
        provider = self._chosen.provider
        if provider is None:
            return None
        from treewright.app.estimate import estimate_round

        preset = self.loaded.materials.preset
        return estimate_round(provider, preset, self.configuration, self._concurrency)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.writer.folder

    def picked_up(self) -> PickedUp:
        """Return what driving the run would go on from."""
        return picked_up_of(self.writer.tree)

    def stop(self) -> None:
        """Ask the run to stop, or not to begin."""
        self._stop_asked = True
        if self._runner:
            self._runner.stop()

    async def drive(self, listener: Listener | None = None) -> Outcome:
        """Grow the run until it ends, pauses or is stopped, then write its outputs and close it.

        Raises:
            StoreError: the disk refused; everything acknowledged is kept.
        """
        preset = self.loaded.materials.preset
        tree, folder, started = self.writer.tree, self.folder, self.writer.tree.started
        assert started is not None
        workspace = Path(started.root.workspace)
        verifier = choose_verifier(workspace, tree.options, self.configuration)
        hired = self._chosen.hire(folder, started, tree.caps, tree.options)
        self._runner = Runner(
            self.writer,
            self.explorer,
            hired.performer,
            verifier.performer,
            concurrency=self._concurrency,
            listener=_forward(self.run, folder, listener),
            keep=lambda: write_views(folder, tree, preset, self.writer),
        )
        if self._stop_asked:
            self._runner.stop()
        try:
            await self._runner.run()
        finally:
            await asyncio.shield(_released(hired, verifier))
            outputs = await asyncio.shield(asyncio.to_thread(self._finish))
        if tree.status.final:
            hired.forget()
        return Outcome(self.run, folder, tree.status, tree.reason, outputs, self.notices)

    def _finish(self) -> list[str]:
        try:
            if self.writer.ahead:
                return []  # the disk refused what the tree holds: nothing may be shown that is not kept
            outputs = write_outputs(
                self.folder,
                self.writer.tree,
                self.loaded.materials.preset,
                self.writer,
                self.configuration.root.decisions,
            )
            self.writer.save_snapshot()
            keep_listing(self.writer, self.loaded.materials.preset)
            self.announce()
            return outputs
        finally:
            self.writer.close()

    def announce(self) -> None:
        """Enter the run as it stands into the index, where whoever knows its id finds it."""
        entry = entry_of(self.folder, self.writer.tree, timestamp())
        if entry is not None:
            note = self.context.index(self.configuration).put(entry)
            if note:
                self.notices.append(Notice(code="index_rebuilt", message=note, severity="warning"))


async def _released(*hired: Hired) -> None:
    """Release what performers hold: connections, a model's process, kernels."""
    for each in hired:
        await each.close()


def _forward(run: str, folder: Path, listener: Listener | None) -> Callable[[Growth], None] | None:
    if listener is None:
        return None
    return lambda growth: listener(
        Progress(run=run, folder=str(folder), events=growth.events, in_flight=growth.in_flight)
    )


def start(
    context: Context, request: ExplorationRequest, ask: Ask | None = None, chosen: Chosen | None = None
) -> Growing:
    """Prepare a new run: everything that can be refused is refused before anything is written.

    Args:
        context: the surroundings.
        request: what the user asks for.
        ask: asks a person in the glossary step; None takes its recommendations.
        chosen: who performs the tasks; None chooses by the request.

    Raises:
        TreewrightError: the preset, root, language, model or output folder is at fault.
    """
    configuration = context.configuration(trusted=request.trusted)
    loaded = load_materials(request.preset, configuration.root.folder, Path(request.base), request.field)
    root = resolve_root(loaded.materials.preset, request)
    configuration = context.configuration(root.workspace, trusted=request.trusted)
    settled = language.settle(request.lang, root.prose)
    if chosen is None:
        preset = loaded.materials.preset
        chosen = choose_performer(context, preset, request.model, configuration, root.workspace)
    seeds = _seeds(request.seed_from)
    terms = glossary_step(loaded.materials.preset, root, request.glossary, skip=request.no_grill, ask=ask)
    _refuse_taken(Path(request.out) if request.out else None)
    folder = new_run_folder(
        out=Path(request.out) if request.out else None,
        workspace=root.workspace,
        preset=loaded.materials.preset.name,
        title=root.title,
        root=configuration.root,
        day=utc_now().date(),
    ).folder
    writer = RunWriter.create(folder, context.surface)
    try:
        growing = Growing(context, writer, loaded, chosen, configuration, request.concurrency)
        started = _started(request, configuration, loaded, root, chosen, settled)
        writer.stage([*growing.explorer.begin(started), terms, *seeds])
        writer.commit()
        growing.announce()
    except BaseException:
        writer.close()
        raise
    return growing


def _seeds(source: str) -> list[NodeSeeded]:
    if not source:
        return []
    read = read_source(Path(source))
    if isinstance(read, Unreadable):
        raise RequestError(
            "seeds_unreadable", f"{shown(source)} cannot be read: {read.reason}.", "Check --seed-from."
        )
    return seed_events(read_seeds(read.text, shown(source)), source)


def _started(
    request: ExplorationRequest,
    configuration: Configuration,
    loaded: Loaded,
    root: ResolvedRoot,
    chosen: Chosen,
    settled: Any,
) -> RunStarted:
    explore = configuration.settings.explore
    preset = loaded.materials.preset
    online = configuration.settings.online.enabled if request.online is None else request.online
    return RunStarted(
        run=new_run_id(),
        preset=preset.name,
        preset_digest=preset.digest,
        preset_source=str(loaded.source),
        root=root.spec,
        caps=_caps(request, configuration),
        language=settled,
        mode=_mode(preset, request),
        field_profile=request.field,
        performer=chosen.name,
        options={
            "online": online,
            "no_grill": request.no_grill,
            "min_novelty_ratio": _given(request.min_novelty_ratio, explore.min_novelty_ratio),
            "max_revisions": explore.max_revisions,
            "model": request.model,
            "python": request.python,
            "seed_from": request.seed_from,
            "trusted": request.trusted,
            "prompts": chosen.prompts,
            "spend_account": request.spend_account,
        },
    )


def _mode(preset: Preset, request: ExplorationRequest) -> str:
    modes = [schema.mode for schema in preset.root_schemas]
    if request.mode and request.mode not in modes:
        raise RequestError(
            "mode_unknown",
            f"{preset.name} has no mode {request.mode!r}.",
            f"Choose one of: {', '.join(modes)}.",
        )
    return request.mode or mode_of(preset, request.root)


def _given(value: Any, default: Any) -> Any:
    return default if value is None else value


def _caps(request: ExplorationRequest, configuration: Configuration) -> Caps:
    explore = configuration.settings.explore
    return Caps(
        width=request.width or explore.width or None,
        depth=request.depth or explore.depth or None,
        rounds=request.rounds or explore.rounds or None,
        max_branches=request.max_branches or explore.max_branches or None,
        spend_usd=float(_given(request.spend_cap_usd, explore.spend_cap_usd)),
    )


def _refuse_taken(out: Path | None) -> None:
    """Refuse an output folder that holds a run: a finished one for good, another with a hint to resume it."""
    if out is None or not (out / JOURNAL).exists():
        return
    status = RunReader(out).tree.status
    hint = (
        "Choose another folder with --out, or seed a new run with --seed-from."
        if status.final
        else f"Go on with it: treewright resume {out}"
    )
    raise RunError("run_exists", f"{out} holds a run already ({status}).", hint, {"path": str(out)})


def resume(context: Context, request: ResumeRequest) -> Growing:
    """Open a run to go on with exactly the tasks not yet done.

    Raises:
        TreewrightError: it cannot be found or continued, is being written by another process, is damaged, or its language or
            preset is another one; it is left as it was.
    """
    configuration = context.configuration()
    folder = find_run(context, request.run, configuration).folder
    reader = RunReader(folder)
    started = reader.tree.started
    if started is None:
        raise not_begun(reader)
    settled = language.settle_resumed(started.language, request.lang)
    workspace = Path(started.root.workspace)
    configuration = context.configuration(workspace if workspace.is_dir() else None, trusted=request.trusted)
    loaded = load_for(started, configuration.root.folder)
    model = request.model or str(reader.tree.option("model", ""))
    chosen = choose_performer(context, loaded.materials.preset, model, configuration, workspace)
    writer = RunWriter.open(folder, context.surface)
    try:
        growing = Growing(context, writer, loaded, chosen, configuration, request.concurrency)
        options: dict[str, object] = {"language_source": settled.source}
        if request.min_novelty_ratio is not None:
            options["min_novelty_ratio"] = request.min_novelty_ratio
        if request.model:
            options["model"] = request.model
        writer.stage(growing.explorer.resume(raised_caps(writer.tree.caps, request), options))
        writer.commit()
        growing.announce()
    except BaseException:
        writer.close()
        raise
    return growing


def raised_caps(caps: Caps, request: ResumeRequest) -> Caps:
    """Return caps with those that a request changes."""
    changes: dict[str, Any] = {
        "width": request.width,
        "depth": request.depth,
        "rounds": request.rounds,
        "max_branches": request.max_branches,
        "spend_usd": request.spend_cap_usd,
    }
    return caps.model_copy(update={name: value for name, value in changes.items() if value is not None})
