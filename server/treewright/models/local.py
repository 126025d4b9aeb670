"""A GGUF model of the user's own, run in a child process.

The native library may abort the process it lives in, so it never lives in ours. The child speaks the same protocol
as any llama.cpp server, on loopback, behind a key that only we know; it ends when we do.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from treewright.errors import ModelError
from treewright.models.backoff import RetryPolicy
from treewright.models.http_provider import merge
from treewright.models.memory import EndpointMemory
from treewright.models.openai import OpenAIProvider
from treewright.models.prices import FREE
from treewright.models.provider import Completion, Outcome, ProviderInfo, Request, TextSink, Usage
from treewright.models.secrets import Key
from treewright.models.wire import Timeouts, Wire, unless_cancelled
from treewright.parsing import load_json
from treewright.regular import open_regular

_MAGIC = b"GGUF"
_TRIES = 2
"""A call whose process died before any text is put once more, to a new process."""

_STARTS_MOST = 3
"""A model that dies this often without one answer is not started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """How to run a model.

    Attributes:
        path: the GGUF file.
        context_tokens: context of one call; the memory it takes is this times `slots`.
        slots: calls worked on together; further ones wait their turn.
        threads: processor threads; 0 takes those that are idle when the model is loaded.
        cache_mib: memory for finished prompts, so that a common beginning is read once.
        load_s: seconds allowed for loading.
    """

    path: Path
    context_tokens: int = 8192
    slots: int = 2
    threads: int = 0
    cache_mib: int = 1024
    load_s: float = 180.0


@dataclass(slots=True)
class _Child:
    process: asyncio.subprocess.Process
    provider: OpenAIProvider
    log: IO[bytes]


class LocalProvider:
    """A model file; its process starts with the first call and ends with `close` or with us."""

    def __init__(
        self,
        settings: LocalSettings,
        *,
        name: str = "",
        memory: EndpointMemory | None = None,
        timeouts: Timeouts | None = None,
        command: tuple[str, ...] = (),
    ) -> None:
        """Set up; nothing is started yet.

        Args:
            settings: the model and how to run it.
            name: as shown; `local:<file name>` when empty.
            memory: what was found out before.
            timeouts: limits of one call, loading not counted.
            command: another child to start; for tests.

        Raises:
            ModelError: `local_model_missing`, `local_model_invalid` or `local_extra_missing`.
        """
        check_model_file(settings.path)
        if not command and find_spec("xllamacpp") is None:
            raise ModelError(
                "local_extra_missing",
                "Embedded models need the package xllamacpp, which is not installed.",
                "Run: pip install 'treewright[local]'",
            )
        self._settings = settings
        self._memory = memory or EndpointMemory()
        self._timeouts = timeouts or Timeouts(first_token_s=600.0, idle_s=120.0, total_s=3600.0)
        self._command = command or (sys.executable, "-m", "treewright.models.local_server")
        self._info = ProviderInfo(
            name=name or f"local:{settings.path.name}",
            kind="local",
            model=settings.path.stem,
            endpoint=f"local:{settings.path.name}",
            price=FREE,
            context_tokens=settings.context_tokens,
            concurrency=settings.slots,
        )
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._turns = asyncio.Semaphore(settings.slots)
        self._starts = 0

    @property
    def info(self) -> ProviderInfo:
        """What is known without asking."""
        return self._info

    @property
    def process_id(self) -> int | None:
        """The child's process id, None while there is none."""
        return None if self._child is None else self._child.process.pid

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request, see `Provider.complete`; waits its turn when every slot is taken.

        Raises:
            ModelError: `local_model_invalid`; the model cannot be loaded.
        """
        most = self._settings.slots  # llama.cpp gives every sample of a request a slot
        if request.samples <= most:
            return await self._in_turn(request, on_text, cancel)
        sizes = [min(most, request.samples - start) for start in range(0, request.samples, most)]
        parts = [
            await self._in_turn(replace(request, samples=size), None if number else on_text, cancel)
            for number, size in enumerate(sizes)
        ]
        return merge(tuple(parts))

    async def close(self) -> None:
        """End the child."""
        async with self._starting:
            await self._end_child()

    async def _in_turn(
        self, request: Request, on_text: TextSink | None, cancel: asyncio.Event | None
    ) -> Completion:
        if await unless_cancelled(self._turns.acquire(), cancel) is None:
            return self._cancelled()
        try:
            for _ in range(_TRIES):
                child = await unless_cancelled(self._running(), cancel)
                if child is None:
                    return self._cancelled()
                done = await child.provider.complete(request, on_text=on_text, cancel=cancel)
                if done.outcome is Outcome.COMPLETE:
                    self._starts = 0
                if done.outcome is not Outcome.UNREACHABLE:
                    return done
                await self._retire(child)
        finally:
            self._turns.release()
        return replace(done, detail="the model's process ended while it answered")

    def _cancelled(self) -> Completion:
        return Completion(
            provider=self._info.name,
            model=self._info.model,
            outcome=Outcome.CANCELLED,
            usage=Usage(),
            detail="cancelled before its turn",
        )

    async def _running(self) -> _Child:
        async with self._starting:
            if self._child is not None and self._child.process.returncode is None:
                return self._child
            await self._end_child()
            if self._starts >= _STARTS_MOST:
                raise ModelError(
                    "local_model_invalid",
                    f"The process of {self._info.name} ended {self._starts} times; it is not started again.",
                    "The model may need more memory than there is: try a smaller context or a smaller model.",
                )
            self._starts += 1
            self._child = await self._start()
            return self._child

    async def _start(self) -> _Child:
        log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
        key = secrets.token_hex(24)
        try:
            said = await asyncio.wait_for(self._greet(process, key), self._settings.load_s)
            address = said["address"]
        except (TimeoutError, KeyError, ValueError, ConnectionError) as error:
            await _end(process)
            raise self._load_error(log, error) from error
        except BaseException:
            await _end(process)
            log.close()
            raise
        return _Child(process, self._provider(address, key), log)

    async def _greet(self, process: asyncio.subprocess.Process, key: str) -> Mapping[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        settings = self._settings
        told = {
            "path": str(settings.path.resolve()),
            "context_tokens": settings.context_tokens,
            "slots": settings.slots,
            "threads": settings.threads or idle_processors(),
            "cache_mib": settings.cache_mib,
            "key": key,
            "alias": settings.path.stem,
        }
        process.stdin.write(json.dumps(told).encode("utf-8") + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        said = load_json(line)
        return said if isinstance(said, dict) else {}

    def _provider(self, address: str, key: str) -> OpenAIProvider:
        url = f"{address.rstrip('/')}/v1"
        retry = RetryPolicy(unreachable_tries=2, first_s=0.1)  # a child that is gone stays gone
        wire = Wire(base_url=url, key=Key(key, url), timeouts=self._timeouts, retry=retry)
        return OpenAIProvider(self._info, wire, self._memory)

    def _load_error(self, log: IO[bytes], error: Exception) -> ModelError:
        with log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 4000))
            tail = log.read().decode("utf-8", "replace").replace(str(Path.home()), "~")
        why = "did not load in time" if isinstance(error, TimeoutError) else "could not be loaded"
        return ModelError(
            "local_model_invalid",
            f"The model {self._settings.path.name} {why}.",
            "Is it a GGUF model that llama.cpp knows, and is there memory for it and its context?",
            {"log": [line for line in tail.splitlines() if line.strip()][-8:]},
        )

    async def _retire(self, child: _Child) -> None:
        """End a child that does not answer, unless another call did so already."""
        async with self._starting:
            if self._child is child:
                await self._end_child()

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.provider.close()
            await _end(child.process)
            child.log.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the child's input, which ends it, and wait; kill it when it does not end."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 5)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    transport = getattr(process, "_transport", None)  # closes its pipes now rather than at collection
    if transport is not None:
        transport.close()


def idle_processors() -> int:
    """Return how many processor threads a model should take now.

    Its threads wait for each other at every step, so that one without a processor of its own slows all of them down:
    on a busy machine fewer are faster.
    """
    whole = os.cpu_count() or 1
    busy = int(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, whole - busy)


def check_model_file(path: Path) -> None:
    """Refuse what is no GGUF file.

    Raises:
        ModelError: `local_model_missing` or `local_model_invalid`.
    """
    try:
        with open_regular(path) as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(
            "local_model_missing",
            f"There is no readable model file {path.name}.",
            "Give the path of a .gguf file, as in local:/path/to/model.gguf.",
            {"path": str(path)},
        ) from error
    if magic != _MAGIC:
        raise ModelError(
            "local_model_invalid",
            f"{path.name} is no GGUF model: it does not begin with the letters GGUF.",
            "A download may have been cut off or have saved a web page; fetch it again.",
            {"path": str(path)},
        )
