"""`workspace/executeCommand`: for editors without our extension."""

from collections.abc import Awaitable, Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from treewright.errors import RequestError
from treewright.surfaces.lsp.actions import SERVER_PREFIX
from treewright.surfaces.lsp.checking import outgoing, read
from treewright.surfaces.lsp.handlers import deeper as going_deeper
from treewright.surfaces.lsp.handlers import findings, growing, reports, searching
from treewright.surfaces.lsp.messages.catalogue import DocumentRequest, ReportRequest
from treewright.surfaces.lsp.messages.findings import (
    DecideRequest,
    DecideResult,
    DeeperRequest,
    FindingRequest,
    SearchFixRequest,
    SearchFixResult,
)
from treewright.surfaces.lsp.messages.runs import (
    GrowingResult,
    ResumeRequest,
    StartRequest,
    StopRequest,
    StopResult,
)
from treewright.surfaces.lsp.messages.trees import TextResult
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.shown_files import show_text
from treewright.surfaces.lsp.uris import virtual_uri

REASONS = {
    "accepted": ("Mitigated elsewhere", "Not reachable where it runs", "The cost of a fix is higher"),
    "dismissed": ("The code does not do that", "A guard that was not seen stops it", "Test or example code"),
}
"""Reasons to choose from where the client has no box to type one; a command may bring its own."""


async def execute(session: Session, params: types.ExecuteCommandParams) -> Any:
    """Do what a command says and return what came of it."""
    name = params.command.removeprefix(SERVER_PREFIX)
    act = _ACTS.get(name)
    if act is None:
        raise RequestError("command_unknown", f"There is no command {params.command!r}.")
    await session.ready.wait()
    given = (params.arguments or [None])[0]
    return outgoing(await act(session, given))


def _with_run(given: Any, **more: Any) -> dict[str, Any]:
    """Return parameters from a run's id alone, or from an object."""
    return {"run": given, **more} if isinstance(given, str) else {**more, **(given or {})}


async def _audit(session: Session, given: Any) -> GrowingResult:
    asked = {"root": given} if isinstance(given, str) else dict(given or {"root": "."})
    return await growing.start(session, read(StartRequest, {"preset": "code-audit", **asked}))


async def _resume(session: Session, given: Any) -> GrowingResult:
    return await growing.resume(session, read(ResumeRequest, _with_run(given)))


async def _stop(session: Session, given: Any) -> StopResult:
    return await growing.stop(session, read(StopRequest, _with_run(given)))


async def _report(session: Session, given: Any) -> TextResult:
    request = read(ReportRequest, _with_run(given or "last"))
    result = await reports.report(session, request)
    view = await session.room.views.get(request.run)
    await show_text(session, virtual_uri(view.run, f"{request.name.removesuffix('.md')}.md"), result.text)
    return result


async def _open(session: Session, given: Any) -> TextResult:
    request = read(FindingRequest, given)
    uri = virtual_uri(request.run, "node", f"{request.node}.md")
    result = await reports.document(session, DocumentRequest(uri=uri))
    await show_text(session, uri, result.text)
    return result


async def _issue(session: Session, given: Any) -> TextResult:
    request = read(FindingRequest, given)
    result = await findings.issue(session, request)
    await show_text(session, virtual_uri(request.run, "issue", f"{request.node}.md"), result.text)
    return result


async def _deeper(session: Session, given: Any) -> GrowingResult:
    return await going_deeper.deeper(session, read(DeeperRequest, given))


async def _search(session: Session, given: Any) -> SearchFixResult:
    return await searching.search_fix(session, read(SearchFixRequest, given))


def _deciding(decision: str) -> Callable[[Session, Any], Awaitable[DecideResult | None]]:
    async def decide(session: Session, given: Any) -> DecideResult | None:
        asked = dict(given or {})
        if not asked.get("reason"):
            asked["reason"] = await _ask_reason(session, decision)
        if not asked["reason"]:
            return None  # the user thought better of it
        return await findings.decide(session, read(DecideRequest, {**asked, "decision": decision}))

    return decide


async def _ask_reason(session: Session, decision: str) -> str:
    accepted, dismissed = session.say("Why is this risk accepted?"), session.say("Why is this a false alarm?")
    question = accepted if decision == "accepted" else dismissed
    actions = [{"title": session.say(reason)} for reason in REASONS[decision]]
    asked = {"type": types.MessageType.Info.value, "message": question, "actions": actions}
    try:
        answer = await session.ask("window/showMessageRequest", asked)
    except JsonRpcException:
        return ""
    return str(answer.get("title", "")) if isinstance(answer, dict) else ""


_ACTS: dict[str, Callable[[Session, Any], Awaitable[Any]]] = {
    "audit": _audit,
    "resume": _resume,
    "stop": _stop,
    "report": _report,
    "open": _open,
    "issue": _issue,
    "deeper": _deeper,
    "search": _search,
    "accept": _deciding("accepted"),
    "dismiss": _deciding("dismissed"),
}
