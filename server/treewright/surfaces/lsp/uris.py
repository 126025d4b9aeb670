"""From URIs to paths and back, without changing what the client wrote.

A document is known by a key: two spellings of one file's address have the same key, and every address of another
scheme (notebook cells, virtual documents) is its own key byte for byte. What is sent back to the client is always the
spelling that the client used.
"""

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import quote, unquote_to_bytes

_DRIVE = re.compile(r"^/[A-Za-z]:(?=/|$)")
_SAFE = "/!$&'()*+,;=@-._~"

WINDOWS = os.name == "nt"


def scheme_of(uri: str) -> str:
    """Return an address's scheme in lower case; empty when it has none."""
    return uri.partition(":")[0].lower() if ":" in uri else ""


def fs_path(uri: str, *, windows: bool = WINDOWS) -> str | None:
    """Return the path of a `file:` address, or None when it is no file of this machine.

    Args:
        uri: as the client wrote it.
        windows: whether paths have drive letters and shares. Elsewhere a folder may well be called `c:`.
    """
    if scheme_of(uri) != "file":
        return None
    rest = re.split(r"[?#]", uri[5:], maxsplit=1)[0]
    authority = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    text = (
        os.fsdecode(unquote_to_bytes(rest))
        if not windows
        else unquote_to_bytes(rest).decode("utf-8", "replace")
    )
    if "\0" in text or not text.startswith("/"):
        return None
    if windows:
        return _windows_path(authority, text)
    return text if authority.lower() in ("", "localhost") else None


def _windows_path(authority: str, text: str) -> str:
    if _DRIVE.match(text):
        return str(PureWindowsPath(text[1].lower() + text[2:]))
    if authority and authority.lower() != "localhost":
        return str(PureWindowsPath(f"//{authority}{text}"))
    return str(PureWindowsPath("//" + text.lstrip("/") if text.startswith("//") else text))


def to_path(uri: str) -> Path | None:
    """Return the path of a `file:` address, or None when it is no file of this machine."""
    text = fs_path(uri)
    return Path(text) if text is not None else None


def key_of(uri: str, *, windows: bool = WINDOWS) -> str:
    """Return what a document is known by: equal for spellings of one file, the address itself for other schemes."""
    text = fs_path(uri, windows=windows)
    if text is None:
        return uri
    flat = os.path.normpath(text) if not windows else str(PureWindowsPath(text)).lower()
    return "file:" + flat


def to_uri(path: Path | PurePosixPath | PureWindowsPath) -> str:
    """Return the address of an absolute path."""
    text = path.as_posix()
    if isinstance(path, PureWindowsPath):
        if text.startswith("//"):
            return "file:" + quote(text, safe=_SAFE)
        return "file:///" + quote(text[0].lower(), safe="") + "%3A" + quote(text[2:], safe=_SAFE)
    return "file://" + quote(os.fsencode(text), safe=_SAFE)


def as_spelled_on_disk(path: Path) -> Path:
    """Return a path with each part as the disk spells it, where Unicode allows two spellings.

    A path that exists as it is written, or in neither spelling, comes back unchanged.
    """
    if path.exists() or str(path).isascii():
        return path
    found = Path(path.anchor)
    for part in path.parts[1:]:
        nearer = found / part
        if not nearer.exists() and not part.isascii():
            forms = (unicodedata.normalize(form, part) for form in ("NFC", "NFD"))
            nearer = next((found / form for form in forms if (found / form).exists()), nearer)
        found = nearer
    return found if found.exists() else path


VIRTUAL = "treewright"


def virtual_uri(run: str, *parts: str) -> str:
    """Return the address of a virtual document, such as `treewright:/run/<id>/node/A1.md`."""
    return f"{VIRTUAL}:/run/" + "/".join(quote(part, safe="") for part in (run, *parts))


def virtual_parts(uri: str) -> list[str] | None:
    """Return a virtual document's run and the rest (`node`, `A1.md`), or None when it is none."""
    if scheme_of(uri) != VIRTUAL:
        return None
    parts = [
        unquote_to_bytes(p).decode("utf-8", "replace") for p in re.split(r"[?#]", uri)[0][11:].split("/")
    ]
    parts = [part for part in parts if part]
    return parts[1:] if len(parts) >= 3 and parts[0] == "run" else None
