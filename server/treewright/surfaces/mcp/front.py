"""The front door: answers a handshake at once, while the protocol's own library is still being loaded.

Loading that library takes a second or more, and clients drop a slow server's tools for good (contract: surfaces, 4). The message goes on
to the library as if nothing had happened; its own answer to it is dropped.
"""

import json
import tomllib
from functools import cache
from typing import Any

from treewright import __version__
from treewright.data import data_path


@cache
def introduction() -> dict[str, Any]:
    """Return what the server says of itself."""
    return tomllib.loads(data_path("mcp", "handshake.toml").read_text(encoding="utf-8"))


def handshake(line: bytes) -> dict[str, Any] | None:
    """Return the answer to a line that is a well-formed `initialize`; None for any other, which the library answers."""
    if b'"initialize"' not in line:
        return None
    try:
        message = json.loads(line)
        request, params = message["id"], message["params"]
        asked = params["protocolVersion"]
        sound = (
            message["jsonrpc"] == "2.0"
            and message["method"] == "initialize"
            and isinstance(request, int | str)
            and not isinstance(request, bool)
            and isinstance(asked, str)
            and isinstance(params["capabilities"], dict)
            and isinstance(params["clientInfo"]["name"], str)
            and isinstance(params["clientInfo"]["version"], str)
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return _answer(request, asked) if sound else None


def _answer(request: int | str, asked: str) -> dict[str, Any]:
    said = introduction()
    versions = said["versions"]
    return {
        "jsonrpc": "2.0",
        "id": request,
        "result": {
            "protocolVersion": asked if asked in versions else versions[-1],
            "capabilities": said["capabilities"],
            "serverInfo": {"name": "treewright", "title": said["title"], "version": __version__},
            "instructions": said["instructions"],
        },
    }
