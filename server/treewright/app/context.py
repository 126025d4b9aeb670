"""What every service of the facade works with: the settings, the root, who asks, and the time."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.store.config import Configuration, load_config
from treewright.store.index import Index, IndexEntry

if TYPE_CHECKING:
    from treewright.models.provider import EditorCall


@dataclass(frozen=True, slots=True)
class Context:
    """A facade's surroundings.

    Attributes:
        surface: what this process is to the user: `cli`, `lsp`, `mcp`.
        environ: environment variables; None takes the process's own.
        ask_editor: asks the editor's own model; None without an editor that offers one.
        keys: keys of endpoints by their name, from the editor's secret storage; never written anywhere.
        here: returns the folders whose runs `last` may mean; None takes the process's working folder.
        tell: says a sentence to the user before the answer; None where nobody would read it.
    """

    surface: str = "cli"
    environ: Mapping[str, str] | None = None
    ask_editor: "EditorCall | None" = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    here: Callable[[], Iterable[Path]] | None = None
    tell: Callable[[str], None] | None = None

    def configuration(
        self, workspace: Path | None = None, *, trusted: bool = True, run: Mapping[str, Any] | None = None
    ) -> Configuration:
        """Return the settings that hold for a workspace.

        Raises:
            StoreError: a configuration file is at fault, with `file:line`.
        """
        return load_config(workspace=workspace, trusted=trusted, run=run, environ=self.environ)

    def index(self, configuration: Configuration | None = None) -> Index:
        """Return the index of runs and sessions."""
        from treewright.app.describe import describe_run
        from treewright.app.session_store import describe_session

        def describe(path: Path) -> IndexEntry | None:
            return describe_run(path) if path.is_dir() else describe_session(path)

        root = (configuration or self.configuration()).root
        return Index(root.index, scan=[root.runs, root.sessions], describe=describe)


def new_run_id() -> str:
    """Return a fresh run id: 12 hexadecimal digits."""
    return secrets.token_hex(6)


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def timestamp() -> str:
    """Return the time in UTC as ISO 8601 to the second."""
    return utc_now().isoformat(timespec="seconds").replace("+00:00", "Z")
