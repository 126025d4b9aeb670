"""Searching for a verified fix of a finding (contract: search, 1)."""

from dataclasses import replace
from pathlib import Path

from treewright.app.context import Context
from treewright.app.findings import Finding, one_finding
from treewright.app.runs import RunView
from treewright.app.search_drive import Searching
from treewright.app.search_findings import AuditCheck, likely_tests, numbered, place_of, proposed, reaching
from treewright.app.search_hosts import SearchHosts
from treewright.app.search_request import Audited, SearchRequest
from treewright.app.search_sources import StartFile, read_program
from treewright.app.searches import open_new, prepare
from treewright.errors import RequestError
from treewright.search.checks import Plan
from treewright.search.functions import function_at
from treewright.search.task import SearchTask, plan_of
from treewright.store.paths import find_workspace

_MUTATE_S = 30.0


def fix_for_finding(
    context: Context,
    run: str,
    node: str,
    *,
    model: str = "",
    time_limit_s: float | None = None,
    spend_cap_usd: float | None = None,
    checks: tuple[str, ...] = (),
) -> Searching:
    """Prepare a search for a program without a finding; drive it then. It executes the project's code.

    The task is the finding, the file its start. The checks are the tests that execute a line of the function it is in (as
    seen in a kernel), and that the offline audit no longer finds it there, nor anything new. The finding's own proposed
    change is the first candidate; edits, and a model where one is named, bring others.

    Args:
        context: the surroundings.
        run: the audit's run.
        node: the finding.
        model: a provider's name or specification; empty for the configured default.
        time_limit_s: as for every search.
        spend_cap_usd: as for every search.
        checks: further files of checks.

    Raises:
        RunError: `run_not_found`, `node_not_found`, `no_finding`.
        RequestError: `no_python` for a file of another language; `search_no_checks` when no test reaches the place and the
            audit cannot tell by itself.
        TreewrightError: as `searches.start`.
    """
    finding = one_finding(context, run, node)
    begun = read_program(finding.workspace, str(finding.file))
    if begun.path.suffix not in (".py", ".pyw"):
        raise RequestError("no_python", f"{finding.path} is no Python, so no branch of it can be executed.")
    workspace = find_workspace(begun.path)
    function = _function(finding, begun)
    tests = likely_tests(begun.path, function, workspace)
    candidate = proposed(finding, begun)
    request = SearchRequest(
        base=str(workspace),
        file=str(begun.path),
        function=function,
        statement=_statement(finding),
        check_files=(*(str(test) for test in tests), *checks),
        candidate_texts=(candidate,) if candidate else (),
        model=model,
        time_limit_s=time_limit_s,
        spend_cap_usd=spend_cap_usd,
        mutate_seconds=_MUTATE_S,
    )
    prepared = prepare(context, request)
    audited = Audited(root=str(_audited_root(context, run)), rule=finding.key.rule, symbol=finding.key.symbol)
    prepared = replace(prepared, opened=prepared.opened.model_copy(update={"audited": audited}))
    return open_new(
        context, prepared, _plan(prepared.task), lambda hosts, plan: _narrowed(hosts, plan, begun, function)
    )


def _function(finding: Finding, begun: StartFile) -> str:
    try:
        return function_at(begun.text, place_of(finding, begun))
    except (SyntaxError, ValueError) as fault:
        raise RequestError(
            "search_bad_start", f"{finding.path} does not parse: {fault}.", "Fix the syntax first."
        ) from fault


def _statement(finding: Finding) -> str:
    parts = [f"Fix this finding of a code audit: {finding.statement}", finding.cause, finding.fix]
    return "\n\n".join(part for part in (*parts, f"It stands at:\n{finding.quote}") if part)


def _audited_root(context: Context, run: str) -> Path:
    started = RunView(context, run).reader.tree.started
    assert started is not None
    return Path(started.root.workspace) / started.root.path


def _plan(task: SearchTask) -> Plan:
    """The checks of the tests that may reach it; none of them is no fault yet."""
    try:
        return plan_of(task)
    except RequestError as fault:
        if fault.code != "search_no_checks":
            raise
        return Plan(checks=(), per_branch_timeout_s=task.per_branch_timeout_s)


def _narrowed(hosts: SearchHosts, plan: Plan, begun: StartFile, function: str) -> Plan:
    by_audit = [hosts.extra.check()] if isinstance(hosts.extra, AuditCheck) else []
    settled = numbered(reaching(hosts, begun.text, plan, function), by_audit)
    if not settled.checks:
        raise RequestError(
            "search_no_checks",
            f"No test reaches {function or begun.path.name}, and the audit cannot tell by itself whether a fix is one.",
            "Write a test that fails as long as the finding stands, and name its file.",
        )
    return settled
