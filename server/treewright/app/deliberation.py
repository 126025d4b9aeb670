"""Deliberation as every surface opens it: settings, lenses, the store, and models where they are configured."""

from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from treewright.app.context import Context
from treewright.app.describe import describe_run
from treewright.app.session_store import FileSessionStore, describe_session
from treewright.deliberate.autopilot import driving_endpoint
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.ports import Endpoint
from treewright.deliberate.reply import Reply
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.toolbox import Surroundings
from treewright.models.provider import Provider
from treewright.presets.lenses import load_lenses
from treewright.store.config import Configuration
from treewright.store.index import Index, IndexEntry

Value = TypeVar("Value")
MakeProvider = Callable[[Endpoint | None], Provider]
"""Makes the provider for an endpoint (its key only when `use_operator_key`); None is the configured default."""
Told = Callable[[str, Reply], None]
"""Hears the name of a tool that the autopilot called, and its reply."""


class _Told(Deliberation):
    """A deliberation whose autopilot tells its steps."""

    def __init__(self, surroundings: Surroundings, told: Told) -> None:
        super().__init__(surroundings)
        self._listener = told

    def call_tool(self, name: str, session_id: str, arguments: dict[str, object]) -> Reply:
        """Call a tool and tell it."""
        reply = super().call_tool(name, session_id, arguments)
        self._listener(name, reply)
        return reply


class DeliberationDesk:
    """A deliberation and what it holds open. Its tools block while a model works: call them off the event loop.

    Use as a context manager, or call `close`.
    """

    def __init__(
        self, context: Context, make_provider: MakeProvider | None = None, *, told: Told | None = None
    ) -> None:
        """Open a deliberation; nothing is written or started yet.

        Args:
            context: tells the configuration.
            make_provider: makes providers; None when no model can be called.
            told: is told of each step that the autopilot takes, in the thread that drives it.

        Raises:
            StoreError: the configuration is at fault.
            PresetError: a shipped lens is.
        """
        configuration = context.configuration()
        self._make_provider = make_provider
        self._providers: dict[Endpoint | None, Provider] = {}
        self._open = ExitStack()
        self._portal: Any = None
        surroundings = self._surroundings(configuration)
        self._settings = surroundings.settings
        self.tools = Deliberation(surroundings) if told is None else _Told(surroundings, told)

    def __enter__(self) -> Self:
        """Return the desk itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after an interruption nothing waits for a call that is still out."""
        if fault is None:
            self.close()
        else:
            self._providers.clear()
            self._portal = None
            self._open.__exit__(kind, fault, trace)

    def close(self) -> None:
        """Close providers and the loop they run on; harmless when repeated."""
        for provider in self._providers.values():
            self._wait(provider.close())
        self._providers.clear()
        self._portal = None
        self._open.close()

    def find_model(self) -> None:
        """Make the provider that the autopilot calls; nothing is sent or started yet.

        Raises:
            ModelError: there is none of that name, or it is set up wrongly.
        """
        self._provider(driving_endpoint(self._settings))

    def _surroundings(self, configuration: Configuration) -> Surroundings:
        root = configuration.root
        index = Index(root.index, scan=[root.runs, root.sessions], describe=_described)
        driver = negotiator = None
        if self._make_provider is not None:
            from treewright.performers.deliberation import EndpointDriver, ProviderChat, ProviderCompleter
            from treewright.performers.necort import NecortNegotiator

            driver = EndpointDriver(ProviderCompleter(self._provider), self._wait)
            negotiator = NecortNegotiator(ProviderChat(self._provider, self._wait))
        return Surroundings(
            store=FileSessionStore(root, index),
            lenses=load_lenses(root.folder).lenses,
            settings=deliberation_settings(configuration),
            clock=lambda: datetime.now(UTC),
            new_id=lambda: uuid4().hex,
            driver=driver,
            negotiator=negotiator,
        )

    def _provider(self, endpoint: Endpoint | None) -> Provider:
        if endpoint not in self._providers and self._make_provider is not None:
            self._providers[endpoint] = self._make_provider(endpoint)
        return self._providers[endpoint]

    def _wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine on the desk's own loop, which lives as long as its providers."""
        if self._portal is None:
            from anyio.from_thread import start_blocking_portal

            self._portal = self._open.enter_context(start_blocking_portal())

        async def run() -> Value:
            return await work

        result: Value = self._portal.call(run)
        return result


def deliberation_settings(configuration: Configuration) -> DeliberationSettings:
    """Return the deliberation settings of a configuration."""
    settings = configuration.settings
    names = ("modes", "serial", "subagent", "stages", "autopilot")
    return DeliberationSettings.model_validate({name: getattr(settings, name).model_dump() for name in names})


def _described(path: Path) -> IndexEntry | None:
    return describe_run(path) if path.is_dir() else describe_session(path)
