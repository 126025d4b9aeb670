"""Packaged data and the one finder of it."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_REPOSITORY = _PACKAGE.parent.parent


def data_path(*parts: str) -> Path:
    """Return the path of a file or folder in `treewright/data`.

    Args:
        parts: path segments below the data folder, such as `("lexicons", "en.toml")`.
    """
    return _PACKAGE.joinpath("data", *parts)


def shipped_path(*parts: str) -> Path:
    """Return the path of a shipped `presets/` or `lenses/` file or folder.

    A wheel carries them below `treewright/_data`; a checkout (editable install) has them at its top.

    Args:
        parts: path segments, the first being `presets` or `lenses`.
    """
    installed = _PACKAGE.joinpath("_data", *parts)
    return installed if installed.exists() else _REPOSITORY.joinpath(*parts)
