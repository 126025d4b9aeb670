"""Reading what a caller handed in: JSON or plain text, strings for numbers, any letter case.

Reads what can only be meant in one way and asks about the rest: every reader raises `Unclear`, which a
tool turns into `retry_with_clarification` with the parameter, the expected shape and an example
(contract: deliberation, 4).
"""

import ast
import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from treewright.deliberate.utility import DIMENSIONS

_FENCE = re.compile(r"\A```[\w-]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_THINKING = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d+[.)])\s+")
_PAIR = re.compile(
    r"(?<![A-Za-z])([A-Za-z][A-Za-z _-]{0,30}?)\s{0,9}(?:[:=：]|\bis\b|\s)\s{0,9}(-?\d+(?:[.]\d+)?|-?[.]\d+)\s*(%|/\s*\d+)?(?=[\s,;，；、.)\n]|\Z)"
)
_SCORE = re.compile(r"\A\s*(-?\d*[.]?\d+)\s*(%|/\s*(\d+))?\s*\Z")
_TRUE = frozenset({"true", "yes", "y", "1", "on"})
_FALSE = frozenset({"false", "no", "n", "0", "off", "", "none", "null"})

LONGEST_SCORES = 20_000
"""Characters of plain text in which scores are looked for; seven scores take some 150."""

SCORES_EXAMPLE = "correctness: 0.8, clarity: 0.7"
SCORES_SHAPE = f"a number from 0 to 1 for each of: {', '.join(DIMENSIONS)}"


class Unclear(Exception):  # noqa: N818 - it is a question to the caller, not an error
    """A parameter that cannot be read.

    Args:
        parameter: its name.
        problem: what is wrong with what was given, one sentence.
        shape: what is expected.
        example: a value that would be read.
    """

    def __init__(self, parameter: str, problem: str, shape: str, example: str) -> None:
        super().__init__(problem)
        self.parameter = parameter
        self.problem = problem
        self.shape = shape
        self.example = example


def _bare(text: str) -> str:
    """Strip a leading reasoning block and a code fence around the whole."""
    text = _THINKING.sub("", text).strip()
    fenced = _FENCE.match(text)
    return fenced.group(1).strip() if fenced else text


def structured(text: str) -> Any:
    """Parse text that looks like a JSON object or list.

    Returns:
        The value, or None when the text does not look like JSON at all.

    Raises:
        ValueError: it looks like JSON but is not complete; its contents are not guessed.
    """
    bare = _bare(text)
    if bare[:1] not in ("{", "["):
        return None
    for candidate in (bare, _TRAILING_COMMA.sub(r"\1", bare)):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    try:
        value = ast.literal_eval(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError("it starts like JSON but does not parse") from error
    if not isinstance(value, dict | list):
        raise ValueError("it starts like JSON but is something else")  # noqa: TRY004 - one error for one fault
    return value


def _storable(name: str, text: str, shape: str, example: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unclear(
            name,
            f"it holds half a character at position {error.start}, which cannot be stored",
            shape,
            example,
        ) from error
    return text


def read_text(name: str, value: object, example: str, *, required: bool = True) -> str:
    """Read a text; a number is taken as its digits, a one-entry object as the text in it.

    Args:
        name: the parameter.
        value: what was given.
        example: shown when it cannot be read.
        required: whether a missing or blank text is asked for; else it reads as "".
    """
    shape = "a plain text"
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        value = ""
    if not isinstance(value, str):
        raise Unclear(name, f"a {type(value).__name__} was given", shape, example)
    text = _storable(name, value, shape, example).strip()
    if required and not text:
        raise Unclear(name, "nothing was given", shape, example)
    return text


def read_list(name: str, value: object, example: str) -> list[str]:
    """Read a list of short texts: a list, a JSON list, lines, bullets, or "a, b"; duplicates are dropped."""
    shape = "a list of texts, or one text with commas between them"
    if value is None:
        return []
    if isinstance(value, str):
        value = _split_list(name, value, shape, example)
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise Unclear(name, f"a {type(value).__name__} was given", shape, example)
    found = []
    for item in value:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise Unclear(name, f"an item is a {type(item).__name__}", shape, example)
        found.append(_storable(name, str(item), shape, example).strip())
    return [item for item in dict.fromkeys(found) if item]


def _split_list(name: str, text: str, shape: str, example: str) -> Sequence[object]:
    try:
        value = structured(text)
    except ValueError as error:
        raise Unclear(name, str(error), shape, example) from error
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        raise Unclear(name, "an object was given", shape, example)
    bare = _bare(text)
    if "\n" in bare:
        return [_BULLET.sub("", line) for line in bare.splitlines()]
    return re.split(r"[,;，；、]", _BULLET.sub("", bare))


def read_flag(name: str, value: object) -> bool:
    """Read yes or no: a boolean, 0 or 1, or a word for it. A missing one is no."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold() if isinstance(value, str | int | float) else "?"
    if word in _TRUE or word == "1.0":
        return True
    if word in _FALSE or word == "0.0":
        return False
    raise Unclear(name, f"{_shown(value)} is neither yes nor no", "true or false", "true")


def read_whole(name: str, value: object, default: int, example: str) -> int:
    """Read a whole number of at least 1; a missing one is the default."""
    shape = "a whole number of at least 1"
    if value is None or (isinstance(value, str) and not value.strip()):
        return default
    number: float | None = None
    if isinstance(value, str) and re.fullmatch(r"\s*\+?\d{1,12}(?:[.]0+)?\s*(?:tokens?)?\s*", value):
        number = float(re.sub(r"[^\d.]", "", value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e12 else None
    if number is None or not math.isfinite(number) or number != int(number) or number < 1:
        raise Unclear(name, f"{_shown(value)} is not that", shape, example)
    return int(number)


def read_choice(name: str, value: object, options: Sequence[str], default: str = "") -> str:
    """Read one of several words, in any letter case, with spaces or hyphens for underscores.

    Args:
        name: the parameter.
        value: what was given.
        options: the words.
        default: taken when nothing was given; "" when one must be given.
    """
    shape = f"one of: {', '.join(options)}"
    if value is None or (isinstance(value, str) and not value.strip()):
        if default:
            return default
        raise Unclear(name, "nothing was given", shape, options[0])
    if not isinstance(value, str):
        raise Unclear(name, f"a {type(value).__name__} was given", shape, options[0])
    flat = {_flat(option): option for option in options}
    given = _flat(value.strip().strip("\"'`. "))
    if given in flat:
        return flat[given]
    near = difflib.get_close_matches(given, flat, 1, 0.6)
    raise Unclear(name, f"{_shown(value)} is not known", shape, flat[near[0]] if near else options[0])


def _flat(word: str) -> str:
    return re.sub(r"[\s_-]+", "", word).casefold()


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_scores(name: str, value: object) -> dict[str, float]:
    """Read scores by dimension; may be partial or empty.

    Takes an object, JSON, or text such as "correctness: 0.8, clarity 0.7"; a value may be written 0.8,
    "0.8", "80%" or "8/10". A bare 8 is asked about, not guessed.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, str):
        value = _scores_in_text(name, value)
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(next(iter(value.values())), Mapping):
        value = next(iter(value.values()))
    if not isinstance(value, Mapping):
        raise Unclear(name, f"a {type(value).__name__} was given", SCORES_SHAPE, SCORES_EXAMPLE)
    known = {_flat(dimension): dimension for dimension in DIMENSIONS}
    scores: dict[str, float] = {}
    for key, raw in value.items():
        dimension = known.get(_flat(str(key)))
        if dimension is None:
            near = difflib.get_close_matches(_flat(str(key)), known, 1, 0.6)
            meant = f"; did you mean {known[near[0]]}?" if near else ""
            raise Unclear(name, f"there is no dimension {_shown(key)}{meant}", SCORES_SHAPE, SCORES_EXAMPLE)
        if raw is not None:
            scores[dimension] = _score(name, dimension, raw)
    return scores


def _scores_in_text(name: str, text: str) -> object:
    try:
        value = structured(text)
    except ValueError as error:
        raise Unclear(name, str(error), SCORES_SHAPE, SCORES_EXAMPLE) from error
    if value is not None:
        return value
    if len(text) > LONGEST_SCORES:
        raise Unclear(name, "it is too long to be scores", SCORES_SHAPE, SCORES_EXAMPLE)
    pairs = [(key.strip(), number + (unit or "")) for key, number, unit in _PAIR.findall(_bare(text))]
    known = {_flat(dimension) for dimension in DIMENSIONS}
    keyed = {re.sub(r"(?i)\A(?:and|the|score|scores)\s+", "", key): number for key, number in pairs}
    if not any(_flat(key) in known for key in keyed):
        raise Unclear(name, "no dimension with a number was found in it", SCORES_SHAPE, SCORES_EXAMPLE)
    return keyed


def _score(name: str, dimension: str, raw: object) -> float:
    number: float | None = None
    if isinstance(raw, str):
        found = _SCORE.match(raw)
        if found:
            number = float(found.group(1))
            if found.group(2) == "%":
                number /= 100
            elif found.group(3):
                number = number / int(found.group(3)) if int(found.group(3)) else None
    elif isinstance(raw, int | float) and not isinstance(raw, bool):
        number = float(raw) if abs(raw) < 1e9 else None
    if number is None or not math.isfinite(number) or not 0 <= number <= 1:
        raise Unclear(
            name, f"{dimension} is {_shown(raw)}, not a number from 0 to 1", SCORES_SHAPE, SCORES_EXAMPLE
        )
    return number


def read_mapping(name: str, value: object, example: str) -> dict[str, Any]:
    """Read settings: an object, JSON, or "serial.max_rounds=2, subagent.engine=nash"."""
    shape = "an object of settings by table, or table.key=value with commas between"
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, str):
        try:
            parsed = structured(value)
        except ValueError as error:
            raise Unclear(name, str(error), shape, example) from error
        value = _assignments(name, value, shape, example) if parsed is None else parsed
    if not isinstance(value, Mapping):
        raise Unclear(name, f"a {type(value).__name__} was given", shape, example)
    for text in _texts_in(value):
        _storable(name, text, shape, example)
    return {str(key): entry for key, entry in value.items()}


def _texts_in(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield str(key)
            yield from _texts_in(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts_in(entry)


def _assignments(name: str, text: str, shape: str, example: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for piece in re.split(r"[,;\n](?![^\[]*\])", _bare(text)):
        if not piece.strip():
            continue
        key, sign, raw = piece.partition("=") if "=" in piece else piece.partition(":")
        if not sign or not key.strip():
            raise Unclear(name, f"{_shown(piece.strip())} is not a setting with a value", shape, example)
        try:
            found[key.strip()] = json.loads(raw)
        except (ValueError, RecursionError):
            found[key.strip()] = raw.strip().strip("\"'")
    return found


def read_session_id(value: object) -> str:
    """Read a session id: 32 hexadecimal digits; hyphens, quotes and letter case do not matter."""
    text = read_text("session_id", value, "the id that start_session answered")
    flat = text.strip("\"'`<> ").replace("-", "").casefold()
    if re.fullmatch(r"[0-9a-f]{32}", flat):
        return flat
    raise Unclear(
        "session_id",
        f"{_shown(text)} is not a session id",
        "the 32 hexadecimal digits that start_session or list_sessions answered",
        "0f8fad5bd9cb469fa16570867728950e",
    )
