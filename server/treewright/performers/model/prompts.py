"""The prompts, read from `data/prompts`; their version is journalled with each run."""

import hashlib
import tomllib
from functools import cache
from string import Template
from typing import Any

from treewright.data import data_path

_FILES = ("prompts.toml", "small.toml")


@cache
def _book(file: str) -> dict[str, Any]:
    return tomllib.loads(data_path("prompts", file).read_text(encoding="utf-8"))


@cache
def prompts_version() -> str:
    """Return the version that runs are journalled with: the number, and a digest that tells edited prompts apart."""
    texts = [data_path("prompts", file).read_bytes().replace(b"\r\n", b"\n") for file in _FILES]
    return f"{_book(_FILES[0])['version']}+{hashlib.sha256(b''.join(texts)).hexdigest()[:8]}"


def prompt(name: str, **values: object) -> str:
    """Return a prompt with its names filled in.

    Args:
        name: `name`, or `table.name` for one of a task.
        values: what stands behind each `$name`; one that is missing is an error of ours.
    """
    found: Any = _book(_FILES[0])
    for part in name.split("."):
        found = found[part]
    return _filled(found, values)


def small(name: str, **values: object) -> str:
    """Return a prompt for a model with a small context, with its names filled in."""
    return _filled(_book(_FILES[1])[name], values)


def small_text(*path: str) -> str:
    """Return a text of the small prompts as it stands; empty when there is none."""
    found: Any = _book(_FILES[1])
    for part in path:
        found = found.get(part, "") if isinstance(found, dict) else ""
    return found.strip() if isinstance(found, str) else ""


def _filled(text: str, values: dict[str, object]) -> str:
    return Template(text).substitute({key: str(value) for key, value in values.items()}).strip()
