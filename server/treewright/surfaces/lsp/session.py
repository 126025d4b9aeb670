"""What is known of one client: what it can do, which folders it shows, what it has open, what runs for it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability

from treewright.surfaces.lsp.documents import Documents
from treewright.surfaces.lsp.speech import language_of, say
from treewright.surfaces.lsp.uris import key_of, to_path
from treewright.workspace.positions import Units

if TYPE_CHECKING:
    from treewright.app.treewright import Treewright
    from treewright.surfaces.lsp.engine_room import EngineRoom
    from treewright.surfaces.lsp.server import TreewrightServer
    from treewright.surfaces.lsp.settings import EditorSettings

logger = logging.getLogger(__name__)

CLOSING_S = 4.0
"""How long runs of ours may take to stop when the client leaves."""


class Session:
    """One client's session.

    Attributes:
        documents: what is open.
        capabilities: what the client said it can do.
        pull: the client asks for diagnostics; else they are sent to it.
        language: that the user reads, see `speech.language_of`.
        folders: the workspace folders, key to path.
        options: initialization options as they came.
        ready: what the first requests need has been loaded.
        keys: keys of endpoints, from the client's secret storage; in memory only.
        cancels: what to call when the user cancels a progress, by its token.
    """

    def __init__(self, server: "TreewrightServer") -> None:
        """Know nothing yet."""
        self.server = server
        self.documents = Documents()
        self.capabilities = types.ClientCapabilities()
        self.pull = False
        self.language = ""
        self.folders: dict[str, Path] = {}
        self.options: dict[str, Any] = {}
        self.ready = asyncio.Event()
        self.keys: dict[str, str] = {}
        self.cancels: dict[str | int, Callable[[], Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._room: EngineRoom | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # the handshake

    def initialize(self, params: types.InitializeParams) -> None:
        """Take what the client says of itself; runs before the capabilities are put together."""
        self._loop = asyncio.get_running_loop()
        self.capabilities = params.capabilities
        self.language = language_of(params.locale)
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.documents.units = _units(str(getattr(encoding, "value", encoding)))
        given = params.initialization_options
        self.options = given if isinstance(given, dict) else {}
        shown = [folder.uri for folder in params.workspace_folders or ()]
        for uri in shown or ([params.root_uri] if params.root_uri else []):
            self._add_folder(uri)
        self.pull = self._pulls()
        if self.pull:
            self.server.offer_pull_diagnostics()
        if params.process_id:
            from treewright.surfaces.lsp.server import watch_process

            self.spawn(watch_process(params.process_id, self.server.leave), "client process")

    def _pulls(self) -> bool:
        """Tell whether the client asks for diagnostics; one that cannot be told to ask again gets them sent."""
        wanted = self.options.get("diagnostics")
        asks = self.can("text_document.diagnostic")
        if wanted == "push" or not asks:
            return False
        return wanted == "pull" or bool(self.can("workspace.diagnostics.refresh_support"))

    def can(self, capability: str) -> Any:
        """Return a client capability by its dotted name; None when it was not named."""
        return get_capability(self.capabilities, capability)

    def initialized(self, _params: types.InitializedParams) -> None:
        """Go to work once the client is ready to hear of it."""
        self.spawn(self._prepare(), "preparing")

    async def _prepare(self) -> None:
        await asyncio.to_thread(_load)
        await self.room.begin()
        self.ready.set()

    @property
    def room(self) -> "EngineRoom":
        """Everything beyond the protocol."""
        if self._room is None:
            from treewright.surfaces.lsp.engine_room import EngineRoom

            self._room = EngineRoom(self)
        return self._room

    @cached_property
    def app(self) -> "Treewright":
        """The facade."""
        from treewright.app.treewright import Treewright

        bridge = None
        if self.settings.editor_model and self._loop is not None:
            from treewright.surfaces.lsp.model_bridge import editor_call

            bridge = editor_call(self, self._loop)  # this may be a worker's thread
        return Treewright("lsp", ask_editor=bridge, keys=self.keys, here=lambda: list(self.folders.values()))

    def renew_app(self) -> None:
        """Make the facade anew when next used: the editor's model has come or gone."""
        self.__dict__.pop("app", None)

    @property
    def settings(self) -> "EditorSettings":
        """The editor's settings as they are now."""
        return self.room.settings

    # folders

    def folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Follow folders that come and go."""
        for gone in params.event.removed:
            self.folders.pop(key_of(gone.uri), None)
        for come in params.event.added:
            self._add_folder(come.uri)
        if self._room is not None:
            self._room.folders_changed()

    def _add_folder(self, uri: str) -> None:
        path = to_path(uri)
        if path is not None:
            self.folders[key_of(uri)] = path

    def folder_of(self, path: Path) -> Path | None:
        """Return the workspace folder that a file is in, the innermost one; None when it is in none."""
        fits = [folder for folder in self.folders.values() if path.is_relative_to(folder)]
        return max(fits, key=lambda folder: len(folder.parts), default=None)

    def say(self, text: str, *filled: object) -> str:
        """Return a text in the user's language; see `speech.say`."""
        return say(self.language, text, *filled)

    # work beside the requests

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Do something beside; what goes wrong is logged."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification of plain values."""
        self.server.protocol.tell(method, params)

    async def ask(self, method: str, params: Any) -> Any:
        """Ask the client something and return its answer."""
        return await self.server.protocol.ask(method, params)

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show a message to the user."""
        self.tell("window/showMessage", {"type": kind.value, "message": message})

    def warn(self, message: str) -> None:
        """Log what the user need not act on."""
        logger.warning("%s", message)

    async def close(self) -> None:
        """Stop what runs, within a bounded time."""
        if self._room is not None:
            try:
                await asyncio.wait_for(self._room.close(), CLOSING_S)
            except TimeoutError:
                logger.warning("a run did not stop in time; it goes on from its journal when it is resumed")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _units(encoding: str) -> Units:
    return "utf-8" if encoding == "utf-8" else "utf-32" if encoding == "utf-32" else "utf-16"


def _load() -> None:
    """Import what the first requests need, off the loop."""
    import treewright.app.treewright
    import treewright.surfaces.lsp.engine_room
    import treewright.surfaces.lsp.messages.methods  # noqa: F401 - imported to have it loaded
