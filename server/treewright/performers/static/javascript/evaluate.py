"""Expressions: the abstract value of each, with the calls in them handed to `call`."""

from collections.abc import Callable
from typing import Any

from treewright.performers.static.facts import ALL, Flow, Label, Mark
from treewright.performers.static.facts import Source as Origin
from treewright.performers.static.javascript.node import (
    CLASSES,
    FUNCTIONS,
    Node,
    bare,
    member_path,
    property_name,
    property_part,
    string_of,
)
from treewright.performers.static.javascript.operators import FIXED, GLOBALS, Operators
from treewright.performers.static.python.value import UNKNOWN, Value, constant, merge_flows, named

_HANDED_IN = frozenset({"req", "request"})
"""Names that nothing in the file binds: a piece of a handler, whose request it is."""


class Evaluate(Operators):
    """Evaluates expressions of one function in the current `env`."""

    def eval(self, node: Node | None) -> Value:
        """The abstract value of an expression."""
        if node is None:
            return UNKNOWN
        handler = _HANDLERS.get(node.kind)
        return handler(self, node) if handler is not None else self.parts(node)

    def origin(self, name: str, node: Node) -> Value | None:
        """A source named in the table, as a value; None when the name is no source."""
        for entry in self.unit.tables.sources.find(name):
            if entry.get("browser") and not self.unit.browser:
                continue
            key = f"{entry['id']}:{name}"
            self.note(key, node, entry)
            clean = entry.get("clean")
            marks = (
                (Mark(frozenset(clean), node.line, entry.get("why", "it is always a text")),) if clean else ()
            )
            return Value((Flow(Label("source", key), (), marks),), name=name)
        return None

    def note(self, key: str, node: Node, entry: dict[str, Any]) -> None:
        """Record where foreign data enters."""
        if not any(known.key == key for known in self.facts.sources):
            what = entry["what"].format(text=node.text[:80].split("\n")[0].replace("{", "{{"))
            strength = entry.get("library_strength") if self.unit.source.library else None
            self.facts.sources.append(Origin(key, node.line, strength or entry["strength"], what))

    def parts(self, node: Node) -> Value:
        """An expression of a kind that says nothing: its parts are looked at, their flows kept."""
        if node.kind in FUNCTIONS or node.kind.endswith(("_type", "type_annotation")):
            return UNKNOWN
        values = [self.eval(child) for child in node.named]
        return Value(merge_flows(*(value.flows for value in values))) if values else UNKNOWN

    def _identifier(self, node: Node) -> Value:
        name = node.text
        found = self.env.vars.get(name)
        if found is None:
            found = self.scope.get(name)
        if found is not None:
            return found
        if name in GLOBALS:
            return named("window")
        if name in _HANDED_IN and name not in self.unit.local_names and not self.unit.browser:
            return named("~req")
        return self.origin(name, node) or named(self.unit.local_names.get(name, name))

    def _this(self, node: Node) -> Value:
        del node
        found = self.env.vars.get("this")
        return found if found is not None else named(f"{self.class_name}()" if self.class_name else "~this")

    def _member(self, node: Node) -> Value:
        path = member_path(node)
        if path is not None:
            stored = self.env.vars.get(path)
            if stored is not None:
                return stored
            if path.startswith("process.env."):
                return self.origin("process.env", node) or UNKNOWN
        base = self.eval(node.field("object"))
        return self.member(base, property_part(node), node)

    def member(self, base: Value, part: str, node: Node) -> Value:
        """`base.part`, also by destructuring or a constant index."""
        if base.entries is not None and part in base.entries:
            return base.entries[part]
        if part == "length":
            flows = tuple(flow for flow in base.flows if flow.label.kind == "source")
            mark = Mark(frozenset({ALL}), node.line, "its length is a number")
            return Value(tuple(f._replace(marks=(*f.marks, mark)) for f in flows), name=FIXED)
        root = base.name
        if root == "exception()":
            return Value(base.flows) if part == "stack" else UNKNOWN
        name = part if root == "window" else f"{root or '?'}.{part}"
        source = self.origin(name, node)
        if source is not None:
            return source
        if self.class_name and root == f"{self.class_name}()":
            return self._field(part, name)
        stored = self.unit.class_constants.get(name)
        if stored is not None:
            return stored
        return self.refine(base, part, name, node)

    def _field(self, part: str, name: str) -> Value:
        flow = Flow(Label("field", f"{self.class_name}.{part}"))
        stored = self.unit.class_constants.get(f"{self.class_name}.{part}")
        if stored is not None:
            return Value(
                (flow,), stored.const, stored.name or name, stored.prefix, False, None, stored.entries
            )
        return named(name, (flow,))

    def refine(self, base: Value, part: str, name: str, node: Node) -> Value:
        """Reading one property of a source (`req.query.q`) is a source of its own."""
        if not (len(base.flows) == 1 and not base.flows[0].steps and base.flows[0].label.kind == "source"):
            return named(name, base.flows)
        label = base.flows[0].label
        if "[" in label.key:
            return named(name, base.flows)
        whole = next((known for known in self.facts.sources if known.key == label.key), None)
        key = f"{label.key}[{part}]"
        if whole is not None and not any(known.key == key for known in self.facts.sources):
            text = node.text.split("\n")[0][:80]
            what = f"{whole.what.partition(' `')[0]} `{text}`" if " `" in whole.what else whole.what
            self.facts.sources.append(Origin(key, node.line, whole.strength, what))
        return named(name, (Flow(Label("source", key), (), base.flows[0].marks),))

    def _subscript(self, node: Node) -> Value:
        base, index = self.eval(node.field("object")), self.eval(node.field("index"))
        if index.is_const:
            if base.items is not None and isinstance(index.const, int) and 0 <= index.const < len(base.items):
                return base.items[index.const]
            if isinstance(index.const, str):
                return self.member(base, index.const, node)
        if isinstance(index.const, int) and base.name == "process.argv":
            return self.refine(base, str(index.const), "process.argv[]", node)
        if base.entries and not base.flows and index.flows:
            mark = Mark(frozenset({ALL}), node.line, "the value is looked up in a fixed table")
            return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in index.flows), name=FIXED)
        return named(f"{base.name}[]" if base.name else "", base.flows)

    def _string(self, node: Node) -> Value:
        return constant(string_of(node))

    def _array(self, node: Node) -> Value:
        items = tuple(self.eval(part) for part in node.named)
        flows = merge_flows(*(item.flows for item in items)) if items else ()
        spread = any(part.kind == "spread_element" for part in node.named)
        return Value(flows, items=None if spread else items, composed=any(i.composed for i in items))

    def _object(self, node: Node) -> Value:
        entries: dict[Any, Value] = {}
        flows: tuple[Flow, ...] = ()
        for part in node.named:
            value = UNKNOWN
            if part.kind == "pair":
                key = part.need("key")
                if key.kind == "computed_property_name" and key.named:
                    self.eval(key.named[0])
                value = self.named_function(part.field("value"), property_name(key) or "")
                self._enter(entries, property_name(key), value)
            elif part.kind == "shorthand_property_identifier":
                value = self._identifier(part)
                self._enter(entries, part.text, value)
            elif part.kind == "spread_element":
                value = self.eval(part.named[0]) if part.named else UNKNOWN
                entries |= value.entries or {}
            elif part.kind == "method_definition":
                name = property_name(part.need("name")) or ""
                self._enter(entries, name, self.named_function(part, name))
            flows = merge_flows(flows, value.flows)
        return Value(flows, entries=entries)

    def _enter(self, entries: dict[Any, Value], key: str | None, value: Value) -> None:
        if key is not None:
            entries[key] = value

    def named_function(self, node: Node | None, name: str) -> Value:
        """A value that is given a name where it stands; a function becomes a definition of that name."""
        if node is not None and bare(node).kind in FUNCTIONS:
            return named(self.unit.define(self, bare(node), name, self.env))
        if node is not None and bare(node).kind in CLASSES:
            return named(self.unit.define_class(self, bare(node), name, self.env))
        return self.eval(node)

    def _function(self, node: Node) -> Value:
        return named(self.unit.define(self, node, "", self.env))

    def _class(self, node: Node) -> Value:
        return named(self.unit.define_class(self, node, "", self.env))

    def _regex(self, node: Node) -> Value:
        pattern = node.field("pattern")
        return Value(name=f"#regex:{pattern.text if pattern else ''}"[:160])

    def _inner(self, node: Node) -> Value:
        return self.eval(node.named[0]) if node.named else UNKNOWN

    def _last(self, node: Node) -> Value:
        value = UNKNOWN
        for part in node.named:
            value = self.eval(part)
        return value

    def _yield(self, node: Node) -> Value:
        value = self._inner(node)
        self.facts.returns.extend(self.effective(value.flows)[:4])
        return UNKNOWN

    def _assignment(self, node: Node) -> Value:
        target, right = node.need("left"), node.need("right")
        value = self.named_function(right, property_part(target) or target.text)
        self.assign(target, value, node, right)
        return value

    def _augmented(self, node: Node) -> Value:
        target = node.need("left")
        old, value = self.eval(target), self.eval(node.field("right"))
        operator = node.need("operator").text
        if operator == "+=":
            joined = self.plus(old, value, node)
        elif operator in {"||=", "??=", "&&="}:
            joined = self.either(old, value)
        else:
            joined = named(FIXED)
        self.assign(target, joined, node, None)
        return joined

    def _known(self, node: Node) -> Value:
        return constant({"true": True, "false": False, "null": None}[node.kind])

    def _number(self, node: Node) -> Value:
        text = node.text.replace("_", "").rstrip("n")
        try:
            return constant(int(text, 0))
        except ValueError:
            pass
        try:
            return constant(float(text))
        except ValueError:
            return named(FIXED)


_HANDLERS: dict[str, Callable[[Any, Node], Value]] = {
    "identifier": Evaluate._identifier,
    "shorthand_property_identifier": Evaluate._identifier,
    "this": Evaluate._this,
    "member_expression": Evaluate._member,
    "subscript_expression": Evaluate._subscript,
    "call_expression": lambda self, node: self.call(node),
    "new_expression": lambda self, node: self.call(node),
    "string": Evaluate._string,
    "template_string": Operators._template,
    "number": Evaluate._number,
    "true": Evaluate._known,
    "false": Evaluate._known,
    "null": Evaluate._known,
    "undefined": lambda _run, _node: constant(None),
    "regex": Evaluate._regex,
    "array": Evaluate._array,
    "object": Evaluate._object,
    "binary_expression": Operators._binary,
    "unary_expression": Operators._unary,
    "update_expression": lambda _run, _node: named(FIXED),
    "assignment_expression": Evaluate._assignment,
    "augmented_assignment_expression": Evaluate._augmented,
    "ternary_expression": Operators._ternary,
    "await_expression": Evaluate._inner,
    "spread_element": Evaluate._inner,
    "parenthesized_expression": Evaluate._last,
    "sequence_expression": Evaluate._last,
    "as_expression": Evaluate._inner,
    "satisfies_expression": Evaluate._inner,
    "non_null_expression": Evaluate._inner,
    "type_assertion": Evaluate._last,
    "yield_expression": Evaluate._yield,
    "jsx_element": lambda self, node: self.jsx(node),
    "jsx_self_closing_element": lambda self, node: self.jsx(node),
    "jsx_expression": Evaluate._last,
    **dict.fromkeys(FUNCTIONS, Evaluate._function),
    **dict.fromkeys(CLASSES, Evaluate._class),
}
