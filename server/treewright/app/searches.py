"""Code-branch searches: starting, resuming, applying what was found."""

from collections.abc import Sequence
from pathlib import Path

from treewright.app.context import Context, new_run_id
from treewright.app.describe import is_search
from treewright.app.providers import open_provider, refuse_unknown_price
from treewright.app.request import Notice
from treewright.app.runs import find_run
from treewright.app.search_drive import Searching, best_so_far
from treewright.app.search_hosts import SearchHosts, find_python
from treewright.app.search_request import Opened, SearchRequest, SearchResumeRequest
from treewright.app.search_sources import (
    Layout,
    StartFile,
    digest_of,
    lay_out,
    read_checks,
    read_program,
)
from treewright.app.search_spend import LedgerCap
from treewright.app.search_store import Logged, SearchWriter, read_search
from treewright.errors import CapError, RequestError, RunError
from treewright.performers.search_model import SearchModel
from treewright.search.engine import SearchEngine
from treewright.search.settings import CANDIDATES_WARNED_ABOVE, SearchSettings, default_generators
from treewright.search.task import SearchTask, plan_of
from treewright.store.cap import CapPolicy, search_policy
from treewright.store.config import Configuration
from treewright.store.durable import replace_file, shown
from treewright.store.ledger import Ledger
from treewright.store.paths import find_workspace

NO_MODEL = "static"
_WORKERS = 2


def start(context: Context, request: SearchRequest) -> Searching:
    """Prepare a search; drive it then. Nothing is written when it cannot begin.

    Raises:
        WorkspaceError: `root_unparseable`, a file cannot be read.
        RequestError: `search_no_checks`, `search_bad_checks`, `search_bad_start`, `search_no_generator`,
            `search_no_function`.
        ModelError, CapError: the model cannot be used; `capability_disabled`, `price_unknown`.
        KernelError: E052, kernels are not to be had.
        StoreError: the disk refused.
    """
    base = Path(request.base)
    begun = read_program(base, request.file) if request.file else None
    workspace = find_workspace(begun.path if begun else base)
    configuration = context.configuration(workspace, trusted=request.trusted)
    _refuse_disabled(configuration)
    checks = read_checks(base, request.check_files, request.check_texts, workspace)
    task = SearchTask(
        statement=request.statement,
        start=begun.text if begun else "",
        path=_named(begun, workspace),
        entry_point=request.function or None,
        check_sources=tuple(checks.sources),
        holdout=request.holdout,
        stdin=request.stdin,
        per_branch_timeout_s=_given(
            request.per_branch_timeout_s, configuration.settings.search.per_branch_timeout_s
        ),
    )
    plan_of(task)  # refuses before anything is made
    _refuse_missing_function(task)
    given = (
        *(read_program(base, name).text for name in request.candidate_files),
        *request.candidate_texts,
    )
    model_name = _model_name(request.model, configuration)
    settings = _settings(request, configuration, task, given=bool(given), model=bool(model_name))
    layout = lay_out(begun.path, workspace) if begun else Layout({})
    opened = Opened(
        request=request.model_copy(update={"check_texts": (), "candidate_texts": ()}),
        at_work=context.surface,
        workspace=str(workspace),
        path=str(begun.path) if begun else "",
        digest=begun.digest if begun else "",
        model=model_name if _asks_model(settings) else "",
        python=find_python(request.python, configuration, workspace, trusted=request.trusted),
        spend_cap_usd=_given(request.spend_cap_usd, float(configuration.settings.search.spend_cap_usd)),
        cap_defaulted=request.spend_cap_usd is None and search_policy(configuration).defaulted,
        tests=checks.tests,
        layout=layout.files,
        package=layout.package,
    )
    return open_new(context, configuration, opened, task, settings, given)


def open_new(
    context: Context,
    configuration: Configuration,
    opened: Opened,
    task: SearchTask,
    settings: SearchSettings,
    given: tuple[str, ...] = (),
) -> Searching:
    """Make kernels ready, then the run's folder, then the search. See `start` for what it raises."""
    model = _model(context, configuration, opened)
    run = new_run_id()
    engine = SearchEngine.start(run, task, settings, given)
    hosts = _hosts(configuration, opened, engine)
    hosts.start()
    try:
        writer = SearchWriter.create(configuration.root, run, _title(opened), context.surface)
        try:
            writer.opened(opened)
            writer.events(engine.events)
        except BaseException:
            writer.close()
            raise
    except BaseException:
        hosts.close()
        raise
    return _searching(context, configuration, writer, engine, hosts, model, opened)


def resume(context: Context, request: SearchResumeRequest) -> Searching:
    """Open a search to go on with: one that was stopped, paused, cut off, halted at a cap, or that found nothing.

    What was paid for is not asked again; a call whose answer a crash took is charged its full estimate.

    Raises:
        RunError: `run_not_found`, `run_ambiguous`, `run_empty`, `search_verified` when there is nothing left to do.
        StoreError: `run_locked`, `journal_damaged`, `journal_newer`.
        KernelError, ModelError, CapError: as `start`.
    """
    folder = find_run(context, request.run).folder
    logged = read_search(folder)
    if logged.opened is None or not logged.run:
        raise RunError("run_empty", "This search was cut off before it began.", "Start it again.")
    before = logged.opened
    if logged.state().verified and logged.state().concluded is not None:
        raise RunError(
            "search_verified",
            "This search found a program that passes every check.",
            "`treewright show` has it.",
        )
    workspace = Path(before.workspace)
    configuration = context.configuration(
        workspace if workspace.is_dir() else None, trusted=request.trusted and before.request.trusted
    )
    _refuse_disabled(configuration)
    opened = _reopened(before, request, configuration)
    model = _model(context, configuration, opened)
    writer = SearchWriter.open(folder, configuration.root, context.surface)
    hosts = None
    try:
        engine = SearchEngine(writer.logged.events)
        hosts = _hosts(configuration, opened, engine)
        hosts.start()
        writer.opened(opened)
        searching = _searching(context, configuration, writer, engine, hosts, model, opened)
        searching.pick_up(_settings_again(engine.state.settings, request, opened))
    except BaseException:
        if hosts is not None:
            hosts.close()
        writer.close()
        raise
    return searching


def offer(context: Context, run: str, code: str) -> Searching:
    """Open a search with one more program handed in; drive it then.

    Raises:
        TreewrightError: as `resume`.
    """
    searching = resume(context, SearchResumeRequest(run=run))
    try:
        searching.offer(code)
    except BaseException:
        searching.close()
        raise
    return searching


def _reopened(before: Opened, request: SearchResumeRequest, configuration: Configuration) -> Opened:
    changes: dict[str, object] = {}
    asked: dict[str, object] = {"time_limit_s": request.time_limit_s or before.request.time_limit_s}
    if request.spend_cap_usd is not None:
        changes |= {"spend_cap_usd": request.spend_cap_usd, "cap_defaulted": False}
    if request.model:
        changes["model"] = _model_name(request.model, configuration)
    if request.max_candidates is not None:
        asked["max_candidates"] = request.max_candidates
    return before.model_copy(update={**changes, "request": before.request.model_copy(update=asked)})


def _settings_again(settings: SearchSettings, request: SearchResumeRequest, opened: Opened) -> SearchSettings:
    changes: dict[str, object] = {}
    if request.max_candidates is not None:
        changes["max_candidates"] = request.max_candidates
    if opened.model and not _asks_model(settings):
        changes["generators"] = (*settings.generators, "model")
    return settings.model_copy(update=changes)


def _searching(
    context: Context,
    configuration: Configuration,
    writer: SearchWriter,
    engine: SearchEngine,
    hosts: SearchHosts,
    model: SearchModel | None,
    opened: Opened,
) -> Searching:
    policy = search_policy(configuration, model.provider.info.call_limit_s if model else None)
    policy = CapPolicy.model_validate(
        {
            **policy.model_dump(),
            "cap_usd": f"{opened.spend_cap_usd:.9f}",
            "max_candidates": engine.state.settings.max_candidates + _lost_calls(writer.logged),
        }
    )
    return Searching(
        context,
        writer,
        engine,
        hosts,
        context.index(configuration),
        model=model,
        cap=LedgerCap(Ledger(configuration.root.ledger), policy),
        notices=_notices(opened, engine.state.settings),
        time_limit_s=opened.request.time_limit_s,
        workers=_WORKERS,
    )


def _lost_calls(logged: Logged) -> int:
    """How many calls were admitted whose answers a crash took: they were paid for, and gave no candidate."""
    made = sum(1 for event in logged.events if event.kind == "reservation_made")
    ended = {event.task_id for event in logged.events if event.kind == "task_finished"} | set(logged.answers)
    return max(0, made - sum(1 for name in ended if name.startswith(("draft:", "revise:"))))


def _hosts(configuration: Configuration, opened: Opened, engine: SearchEngine) -> SearchHosts:
    return SearchHosts(
        configuration,
        opened.python,
        engine.state.plan,
        files=opened.layout,
        tests=opened.tests,
        package=opened.package,
        entry_point=engine.state.task.entry_point,
    )


def _model(context: Context, configuration: Configuration, opened: Opened) -> SearchModel | None:
    if not opened.model:
        return None
    provider = open_provider(context, configuration, opened.model)
    refuse_unknown_price(provider)
    return SearchModel(provider, opened.request.max_tokens)


def _model_name(asked: str, configuration: Configuration) -> str:
    wanted = asked or configuration.settings.models.default
    return "" if wanted == NO_MODEL else wanted


def _asks_model(settings: SearchSettings) -> bool:
    return any(name in settings.generators for name in ("model", "revise"))


def _settings(
    request: SearchRequest, configuration: Configuration, task: SearchTask, *, given: bool, model: bool
) -> SearchSettings:
    names = request.generators or default_generators(task, model_configured=model, given=given)
    if given and "given" not in names:
        names = ("given", *names)
    if request.awaits:
        names = ("given", *names)
    _refuse_generators(names, task, given=given or request.awaits, model=model)
    return SearchSettings(
        generators=tuple(dict.fromkeys(names)),
        max_candidates=_given(request.max_candidates, configuration.settings.search.max_candidates),
        mutate_seconds=request.mutate_seconds,
        exhaustive=request.exhaustive,
        efficiency=request.efficiency,
    )


def _refuse_generators(names: Sequence[str], task: SearchTask, *, given: bool, model: bool) -> None:
    if not names:
        raise RequestError(
            "search_no_generator",
            "Nobody is there to propose a program.",
            "Name a file to start from, --candidates, or a --model.",
        )
    if {"model", "revise"} & set(names) and not model:
        raise RequestError(
            "search_no_generator",
            "The generators `model` and `revise` need a language model, and none is configured.",
            "Name one with --model, or set [models] default; `treewright models` shows what answers here.",
        )
    if "revise" in names and "model" not in names and not given:
        raise RequestError(
            "search_no_generator", "There is nothing to revise.", "Add --generator model, or --candidates."
        )
    if "mutate" in names and not task.start.strip() and not ({"model", "given"} & set(names)):
        raise RequestError(
            "search_no_generator",
            "Edits need a program to start from.",
            "Name its file: treewright search FILE ...",
        )
    if "given" in names and not given:
        raise RequestError(
            "search_no_generator", "No candidates were given.", "Name their files with --candidates."
        )


def _refuse_disabled(configuration: Configuration) -> None:
    if not configuration.settings.search.enabled:
        raise CapError(
            "capability_disabled",
            "Code-branch search is switched off.",
            "Set [search] enabled = true in config.toml.",
        )


def _refuse_missing_function(task: SearchTask) -> None:
    from treewright.search.functions import defines

    if task.entry_point and task.start.strip() and not defines(task.start, task.entry_point):
        raise RequestError(
            "search_no_function",
            f"{task.path} defines no {task.entry_point}.",
            "Write FILE:FUNCTION with a function or Class.method of the file.",
        )


def _notices(opened: Opened, settings: SearchSettings) -> list[Notice]:
    found = []
    if settings.max_candidates > CANDIDATES_WARNED_ABOVE:
        found.append(
            Notice(
                code="W051",
                message=f"W051: max_candidates is {settings.max_candidates}; above {CANDIDATES_WARNED_ABOVE} it "
                "costs more than it usually finds.",
                severity="warning",
            )
        )
    if opened.cap_defaulted and opened.model:
        found.append(
            Notice(
                code="W052",
                message=f"W052: no spend cap was set; the default of {opened.spend_cap_usd:.2f} USD holds.",
                severity="warning",
            )
        )
    return found


def _given(value: float | None, default: float) -> float | int:
    return default if value is None else value


def _named(begun: StartFile | None, workspace: Path) -> str:
    if begun is None:
        return "program.py"
    inside = begun.path.is_relative_to(workspace)
    return begun.path.relative_to(workspace).as_posix() if inside else begun.path.name


def _title(opened: Opened) -> str:
    name = Path(opened.path).stem if opened.path else ""
    return " ".join(part for part in (name, opened.request.function, opened.request.statement[:60]) if part)


# --- what was found ------------------------------------------------------------------------------------------


def found_in(context: Context, run: str) -> tuple[Logged, Path]:
    """Return a search's journal and folder.

    Raises:
        RunError: it cannot be found, or `not_a_search`.
    """
    folder = find_run(context, run).folder
    if not is_search(folder):
        raise RunError(
            "not_a_search", f"{run} is no code-branch search.", "`treewright runs` lists the kinds."
        )
    return read_search(folder), folder


def apply(context: Context, run: str) -> Path:
    """Write the chosen program to the file the search started from, and return the file.

    Raises:
        RunError: `search_not_verified`, `search_nothing_to_apply`, `search_file_changed`; nothing was written.
        StoreError: the disk refused; the file is what it was before.
    """
    logged, _ = found_in(context, run)
    opened = logged.opened
    found = best_so_far(logged.events, 0.0)
    if opened is None or not opened.path or found.chosen is None:
        raise RunError(
            "search_nothing_to_apply", "This search started from no file.", "Copy the program instead."
        )
    if not found.verified:
        raise RunError(
            "search_not_verified",
            "No program passed every check, so nothing is applied.",
            "Look at the best so far with `treewright show`.",
        )
    path = Path(opened.path)
    if digest_of(path) != opened.digest:
        raise RunError(
            "search_file_changed",
            f"{shown(path)} was changed since the search read it, so nothing is applied.",
            "Look at change.diff in the run's folder, or search again.",
            {"path": str(path)},
        )
    _write_back(path, found.chosen.code)
    return path


def _write_back(path: Path, code: str) -> None:
    """Write a program in the file's own encoding, line ends and mode."""
    begun = read_program(path.parent, path.name)
    text = code if begun.text.endswith("\n") or not code.endswith("\n") else code[:-1]
    if "\r\n" in begun.decoded.text:
        text = text.replace("\n", "\r\n")
    try:
        data = begun.decoded.encode(text)
    except UnicodeEncodeError as fault:
        raise RunError(
            "search_nothing_to_apply",
            f"{shown(path)} is {begun.decoded.encoding}, which cannot hold the new program: {fault.reason}.",
            "Convert the file to UTF-8 first.",
        ) from fault
    mode = path.stat().st_mode & 0o7777
    replace_file(path, [data])
    path.chmod(mode)


__all__ = ["apply", "found_in", "open_new", "resume", "start"]
