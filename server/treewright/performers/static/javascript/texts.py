"""Methods of texts, arrays and paths whose result keeps a shape that matters."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from treewright.performers.static.facts import ALL, Flow, Mark
from treewright.performers.static.javascript.node import FUNCTIONS, bare, string_of
from treewright.performers.static.javascript.operators import FIXED
from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import UNKNOWN, Value, constant, merge_flows, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.call import Calls
    from treewright.performers.static.javascript.node import Node

_SAME = frozenset(
    ["toString", "trim", "trimStart", "trimEnd", "toLowerCase", "toUpperCase", "normalize", "valueOf", "padStart", "padEnd", "repeat"]
)  # fmt: skip
_PART = frozenset(["slice", "substring", "substr", "charAt", "at", "split", "pop", "shift"])
_SELECTING = frozenset(["filter", "find", "findLast", "sort", "reverse", "keys", "values", "entries", "flat"])


def textual(
    run: "Calls", name: str, last: str, node: "Node", arguments: Arguments, flows: tuple[Flow, ...]
) -> Value | None:
    """The result of a method that keeps, cuts or joins text; None for everything else."""
    receiver = arguments.receiver
    if last in _SAME and arguments.receiver_node is not None:
        return _kept(last, receiver, node)
    if last in _PART and arguments.receiver_node is not None:
        return Value(receiver.flows, name=FIXED if run.fixed(receiver) else "", composed=receiver.composed)
    if last in _SELECTING and arguments.receiver_node is not None and not name.startswith("Object."):
        return Value(receiver.flows, name=FIXED if receiver.items is not None and not receiver.flows else receiver.name)  # fmt: skip
    if last == "join" and (name == "array().join" or receiver.items is not None):
        return _joined(run, receiver, arguments)
    if last == "concat" and arguments.receiver_node is not None:
        value = receiver
        for _, part in arguments.positional:
            value = run.plus(value, part, node)
        return value
    if name in {
        "path.join",
        "path.resolve",
        "path.normalize",
        "path.posix.join",
        "path.posix.resolve",
        "~path.join",
    }:
        return _path(name, node, flows)
    if name in {"util.promisify", "promisify", "util.callbackify"} or last == "bind":
        return arguments.positional[0][1] if last != "bind" and arguments.positional else receiver
    if name in {"String", "util.format", "util.inspect"}:
        return _text(run, name, node, arguments, flows)
    if name in {"Object.keys", "Object.values", "Object.entries", "Array.from", "Promise.all", "Object.freeze", "Set", "Map",
                "Object.fromEntries", "Promise.resolve", "structuredClone"}:  # fmt: skip
        return _contents(name, arguments)
    return None


_APPLIED: dict[str, Callable[[str], str]] = {
    "trim": str.strip,
    "toLowerCase": str.lower,
    "toUpperCase": str.upper,
}


def _kept(last: str, receiver: Value, node: "Node") -> Value:
    if last == "toString":
        return _as_text(receiver, node)
    apply = _APPLIED.get(last)
    if isinstance(receiver.const, str) and apply is not None:
        return constant(apply(receiver.const))
    return Value(receiver.flows, name=receiver.name, prefix=receiver.prefix, composed=receiver.composed)


def _contents(name: str, arguments: Arguments) -> Value:
    first = arguments.positional[0][1] if arguments.positional else UNKNOWN
    if name in {"Set", "Map", "Object.freeze", "Promise.resolve", "Array.from"}:
        return Value(first.flows, first.const, name=name if name in {"Set", "Map"} else first.name, items=first.items, entries=first.entries)  # fmt: skip
    if not first.flows and first.entries is not None:
        return named(FIXED)
    return Value(first.flows)


def _as_text(receiver: Value, node: "Node") -> Value:
    mark = Mark(frozenset({"nosql"}), node.line, "it is made a text, so operators cannot come in")
    flows = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in receiver.flows)
    return Value(flows, receiver.const, receiver.name, receiver.prefix, receiver.composed)


def _text(run: "Calls", name: str, node: "Node", arguments: Arguments, flows: tuple[Flow, ...]) -> Value:
    first = arguments.positional[0][1] if arguments.positional else UNKNOWN
    if name == "String":
        return _as_text(first, node)
    parts = [value for _, value in arguments.positional]
    head = (first.text() or "").partition("%")[0] if first.is_const else first.prefix
    fixed = all(run.fixed(part) for part in parts)
    return run.unit.prefixed(Value(flows, name=FIXED if fixed else "", prefix=head, composed=not fixed), node)


def _joined(run: "Calls", receiver: Value, arguments: Arguments) -> Value:
    items = receiver.items or ()
    prefix = items[0].text() if items and items[0].is_const else items[0].prefix if items else None
    if items and all(item.is_const for item in items) and not arguments.open:
        between = arguments.positional[0][1].text() if arguments.positional else ","
        if between is not None:
            return constant(between.join(str(item.const) for item in items))
    fixed = bool(items) and all(run.fixed(item) for item in items)
    return Value(receiver.flows, name=FIXED if fixed else "", prefix=prefix, composed=not fixed)


def _path(name: str, node: "Node", flows: tuple[Flow, ...]) -> Value:
    mark = Mark(frozenset({"resolved"}), node.line, f"`{name}` resolves it")
    return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows), name="path.join()")


def replaced(run: "Calls", node: "Node", arguments: Arguments) -> Value:
    """`x.replace(pattern, text)`: which characters can still be in the result."""
    receiver = arguments.receiver
    if len(arguments.positional) < 2:
        return Value(receiver.flows)
    pattern_node = bare(cast("Any", arguments.positional[0][0]))
    new = arguments.positional[1][1]
    flows = merge_flows(receiver.flows, new.flows)
    kinds, why = _removed(
        pattern_node, node.text, bare(cast("Any", arguments.positional[1][0])).kind in FUNCTIONS
    )
    if kinds:
        mark = Mark(frozenset(kinds), node.line, why)
        flows = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows)
    del run
    prefix = receiver.prefix if not new.flows or receiver.prefix else None
    return Value(
        flows, name="", prefix=prefix, composed=receiver.composed or (bool(new.flows) and receiver.is_const)
    )


_STRIPS = (
    (r"\\[rn]|\\s", ("log", "header", "mail"), "line breaks are taken out of it"),
    (r"[&<>]", ("html", "xmltext"), "the characters of markup are replaced in it"),
    (r"^\(?\\?\.\\?\.", ("path:dotdot",), "`..` is taken out of it"),
)


def _removed(pattern: "Node", call: str, by_function: bool) -> tuple[tuple[str, ...], str]:
    """Which sink kinds a replacement makes harmless; a pattern without `g` replaces the first hit only."""
    if pattern.kind != "regex":
        text = string_of(pattern)
        every = ".replaceAll(" in call
        if every and text in {"\n", "<", ".."}:
            return {"\n": ("log",), "<": ("html",), "..": ("path:dotdot",)}[
                text
            ], f"every {text!r} is replaced"
        return (), ""
    source, flags = pattern.need("pattern").text, pattern.field("flags")
    if flags is None or "g" not in flags.text:
        return (), ""
    if re.match(r"\[[^\]]*(\.\*\+|\*\.|\+\*|\$\{)", source) and "$&" in call:
        return ("regex",), "the characters that mean something in a pattern are escaped"
    allowed = re.fullmatch(r"\[\^((?:\\[wd-]|[\w\s-])+)\]\+?", source)
    if allowed and not re.search(r"\\[sSDW]", allowed.group(1)):
        return (ALL,), "everything but plain characters is taken out of it"
    del by_function
    for found, kinds, why in _STRIPS:
        if re.search(found, source) and not (kinds[0] == "log" and source.startswith("[^")):
            return kinds, why
    return (), ""
