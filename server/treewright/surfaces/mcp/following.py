"""Telling clients that what they subscribed to has changed, whichever process changed it.

Until protocol 2025-11-25 a client subscribes to an address; since 2026-07-28 it listens on a stream. Both are served by one look at the index
and the journals, a few times a second and only while somebody listens (contract: surfaces, 4 and 5).
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import mcp.types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from treewright.errors import TreewrightError
from treewright.surfaces.mcp.office import Office
from treewright.surfaces.mcp.resources import Address, read_address

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from treewright.app.watch import Follower

logger = logging.getLogger(__name__)

LOOK_S = 0.25
"""How often it is looked for changes; each process must see the others' within a second (contract: surfaces, 5)."""


class Following:
    """The subscriptions of one server. Used on the loop."""

    def __init__(self, office: Office, bus: InMemorySubscriptionBus) -> None:
        """Follow nothing yet."""
        self._office = office
        self._bus = bus
        self._listening = ListenHandler(bus)
        self._sessions: dict[str, dict[int, ServerSession]] = {}
        self._listened: dict[str, int] = {}
        self._rows: dict[str, tuple[Any, ...]] = {}
        self._task: asyncio.Task[None] | None = None

    def subscribe(self, session: "ServerSession", uri: str) -> None:
        """Tell a session of changes at an address."""
        known = self._sessions.setdefault(uri, {})
        if _key(session) not in known:
            session._connection.exit_stack.callback(self.unsubscribe, session, uri)
        known[_key(session)] = session
        self._look_on()

    def unsubscribe(self, session: "ServerSession", uri: str) -> None:
        """Tell it no longer."""
        self._sessions.get(uri, {}).pop(_key(session), None)
        if not self._sessions.get(uri):
            self._sessions.pop(uri, None)

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        """Serve a stream of changes until the client leaves it."""
        uris = list(params.notifications.resource_subscriptions or ())
        for uri in uris:
            self._listened[uri] = self._listened.get(uri, 0) + 1
        self._look_on()
        try:
            return await self._listening(ctx, params)
        finally:
            for uri in uris:
                self._listened[uri] -= 1
                if not self._listened[uri]:
                    del self._listened[uri]

    def end_streams(self) -> None:
        """End the streams that clients listen on, in good order."""
        self._listening.close()

    async def close(self) -> None:
        """Stop looking, and end the streams."""
        self.end_streams()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _look_on(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        from treewright.app.watch import Follower

        app = await self._office.app()
        follower = await asyncio.to_thread(Follower, app.context)
        while self._sessions or self._listened:
            try:
                await self._round(follower)
            except TreewrightError as fault:
                logger.warning("runs cannot be followed: %s", fault.message)
            await asyncio.sleep(LOOK_S)

    async def _round(self, follower: "Follower") -> None:
        wanted = {
            uri: address for uri in {*self._sessions, *self._listened} if (address := read_address(uri))
        }
        for run in {address.run for address in wanted.values() if address.run}:
            entry = follower.entries.get(run)
            if entry is not None:
                follower.follow(run, entry.path)
        changed = {change.run for change in await asyncio.to_thread(follower.look)}
        if not changed:
            return
        for uri, address in wanted.items():
            if not address.run or (address.run in changed and await self._differs(uri, address)):
                await self._tell(uri)

    async def _differs(self, uri: str, address: Address) -> bool:
        """Tell whether a node is another than it was; a run that has changed always is."""
        if address.part != "node":
            return True
        try:
            view = await self._office.view(address.run)
            row = await asyncio.to_thread(view.row, address.node)
        except TreewrightError:
            return False
        before = self._rows.get(uri)
        self._rows[uri] = row
        return row != before

    async def _tell(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for session in list(self._sessions.get(uri, {}).values()):
            await session.send_resource_updated(uri)


def _key(session: "ServerSession") -> int:
    return id(session._connection)
