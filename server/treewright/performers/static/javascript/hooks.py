"""Rules that need the interpreter's values but are more than a table row: one small function each."""

import re
from typing import TYPE_CHECKING, Any, cast

from treewright.performers.static.facts import Flow, Label
from treewright.performers.static.facts import Source as Origin
from treewright.performers.static.javascript.node import FUNCTIONS, Node, bare, member_path, property_part
from treewright.performers.static.python.patterns import Arguments, holds
from treewright.performers.static.python.settled import ANYWHERE, WITH_SOURCES
from treewright.performers.static.python.value import UNKNOWN, Value, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_FILLERS = {
    "Body": "the request's body", "Query": "the request's query", "Param": "the request's path", "Headers": "the request's headers",
    "Cookies": "the request's cookies", "UploadedFile": "an uploaded file", "MessageBody": "a message", "Args": "the query's arguments",
    "QueryParam": "the request's query", "QueryParams": "the request's query", "BodyParam": "the request's body",
}  # fmt: skip


def filled(unit: "Unit", run: Any, filler: tuple[str, Node], name: str) -> Value | None:
    """The value of a parameter that a decorator fills in."""
    decorator, node = filler
    if decorator in {"Req", "Request"}:
        return named("~req")
    if decorator in {"Res", "Response"}:
        return named("~res")
    what = _FILLERS.get(decorator)
    if what is None:
        return None
    del unit
    return foreign(run, f"decorated:{name}", node, 3, f"{what} (`{name}`)")


def foreign(run: Any, key: str, node: Node, strength: int, what: str, name: str = "") -> Value:
    """A value that comes from outside, recorded as a source."""
    key = f"{key}@{node.line}:{node.column}"
    if not any(known.key == key for known in run.facts.sources):
        run.facts.sources.append(Origin(key, node.line, strength, what))
    return Value((Flow(Label("source", key)),), name=name)


def callback_sources(
    unit: "Unit", run: Any, name: str, arguments: Arguments, function: Node
) -> list[Value]:  # fmt: skip
    """What a callback's parameters carry when the call hands foreign data to it, by the table."""
    for entry in unit.tables.callbacks.find(name):
        if not holds(entry.get("where", ()), arguments, lambda node: node.text):
            continue
        if not unit.context(entry, run):
            continue
        bound = [UNKNOWN] * entry.get("param", 0)
        if "name" in entry:
            return [*bound, named(entry["name"])]
        strength = entry.get("library_strength") if unit.source.library else None
        what = entry["what"].format(text=name.lstrip("~?")[:60])
        return [
            *bound,
            foreign(run, entry["id"], function, strength or entry["strength"], what, entry.get("as", "")),
        ]
    return []


def on_assign(unit: "Unit", run: Any, target: Node, value: Value, node: Node, source: Node | None) -> None:
    """What is assigned to: page parts, addresses, the response's body, the module's exports."""
    if target.kind not in {"member_expression", "identifier"}:
        return
    path = member_path(target)
    if path in {"module.exports", "exports"}:
        unit.export("default", value, node.line)
    elif path and re.fullmatch(r"(module\.)?exports\.\w+", path):
        unit.export(property_part(target), value, node.line)
    name = _target(run, target)
    for entry in unit.tables.assigns.find(name):
        rule = entry["rule"]
        unit.facts.examined[rule] = unit.facts.examined.get(rule, 0) + 1
        if not holds(entry.get("where", ()), _as_arguments(node, source, value), lambda n: n.text):
            continue
        if entry.get("browser") and not unit.browser:
            continue
        if unit.rules[rule].kind:
            if value.flows and not (entry.get("plain_page") and run.env.vars.get("~res!plain")):
                run.sink(rule, node, name.lstrip("~?"), run.effective(value.flows))
        else:
            strength = -1 if unit.source.library else 0  # in a package the option is its caller's
            unit.report(rule, node, what=target.text, strength=strength, facts=(("shown", target.text),))


def _target(run: Any, target: Node) -> str:
    if target.kind == "identifier":
        return "location" if target.text == "location" and "location" not in run.env.vars else ""
    base = run.quiet(target.need("object"))
    part = property_part(target)
    return part if base.name == "window" else f"{base.name or '?'}.{part}"


def _as_arguments(node: Node, source: Node | None, value: Value) -> Arguments:
    found = Arguments(cast("Any", node))
    found.positional.append((cast("Any", source or node), value))
    return found


def on_item(unit: "Unit", run: Any, target: Node, base: Value, index: Value, value: Value) -> None:
    """`obj[a][b] = c` with `a` from outside reaches the prototype when `a` is `__proto__`."""
    inner = bare(target.need("object"))
    del base, value
    if inner.kind == "subscript_expression" and not unit.quiet:
        outer = run.quiet(inner.need("index"))
        if outer.flows:
            run.sink(
                "prototype-reached-by-key",
                target,
                target.text.split("\n")[0][:40],
                run.effective(outer.flows),
            )
    del index


def archive_member(unit: "Unit", node: Node, what: str, flows: tuple[Flow, ...]) -> None:
    """A file is written where a member's name says; a check of the resolved path is its mitigation."""
    marks = [
        mark for flow in flows for mark in flow.marks if "path" in mark.kinds or "path:dotdot" in mark.kinds
    ]
    if marks:
        unit.report(
            "archive-extracted-unchecked", node, what=what, safe=marks[0].why, safe_line=marks[0].line
        )
    else:
        unit.report("archive-extracted-unchecked", node, what=what)


def raw_markup(unit: "Unit", run: Any, node: Node, value: Value) -> None:
    """Markup that a component inserts as it is."""
    rule = "page-built-from-input"
    unit.facts.examined[rule] = unit.facts.examined.get(rule, 0) + 1
    if value.flows:
        run.sink(rule, node, "dangerouslySetInnerHTML", run.effective(value.flows))


def nothing_comes_in(run: Any, entry: dict[str, Any], arguments: Arguments, node: Node, what: str) -> bool:
    """Report a sink that only constants of the program reach as refuted, where that is worth a word; tell whether it is so."""
    specs = entry.get("args", ["0"])
    if specs == ["*"]:
        found = list(arguments.all())
    else:
        found = [pair for spec in specs if (pair := arguments.get(spec)) is not None]
    if not found or arguments.open or not all(_fixed(run, value) for _, value in found):
        return False
    kind = run.unit.rules[entry["rule"]].kind
    entered = bool(run.facts.sources) or run.facts.entry_strength > 1
    if not run.unit.source.library and (kind in ANYWHERE or (kind in WITH_SOURCES and entered)):
        why = entry.get("safe") or "what reaches it is fixed in the program; nothing from outside does"
        run.unit.report(
            entry["rule"], node, what=what, safe=why, facts=(("source", "A constant of the program"),)
        )
    return True


def not_known(run: Any, entry: dict[str, Any], arguments: Arguments) -> bool:
    """Whether an argument is given that is neither fixed nor an object or a function."""
    found = next((pair for spec in entry["args"] if (pair := arguments.get(spec)) is not None), None)
    if found is None or arguments.open:
        return False
    node, value = found
    plain = value.entries is None and value.items is None and bare(cast("Any", node)).kind not in FUNCTIONS
    return plain and not _fixed(run, value)


def _fixed(run: Any, value: Value) -> bool:
    """Whether the program alone decides a value, or all the parts of it."""
    if value.items:
        return all(_fixed(run, item) for item in value.items)
    if value.entries:
        return not value.flows and all(_fixed(run, part) for part in value.entries.values())
    fixed: bool = run.fixed(value)
    return fixed and not value.flows
