"""Which folders may be looked at: those that the command line or the client named, links and `..` included.

Contract: surfaces, 4. Without either, the folder that the server was started in, unless that is the whole disk or the user's home.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from treewright.errors import RequestError


def usual_folder() -> list[Path]:
    """Return the folder that the server was started in, or none when that says nothing about what the user works on."""
    here = Path.cwd()
    return [] if here in (Path(here.anchor), Path.home()) else [here]


def folder_of_uri(uri: str) -> Path | None:
    """Return the folder of a client's `file:` root; None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/")
    return Path(path) if path else None


class Confinement:
    """Some folders, and the store's own, which always belongs to them."""

    def __init__(self, folders: Sequence[Path], store: Path) -> None:
        """Take folders.

        Args:
            folders: named by the command line or the client; empty when none was.
            store: the user's Treewright folder.
        """
        self.folders = [Path(os.path.realpath(folder)) for folder in folders]
        self._store = Path(os.path.realpath(store))

    def holds(self, path: Path) -> bool:
        """Tell whether a path, all links followed, lies in one of the folders, or in the store."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in (*self.folders, self._store))

    def admit(self, text: str, base: Path | None = None) -> Path:
        """Return a path as absolute, links not followed.

        Args:
            text: what the caller said.
            base: where relative paths start; None takes the first folder.

        Raises:
            RequestError: `no_roots`, or `outside_roots`.
        """
        start = base or self.base()
        path = Path(os.path.normpath(start / Path(text).expanduser()))
        if not self.holds(path) or not self.holds(start / Path(text).expanduser()):
            named = ", ".join(str(folder) for folder in self.folders) or "none"
            raise RequestError(
                "outside_roots",
                f"{text!r} lies outside the folders that this server may look at ({named}).",
                "Name a path inside them. The user can add a folder with --root.",
                {"path": text},
            )
        return path

    def base(self) -> Path:
        """Return where relative paths start.

        Raises:
            RequestError: `no_roots`.
        """
        if not self.folders:
            raise RequestError(
                "no_roots",
                "No folder was named to this server, so it looks at none.",
                "The user has to start it with --root FOLDER, or the client has to offer roots.",
            )
        return self.folders[0]
