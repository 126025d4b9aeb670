"""JSON as the store writes it: strict, UTF-8, one line, and readable again by construction.

Python's encoder is lenient in three ways that later readers are not: NaN and infinities, unpaired surrogates and
very deep nesting. Each is refused here, with the path of the value at fault, before a byte reaches a file.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import from_json

from treewright.errors import StoreError


def encode_json(value: Any) -> bytes:
    """Return a value as one line of strict JSON.

    Args:
        value: dicts with string keys, lists, tuples, strings, numbers, booleans and None.

    Returns:
        UTF-8 bytes without line breaks.

    Raises:
        StoreError: `not_storable`; `details["path"]` names the first value at fault.
    """
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        from_json(encoded, allow_inf_nan=False)
    except (ValueError, TypeError, RecursionError) as fault:
        path, reason = _first_fault(value, "$", 0) or ("$", str(fault))
        raise StoreError(
            "not_storable",
            f"{path} cannot be stored: {reason}.",
            "Send finite numbers and valid Unicode text.",
            {"path": path, "reason": reason},
        ) from fault
    return encoded


def decode_json(data: bytes) -> Any:
    """Return the value that strict JSON bytes stand for.

    Raises:
        ValueError: the bytes are not one strict JSON value (NaN, infinities and lone surrogates included).
    """
    return from_json(data, allow_inf_nan=False)


def decode_object(data: bytes) -> dict[str, Any]:
    """Return the object that strict JSON bytes stand for.

    Raises:
        ValueError: the bytes are not one strict JSON object.
    """
    value = decode_json(data)
    if not isinstance(value, dict):
        raise ValueError("a JSON object was expected")  # noqa: TRY004 - one type for all that is wrong with data
    return cast("dict[str, Any]", value)


def replace_surrogates(value: Any) -> Any:
    """Return the value with each unpaired surrogate in its texts replaced by U+FFFD, and pairs joined.

    For text from outside (file names, terminals, models) that is to be kept although it is not valid Unicode.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return value
    if isinstance(value, Mapping):
        return {replace_surrogates(key): replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(item) for item in value]
    return value


def _first_fault(value: Any, path: str, depth: int) -> tuple[str, str] | None:
    """Return the path and the reason of the first value that JSON cannot carry."""
    if depth > 150:
        return path, "it is nested over 150 levels deep"
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                return path, f"the key {key!r} is not a string"
            found = _scalar_fault(key, path) or _first_fault(item, f"{path}.{key}", depth + 1)
            if found:
                return found
        return None
    if isinstance(value, list | tuple):
        for position, item in enumerate(value):
            found = _first_fault(item, f"{path}[{position}]", depth + 1)
            if found:
                return found
        return None
    return _scalar_fault(value, path)


def _scalar_fault(value: Any, path: str) -> tuple[str, str] | None:
    if isinstance(value, float) and not math.isfinite(value):
        return path, f"{value} is not a JSON number"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return path, "its text holds an unpaired surrogate"
        return None
    if value is None or isinstance(value, bool | int | float):
        return None
    return path, f"{type(value).__name__} is not a JSON type"
