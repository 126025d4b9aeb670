"""What stands behind a server: the facade, and what calls share; each part made when it is first needed.

Importing this module loads no engine, no store and no kernel: the handshake is answered before any of them (contract: surfaces, 4).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from treewright.surfaces.mcp.work import PATIENCE_S, Work

if TYPE_CHECKING:
    from treewright.app.deliberation import DeliberationDesk
    from treewright.app.guiding import Guide
    from treewright.app.treewright import Treewright
    from treewright.app.views import TreeView
    from treewright.surfaces.mcp.confinement import Confinement
    from treewright.surfaces.mcp.running import Running

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
VIEWS_KEPT = 16
CLOSE_S = 3.0
"""How long what is at work may take to end when the server does; what counts is journalled already."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a server is started.

    Attributes:
        groups: which tools are offered; empty for the default ones.
        roots: folders that may be looked at; empty to ask the client.
        patience_s: seconds that a call waits for long work before it answers a handle.
    """

    groups: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    patience_s: float = PATIENCE_S


@dataclass(slots=True)
class Office:
    """The state of one server.

    Attributes:
        options: how it was started.
        work: what outlasts calls.
        faults: what was wrong with a sampled answer, by run and task, for the next request.
    """

    options: Options
    work: Work = field(init=False)
    faults: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _parts: dict[str, Any] = field(default_factory=dict)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)
    _views: dict[Path, "TreeView"] = field(default_factory=dict)
    _here: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make what costs nothing."""
        self.work = Work(self.options.patience_s)

    async def part(self, name: str, make: Callable[[], Value]) -> Value:
        """Return a shared part, made once, in a thread: making it imports what it needs."""
        if name not in self._parts:
            async with self._making:
                if name not in self._parts:
                    self._parts[name] = await asyncio.to_thread(make)
        found: Value = self._parts[name]
        return found

    async def app(self) -> "Treewright":
        """Return the facade."""

        def make() -> "Treewright":
            from treewright.app.treewright import Treewright

            return Treewright("mcp", here=lambda: self._here)

        return await self.part("app", make)

    async def guide(self) -> "Guide":
        """Return who steps runs whose tasks the caller fills in."""
        app = await self.app()

        def make() -> "Guide":
            from treewright.app.guiding import Guide

            return Guide(app.context)

        return await self.part("guide", make)

    async def running(self) -> "Running":
        """Return the runs that this server drives."""

        def make() -> "Running":
            from treewright.surfaces.mcp.running import Running

            return Running()

        return await self.part("running", make)

    async def desk(self) -> "DeliberationDesk":
        """Return the deliberation.

        Raises:
            StoreError: the configuration is at fault.
        """
        app = await self.app()

        def make() -> "DeliberationDesk":
            from treewright.app.deliberating import provider_maker
            from treewright.app.deliberation import DeliberationDesk

            return DeliberationDesk(app.context, provider_maker(app.context))

        return await self.part("desk", make)

    async def kernels(self) -> Any:
        """Return the kernel operations.

        Raises:
            KernelError: kernels are not to be had.
        """
        app = await self.app()

        def make() -> Any:
            from treewright.app.kernels import kernel_operations

            return kernel_operations(app.context)

        return await self.part("kernels", make)

    async def confinement(self, named: Sequence[str] | None) -> "Confinement":
        """Return where paths may lead.

        Args:
            named: URIs of the client's roots; None when it names none. The command line's come first, and then these do not count.
        """
        from treewright.surfaces.mcp.confinement import Confinement, folder_of_uri, usual_folder

        app = await self.app()
        folders = list(self.options.roots)
        if not folders and named is not None:
            folders = [folder for uri in named if (folder := folder_of_uri(uri)) is not None]
        elif not folders:
            folders = usual_folder()
        self._here = folders
        store = await asyncio.to_thread(lambda: app.context.configuration().root.folder)
        return Confinement(folders, store)

    async def view(self, run: str) -> "TreeView":
        """Return a run to look at, read on to where it stands now.

        Raises:
            TreewrightError: it cannot be found or read.
        """
        app = await self.app()
        return await asyncio.to_thread(self._look, app, run)

    def _look(self, app: "Treewright", run: str) -> "TreeView":
        from treewright.app.runs import find_run
        from treewright.app.views import TreeView
        from treewright.errors import StoreError

        folder = find_run(app.context, run).folder
        view = self._views.get(folder)
        if view is not None:
            try:
                view.grow()
                return view
            except StoreError:  # the journal is another file now
                self._views.pop(folder, None)
        view = TreeView(app.context, str(folder))
        self._views[folder] = view
        while len(self._views) > VIEWS_KEPT:
            self._views.pop(next(iter(self._views)))
        return view

    async def close(self) -> None:
        """End what is at work and release what is held."""
        if "running" in self._parts:
            await self._parts["running"].close(CLOSE_S)
        await self.work.close(CLOSE_S)
        if "guide" in self._parts:
            await self._parts["guide"].close()
        for name in ("searches", "chains", "desk", "kernels"):
            if name in self._parts:
                await asyncio.to_thread(self._parts[name].close)
        self._parts.clear()
