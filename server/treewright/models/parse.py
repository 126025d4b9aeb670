"""Finding the JSON in what a model returned.

A model wraps its answer in fences, think tags and prose, and puts other code before it. Candidates are collected
and tried in a fixed order: the whole text, fenced blocks that are JSON or unnamed (the last first), then values that
stand in prose (the last first). With a schema, the first that fits wins; without one, the first that reads.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treewright.models.classify import split_reasoning
from treewright.models.fitting import coerce
from treewright.models.loose_json import read_loose
from treewright.models.provider import JsonSchema
from treewright.models.shape import ShapeFault, shape_faults
from treewright.models.sse import whole_characters

_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}+|~{3,}+)[ \t]*(?P<label>[\w+.-]*)[^\n]*\n(?P<body>.*?)(?P<end>^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_JSON_LABELS = frozenset({"", "json", "json5", "jsonc", "javascript", "js", "python", "py", "text", "output"})
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STARTS = re.compile(r"[{\[]")
_STARTS_TRIED_MOST = 64
_FIRST_SIGNS = "{[\"'`"


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer as data.

    Attributes:
        value: as read, and changed to the schema's types where that is certain.
        cut_off: the text ended before the value did: repairable, never complete.
        tidied: what was put right, in words.
        faults: what does not fit the schema; empty when it fits or none was given.
    """

    value: Any
    cut_off: bool = False
    tidied: tuple[str, ...] = ()
    faults: tuple[ShapeFault, ...] = ()

    @property
    def good(self) -> bool:
        """Whether this may be taken as the answer."""
        return not self.cut_off and not self.faults


def parse_answer(text: str, schema: JsonSchema | None = None) -> Parsed:
    """Return the answer that a text holds; with a schema, the candidate that fits it best.

    Raises:
        ValueError: there is nothing in it that can be read as JSON.
    """
    best: Parsed | None = None
    for value, cut_off, tidied in _candidates(text):
        if schema is None:
            parsed = Parsed(value, cut_off, tidied)
        else:
            changed, notes = coerce(value, schema)
            parsed = Parsed(changed, cut_off, (*tidied, *notes), tuple(shape_faults(changed, schema)))
        if parsed.good:
            return parsed
        if best is None or _badness(parsed) < _badness(best):
            best = parsed
    if best is None:
        raise ValueError("no JSON in the answer")
    return best


def _badness(parsed: Parsed) -> tuple[int, int]:
    """A value of the wrong type altogether fits worse than one that misses some fields."""
    whole = any(fault.path == "$" for fault in parsed.faults)
    return (2 if whole else 0) + (1 if parsed.cut_off else 0), len(parsed.faults)


def _candidates(text: str) -> Iterator[tuple[Any, bool, tuple[str, ...]]]:
    bare = whole_characters(text).lstrip("\ufeff").replace("\u200b", "")
    answer, _, still_open = split_reasoning(bare)
    if still_open:
        return
    strict = _strict(answer)
    if strict is not None:
        yield strict[0], False, ()
        return
    fenced, prose = _split_fences(answer)
    for body in reversed(fenced):
        found = _read(body.strip(), "fence")
        if found is not None:
            yield found
    stripped = answer.strip()
    if stripped[:1] in _FIRST_SIGNS and not stripped.startswith("```"):
        found = _read(stripped, "")
        if found is not None:
            yield found
    yield from _in_prose(prose)


def _strict(text: str) -> tuple[Any] | None:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return (_encodable(value) if _SURROGATE.search(text) else value,)


def _encodable(value: Any) -> Any:
    """Return data whose every string can be written as UTF-8: an escape may name half a character."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(key): _encodable(item) for key, item in value.items()}
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _read(text: str, note: str) -> tuple[Any, bool, tuple[str, ...]] | None:
    notes = (note,) if note else ()
    strict = _strict(text)
    if strict is not None:
        return strict[0], False, notes
    try:
        loose = read_loose(text)
    except ValueError:
        return None
    after = text[loose.end :].strip().rstrip("`").strip()
    if not loose.cut_off and after and not isinstance(loose.value, dict | list):
        return None  # a quoted word at the start of a sentence is no answer
    extra = ("text after the value",) if after else ()
    return loose.value, loose.cut_off, (*notes, *loose.tidied, *extra)


def _split_fences(text: str) -> tuple[list[str], str]:
    """Return the bodies of fences that may be JSON, and the text outside every fence.

    A fence inside a JSON string is no fence: text that starts with a brace is left alone.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return [], text
    bodies: list[str] = []
    outside: list[str] = []
    at = 0
    for match in _FENCE.finditer(text):
        outside.append(text[at : match.start()])
        at = match.end()
        body = match.group("body")
        if match.group("label").lower() in _JSON_LABELS and body.lstrip()[:1] in {"{", "["}:
            bodies.append(_whole_body(text, match))
    outside.append(text[at:])
    return bodies, "\n".join(outside)


def _whole_body(text: str, match: re.Match[str]) -> str:
    """Return a fence's body, going on past its first closing mark when a string holds a fence of its own."""
    body = match.group("body")
    try:
        if not read_loose(body.strip()).cut_off:
            return body
        rest = text[match.start("body") :]
        longer = read_loose(rest.lstrip())
    except ValueError:
        return body
    if longer.cut_off or not match.group("end"):
        return body
    return rest.lstrip()[: longer.end]


def _in_prose(text: str) -> Iterator[tuple[Any, bool, tuple[str, ...]]]:
    """Yield the outermost values in prose, the last first; a value cut off by the end comes at its place."""
    found: list[tuple[Any, bool, tuple[str, ...]]] = []
    at = 0
    for _ in range(_STARTS_TRIED_MOST):
        start = _STARTS.search(text, at)
        if start is None:
            break
        at = start.start() + 1
        try:
            loose = read_loose(text, start.start())
        except ValueError:
            continue
        if isinstance(loose.value, list) and not _is_data(loose.value):
            continue
        if loose.value:
            found.append((loose.value, loose.cut_off, ("text around", *loose.tidied)))
        at = max(at, loose.end)
    yield from reversed(found)


def _is_data(value: list[Any]) -> bool:
    """Whether brackets in prose hold data: `[1]` and `[sic]` are notes, not answers."""
    return len(value) > 1 or any(isinstance(item, dict | list) for item in value)
