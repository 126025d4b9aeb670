"""Searching for a verified fix: code branches, executed against the tests that reach a function."""

import ast
import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treewright.app.findings import one_finding
from treewright.app.search_drive import Searching
from treewright.app.search_outcome import SearchOutcome
from treewright.app.search_outputs import headline
from treewright.app.search_request import SearchRequest
from treewright.errors import RequestError
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

MOST_TESTS = 8
"""Files of tests that are taken of those that reach a function, the nearest first."""
_MOST_LOOKED_AT = 2000
_SKIPPED = {".git", ".venv", "venv", "node_modules", "__pycache__", ".treewright", "build", "dist", ".tox"}


async def search_fix(session: Session, request: SearchFixRequest) -> SearchFixResult:
    """Begin a search; how it ends is told later."""
    if not session.settings.trusted:
        raise RequestError(
            "untrusted",
            "Searching executes the project's code.",
            "Trust the workspace first, then search again.",
        )
    path, line = await asyncio.to_thread(_place, session, request)
    text = await asyncio.to_thread(_saved_text, session, path)
    function = _function_at(text, line)
    checks = await asyncio.to_thread(_checks, request, path, function)
    asked = SearchRequest(
        base=str(find_workspace(path)),
        file=str(path),
        function=function,
        check_files=tuple(checks),
        model=request.model or session.settings.model,
        time_limit_s=request.time_limit_s,
        spend_cap_usd=request.spend_cap_usd,
        trusted=True,
    )
    searching: Searching = await asyncio.to_thread(session.app.search, asked)
    notices = [NoticeRow(code=n.code, message=n.message, severity=n.severity) for n in searching.notices]

    async def ended(outcome: SearchOutcome) -> None:
        session.tell("treewright/searchEnded", await _told(session, outcome, path, text))

    job = session.room.jobs.drive(
        searching, f"Treewright: search for {function}", request.work_done_token, ended
    )
    return SearchFixResult(
        run=job.run, folder=str(searching.folder), function=function, checks=checks, notices=notices
    )


def _checks(request: SearchFixRequest, path: Path, function: str) -> list[str]:
    found = [str(as_path(each)) for each in request.checks] or _tests(path, function)
    if not found:
        raise RequestError(
            "no_tests",
            f"No test is found that reaches {function}.",
            "Name files of tests that do, or write one.",
        )
    return found


def _place(session: Session, request: SearchFixRequest) -> tuple[Path, int]:
    if request.run and request.node:
        finding = one_finding(session.app.context, request.run, request.node)
        return finding.file, finding.start - 1
    path = as_path(request.uri)
    if path is None:
        raise RequestError(
            "not_a_file", "Nothing was named to search for.", "Name a finding, or a place in a file."
        )
    return path, request.line


def _saved_text(session: Session, path: Path) -> str:
    read = read_source(path)
    if not isinstance(read, Decoded):
        raise RequestError("not_a_file", f"{path.name} cannot be read: {read.detail}", "Save it first.")
    document = session.documents.get(to_uri(path))
    if document is not None and document.text != read.text:
        raise RequestError("not_saved", f"{path.name} has unsaved changes.", "Save it, then search again.")
    return read.text


def _function_at(text: str, line: int) -> str:
    """Return the dotted name of the innermost function around a line, from 0."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as fault:
        raise RequestError("no_function", f"The file is no Python that parses: {fault}.") from fault
    found = [
        name for name, node in _functions(tree, ()) if node.lineno - 1 <= line <= (node.end_lineno or 0) - 1
    ]
    if not found:
        raise RequestError("no_function", "There is no function at this place.", "Go into a function first.")
    return found[-1]


def _functions(
    node: ast.AST, outer: tuple[str, ...]
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield functions and methods, outer ones first; what is inside a function is part of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, (*outer, child.name))
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield ".".join((*outer, child.name)), child
        else:
            yield from _functions(child, outer)


def _tests(path: Path, function: str) -> list[str]:
    """Return files of tests that name a module and a function of it, those nearest to the file first."""
    workspace = find_workspace(path)
    module, name = path.stem, function.rpartition(".")[2]
    wanted = [re.compile(rf"\b{re.escape(word)}\b") for word in (module, name)]
    found = []
    for number, test in enumerate(_test_files(workspace)):
        if number >= _MOST_LOOKED_AT:
            break
        read = read_source(test)
        if isinstance(read, Decoded) and all(word.search(read.text) for word in wanted):
            found.append(test)
    found.sort(key=lambda test: (module not in test.stem, len(test.parts), str(test)))
    return [str(test) for test in found[:MOST_TESTS]]


def _test_files(folder: Path) -> Iterator[Path]:
    for at, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
                yield Path(at) / name


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
