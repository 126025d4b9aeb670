"""Merges that reach the prototype, messages from anywhere, escaping that stops early, secrets compared in variable time."""

import re
from typing import TYPE_CHECKING

from treewright.performers.static.javascript.checks.registry import check
from treewright.performers.static.javascript.node import (
    FUNCTIONS,
    Node,
    bare,
    parameter_target,
    parameters,
    property_part,
    string_of,
)

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_KEYS = re.compile(
    r"for\s*\(\s*(const|let|var)?\s*(\[?\w+)[^)]*\b(in|of)\b|Object\.(keys|entries)\([^)]*\)\s*\.\s*forEach"
)
_REFUSES = re.compile(
    r"__proto__|\bprototype\b|Object\.create\(null\)|isPrototypePolluted|isUnsafeKey|new Map\("
)
_OWN = re.compile(
    r"(hasOwnProperty(\.call)?\(\s*|Object\.hasOwn\(\s*|hasOwn\w*\(\s*)(target|dst|dest|destination|to|obj|a|out|result)\b"
)


@check("merge-reaches-prototype", *sorted(FUNCTIONS))
def merges(unit: "Unit", node: Node) -> None:
    """A function that copies every key of one object into another, calling itself for nested ones."""
    name_node = node.field("name")
    name = name_node.text if name_node is not None else _given_name(node)
    if not name or unit.source.is_test or len(parameters(node)) < 2:
        return
    text = node.text
    if not _KEYS.search(text) or not _recurses(name, text):
        return
    writes = re.search(r"(\w+)\[(\w+)\]\s*=(?!=)", text)
    if writes is None or writes.group(1) not in {parameter_target(p).text for p in parameters(node)}:
        return
    place = next((p for p in node.walk() if p.kind == "assignment_expression" and p.text.startswith(f"{writes.group(1)}[{writes.group(2)}]")), node)  # fmt: skip
    refused = _line_of(node, _REFUSES) or _line_of(node, _OWN)
    if refused:
        unit.report("merge-reaches-prototype", place, what=name, safe="keys that lead to the prototype are refused", safe_line=refused)  # fmt: skip
    else:
        unit.report("merge-reaches-prototype", place, what=name)


def _recurses(name: str, text: str) -> bool:
    """`merge(target[key], source[key])`: two different objects go down together."""
    found = re.search(rf"\b{re.escape(name)}\(\s*([\w.]+)\[[^,]*,\s*([\w.]+)(\[|,|\))", text)
    if found is None or found.group(1) == found.group(2):
        return False
    return found.group(3) == "[" or re.search(rf"\b{re.escape(found.group(2))}\s*=\s*\w+\[", text) is not None


def _given_name(node: Node) -> str:
    parent = node.raw.parent()
    name = parent.field("name") if parent is not None and parent.kind() == "variable_declarator" else None
    return str(name.text()) if name is not None else ""


def _line_of(node: Node, pattern: re.Pattern[str]) -> int:
    """The first line of a node whose code, comments left out, matches; 0 when none does."""
    for number, line in enumerate(node.text.split("\n"), node.line):
        if pattern.search(re.sub(r"//.*|/\*.*?\*/", "", line)):
            return number
    return 0


_ORIGIN_TEST = re.compile(
    r"\b(origin|source)\b\W*\)?\s*(!==?|===?)|(!==?|===?)\s*[\w.]*\b(origin|source)\b|\borigin\.(match|startsWith|endsWith|includes|indexOf)\("
    r"|(includes|has|indexOf|test|exec|match|hasOwnProperty)\(\s*[\w.]*\borigin\b|(?i:\w*(origin|trusted|allowed)\w*)\([^)]*\borigin\b|case\s+.*origin|switch\s*\([\w.]*origin"
)
"""What compares where a message comes from; that the origin is only named or logged is no check."""


@check("message-origin-unchecked", "call_expression", "assignment_expression")
def messages(unit: "Unit", node: Node) -> None:
    """`addEventListener("message", e => use(e.data))` without a look at `e.origin` or `e.source`."""
    handler = _message_handler(node)
    if handler is None or unit.source.is_test or not parameters(handler):
        return
    target = parameter_target(parameters(handler)[0])
    text = handler.text
    reads = (
        re.search(rf"\b{re.escape(target.text)}\.data\b", text)
        if target.kind == "identifier"
        else "data" in target.text
    )
    if re.search(r"(?i)worker|MessageChannel|\bport\d?\b|process\.on", node.text[:60]):
        return
    checked = _line_of(handler, _ORIGIN_TEST)
    if checked:
        unit.report("message-origin-unchecked", node, what="the message handler", safe="the handler looks at where the message comes from", safe_line=checked)  # fmt: skip
    elif reads and unit.browser and not re.search(r"importScripts|WorkerGlobalScope", unit.source.text):
        unit.report("message-origin-unchecked", node, what="the message handler")


def _message_handler(node: Node) -> Node | None:
    if node.kind == "assignment_expression":
        left, right = node.need("left").text, bare(node.need("right"))
        return (
            right
            if left in {"window.onmessage", "onmessage", "self.onmessage"} and right.kind in FUNCTIONS
            else None
        )
    function, listed = node.field("function"), node.field("arguments")
    if function is None or listed is None or len(listed.named) < 2:
        return None
    if not re.match(r"((window|self|globalThis|top|parent)\.)?addEventListener$", function.text):
        return None
    handler = bare(listed.named[1])
    if handler.kind == "identifier":
        handler = _declared(node, handler.text) or handler
    return handler if string_of(listed.named[0]) == "message" and handler.kind in FUNCTIONS else None


def _declared(node: Node, name: str) -> Node | None:
    """The one function of that name in the file, or None."""
    found = (
        node.raw.get_root()
        .root()
        .find_all(
            {
                "rule": {
                    "kind": "function_declaration",
                    "has": {"field": "name", "regex": f"^{re.escape(name)}$"},
                }
            }
        )
    )
    return Node(found[0]) if len(found) == 1 else None


_STEPS = re.compile(r"\b(\w+)\s*=\s*\1\[(\w+(?:\[\w+\])?)\]")


@check("merge-reaches-prototype", "for_statement", "for_in_statement", "while_statement")
def walks(unit: "Unit", node: Node) -> None:
    """`obj = obj[key]` along a path that a caller gave, in a function that then writes `obj[key] = value`."""
    step = _STEPS.search(node.text)
    if step is None or unit.source.is_test:
        return
    function = next((a for a in node.raw.ancestors() if a.kind() in FUNCTIONS), None)
    if function is None:
        return
    around = Node(function)
    if not re.search(rf"\b{step.group(1)}\[[\w.\[\] +-]+\]\s*=(?!=)", around.text):
        return
    if not re.search(r"\.split\(|\bkeys?\b|\bpath\b", around.text):
        return
    name = around.field("name")
    what = name.text if name is not None else "the function"
    refused = _line_of(around, _REFUSES) or _line_of(around, re.compile(r"hasOwn"))
    place = next((p for p in node.walk() if p.kind == "assignment_expression" and _STEPS.match(p.text)), node)
    if refused:
        unit.report("merge-reaches-prototype", place, what=what, safe="keys that lead to the prototype are refused", safe_line=refused)  # fmt: skip
    else:
        strength = -1 if unit.source.library else 0
        unit.report("merge-reaches-prototype", place, what=what, strength=strength)


@check("replaced-once-only", "call_expression")
def replaced_once(unit: "Unit", node: Node) -> None:
    """`x.replace("<", "&lt;")` and `x.replace(/'/, "\\'")` leave every further one as it is."""
    function, listed = node.field("function"), node.field("arguments")
    if (
        function is None
        or listed is None
        or property_part(bare(function)) != "replace"
        or len(listed.named) != 2
    ):
        return
    pattern, new = bare(listed.named[0]), string_of(listed.named[1])
    if new is None or unit.source.is_test:
        return
    text = string_of(pattern)
    if pattern.kind == "regex":
        flags, part = pattern.field("flags"), pattern.field("pattern")
        if part is None or (flags is not None and "g" in flags.text):
            return
        text = part.text.replace("\\", "", 1) if len(part.text) <= 2 else None
    escapes = {
        "<": "&lt;",
        ">": "&gt;",
        '"': ("&quot;", '\\"'),
        "'": ("&#39;", "\\'", "''", "&apos;"),
        "&": "&amp;",
        "\\": "\\\\",
    }
    wanted = escapes.get(text or "")
    if wanted is not None and new in (wanted if isinstance(wanted, tuple) else (wanted,)):
        unit.report("replaced-once-only", node, what=node.text.split("\n")[0][-60:])


_SECRETS = re.compile(r"(?i)(^|[._])\w*(secret|signature|hmac|digest|token|api_?key|passw(or)?d)(hash)?$")


@check("secret-compared-in-variable-time", "binary_expression")
def timing(unit: "Unit", node: Node) -> None:
    """`req.headers["x-signature"] === expectedSignature`."""
    if node.need("operator").text not in {"===", "==", "!==", "!="} or unit.source.is_test:
        return
    left, right = bare(node.need("left")), bare(node.need("right"))
    sides = [side.text.rstrip("'\"])") for side in (left, right)]
    plain = all(
        side.kind in {"identifier", "member_expression", "subscript_expression", "call_expression"}
        for side in (left, right)
    )
    asked = [re.match(r"(req|request|ctx)\.", side) is not None for side in sides]
    if all(asked) or any(re.search(r"(?i)confirm|repeat|again|cpass|retype", side) for side in sides):
        return  # a form's two fields, both the visitor's own
    if not plain or any(side in {"undefined", "null"} or side.endswith(".length") for side in sides):
        return
    foreign = any(
        re.search(
            r"\b(req|request|ctx|headers|query|body|provided|received|given|supplied)\b", side, re.IGNORECASE
        )
        for side in sides
    )
    computed = any(re.search(r"\.digest\(|(?i:signature|hmac)", side) for side in sides)
    if all(_SECRETS.search(side) or ".digest(" in side for side in sides) and (foreign or computed):
        unit.report(
            "secret-compared-in-variable-time", node, what=node.text[:60], facts=(("shown", sides[0][:60]),)
        )


@check("secret-compared-in-variable-time", "call_expression")
def constant_time(unit: "Unit", node: Node) -> None:
    """`timingSafeEqual` is the mitigated form."""
    function = node.field("function")
    if function is not None and function.text.endswith("timingSafeEqual") and not unit.source.is_test:
        shown = node.text.split("\n")[0][:60]
        unit.report("secret-compared-in-variable-time", node, what=shown, safe="it is compared in constant time", facts=(("shown", shown),))  # fmt: skip
