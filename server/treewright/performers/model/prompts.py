"""The prompts, read from `data/prompts/prompts.toml`; their version is journalled with each run."""

import hashlib
import tomllib
from functools import cache
from string import Template
from typing import Any

from treewright.data import data_path


@cache
def _book() -> dict[str, Any]:
    return tomllib.loads(data_path("prompts", "prompts.toml").read_text(encoding="utf-8"))


@cache
def prompts_version() -> str:
    """Return the version that runs are journalled with: the number, and a digest that tells edited prompts apart."""
    text = data_path("prompts", "prompts.toml").read_bytes().replace(b"\r\n", b"\n")
    return f"{_book()['version']}+{hashlib.sha256(text).hexdigest()[:8]}"


def prompt(name: str, **values: object) -> str:
    """Return a prompt with its names filled in.

    Args:
        name: `name`, or `table.name` for one of a task.
        values: what stands behind each `$name`; one that is missing is an error of ours.
    """
    found: Any = _book()
    for part in name.split("."):
        found = found[part]
    return Template(found).substitute({key: str(value) for key, value in values.items()}).strip()
