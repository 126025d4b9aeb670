"""Rules that need the interpreter's values but are more than a table row: one small function each."""

import ast
import re
from typing import TYPE_CHECKING, Any

from treewright.performers.static.facts import Flow, Place
from treewright.performers.static.python.parts import path_key
from treewright.performers.static.python.settled import told
from treewright.performers.static.python.value import Value

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_RESPONDING = frozenset(["flask", "bottle", "cherrypy", "web", "quart"])
SECRET_NAME = re.compile(
    r"(?i)(^|[_.\-\[\"'])(pass(word|wd|phrase|code)?|pwd|secret|api_?key|access_?key|private_?key|auth_?token|"
    r"access_?token|token|credential|ssn|social_security|credit_?card|card_?number|cvv|pin)s?([_.\-\]\"']|$)"
)


_AMOUNT = re.compile(r"(?i)qty|quantit|amount|price|total|count|units?|balance|cost|discount|sum")


def whole(lines: int) -> Place:
    """The place of a whole file."""
    return Place(1, max(lines, 1))


def split_exceptions(flows: tuple[Flow, ...]) -> tuple[tuple[Flow, ...], tuple[Flow, ...]]:
    """(flows of foreign data, flows of exception texts)."""
    inside = tuple(flow for flow in flows if flow.label.key.startswith("exception"))
    return tuple(flow for flow in flows if flow not in inside), inside


def on_return(unit: "Unit", run: Any, node: ast.Return, value: Value) -> None:
    """What a view returns becomes a page: foreign text in it is script, an exception's text tells the inside."""
    entry = unit.entry_nodes.get(run.facts.name)
    if entry is None or entry.strength < 3 or not entry.web:
        if value.flows and value.prefix and _XML_TEXT.match(value.prefix) and value.composed:
            run.sink("xml-text-built-from-input", node, "the text returned", value.flows)
        return
    body = value.items[0] if value.items and isinstance(node.value, ast.Tuple) else value
    foreign, inside = split_exceptions(value.flows)
    if inside:
        run.sink("exception-text-in-response", node, "the response", inside)
    shown = tuple(flow for flow in value.flows if flow.label.key.startswith("environment"))
    if shown:
        run.sink("environment-shown-in-response", node, "the response", shown)
    html = any("HTMLResponse" in unit.source.segment(d) for d in _decorators(unit, node))
    if entry.web not in _RESPONDING and not html:
        return
    foreign, _ = split_exceptions(body.flows)
    if not foreign and not inside and not shown and body.is_fixed and not body.name:
        told(run, "page-built-from-input", node, "the response")
    if not foreign or body.entries is not None or (body.items is not None and body is value):
        return
    if (
        body.name.endswith("()")
        and body.prefix is None
        and re.match(r"(flask|bottle|werkzeug)\.(?!request)", body.name)
    ):
        return
    run.sink("page-built-from-input", node, "the response", foreign)


_XML_TEXT = re.compile(
    r"\s*<(\?xml|soap|(?!(html|h\d|p|div|span|a|b|i|li|ul|ol|td|tr|th|table|img|form|input|body|head|title|script|style|br|hr|svg|g|path|"
    r"strong|em|code|pre|link|meta|button|label|option|select|main|section|nav|dl|dt|dd)\b)[a-zA-Z][\w:-]*>)"
)
"""The beginning of XML text; HTML tags are for the rule about pages."""


def _decorators(unit: "Unit", node: ast.AST) -> list[ast.expr]:
    function = unit.source.function_of(node)
    return function.decorator_list if function is not None else []


def on_assign(unit: "Unit", run: Any, target: ast.expr, node: ast.expr) -> None:
    """Remember what a name stands for as a condition, and compiled patterns."""
    key = path_key(target)
    if key is None:
        return
    if isinstance(node, (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp)):
        unit.bound_tests[(run.facts.name, key)] = node
    else:
        unit.bound_tests.pop((run.facts.name, key), None)
    if isinstance(node, ast.Call) and unit.source.dotted(node.func) == "re.compile" and node.args:
        pattern = run.quiet(node.args[0]).text()
        if pattern is not None:
            unit.compiled[key] = pattern


def on_item(run: Any, target: ast.Subscript, base: Value, index: Value, value: Value) -> None:
    """Storing into a mapping that means something: response headers, the session, the environment."""
    name = base.name
    location = isinstance(index.const, str) and index.const.lower() == "location"
    if location and (name.endswith("headers") or "Response" in name or "response" in name):
        run.sink("redirect-to-input", target, "the Location header", run.effective(value.flows))
        return
    response = re.search(r"(Response\w*|make_response)\(\)$", name)
    if response or (re.search(r"(^|\.)headers$", name) and "request" not in name):
        run.sink("header-built-from-input", target, "the response header", run.effective(value.flows))
    elif name in {"flask.session", "~request.session"} or name.endswith(".session"):
        if index.flows:
            run.sink("session-filled-from-input", target, "the session", run.effective(index.flows))
        elif _says_who(run.unit, target, index):
            run.sink("session-filled-from-input", target, "the session", run.effective(value.flows))
    elif name in {"globals()", "locals()", "vars()", "builtins.globals()"}:
        run.sink("environment-set-from-input", target, name, run.effective(index.flows))
    elif name == "os.environ":
        flows = (*run.effective(index.flows), *run.effective(value.flows))
        run.sink("environment-set-from-input", target, "os.environ", tuple(flows))


def _says_who(unit: "Unit", target: ast.AST, key: Value) -> bool:
    """Whether a session entry says who the user is or may do, and nothing in the function checked that."""
    named = isinstance(key.const, str) and re.search(
        r"(?i)user|uid|role|admin|auth|perm|account|logged|level|tenant", key.const
    )
    function = unit.source.function_of(target)
    text = unit.source.segment(function) if function is not None else ""
    return bool(named) and not re.search(
        r"(?i)check_password|authenticate|verify|passw|\.execute|\.query|objects\.", text
    )


_NAMESPACE = re.compile(r"^(builtins\.)?(globals|locals|vars)\(\)$|\.__(globals|dict)__$")


def on_subscript(unit: "Unit", run: Any, node: ast.Subscript, base: Value, index: Value) -> None:
    """Reading a position that foreign data chose."""
    if index.flows and base.name and _NAMESPACE.search(base.name) and not isinstance(node.ctx, ast.Store):
        run.sink("attribute-reached-by-input", node, base.name, run.effective(index.flows))
    if base.items is None or not index.flows or isinstance(node.ctx, ast.Store):
        return
    run.sink("index-from-input", node, unit.source.segment(node.value), run.effective(index.flows))


def on_operation(run: Any, node: ast.BinOp, left: Value, right: Value) -> None:
    """Division by, and repetition as often as, foreign data says."""
    if isinstance(node.op, (ast.Div, ast.FloorDiv)):
        if right.flows and right.name in {"int()", "float()"} and left.name != "pathlib.Path()":
            run.sink("divisor-from-input", node, "the division", run.effective(right.flows))
    elif isinstance(node.op, ast.Mult) and isinstance(left.const, (str, bytes)) and right.flows:
        run.sink("size-from-input", node, "the repetition", run.effective(right.flows))
    elif isinstance(node.op, (ast.Mult, ast.Sub, ast.Add)):
        for side, value in ((node.left, left), (node.right, right)):
            if (
                value.flows
                and value.name in {"int()", "float()", "decimal.Decimal()"}
                and _AMOUNT.search(ast.unparse(side))
            ):
                run.sink("amount-from-input", node, "the calculation", run.effective(value.flows))
