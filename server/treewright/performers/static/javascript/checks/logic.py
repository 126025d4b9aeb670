"""Promises taken for values, and keys given twice."""

from typing import TYPE_CHECKING

from treewright.performers.static.javascript.checks.registry import check
from treewright.performers.static.javascript.node import FUNCTIONS, Node, bare, property_name

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit


@check("promise-taken-for-value", "program")
def promises(unit: "Unit", node: Node) -> None:
    """`if (isAllowed(user))` where `isAllowed` is an async function of this file, declared once."""
    declared: dict[str, int] = {}
    asynchronous: set[str] = set()
    conditions: list[Node] = []
    for part in node.walk():
        name = _declared(part)
        if name is not None:
            declared[name[0]] = declared.get(name[0], 0) + 1
            if name[1]:
                asynchronous.add(name[0])
        if part.kind in {"if_statement", "while_statement", "ternary_expression"}:
            conditions.append(part.need("condition"))
    for condition in conditions:
        test = bare(condition)
        while test.kind == "unary_expression" and test.need("operator").text == "!":
            test = bare(test.need("argument"))
        function = test.field("function") if test.kind == "call_expression" else None
        if function is not None and function.text in asynchronous and declared.get(function.text) == 1:
            unit.report("promise-taken-for-value", test, what=f"{function.text}()")
        if test.kind == "await_expression" and test.named and test.named[0].kind == "call_expression":
            inner = test.named[0].field("function")
            if inner is not None and inner.text in asynchronous:
                unit.report(
                    "promise-taken-for-value", test, what=f"{inner.text}()", safe="its promise is awaited"
                )


def _declared(node: Node) -> tuple[str, bool] | None:
    if node.kind == "function_declaration":
        return node.need("name").text, node.has("async")
    value = node.field("value") if node.kind == "variable_declarator" else None
    if value is not None and bare(value).kind in FUNCTIONS:
        return node.need("name").text, bare(value).has("async")
    if node.kind == "variable_declarator":
        return node.need("name").text, False
    return None


@check("key-given-twice", "object")
def keys_twice(unit: "Unit", node: Node) -> None:
    """The first of two equal keys is lost."""
    seen: dict[str, Node] = {}
    for part in node.named:
        key = property_name(part.need("key")) if part.kind == "pair" else None
        if part.kind == "spread_element":
            seen = {}
        if key is None:
            continue
        if key in seen and seen[key].text != part.text and part.need("key").kind != "computed_property_name":
            unit.report("key-given-twice", part, what=key, facts=(("shown", key),))
        seen[key] = part
