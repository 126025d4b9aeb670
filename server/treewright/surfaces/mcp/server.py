"""Wiring: which method of the protocol is answered by which function. Nothing of an engine is imported for it."""

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import mcp.types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError

from treewright import __version__
from treewright.errors import TreewrightError
from treewright.surfaces.mcp.asking import Asking, InputNeeded
from treewright.surfaces.mcp.calls import answer, function_of
from treewright.surfaces.mcp.cards import Card, all_cards, choose
from treewright.surfaces.mcp.following import Following
from treewright.surfaces.mcp.front import introduction
from treewright.surfaces.mcp.office import Office, Options

logger = logging.getLogger(__name__)

RESOURCE_NOT_FOUND = -32002

Ctx = ServerRequestContext[Any, Any]


class Desk:
    """Answers one server's requests."""

    def __init__(self, options: Options) -> None:
        """Prepare; nothing is loaded yet."""
        self.office = Office(options)
        self.bus = InMemorySubscriptionBus()
        self.following = Following(self.office, self.bus)
        self._cards: dict[str, Card] | None = None
        self._warming: asyncio.Future[None] | None = None

    async def cards(self) -> dict[str, Card]:
        """Return the tools that this server offers."""
        if self._cards is None:
            autopilot = await self._autopilot()
            self._cards = {
                card.name: card for card in choose(self.office.options.groups, autopilot=autopilot)
            }
        return self._cards

    async def _autopilot(self) -> bool:
        app = await self.office.app()
        try:
            return app.context.configuration().settings.autopilot.enabled
        except TreewrightError as fault:
            logger.warning("the configuration cannot be used: %s", fault.message)
            return False

    async def list_tools(self, ctx: Ctx, params: Any) -> types.ListToolsResult:  # noqa: ARG002 - the SDK's signature
        """List the tools, the essential ones first; what answers them is loaded meanwhile, since they will be called."""
        self._warm_up()
        return types.ListToolsResult(tools=[_tool(card) for card in (await self.cards()).values()])

    def _warm_up(self) -> None:
        if self._warming is None:
            self._warming = asyncio.ensure_future(self._load())

    async def _load(self) -> None:
        for card in list((await self.cards()).values()):
            await asyncio.to_thread(function_of, card)

    async def call_tool(
        self, ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool.

        Raises:
            MCPError: there is no such tool here.
        """
        card = (await self.cards()).get(params.name)
        if card is None:
            known = all_cards().get(params.name)
            told = f"There is no tool {params.name[:60]!r} here."
            if known is not None:
                told += f" It belongs to the group {'all' if known.extra else known.group}, see --groups."
            raise MCPError(code=types.INVALID_PARAMS, message=told)
        return await answer(self.office, card, ctx, params)

    async def list_resources(self, ctx: Ctx, params: Any) -> types.ListResourcesResult:  # noqa: ARG002 - the SDK's signature
        """List runs."""
        from treewright.surfaces.mcp.resources import list_resources

        asking = Asking(ctx, None, None)
        if self.office.options.roots or not asking.names_roots:
            confinement = await self.office.confinement(None)
        elif asking.waits:
            # this protocol has no way to ask for the roots here: of the runs nothing is told but where their list is
            confinement = await self.office.confinement([])
        else:
            confinement = await self.office.confinement(await asking.roots())
        return types.ListResourcesResult(resources=await list_resources(self.office, confinement))

    async def list_templates(self, ctx: Ctx, params: Any) -> types.ListResourceTemplatesResult:  # noqa: ARG002 - the SDK's signature
        """List the shapes of addresses."""
        from treewright.surfaces.mcp.resources import list_templates

        return types.ListResourceTemplatesResult(resource_templates=list_templates())

    async def read_resource(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Read a run, a node or a report.

        Raises:
            MCPError: there is nothing at the address, or it may not be looked at.
        """
        from treewright.surfaces.mcp.resources import read_resource

        asking = Asking(ctx, params.input_responses, params.request_state)
        try:
            named = None if self.office.options.roots else await asking.roots()
            return await read_resource(self.office, await self.office.confinement(named), str(params.uri))
        except InputNeeded as needed:
            return needed.result()
        except TreewrightError as fault:
            message = " ".join(part for part in (fault.message, fault.hint) if part)
            raise MCPError(code=RESOURCE_NOT_FOUND, message=message, data={"code": fault.code}) from fault

    async def subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell a client of changes at an address (until protocol 2025-11-25)."""
        self.following.subscribe(ctx.session, str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell it no longer."""
        self.following.unsubscribe(ctx.session, str(params.uri))
        return types.EmptyResult()

    async def list_prompts(self, ctx: Ctx, params: Any) -> types.ListPromptsResult:  # noqa: ARG002 - the SDK's signature
        """List the prompts."""
        from treewright.surfaces.mcp.prompts import list_prompts

        return types.ListPromptsResult(prompts=await list_prompts(self.office))

    async def get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> types.GetPromptResult:  # noqa: ARG002 - the SDK's signature
        """Fill a prompt in.

        Raises:
            MCPError: there is none of that name.
        """
        from treewright.surfaces.mcp.prompts import get_prompt

        found = await get_prompt(self.office, params.name, dict(params.arguments or {}))
        if found is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no prompt {params.name[:60]!r}.")
        return found

    async def close(self) -> None:
        """End what is at work."""
        if self._warming is not None:
            self._warming.cancel()
        await self.following.close()
        await self.office.close()


def _tool(card: Card) -> types.Tool:
    return types.Tool(
        name=card.name,
        title=card.title,
        description=card.description,
        input_schema=card.input_schema(),
        output_schema=card.output_schema(),
        annotations=types.ToolAnnotations(
            title=card.title,
            read_only_hint=card.effect == "read",
            destructive_hint=card.effect == "destroy",
            idempotent_hint=card.repeatable or card.effect == "read",
            open_world_hint=card.open_world,
        ),
    )


async def loosened(ctx: Ctx, call_next: Any) -> Any:
    """Let arguments that are a text or a list through to the tool, which reads them; the protocol would refuse them."""
    given = (ctx.params or {}).get("arguments")
    if ctx.method == "tools/call" and isinstance(given, str | list):
        arguments = _object_in(given)
        ctx = replace(ctx, params={**(ctx.params or {}), "arguments": arguments})
    return await call_next(ctx)


def _object_in(given: Any) -> dict[str, Any]:
    """Return what a text or list of arguments is: JSON of an object, or the tool's main argument."""
    if isinstance(given, str):
        try:
            found = json.loads(given)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
    return {"arguments": given}


def build(options: Options) -> tuple[Server[Any], Desk]:
    """Return a server and who answers its requests."""
    desk = Desk(options)
    server: Server[Any] = Server(
        "treewright",
        version=__version__,
        title=introduction()["title"],
        instructions=introduction()["instructions"],
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
        on_subscribe_resource=desk.subscribe,
        on_unsubscribe_resource=desk.unsubscribe,
        on_subscriptions_listen=desk.following.listen,
        on_list_prompts=desk.list_prompts,
        on_get_prompt=desk.get_prompt,
    )
    server.middleware.append(loosened)
    return server, desk
