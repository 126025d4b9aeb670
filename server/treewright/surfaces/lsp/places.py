"""Where what a request names is: addresses and paths, as users and editors write them."""

from pathlib import Path
from typing import TYPE_CHECKING

from treewright.errors import RequestError
from treewright.surfaces.lsp.uris import as_spelled_on_disk, scheme_of, to_path

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session


def as_path(text: str) -> Path | None:
    """Return the path that an address or a path names, spelled as on the disk; None for an empty text.

    Raises:
        RequestError: `not_a_file` for an address of something else.
    """
    if not text:
        return None
    if scheme_of(text) == "file":
        path = to_path(text)
        if path is not None:
            return as_spelled_on_disk(path)
    elif "://" not in text:
        return as_spelled_on_disk(Path(text).expanduser())
    raise RequestError("not_a_file", f"{text} is no file of this machine.", "Save it to a folder first.")


def base_of(session: "Session", base: str, root: str = "") -> Path:
    """Return the folder that a request's paths start from.

    Args:
        session: the client's.
        base: what the request says; may be empty.
        root: what the run is about, when it is an address or an absolute path.

    Raises:
        RequestError: `no_folder` when nothing says which.
    """
    given = as_path(base)
    if given is not None:
        return given
    if scheme_of(root) == "file" or root.startswith("/"):
        path = as_path(root)
        if path is not None:
            return session.folder_of(path) or (path if path.is_dir() else path.parent)
    first = next(iter(session.folders.values()), None)
    if first is None:
        raise RequestError("no_folder", "No folder is open.", "Open a folder, or name one as `base`.")
    return first
