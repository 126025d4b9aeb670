"""Patterns that take exponential time, match too much, or only seem to check a host or a tag."""

import ast
import re
import warnings
from typing import TYPE_CHECKING, Any

from treewright.performers.static.python.checks.registry import check

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import re._constants as codes  # type: ignore[import-not-found]  # CPython's own parser has no stubs
    import re._parser as parser  # type: ignore[import-not-found]  # CPython's own parser has no stubs

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_CALLS = frozenset(
    [
        "re.compile",
        "re.match",
        "re.search",
        "re.fullmatch",
        "re.findall",
        "re.finditer",
        "re.sub",
        "re.subn",
        "re.split",
        "regex.compile",
        "django.core.validators.RegexValidator",
    ]
)
_HOST_LIKE = re.compile(r"(?<!\\)\b[\w-]+(?<!\\)\.(com|org|net|io|edu|gov|example|local|co|dev|app)\b")


def pattern_of(unit: "Unit", node: ast.Call) -> tuple[str, ast.expr] | None:
    """The constant pattern of a call of `re`, with its node."""
    if unit.source.dotted(node.func) not in _CALLS or not node.args:
        return None
    argument = node.args[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, (str, bytes)):
        value = argument.value
        return (value if isinstance(value, str) else value.decode("latin-1")), argument
    return None


@check("pattern-takes-exponential-time", ast.Call)
def exponential(unit: "Unit", node: ast.Call) -> None:
    """`(a+)+`, `(a|a)*`, `(\\w*)*$`: many ways to read the same text."""
    found = pattern_of(unit, node)
    if found is None:
        return
    why = ambiguous(found[0])
    if why:
        unit.report("pattern-takes-exponential-time", node, what=why, facts=(("shown", found[0][:80]),))
    elif not unit.source.library and re.search(r"[+*}]", found[0]):
        unit.report("pattern-takes-exponential-time", node, what="re", safe="no part of it matches one text in two ways",
                    facts=(("shown", found[0][:80]),))  # fmt: skip


@check("pattern-range-too-wide", ast.Call)
def wide_range(unit: "Unit", node: ast.Call) -> None:
    """`[A-z]` also takes in `[`, `\\`, `]`, `^`, `_` and the back quote."""
    found = pattern_of(unit, node)
    if found is not None and re.search(r"\[[^\]]*(A-z|a-Z|0-z|\+-/|\.-_|,-\.)[^\]]*\]", found[0]):
        unit.report("pattern-range-too-wide", node, what=found[0][:60], facts=(("shown", found[0][:60]),))


@check("host-pattern-too-wide", ast.Call)
def host_pattern(unit: "Unit", node: ast.Call) -> None:
    """A bare dot in a host's pattern stands for any character; no anchor lets anything stand before it."""
    found = pattern_of(unit, node)
    if found is None or unit.source.dotted(node.func) in {"re.sub", "re.split"}:
        return
    pattern = found[0]
    if _HOST_LIKE.search(pattern) and not re.search(r"\s", pattern):
        unit.report("host-pattern-too-wide", node, what=pattern[:60], facts=(("shown", pattern[:60]),))


@check("markup-filtered-by-pattern", ast.Call)
def tag_filter(unit: "Unit", node: ast.Call) -> None:
    """`re.sub("<script.*?>.*?</script>", "")`: markup is not a regular language."""
    found = pattern_of(unit, node)
    if found is None:
        return
    name = unit.source.dotted(node.func)
    strips = name in {"re.sub", "re.subn"} and re.fullmatch(r"<(\.|\[\^[<>]+\])[*+]\??/?>", found[0])
    if strips or re.search(r"(?i)<\W*(script|iframe|style|!--)|javascript:", found[0]):
        unit.report("markup-filtered-by-pattern", node, what=name, facts=(("shown", found[0][:60]),))


def ambiguous(pattern: str) -> str:
    """Say why a pattern can be read in exponentially many ways; empty when it cannot, or does not parse.

    A repetition without bound whose body can itself match a run in more than one way: a nested repetition that
    its neighbours do not separate, or alternatives that begin with the same character.
    """
    if len(pattern) > 2000:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _alternatives_alike(pattern):
                return "alternatives that begin alike are repeated"
            tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError, ValueError):
        return ""
    return _look(list(tree), followed=False)


_REPEATED_CHOICE = re.compile(r"\((?:\?:)?((?:[^()\\]|\\.)*\|(?:[^()\\]|\\.)*)\)[*+](?![*+]?$)")


def _alternatives_alike(pattern: str) -> bool:
    """`(a|a)*$`, `(\\w|\\d)+x`: the parser folds such choices into one set, so they are looked at before it does."""
    for found in _REPEATED_CHOICE.finditer(pattern):
        firsts = [_first(list(parser.parse(part))) for part in found.group(1).split("|") if part]
        singles = all(len(list(parser.parse(part))) == 1 for part in found.group(1).split("|"))
        if singles and any(
            _overlap(one, other) for index, one in enumerate(firsts) for other in firsts[index + 1 :]
        ):
            return True
    return False


def _look(items: list[Any], followed: bool) -> str:
    for index, (code, argument) in enumerate(items):
        later = followed or any(True for _ in items[index + 1 :])
        if code in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
            low, high, body = argument
            del low
            if high is codes.MAXREPEAT and later:
                why = _repeated(list(body))
                if why:
                    return why
            inner = _look(list(body), later)
        elif code is codes.SUBPATTERN:
            inner = _look(list(argument[-1]), later)
        elif code is codes.BRANCH:
            inner = next((found for branch in argument[1] if (found := _look(list(branch), later))), "")
        elif code in {codes.ASSERT, codes.ASSERT_NOT}:
            inner = _look(list(argument[1]), True)
        else:
            inner = ""
        if inner:
            return inner
    return ""


def _repeated(body: list[Any]) -> str:
    """Why the body of an unbounded repetition is ambiguous."""
    flat = _flatten(body)
    if len(flat) == 1 and flat[0][0] is codes.BRANCH:
        firsts = [_first(list(branch)) for branch in flat[0][1][1]]
        for index, one in enumerate(firsts):
            if any(_overlap(one, other) for other in firsts[index + 1 :]):
                return "alternatives that begin alike are repeated"
        for branch in flat[0][1][1]:
            if _solid(_flatten(list(branch))):
                return "a repetition is repeated"
        return ""
    return "a repetition is repeated" if _solid(flat) else ""


def _solid(flat: list[Any]) -> bool:
    """An unbounded repetition inside, and nothing required beside it that its own characters cannot match."""
    repeats = [
        item
        for item in flat
        if item[0] in {codes.MAX_REPEAT, codes.MIN_REPEAT} and item[1][1] is codes.MAXREPEAT
    ]
    if not repeats:
        return False
    own = _first(list(repeats[0][1][2]))
    for code, argument in flat:
        if code in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
            if argument[0] > 0 and not _overlap(own, _first(list(argument[2]))):
                return False
        elif code is not codes.AT and not _overlap(own, _first([(code, argument)])):
            return False
    return True


def _flatten(items: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for code, argument in items:
        if code is codes.SUBPATTERN:
            flat.extend(_flatten(list(argument[-1])))
        else:
            flat.append((code, argument))
    return flat


_ALPHABET = frozenset(map(chr, range(32, 127)))


def _first(items: list[Any]) -> frozenset[str]:
    """The printable characters a sequence can begin with."""
    found: frozenset[str] = frozenset()
    for code, argument in items:
        part, empty = _starts(code, argument)
        found |= part
        if not empty:
            break
    return found


def _starts(code: Any, argument: Any) -> tuple[frozenset[str], bool]:
    """(first characters, whether it can match nothing)."""
    if code is codes.LITERAL:
        return frozenset({chr(argument)}), False
    if code is codes.NOT_LITERAL:
        return _ALPHABET - {chr(argument)}, False
    if code is codes.ANY:
        return _ALPHABET, False
    if code is codes.IN:
        return _class(argument), False
    if code in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
        return _first(list(argument[2])), argument[0] == 0
    if code is codes.SUBPATTERN:
        return _first(list(argument[-1])), False
    if code is codes.BRANCH:
        return frozenset().union(*(_first(list(branch)) for branch in argument[1])), False
    return frozenset(), True


def _class(items: list[Any]) -> frozenset[str]:
    found: set[str] = set()
    negated = False
    for code, argument in items:
        if code is codes.NEGATE:
            negated = True
        elif code is codes.LITERAL:
            found.add(chr(argument))
        elif code is codes.RANGE:
            found |= {chr(point) for point in range(argument[0], min(argument[1], 126) + 1)}
        elif code is codes.CATEGORY:
            found |= _CATEGORIES.get(argument, frozenset())
    return _ALPHABET - found if negated else frozenset(found)


_WORD = frozenset(c for c in _ALPHABET if c.isalnum() or c == "_")
_DIGIT = frozenset("0123456789")
_SPACE = frozenset(" \t")
_CATEGORIES = {
    codes.CATEGORY_WORD: _WORD,
    codes.CATEGORY_NOT_WORD: _ALPHABET - _WORD,
    codes.CATEGORY_DIGIT: _DIGIT,
    codes.CATEGORY_NOT_DIGIT: _ALPHABET - _DIGIT,
    codes.CATEGORY_SPACE: _SPACE,
    codes.CATEGORY_NOT_SPACE: _ALPHABET - _SPACE,
}


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other)
