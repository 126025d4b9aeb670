"""Reads the examples that a docstring gives in words: `f(2) => 4`, `For n = 2 the output should be 4`, `Input: ... Output: ...`.

Only for a function that nothing else can be checked by: such examples are written for people, so that one that
cannot be read with certainty (a name that stands for a text, an unbalanced bracket) is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from treewright.parsing import parse_expression
from treewright.search.checks import Check
from treewright.search.functions import told_in
from treewright.search.literal import NotReadable, read_value
from treewright.search.splitting import value_check

_MEANS = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|-+>|==|=|\u2192|\u279e|\u21d2|returns?\b|should\s+(?:return|be|give|equal)\b|gives?\b|is\b)\s*"
)
_FOR = re.compile(r"\b(?:for|if|when)\s+(\w+)\s*=\s*", re.IGNORECASE)
_SHOULD_BE = re.compile(
    r"[^\n]*?\b(?:output|result|answer|return(?:ed)?(?: value)?)\s+(?:should be|must be|will be|is)\s*:?\s*"
)
_INPUT = re.compile(r"\binput\s*:[ \t]*([^\n]+)\n\s*output\s*:[ \t]*", re.IGNORECASE)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_WORDS = {"true": "True", "false": "False", "none": "None", "null": "None"}
_MOST = 24


def written_checks(tree: ast.Module, entry_point: str | None) -> list[Check]:
    """Read the examples in the docstring of a function.

    Args:
        tree: the starting program.
        entry_point: the function; None takes the only one that the program defines.

    Returns:
        One check an example whose call and value can both be read, at most 24.
    """
    function = _function(tree, entry_point)
    if function is None:
        return []
    text = told_in(function)
    found: dict[str, Check] = {}
    for call, value, source in _examples(text, function):
        found.setdefault(
            ast.unparse(call), value_check(call, "==", value, context="", source=source.strip()[:200])
        )
    return list(found.values())[:_MOST]


def _function(tree: ast.Module, entry_point: str | None) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if entry_point is not None:
        return next((node for node in functions if node.name == entry_point), None)
    return functions[0] if len(functions) == 1 else None


Example = tuple[ast.expr, Any, str]


def _examples(text: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Example]:
    yield from _calls(text, function.name)
    named = [argument.arg for argument in function.args.args]
    yield from _sentences(text, function.name, named)
    yield from _inputs(text, function.name)


def _calls(text: str, name: str) -> Iterator[Example]:
    """`f(2) == 4` and its likes; after `>>>` also a value on the next line."""
    for match in re.finditer(rf"(>>>\s*)?(?<![\w.]){re.escape(name)}\(", text):
        end = _balanced(text, match.end() - 1)
        call = _read_call(text[match.start() + len(match[1] or "") : end]) if end else None
        if call is None:
            continue
        means = _MEANS.match(text, end)
        at = means.end() if means is not None else None
        if at is None and match[1]:
            newline = re.compile(r"[ \t]*\n[ \t]*").match(text, end)
            at = newline.end() if newline is not None else None
        if at is None:
            continue
        value, stop = _value(text, at)
        if stop:
            yield call, value, text[match.start() : stop]


def _sentences(text: str, name: str, parameters: list[str]) -> Iterator[Example]:
    """`For n = 2 the output should be 4`, for a function of one parameter."""
    if len(parameters) != 1:
        return
    for match in _FOR.finditer(text):
        argument, stop = _value(text, match.end())
        should = _SHOULD_BE.match(text, stop) if stop else None
        if should is None:
            continue
        value, end = _value(text, should.end())
        if end:
            yield _call(name, [argument]), value, text[match.start() : end]


def _inputs(text: str, name: str) -> Iterator[Example]:
    """`Input: n = 2` over `Output: 4`."""
    for match in _INPUT.finditer(text):
        call = _read_call(f"{name}({match[1].strip()})")
        value, end = _value(text, match.end())
        if call is not None and end:
            yield call, value, text[match.start() : end]


def _read_call(text: str) -> ast.expr | None:
    """A call whose arguments can all be read, else None."""
    try:
        call = parse_expression(text.strip()).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(call, ast.Call) or not (call.args or call.keywords):
        return None
    try:
        for argument in [*call.args, *(one.value for one in call.keywords)]:
            read_value(argument)
    except NotReadable:
        return None
    return call


def _call(name: str, arguments: list[Any]) -> ast.expr:
    return parse_expression(f"{name}({', '.join(repr(one) for one in arguments)})").body


def _balanced(text: str, at: int) -> int:
    """The place after the bracket that closes the one at `at`, strings left alone; 0 when there is none."""
    open_ones: list[str] = []
    quote = ""
    for place in range(at, min(len(text), at + 2000)):
        letter = text[place]
        if quote:
            quote = "" if letter == quote and text[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _CLOSING:
            open_ones.append(_CLOSING[letter])
        elif open_ones and letter == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return place + 1
        elif letter in ")]}":
            return 0
    return 0


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value that a text goes on with, and the place after it; place 0 when it cannot be read."""
    if text[at : at + 1] in _CLOSING:
        end = _balanced(text, at)
        return _read(text[at:end], end) if end else (None, 0)
    quoted = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"").match(text, at)
    if quoted is not None:
        after = text[quoted.end() : quoted.end() + 1]
        return (None, 0) if after and (after.isalnum() or after in "'\"") else _read(quoted[0], quoted.end())
    word = re.compile(r"(?:true|false|none|null)\b", re.IGNORECASE).match(text, at)
    if word is not None:
        return _read(_WORDS[word[0].lower()], word.end())
    number = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?:\s*[-+*/]\s*\d+(?:\.\d+)?)*(?![\w.]*\w)").match(
        text, at
    )
    return _read(number[0], number.end()) if number is not None else (None, 0)


def _read(text: str, end: int) -> tuple[Any, int]:
    try:
        return read_value(parse_expression(text.strip()).body), end
    except (SyntaxError, ValueError):
        return None, 0
