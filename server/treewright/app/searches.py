"""Code-branch searches: starting, resuming, applying what was found."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from treewright.app.context import Context, new_run_id
from treewright.app.providers import open_provider, refuse_unknown_price
from treewright.app.runs import find_run
from treewright.app.search_drive import Searching
from treewright.app.search_hosts import SearchHosts, find_python
from treewright.app.search_request import Opened, SearchRequest, SearchResumeRequest
from treewright.app.search_settings import (
    asks_model,
    model_name,
    notices,
    refuse_disabled,
    refuse_missing_function,
    settle,
)
from treewright.app.search_sources import (
    Layout,
    StartFile,
    lay_out,
    read_checks,
    read_program,
)
from treewright.app.search_spend import LedgerCap
from treewright.app.search_store import Logged, SearchWriter, read_search
from treewright.errors import RunError
from treewright.performers.search_model import SearchModel
from treewright.search.checks import Plan
from treewright.search.engine import SearchEngine
from treewright.search.settings import SearchSettings
from treewright.search.task import CheckSource, SearchTask, plan_of
from treewright.store.cap import CapPolicy, search_policy
from treewright.store.config import Configuration
from treewright.store.ledger import Ledger
from treewright.store.paths import find_workspace

_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search that can begin: what was asked, read and settled; nothing is written or started.

    Attributes:
        configuration: that holds for the workspace.
        opened: the first record of its journal.
        task: for the engine.
        settings: for the engine.
        given: programs handed in.
        begun: the starting file; None without one.
    """

    configuration: Configuration
    opened: Opened
    task: SearchTask
    settings: SearchSettings
    given: tuple[str, ...] = ()
    begun: StartFile | None = None


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
    prepared = prepare(context, request)
    plan = plan_of(prepared.task)  # refuses before kernels are started
    return open_new(context, prepared, plan)


def prepare(context: Context, request: SearchRequest) -> Prepared:
    """Read and settle everything that a request names; see `start` for what it raises."""
    base = Path(request.base)
    begun = read_program(base, request.file) if request.file else None
    workspace = find_workspace(begun.path if begun else base)
    configuration = context.configuration(workspace, trusted=request.trusted)
    refuse_disabled(configuration)
    checks = read_checks(base, request.check_files, request.check_texts, workspace)
    task = _task(request, configuration, begun, tuple(checks.sources), workspace)
    refuse_missing_function(task)
    given = (
        *(read_program(base, name).text for name in request.candidate_files),
        *request.candidate_texts,
    )
    asked = model_name(request.model, configuration)
    settings = settle(request, configuration, task, given=bool(given), model=bool(asked))
    layout = lay_out(begun.path, workspace) if begun else Layout({})
    opened = Opened(
        request=request.model_copy(update={"check_texts": (), "candidate_texts": ()}),
        at_work=context.surface,
        workspace=str(workspace),
        path=str(begun.path) if begun else "",
        digest=begun.digest if begun else "",
        model=asked if asks_model(settings) else "",
        python=find_python(request.python, configuration, workspace, trusted=request.trusted),
        spend_cap_usd=_given(request.spend_cap_usd, float(configuration.settings.search.spend_cap_usd)),
        cap_defaulted=request.spend_cap_usd is None and search_policy(configuration).defaulted,
        tests=checks.tests,
        layout=layout.files,
        package=layout.package,
    )
    return Prepared(configuration, opened, task, settings, given, begun)


def _task(
    request: SearchRequest,
    configuration: Configuration,
    begun: StartFile | None,
    sources: tuple[CheckSource, ...],
    workspace: Path,
) -> SearchTask:
    timeout = request.per_branch_timeout_s or configuration.settings.search.per_branch_timeout_s
    return SearchTask(
        statement=request.statement,
        start=begun.text if begun else "",
        path=_named(begun, workspace),
        entry_point=request.function or None,
        check_sources=sources,
        holdout=request.holdout,
        stdin=request.stdin,
        per_branch_timeout_s=timeout,
    )


Narrow = Callable[[SearchHosts, Plan], Plan]
"""Settles the checks once programs can be executed: leaves some out, adds others."""


def open_new(context: Context, prepared: Prepared, plan: Plan, narrow: Narrow | None = None) -> Searching:
    """Make kernels ready, then the run's folder, then the search. See `start` for what it raises.

    Args:
        context: the surroundings.
        prepared: what was asked.
        plan: the checks.
        narrow: settles them; None leaves them.
    """
    configuration, opened, task = prepared.configuration, prepared.opened, prepared.task
    model = _model(context, configuration, opened)
    run = new_run_id()
    hosts = _hosts(configuration, opened, plan, task)
    try:
        hosts.start()
        checks = plan if narrow is None else narrow(hosts, plan)
        engine = SearchEngine.start(run, task, prepared.settings, prepared.given, checks)
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
    searching = _searching(context, configuration, writer, engine, hosts, model, opened)
    try:
        searching.index(driven=True)
    except BaseException:
        searching.close()
        raise
    return searching


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
    refuse_disabled(configuration)
    opened = _reopened(before, request, configuration)
    model = _model(context, configuration, opened)
    writer = SearchWriter.open(folder, configuration.root, context.surface)
    hosts = None
    try:
        engine = SearchEngine(writer.logged.events)
        hosts = _hosts(configuration, opened, engine.state.plan, engine.state.task)
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
        changes["model"] = model_name(request.model, configuration)
    if request.max_candidates is not None:
        asked["max_candidates"] = request.max_candidates
    return before.model_copy(update={**changes, "request": before.request.model_copy(update=asked)})


def _settings_again(settings: SearchSettings, request: SearchResumeRequest, opened: Opened) -> SearchSettings:
    changes: dict[str, object] = {}
    if request.max_candidates is not None:
        changes["max_candidates"] = request.max_candidates
    if opened.model and not asks_model(settings):
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
        notices=notices(opened, engine.state.settings),
        time_limit_s=opened.request.time_limit_s,
        workers=_WORKERS,
    )


def _lost_calls(logged: Logged) -> int:
    """How many calls were admitted whose answers a crash took: they were paid for, and gave no candidate."""
    made = sum(1 for event in logged.events if event.kind == "reservation_made")
    ended = {event.task_id for event in logged.events if event.kind == "task_finished"} | set(logged.answers)
    return max(0, made - sum(1 for name in ended if name.startswith(("draft:", "revise:"))))


def _hosts(configuration: Configuration, opened: Opened, plan: Plan, task: SearchTask) -> SearchHosts:
    extra = None
    if opened.audited is not None:
        from treewright.app.search_findings import audit_of

        extra = audit_of(opened.audited, Path(opened.path), task.start, configuration.root.cache)
    return SearchHosts(
        configuration,
        opened.python,
        plan,
        files=opened.layout,
        tests=opened.tests,
        package=opened.package,
        entry_point=task.entry_point,
        extra=extra,
    )


def _model(context: Context, configuration: Configuration, opened: Opened) -> SearchModel | None:
    if not opened.model:
        return None
    provider = open_provider(context, configuration, opened.model)
    refuse_unknown_price(provider)
    return SearchModel(provider, opened.request.max_tokens)


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
