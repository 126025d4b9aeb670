"""express-validator: what the chains beside a route's handler say of the request's values."""

import re
from typing import Any, cast

from treewright.performers.static.facts import ALL, Label, Mark
from treewright.performers.static.javascript.node import Node
from treewright.performers.static.python.patterns import Arguments

_CHAIN = re.compile(
    r"""\b(body|query|param|cookie|check|sanitizeBody|sanitizeQuery|sanitizeParam)\(\s*\[?\s*['"](\w+)['"](?:\s*,\s*['"][^'"]*['"])?\s*\]?\s*\)((?:\s*\.\s*\w+\((?:[^()]|\([^()]*\))*\))*)"""
)
_STEP = re.compile(r"\.\s*(\w+)\(((?:[^()]|\([^()]*\))*)\)")
_PLACES = {
    "body": ("request:~req.body",), "query": ("request:~req.query",), "param": ("request-text:~req.params",),
    "cookie": ("request-text:~req.cookies",),
}  # fmt: skip
_EVERYWHERE = (
    "request:~req.body",
    "request:~req.query",
    "request-text:~req.params",
    "request-text:~req.cookies",
)
_TESTS = frozenset(
    ["isInt", "isFloat", "isNumeric", "isDecimal", "isBoolean", "isUUID", "isMongoId", "isAlpha", "isAlphanumeric", "isHexadecimal",
     "isIn", "isDate", "isISO8601", "isIP", "isPort", "isSlug", "isHash", "isLocale", "isISIN", "isBase32"]
)  # fmt: skip
"""Tests that leave no room for a text of the caller's own; they hold once the result is looked at."""
_CHANGES = {
    "toInt": frozenset({ALL, "nosql"}), "toFloat": frozenset({ALL, "nosql"}), "toBoolean": frozenset({ALL, "nosql"}),
    "escape": frozenset({"html", "xmltext"}), "isString": frozenset({"nosql"}),
}  # fmt: skip
_LOOKED_AT = re.compile(r"\bvalidationResult\(|\bmatchedData\(")
_REFUSED = re.compile(r"isEmpty\(\)|\.throw\(\)|matchedData\(")


def checked(arguments: Arguments, handler: Node) -> dict[Label, tuple[Mark, ...]]:
    """Marks that hold in a route's handler from its beginning.

    Args:
        arguments: of the call that registers the route. handler: the function literal.
    """
    marks: dict[Label, tuple[Mark, ...]] = {}
    refused = _LOOKED_AT.search(handler.text) is not None and _REFUSED.search(handler.text) is not None
    for argument, _ in arguments.positional:
        node = cast("Any", argument)
        if node.key == handler.key or node.end - node.line > 60:
            continue
        for found in _CHAIN.finditer(node.text):
            kinds, step = _kinds(found[3], refused)
            if not kinds:
                continue
            line = node.line + node.text[: found.start()].count("\n")
            mark = Mark(kinds, line, f"`{step}()` of the route's validator holds for it")
            for place in _PLACES.get(found[1], _EVERYWHERE):
                label = Label("source", f"{place}[{found[2]}]")
                marks[label] = (*marks.get(label, ()), mark)
    return marks


def _kinds(chain: str, refused: bool) -> tuple[frozenset[str], str]:
    kinds: frozenset[str] = frozenset()
    last = ""
    for step in _STEP.finditer(chain):
        name = step[1]
        strict = name in _TESTS or (
            name == "matches" and re.match(r"\s*/\^.*\$/\w*\s*[,)]?", step[2]) is not None
        )
        new = _CHANGES.get(name) or (frozenset({ALL, "nosql"}) if strict and refused else None)
        if new:
            kinds, last = kinds | new, name
    return kinds, last
