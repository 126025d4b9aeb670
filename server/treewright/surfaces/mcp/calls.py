"""One call of a tool: its arguments, the client that made it, and the way to the function that answers it."""

import asyncio
import importlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import mcp.types as types
from mcp.server import ServerRequestContext

from treewright.errors import TreewrightError
from treewright.surfaces.mcp.asking import Asking, InputNeeded
from treewright.surfaces.mcp.cards import HANDLE, Card
from treewright.surfaces.mcp.directive import Correction, Reply, as_text, failure, refused, sendable
from treewright.surfaces.mcp.loose import read_arguments
from treewright.surfaces.mcp.office import Office

if TYPE_CHECKING:
    from treewright.surfaces.mcp.confinement import Confinement

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

TARGETS = {
    "tree_start": "starting:tree_start",
    "tree_resume": "starting:tree_resume",
    "tree_stop": "starting:tree_stop",
    "tree_chain": "chaining:tree_chain",
    "audit_code": "starting:audit_code",
    "tree_next": "stepping:tree_next",
    "tree_submit": "stepping:tree_submit",
    "tree_status": "looking:tree_status",
    "tree_node": "looking:tree_node",
    "tree_children": "looking:tree_children",
    "tree_report": "looking:tree_report",
    "list_presets": "looking:list_presets",
    "validate_preset": "looking:validate_preset",
    "search_start": "searching:search_start",
    "search_submit_candidate": "searching:search_submit_candidate",
    "search_result": "searching:search_result",
    "cap_reserve": "capping:cap_reserve",
    "cap_settle": "capping:cap_settle",
    "cap_status": "capping:cap_status",
    "kernel_exec": "kernels:kernel_exec",
    "kernel_list_vars": "kernels:kernel_list_vars",
    "kernel_inspect": "kernels:kernel_inspect",
    "kernel_reset": "kernels:kernel_reset",
    "kernel_interrupt": "kernels:kernel_interrupt",
    "kernel_install_pkg": "kernels:kernel_install_pkg",
}
"""Tool to `module:function` in `treewright.surfaces.mcp.tools`; those of deliberation have one function."""
_DELIBERATION = "deliberating:deliberate"


@dataclass(slots=True)
class Call:
    """A call being answered.

    Attributes:
        office: what stands behind the server.
        card: the tool.
        arguments: read, by declared name; absent ones were not given.
        asking: the client, to be asked.
        ctx: the protocol's context.
    """

    office: Office
    card: Card
    arguments: dict[str, Any]
    asking: Asking
    ctx: ServerRequestContext[Any, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or a default when it was not given."""
        return self.arguments.get(name, default)

    async def thread(self, work: Callable[..., Value], *arguments: Any) -> Value:
        """Do blocking work beside the loop."""
        return await asyncio.to_thread(work, *arguments)

    async def report(self, done: float, message: str) -> None:
        """Report progress, to a client that asked for it."""
        await self.ctx.session.report_progress(done, None, message)

    async def confinement(self) -> "Confinement":
        """Return where paths may lead; asks the client for its roots when the command line named none."""
        named = None if self.office.options.roots else await self.asking.roots()
        return await self.office.confinement(named)

    async def long(
        self,
        work: Awaitable[Reply],
        stop: Callable[[], None] | None = None,
        told: Callable[[], tuple[float, str]] | None = None,
    ) -> Reply:
        """Answer with what work brings, or with a handle when it takes longer than a call may."""
        job = self.office.work.begin(self.card.name, work, stop, told)
        reply = await self.office.work.wait(job, self.report)
        return reply if reply is not None else self._goes_on(job.handle)

    async def again(self) -> Reply | None:
        """Answer a call that came with a handle: the work's reply, or that it still goes on; None without a handle."""
        handle = self.arguments.get(HANDLE)
        if handle is None or not self.card.long:
            return None
        job = self.office.work.find(str(handle), self.card.name)
        if job is None:
            told = f"There is no work {handle!r} of {self.card.name}; it may have been told already."
            return refused("handle_unknown", told, self.card.name)
        reply = await self.office.work.wait(job, self.report)
        return reply if reply is not None else self._goes_on(job.handle)

    def _goes_on(self, handle: str) -> Reply:
        told = f"Still at work. Call {self.card.name} again with handle={handle} to wait for the answer."
        return {"ok": True, "message": told, "next_tool": self.card.name, HANDLE: handle}


def function_of(card: Card) -> Callable[[Call], Awaitable[Reply]]:
    """Return the function that answers a tool, importing its module."""
    module, _, name = (_DELIBERATION if card.loose else TARGETS[card.name]).partition(":")
    found: Callable[[Call], Awaitable[Reply]] = getattr(
        importlib.import_module(f"treewright.surfaces.mcp.tools.{module}"), name
    )
    return found


async def answer(
    office: Office, card: Card, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Answer a call. Never raises but when it is cancelled: what goes wrong is told, with what to do."""
    asking = Asking(ctx, params.input_responses, params.request_state)
    try:
        call = Call(office, card, read_arguments(card, params.arguments), asking, ctx)
        function = await asyncio.to_thread(function_of, card)
        reply = await call.again() or await function(call)
    except InputNeeded as needed:
        return needed.result()
    except Correction as correction:
        reply = correction.reply(card.name)
    except TreewrightError as fault:
        reply = failure(fault)
    except Exception as fault:  # noqa: BLE001 - the one boundary: no tool answers with a raw error
        reply = _crashed(card, fault)
    return as_result(reply)


def _crashed(card: Card, fault: Exception) -> Reply:
    error_id = secrets.token_hex(4)
    logger.error("tool %s failed (%s)", card.name, error_id, exc_info=fault)
    told = f"Something went wrong here that should not have (error {error_id}, logged). Nothing was lost; try again."
    return refused("internal_error", told, card.name, kind="failed", error_id=error_id)


def as_result(reply: Reply) -> types.CallToolResult:
    """Return a reply as the protocol's result: structured, and as text for clients that show only that."""
    plain = sendable(reply)
    content: list[Any] = [types.TextContent(type="text", text=text) for text in as_text(plain)]
    return types.CallToolResult(content=content, structured_content=plain, is_error=not plain["ok"])
