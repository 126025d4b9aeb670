"""Opening chains: a new one, or one to go on with where it was cut off."""

from pathlib import Path

from treewright.app.chains import Chain, ChainRequest
from treewright.app.context import Context, new_run_id, utc_now
from treewright.app.materials import Loaded, load_materials
from treewright.app.performers import choose_performer
from treewright.app.roots import ResolvedRoot, resolve_root
from treewright.errors import RunError
from treewright.explore import language
from treewright.explore.chaining import check_stages
from treewright.store.config import Configuration
from treewright.store.paths import new_run_folder
from treewright.store.run_folder import JOURNAL, RunReader, RunWriter
from treewright.tree.event import CapsChanged, Event, RunStarted, StatusChanged
from treewright.tree.run import Caps, Language, RunKind, Status


def start_chain(context: Context, request: ChainRequest) -> Chain:
    """Prepare a new chain: whatever can be refused is refused before anything is written.

    Raises:
        TreewrightError: a preset, the root, the language, the model or the output folder is at fault.
    """
    base = request.exploration
    configuration = context.configuration(trusted=base.trusted)
    loaded = _stages(request, configuration)
    check_stages([each.materials.preset for each in loaded])
    first = loaded[0].materials.preset
    root = resolve_root(first, base.model_copy(update={"preset": first.name}))
    configuration = context.configuration(root.workspace, trusted=base.trusted)
    settled = language.settle(base.lang, root.prose)
    for each in loaded:
        choose_performer(context, each.materials.preset, base.model, configuration, root.workspace)
    _refuse_taken(base.out)
    folder = new_run_folder(
        out=Path(base.out) if base.out else None,
        workspace=root.workspace,
        preset=RunKind.CHAIN.value,
        title=root.title,
        root=configuration.root,
        day=utc_now().date(),
    ).folder
    writer = RunWriter.create(folder, context.surface)
    started = _started(request, configuration, loaded[0], root, settled)
    return _opened(context, writer, request, loaded, [started])


def _stages(request: ChainRequest, configuration: Configuration) -> list[Loaded]:
    base = request.exploration
    names = [name for name in request.stages if name.strip()]
    return [load_materials(name, configuration.root.folder, Path(base.base), base.field) for name in names]


def _refuse_taken(out: str) -> None:
    if out and (Path(out) / JOURNAL).exists():
        raise RunError(
            "chain_exists",
            f"{out} holds a chain or a run already.",
            f"Go on with it: treewright resume {out}; or choose another folder.",
        )


def _started(
    request: ChainRequest, configuration: Configuration, first: Loaded, root: ResolvedRoot, settled: Language
) -> RunStarted:
    cap = request.exploration.spend_cap_usd
    usual = configuration.settings.explore.spend_cap_usd
    preset = first.materials.preset
    return RunStarted(
        run=new_run_id(),
        kind=RunKind.CHAIN,
        preset=preset.name,
        preset_digest=preset.digest,
        preset_source=str(first.source),
        root=root.spec,
        caps=Caps(spend_usd=float(usual if cap is None else cap)),
        language=settled,
        options={"chain": request.model_dump(mode="json")},
    )


def _opened(
    context: Context, writer: RunWriter, request: ChainRequest, loaded: list[Loaded], events: list[Event]
) -> Chain:
    try:
        chain = Chain(context, writer, request, loaded)
        chain.commit(events)
    except BaseException:
        writer.close()
        raise
    return chain


def is_chain(folder: Path) -> bool:
    """Tell whether a run's folder holds a chain."""
    started = RunReader(folder).tree.started
    return started is not None and started.kind is RunKind.CHAIN


def resume_chain(
    context: Context, folder: Path, *, model: str = "", spend_cap_usd: float | None = None
) -> Chain:
    """Open a chain to go on where it was cut off.

    Args:
        context: the surroundings.
        folder: the chain's.
        model: another model; empty keeps the chain's.
        spend_cap_usd: another cap for the whole chain; None keeps it.

    Raises:
        RunError: `run_final`, or `chain_unreadable`.
        StoreError: another process writes to it, or it is damaged.
    """
    request = _request_of(folder)
    if model:
        exploration = request.exploration.model_copy(update={"model": model})
        request = request.model_copy(update={"exploration": exploration})
    configuration = context.configuration(trusted=request.exploration.trusted)
    loaded = _stages(request, configuration)
    writer = RunWriter.open(folder, context.surface)
    caps = writer.tree.caps
    if spend_cap_usd is not None:
        caps = caps.model_copy(update={"spend_usd": spend_cap_usd})
    events: list[Event] = [CapsChanged(caps=caps)]
    if writer.tree.status is not Status.GROWING:
        events.append(StatusChanged(status=Status.GROWING, reason="resumed"))
    return _opened(context, writer, request, loaded, events)


def _request_of(folder: Path) -> ChainRequest:
    tree = RunReader(folder).tree
    if tree.status.final:
        said = f"This chain has ended: {tree.status} {tree.reason}".rstrip()
        raise RunError("run_final", f"{said}.", "Start a new one.")
    try:
        assert tree.started is not None
        return ChainRequest.model_validate(tree.started.options["chain"])
    except (KeyError, ValueError, AssertionError) as fault:
        raise RunError("chain_unreadable", f"The request of this chain cannot be read: {fault}.") from fault
