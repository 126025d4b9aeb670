"""How a function is reached from outside: routes, messages, lambdas, exported names."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from treewright.performers.static.facts import Label, Mark
from treewright.performers.static.javascript.chains import checked
from treewright.performers.static.javascript.node import Node, bare, parameter_target, parameters
from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_VERBS = frozenset(
    ["get", "post", "put", "delete", "patch", "all", "use", "options", "head", "del", "route", "param"]
)
_ROUTER = re.compile(r"(^|[.~])(express|koa|fastify|restify|hono|polka|Router|app|router|server|api|routes?|fastify)\b(\(\))*$", re.IGNORECASE)  # fmt: skip
_REQUEST = re.compile(r"^_?(req|request)$")
_RESPONSE = re.compile(r"^_?(res|resp|response|reply|rep|h|next)$")
_CONTEXT = re.compile(r"^(ctx|c|context)$")
_HTTP_METHODS = frozenset(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])
REQUEST, RESPONSE, CONTEXT = named("~req"), named("~res"), named("~ctx")
REPLY, CAUGHT = named("~reply"), named("exception()")
"""Fastify's response: a text that it sends is plain text unless the code says otherwise."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a function is entered.

    Attributes:
        text: what a reader is told (`route GET /x`), empty when it is not an entry point.
        strength: of its parameters: 3 remote, 2 local, 1 public by convention, 0 internal.
        values: what parameters are, by position, when the framework hands them in.
        name: what the function is called in facts when it has no name of its own.
        checked: what validators beside the handler establish.
    """

    text: str = ""
    strength: int = 0
    values: dict[int, Value] = field(default_factory=dict)
    name: str = ""
    checked: dict[Label, tuple[Mark, ...]] = field(default_factory=dict)


_TAKEN = re.compile(r"^\{[^}]*\b(query|params|body|headers|cookies)\b[^}]*\}$", re.DOTALL)


def parameter_names(function: Node) -> list[str]:
    """The names of parameters; `req` for a pattern that takes a request apart, empty for other patterns."""
    targets = [parameter_target(parameter) for parameter in parameters(function)]
    return [t.text if t.kind == "identifier" else "req" if _TAKEN.match(t.text) else "" for t in targets]


def by_names(function: Node) -> dict[int, Value]:
    """`(req, res)`, `(err, req, res, next)`: what the names of parameters say they are, or nothing."""
    names = parameter_names(function)
    for at in (0, 1):
        if len(names) > at + 1 and _REQUEST.match(names[at]) and _RESPONSE.match(names[at + 1]):
            response = {"next": named(""), "h": named(""), "reply": REPLY, "rep": REPLY}
            handed = {index: named(f"~{name}") for index, name in enumerate(names)}
            if at:
                handed[0] = CAUGHT
            return {**handed, at: REQUEST, at + 1: response.get(names[at + 1].lstrip("_"), RESPONSE)}
    return {}


def of_route(unit: "Unit", name: str, arguments: Arguments) -> str:
    """`route GET /x` when a call registers handlers, else empty."""
    head, _, verb = name.rpartition(".")
    if verb not in _VERBS or not head:
        return ""
    first = arguments.positional[0][1].text() if arguments.positional else None
    routed = _ROUTER.search(head) is not None or head.endswith(("route()", ".route")) or "Router()" in head
    if first is not None and first.startswith(("/", "*")) and (routed or unit.web):
        return f"route {verb.upper()} {first}"
    if routed and (unit.web or _ROUTER.search(head.replace("()", ""))) and (first is None or verb == "use"):
        return f"middleware `{verb}`"
    return ""


def of_callback(unit: "Unit", name: str, arguments: Arguments, function: Node) -> Entry | None:
    """The entry that a function literal becomes by being passed to a call."""
    route = of_route(unit, name, arguments)
    given = by_names(function)
    names = parameter_names(function)
    if route and (given or names):
        if not given and _CONTEXT.match(names[0] or "x"):
            given = {0: CONTEXT}
        if not given and (names[0] == "" or _REQUEST.match(names[0])) and unit.web != "koa":
            given = {0: REQUEST, 1: RESPONSE}
        if given:
            return Entry(route, 3, given, route.partition(" ")[2].strip("`"), checked(arguments, function))
        return None
    if given:
        return Entry("request handler", 3, given, "handler")
    if unit.web == "koa" and names and _CONTEXT.match(names[0]):
        return Entry("koa handler", 3, {0: CONTEXT}, "handler")
    return None


def of_function(unit: "Unit", node: Node, name: str, exported: bool) -> Entry:
    """The entry of a function by its own look: its parameters' names, its name, being exported."""
    given, names = by_names(node), parameter_names(node)
    last = name.rpartition(".")[2]
    if given:
        return Entry(f"request handler `{last}`", 3, given)
    if exported and last in _HTTP_METHODS and re.search(r"(^|/)(app|routes?|api|pages)/", unit.source.path):
        return Entry(f"route handler `{last}`", 3, {0: REQUEST})
    if last in {"handler", "lambdaHandler"} and names[:1] and names[0] in {"event", "evt", "_event"}:
        return Entry(f"Lambda handler `{last}`", 3, {i: named("") for i in range(1, len(names))})
    if unit.web == "koa" and names and names[0] == "ctx":
        return Entry(f"koa handler `{last}`", 3, {0: CONTEXT})
    if unit.web and names and _REQUEST.match(names[0]):
        return Entry(f"function on requests `{last}`", 1, {0: REQUEST})
    if exported:
        return Entry(f"exported function `{last}`", 1)
    return Entry()


def decorated(node: Node) -> dict[int, tuple[str, Node]]:
    """Parameters that a framework fills in, by their decorator: `@Body() dto`, `@Query("q") q`."""
    found: dict[int, tuple[str, Node]] = {}
    for index, parameter in enumerate(parameters(node)):
        for part in parameter.named:
            if part.kind == "decorator" and part.named:
                call = bare(part.named[0])
                function = call.field("function") or call
                found[index] = (function.text, part)
    return found


def literal(arguments: Arguments, index: int) -> Node | None:
    """The node of a positional argument."""
    return cast("Any", arguments.positional[index][0]) if index < len(arguments.positional) else None
