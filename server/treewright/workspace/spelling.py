"""A path as the disk spells it: letters with marks can be written in two ways, and keyboards and disks differ."""

import unicodedata
from pathlib import Path


def disk_spelling(path: Path) -> Path:
    """Return a path with each part spelled as the disk spells it.

    Args:
        path: as somebody typed it (field report zed-industries/zed#30503).

    Returns:
        The path that exists, or the path as given when none does. An exact match always wins.
    """
    if str(path).isascii() or _exists(path):
        return path
    found = Path(path.anchor)
    for part in path.parts[1:] if path.anchor else path.parts:
        found = found / part if part.isascii() else _alike(found, part)
    return found if _exists(found) else path


def _alike(folder: Path, name: str) -> Path:
    wanted = unicodedata.normalize("NFC", name)
    exact = folder / name
    if _exists(exact):
        return exact
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return exact
    return next((folder / each for each in names if unicodedata.normalize("NFC", each) == wanted), exact)


def _exists(path: Path) -> bool:
    """Tell whether a path exists; names that no disk can hold do not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
