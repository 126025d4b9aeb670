"""Searching for a verified fix: code branches, executed against the tests that reach a function."""

import asyncio
from pathlib import Path
from typing import Any

from treewright.app.findings import one_finding
from treewright.app.search_drive import Searching
from treewright.app.search_findings import likely_tests
from treewright.app.search_outcome import SearchOutcome
from treewright.app.search_outputs import headline
from treewright.app.search_request import SearchRequest
from treewright.errors import RequestError
from treewright.search.functions import function_at
from treewright.store.paths import find_workspace
from treewright.surfaces.lsp.fixes import target_of, whole_edit
from treewright.surfaces.lsp.handlers.findings import client_edits
from treewright.surfaces.lsp.messages.events import SearchEnded
from treewright.surfaces.lsp.messages.findings import SearchFixRequest, SearchFixResult
from treewright.surfaces.lsp.messages.runs import NoticeRow
from treewright.surfaces.lsp.places import as_path
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import to_uri
from treewright.workspace.decode import Decoded, read_source


async def search_fix(session: Session, request: SearchFixRequest) -> SearchFixResult:
    """Begin a search; how it ends is told later."""
    if not session.settings.trusted:
        raise RequestError(
            "untrusted",
            "Searching executes the project's code.",
            "Trust the workspace first, then search again.",
        )
    path = await asyncio.to_thread(_file, session, request)
    text = await asyncio.to_thread(_saved_text, session, path)
    if request.run and request.node:
        searching, checks = await asyncio.to_thread(_for_finding, session, request, path)
    else:
        searching, checks = await asyncio.to_thread(_for_place, session, request, path, text)
    function = searching.engine.state.task.entry_point or path.name
    notices = [NoticeRow(code=n.code, message=n.message, severity=n.severity) for n in searching.notices]

    async def ended(outcome: SearchOutcome) -> None:
        session.tell("treewright/searchEnded", await _told(session, outcome, path, text))

    title = session.say("Treewright: search for {0}", function)
    job = session.room.jobs.drive(searching, title, request.work_done_token, ended)
    return SearchFixResult(
        run=job.run, folder=str(searching.folder), function=function, checks=checks, notices=notices
    )


def _for_finding(session: Session, request: SearchFixRequest, path: Path) -> tuple[Searching, list[str]]:
    """Search for a program that the audit no longer finds the finding in and that every test passes that reaches it."""
    named = [str(as_path(each)) for each in request.checks]
    searching = session.app.search_fix(
        request.run,
        request.node,
        model=request.model or session.settings.model,
        time_limit_s=request.time_limit_s,
        spend_cap_usd=request.spend_cap_usd,
        checks=tuple(named),
    )
    function = searching.engine.state.task.entry_point or ""
    tests = likely_tests(path, function, find_workspace(path))
    return searching, [*map(str, tests), *named]


def _for_place(
    session: Session, request: SearchFixRequest, path: Path, text: str
) -> tuple[Searching, list[str]]:
    """Search for a program that every test passes that names the function."""
    function = _function_at(text, request.line)
    workspace = find_workspace(path)
    named = [as_path(each) for each in request.checks] or likely_tests(path, function, workspace)
    checks = [str(each) for each in named]
    if not checks:
        raise RequestError(
            "no_tests",
            f"No test is found that reaches {function}.",
            "Name files of tests that do, or write one.",
        )
    asked = SearchRequest(
        base=str(workspace),
        file=str(path),
        function=function,
        check_files=tuple(checks),
        model=request.model or session.settings.model,
        time_limit_s=request.time_limit_s,
        spend_cap_usd=request.spend_cap_usd,
        trusted=True,
    )
    return session.app.search(asked), checks


def _file(session: Session, request: SearchFixRequest) -> Path:
    if request.run and request.node:
        return one_finding(session.app.context, request.run, request.node).file
    path = as_path(request.uri)
    if path is None:
        raise RequestError(
            "not_a_file", "Nothing was named to search for.", "Name a finding, or a place in a file."
        )
    return path


def _saved_text(session: Session, path: Path) -> str:
    read = read_source(path)
    if not isinstance(read, Decoded):
        raise RequestError("not_a_file", f"{path.name} cannot be read: {read.detail}", "Save it first.")
    document = session.documents.get(to_uri(path))
    if document is not None and document.text != read.text:
        raise RequestError("not_saved", f"{path.name} has unsaved changes.", "Save it, then search again.")
    return read.text


def _function_at(text: str, line: int) -> str:
    """Return the dotted name of the function or method around a line, from 0."""
    try:
        found = function_at(text, line + 1)
    except (SyntaxError, ValueError) as fault:
        raise RequestError("no_function", f"The file is no Python that parses: {fault}.") from fault
    if not found:
        raise RequestError("no_function", "There is no function at this place.", "Go into a function first.")
    return found


async def _told(session: Session, outcome: SearchOutcome, path: Path, before: str) -> dict[str, Any]:
    found = outcome.report
    edit = None
    if found.verified and found.chosen is not None:
        target = await asyncio.to_thread(target_of, session.documents, path)
        if target is not None and target.index.text == before:
            edit = whole_edit(target, found.chosen.code, client_edits(session))
    message = SearchEnded(
        run=outcome.run,
        status=outcome.status,
        verified=found.verified,
        headline=headline(found),
        uri=to_uri(path),
        diff=found.chosen.diff if found.chosen else "",
        edit=edit,
    )
    return message.model_dump(mode="json", by_alias=True)
