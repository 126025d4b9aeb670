"""JSON and TOML that somebody else wrote: whatever is wrong with them is a `ValueError`, nesting without end included.

The library's own readers answer a text of ten thousand brackets with a `RecursionError`, which is no `ValueError`, so that
a file planted in a repository or an answer of a model server would end whoever only expects texts that are no JSON.
"""

import json
import tomllib
from collections.abc import Callable
from typing import Any

TOO_DEEP = "it is nested too deeply"


def load_json(text: str | bytes | bytearray, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text; see `json.loads`.

    Raises:
        ValueError: it is none that can be read.
    """
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError as fault:
        raise ValueError(TOO_DEEP) from fault


def load_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; see `tomllib.loads`.

    Raises:
        ValueError: it is none that can be read.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as fault:
        raise ValueError(TOO_DEEP) from fault
