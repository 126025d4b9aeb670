"""The SDK's pair of streams over a wire. Apart from it, since it needs the SDK, which takes long to load."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from treewright.surfaces.mcp.wire import INVALID_REQUEST, Line, Wire, decode, error, id_of

_LAST_WORDS_S = 2.0
"""How long answers that are on their way may take when the session ends."""


class _Pump:
    """Moves messages between a wire and the SDK's pair of streams."""

    def __init__(self, wire: Wire) -> None:
        """Make the streams."""
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[Line | bool] = asyncio.Queue()
        self._into, self.read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.write_stream, self._outof = anyio.create_memory_object_stream[SessionMessage](0)
        self.sent = anyio.Event()
        self._ended = anyio.Event()
        self._begun = self._written = 0

    def take(self, line: Line | bool) -> None:
        """Take a line, in the reading thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    async def receive(self) -> None:
        """Hand on what the client sends; answer what is no message."""
        async with self._into:
            while (line := await self._lines.get()) is not False:
                value, answer = decode(None if line is None or line is True else line)
                if value is not None:
                    try:
                        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
                    except ValueError:
                        answer = error(id_of(value), INVALID_REQUEST, "The line is no JSON-RPC 2.0 message.")
                    else:
                        await self._into.send(SessionMessage(message))
                if answer is not None:
                    await self._write(answer)
            self._ended.set()

    async def send(self) -> None:
        """Write what the server says."""
        async with self._outof:
            async for each in self._outof:
                told = each.message.model_dump(by_alias=True, exclude_unset=True, mode="python")
                await self._write(told)
        self.sent.set()

    async def leave(self, scope: anyio.CancelScope) -> None:
        """End the session of a client that has hung up and no longer reads what it asked for."""
        await self._ended.wait()
        while True:
            written = self._written
            await anyio.sleep(_LAST_WORDS_S)
            if self._written == written < self._begun:
                scope.cancel()
                return

    async def _write(self, message: dict[str, Any]) -> None:
        self._begun += 1
        await anyio.to_thread.run_sync(self._wire.write, message, abandon_on_cancel=True)
        self._written += 1


@contextlib.asynccontextmanager
async def streams(wire: Wire) -> AsyncIterator[tuple[Any, Any]]:
    """Serve the SDK's pair of streams over a wire."""
    pump = _Pump(wire)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pump.receive)
        tasks.start_soon(pump.send)
        tasks.start_soon(pump.leave, tasks.cancel_scope)
        wire.attach(pump.take)
        try:
            yield pump.read_stream, pump.write_stream
        finally:
            await pump.write_stream.aclose()
            with anyio.move_on_after(_LAST_WORDS_S, shield=True):
                await pump.sent.wait()
            tasks.cancel_scope.cancel()
