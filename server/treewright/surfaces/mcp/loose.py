"""Reading what a model handed in: either spelling of a key, strings for numbers and booleans, JSON or plain text.

What can only be meant in one way is read; about everything else the caller is asked, with what would be right
(contract: surfaces, 4). Nothing is dropped silently and nothing is guessed.
"""

import difflib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from treewright.deliberate.reading import Unclear, read_choice, read_flag, read_list, structured
from treewright.surfaces.mcp.cards import Card, Parameter
from treewright.surfaces.mcp.directive import Correction

_NUMBER = re.compile(
    r"\A\s*[$]?\s*([-+]?\d{1,15}(?:[.]\d+)?|[-+]?[.]\d+)\s*(?:usd|s|sec|seconds|%)?\s*\Z", re.IGNORECASE
)
_SHAPES = {
    "text": "a plain text",
    "raw": "a text, or an object",
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "list": "a list of texts, or one text with commas between them",
}


class Unreadable(Exception):  # noqa: N818 - it becomes a question to the caller
    """A value that cannot be read; the text says why in one clause."""


def flat(key: str) -> str:
    """Return a key as spellings of it have it in common: `runId`, `run_id` and `run-id` are one."""
    return re.sub(r"[\s_\-]+", "", key).casefold()


def read_arguments(card: Card, given: object) -> dict[str, Any]:
    """Return the arguments of a call by their declared names; what was not given is absent.

    Args:
        card: the tool.
        given: what came: an object, a text (JSON, or plain text for the tool's main parameter), a list, nothing.

    Raises:
        Correction: something cannot be read, is unknown, or is missing.
    """
    named = _named(card, _as_object(card, given))
    if "handle" in named and card.long:
        return {"handle": str(named["handle"]).strip()}
    if card.loose:
        found = named
    else:
        found = {}
        for parameter in card.parameters:
            if parameter.name in named:
                found[parameter.name] = _read(parameter, named[parameter.name])
        _require(card, found)
    return found


def _as_object(card: Card, given: object) -> Mapping[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return _unwrapped(card, given)
    if isinstance(given, str):
        try:
            value = structured(given)
        except ValueError:
            value = None
        if isinstance(value, Mapping):
            return _unwrapped(card, value)
        given = value if value is not None else given
    if isinstance(given, str) and not given.strip():
        return {}
    if not card.main:
        raise Correction("", "text was given for a tool that takes none", shape_of(card))
    return {card.main: given}


def _unwrapped(card: Card, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Look into `{"arguments": {...}}` and the like, which some callers put around the arguments."""
    if len(given) == 1:
        key, value = next(iter(given.items()))
        declared = {flat(name) for p in card.parameters for name in (p.name, *p.aliases)}
        if (
            flat(str(key)) in ("arguments", "args", "input", "params", "kwargs")
            and flat(str(key)) not in declared
        ):
            return _as_object(card, value)
    return given


def _named(card: Card, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under their declared names, those that are empty left out."""
    names = {flat(parameter.name): parameter.name for parameter in card.parameters}
    for parameter in card.parameters:
        for alias in parameter.aliases:
            names.setdefault(flat(alias), parameter.name)
    found: dict[str, Any] = {}
    unknown = []
    for key, value in given.items():
        name = names.get(flat(str(key)))
        if name is None:
            unknown.append(str(key)[:60])
        elif value is None:
            continue
        elif name in found and found[name] != value:
            raise Correction(name, f"it was given twice, the second time as {key!r}", "one value")
        else:
            found[name] = value
    if unknown:
        raise _unknown(card, unknown, names)
    return found


def _unknown(card: Card, unknown: list[str], names: Mapping[str, str]) -> Correction:
    told = []
    for key in unknown[:8]:
        near = difflib.get_close_matches(flat(key), names, 1, 0.6)
        told.append(f"{key!r}" + (f" (did you mean {names[near[0]]}?)" if near else ""))
    plural = "s" if len(unknown) > 1 else ""
    return Correction(unknown[0], f"unknown argument{plural} {', '.join(told)}", shape_of(card))


def shape_of(card: Card) -> str:
    """Return a tool's parameters in one line, a question mark behind those that may be left out."""
    if not card.parameters:
        return "no arguments"
    return "arguments " + ", ".join(p.name if p.required else f"{p.name}?" for p in card.parameters)


def _require(card: Card, found: dict[str, Any]) -> None:
    for parameter in card.parameters:
        if parameter.required and found.get(parameter.name) in (None, "", [], {}):
            shape = f"{shape_text(parameter)}: {parameter.about}"
            raise Correction(parameter.name, "it is missing", shape, parameter.example)
    for name in [name for name, value in found.items() if value is None]:
        del found[name]


def shape_text(parameter: Parameter) -> str:
    """Return what a parameter takes, in words."""
    if parameter.type == "words":
        return f"one of {', '.join(parameter.options)}"
    if parameter.type == "whole":
        return f"a whole number of at least {parameter.least}"
    return _SHAPES[parameter.type]


def _read(parameter: Parameter, value: Any) -> Any:
    try:
        return _READERS[parameter.type](parameter, value)
    except (Unclear, Unreadable) as fault:
        problem = fault.problem if isinstance(fault, Unclear) else str(fault)
        shape = f"{shape_text(parameter)}: {parameter.about}"
        raise Correction(parameter.name, problem, shape, parameter.example) from fault


def _text(_: Parameter, value: Any) -> str | None:
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        raise Unreadable(f"a {_kind(value)} was given")
    return _whole_characters(value).strip() or None


def _raw(_: Parameter, value: Any) -> Any:
    if isinstance(value, str):
        return _whole_characters(value) if value.strip() else None
    if isinstance(value, bool) or value is None:
        raise Unreadable(f"a {_kind(value)} was given")
    return value


def _whole_characters(text: str) -> str:
    if "\x00" in text:
        raise Unreadable("it holds a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise Unreadable(
            f"it holds half a character at position {fault.start}, which cannot be stored"
        ) from fault
    return text


def _number(_: Parameter, value: Any) -> float | None:
    if isinstance(value, str):
        if not value.strip():
            return None
        match = _NUMBER.match(value)
        if not match:
            raise Unreadable(f"{_shown(value)} is no number")
        found = float(match[1]) / (100 if value.strip().endswith("%") else 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value) if abs(value) < 1e18 else math.inf
    else:
        raise Unreadable(f"a {_kind(value)} was given")
    if not math.isfinite(found) or found < 0:
        raise Unreadable(f"{_shown(value)} is not a number of at least 0")
    return found


def _whole(parameter: Parameter, value: Any) -> int | None:
    found = _number(parameter, value)
    if found is None:
        return None
    if found != int(found):
        raise Unreadable(f"{_shown(value)} is no whole number")
    if found < parameter.least:
        raise Unreadable(f"{_shown(value)} is less than {parameter.least}")
    if found > 1_000_000_000:
        raise Unreadable(f"{_shown(value)} is too large")
    return int(found)


def _flag(parameter: Parameter, value: Any) -> bool:
    return read_flag(parameter.name, value)


def _list(parameter: Parameter, value: Any) -> list[str] | None:
    if parameter.raw_items:
        return _raw_list(value)
    found = read_list(parameter.name, value, parameter.example)
    return found or None


def _raw_list(value: Any) -> list[str] | None:
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        value = parsed if isinstance(parsed, list) else [value]
    if not isinstance(value, list):
        raise Unreadable(f"a {_kind(value)} was given")
    found = []
    for item in value:
        if not isinstance(item, str):
            raise Unreadable(f"an item is a {_kind(item)}")
        if item.strip():
            found.append(_whole_characters(item))
    return found or None


def _words(parameter: Parameter, value: Any) -> str | None:
    if isinstance(value, str) and not value.strip():
        return None
    return read_choice(parameter.name, value, parameter.options)


_READERS: dict[str, Any] = {
    "text": _text,
    "raw": _raw,
    "whole": _whole,
    "number": _number,
    "flag": _flag,
    "list": _list,
    "words": _words,
}


def _kind(value: Any) -> str:
    names = {dict: "object", list: "list", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number" if isinstance(value, int | float) else type(value).__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
