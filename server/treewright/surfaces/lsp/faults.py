"""From our errors to the protocol's: a code, a sentence, data for programs; never a traceback."""

import logging
import secrets
from typing import Any

from pygls.exceptions import JsonRpcException

from treewright.errors import TreewrightError

logger = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
CANCELLED = -32800

Fault = dict[str, Any]
"""A response's `error`: `code`, `message`, perhaps `data`."""


def fault(code: int, message: str, data: Any = None) -> Fault:
    """Return an error as it goes out."""
    found: Fault = {"code": code, "message": message}
    if data is not None:
        found["data"] = data
    return found


def told(error: BaseException, about: str) -> Fault:
    """Return what the client is told about an error; a crash is logged and told by a number only.

    Args:
        error: what a handler raised.
        about: the method, for the log.
    """
    if isinstance(error, TreewrightError):
        from treewright.data.codes import code_meanings

        meaning = code_meanings().get(error.code)
        data = {"code": error.code, "hint": error.hint, "details": plain(error.details)}
        return fault(meaning.jsonrpc if meaning else -32000, error.message, data)
    if isinstance(error, JsonRpcException):
        return fault(error.code, error.message, error.data)
    number = secrets.token_hex(4)
    logger.error("internal error %s in %s", number, about, exc_info=error)
    return fault(
        INTERNAL_ERROR,
        f"Internal error {number}; the log has the details.",
        {
            "code": "internal_error",
            "hint": "Report it with what the log says.",
            "details": {"number": number},
        },
    )


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
