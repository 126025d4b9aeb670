"""Reads a Markdown file that a person wrote."""

from pathlib import Path

from treewright.errors import PresetError
from treewright.regular import TooLargeError, read_regular

LARGEST = 1_000_000
"""bytes; a preset, profile, lens or framing of a megabyte is a mistake"""


def read_source(path: Path, kind: str) -> str:
    """Return a file's text.

    Args:
        path: the file.
        kind: `preset`, `profile`, `lens` or `framing`, for the message and the code.

    Raises:
        PresetError: `<kind>_not_found` or `<kind>_unreadable`.
    """
    try:
        return read_regular(path, LARGEST).decode("utf-8")
    except TooLargeError as error:
        raise PresetError(
            f"{kind}_unreadable", f"{path.name} is larger than {LARGEST} bytes", "is it the right file?"
        ) from error
    except FileNotFoundError as error:
        raise PresetError(f"{kind}_not_found", f"there is no {kind} file {path}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PresetError(
            f"{kind}_unreadable",
            f"{path.name} is not UTF-8 on line {line}",
            "save the file as UTF-8",
            {"path": str(path), "line": line},
        ) from error
    except OSError as error:
        raise PresetError(f"{kind}_unreadable", f"{path.name} cannot be read: {error.strerror}") from error
