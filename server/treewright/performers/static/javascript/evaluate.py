"""Expressions: the abstract value of each, with the calls in them handed to `call`."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewright.performers.static.env import Env, replace_flows
from treewright.performers.static.facts import ALL, Flow, FunctionFacts, Label, Mark
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
    unescape,
)
from treewright.performers.static.python.value import UNKNOWN, Value, constant, join, merge_flows, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

FIXED = "#fixed"
"""The name of a value that is a number, a truth value, or one of several constants: it carries no foreign text."""
_GLOBALS = frozenset({"window", "globalThis", "self", "global", "top", "parent"})
_NUMERIC = frozenset({"-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>", ">>>"})
_CONSTANT_NAME = re.compile(r"(^|\.)[A-Z][A-Z0-9_]+$")


class Evaluate:
    """Evaluates expressions of one function in the current `env`."""

    unit: "Unit"
    facts: FunctionFacts
    env: Env
    scope: dict[str, Value]
    class_name: str

    def eval(self, node: Node | None) -> Value:
        """The abstract value of an expression."""
        if node is None:
            return UNKNOWN
        handler = _HANDLERS.get(node.kind)
        return handler(self, node) if handler is not None else self.parts(node)

    def call(self, node: Node) -> Value:
        """Implemented by `call.Calls`."""
        raise NotImplementedError

    def assume(self, test: Node, truth: bool) -> None:
        """Implemented by `guards.Guards`."""
        raise NotImplementedError

    def assign(self, target: Node, value: Value, node: Node, source: Node | None) -> None:
        """Implemented by `flow.FunctionRun`."""
        raise NotImplementedError

    def tagged(self, node: Node) -> Value:
        """Implemented by `call.Calls`."""
        raise NotImplementedError

    def jsx(self, node: Node) -> Value:
        """Implemented by `call.Calls`."""
        raise NotImplementedError

    def effective(self, flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
        """Add to each flow the marks that hold for its label here."""
        marks = self.env.marks
        if not marks or not flows:
            return flows
        return tuple(
            flow._replace(marks=(*flow.marks, *marks[flow.label])) if flow.label in marks else flow
            for flow in flows
        )

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
        if name in _GLOBALS:
            return named("window")
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

    def _template(self, node: Node) -> Value:
        flows: tuple[Flow, ...] = ()
        prefix, open_prefix, composed, based = "", True, False, False
        for part in node.named:
            if part.kind != "template_substitution":
                if open_prefix:
                    prefix += unescape(part.text)
                continue
            value = self.eval(part.named[0]) if part.named else UNKNOWN
            if value.is_const and open_prefix:
                prefix += _shown(value.const)
            elif open_prefix:
                based = not prefix and not value.flows and value.prefix is None and bool(value.name)
                prefix += value.prefix or ""
                open_prefix = False
            composed = composed or not self.fixed(value)
            flows = merge_flows(flows, value.flows)
        if open_prefix:
            return constant(prefix)
        result = Value(flows, name="" if composed else FIXED, prefix=prefix, composed=composed)
        if flows and based:
            return self.unit.based(result, node)
        return self.unit.prefixed(result, node)

    def fixed(self, value: Value) -> bool:
        """Tell whether a value's text is decided by the program: constants, numbers, names of constants."""
        if value.is_const or value.name == FIXED:
            return True
        return not value.flows and bool(_CONSTANT_NAME.search(value.name))

    def _binary(self, node: Node) -> Value:
        operator = node.need("operator").text
        if operator in {"&&", "||", "??"}:
            return self._logical(node, operator)
        left, right = self.eval(node.field("left")), self.eval(node.field("right"))
        if operator == "+":
            return self.plus(left, right, node)
        if operator in _NUMERIC:
            mark = Mark(frozenset({ALL}), node.line, "arithmetic makes a number of it")
            flows = merge_flows(left.flows, right.flows)
            return Value(tuple(f._replace(marks=(*f.marks, mark)) for f in flows), name=FIXED)
        return named(FIXED)

    def plus(self, left: Value, right: Value, node: Node) -> Value:
        """Concatenation, or a sum."""
        if left.is_const and right.is_const:
            if isinstance(left.const, str) or isinstance(right.const, str):
                return constant(_shown(left.const) + _shown(right.const))
            return named(FIXED)
        flows = merge_flows(left.flows, right.flows)
        prefix = _shown(left.const) if left.is_const else left.prefix
        if left.is_const and right.prefix is not None:
            prefix = (prefix or "") + right.prefix
        fixed = self.fixed(left) and self.fixed(right) and not left.composed and not right.composed
        textual = any(v.prefix is not None or v.composed or isinstance(v.const, str) for v in (left, right))
        value = Value(flows, name=FIXED if fixed else "", prefix=prefix, composed=textual and not fixed)
        if flows and not left.flows and not left.is_const and left.prefix is None and left.name:
            return self.unit.based(value, node)
        return self.unit.prefixed(value, node)

    def _logical(self, node: Node, operator: str) -> Value:
        left_node, right_node = node.need("left"), node.need("right")
        left = self.eval(left_node)
        saved = dict(self.env.marks)
        self.assume(left_node, operator == "&&")
        right = self.eval(right_node)
        right = replace_flows(right, self.effective(right.flows))
        self.env.marks = saved
        if operator == "&&":
            return right if right.flows or right.name else join(left, right)
        return self.either(replace_flows(left, self.effective(left.flows)), right)

    def either(self, first: Value, second: Value) -> Value:
        """One of two values; two constants stay fixed text."""
        joined = join(first, second)
        if not joined.flows and self.fixed(first) and self.fixed(second) and not joined.is_const:
            return named(FIXED)
        if not joined.entries:
            return joined
        return joined

    def _ternary(self, node: Node) -> Value:
        test = node.need("condition")
        self.eval(test)
        saved = dict(self.env.marks)
        sides = []
        for truth, part in ((True, "consequence"), (False, "alternative")):
            self.assume(test, truth)
            value = self.eval(node.field(part))
            sides.append(replace_flows(value, self.effective(value.flows)))
            self.env.marks = dict(saved)
        return self.either(*sides)

    def _unary(self, node: Node) -> Value:
        operator, value = node.need("operator").text, self.eval(node.field("argument"))
        if operator == "-" and isinstance(value.const, (int, float)):
            return constant(-value.const)
        if operator == "+" and value.flows:
            mark = Mark(frozenset({ALL}), node.line, "unary plus makes a number of it")
            return Value(tuple(f._replace(marks=(*f.marks, mark)) for f in value.flows), name=FIXED)
        return constant(not value.const) if operator == "!" and value.is_const else named(FIXED)

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


def _shown(value: Any) -> str:
    if value is True or value is False:
        return str(value).lower()
    return "null" if value is None else str(value)


_HANDLERS: dict[str, Callable[[Any, Node], Value]] = {
    "identifier": Evaluate._identifier,
    "shorthand_property_identifier": Evaluate._identifier,
    "this": Evaluate._this,
    "member_expression": Evaluate._member,
    "subscript_expression": Evaluate._subscript,
    "call_expression": lambda self, node: self.call(node),
    "new_expression": lambda self, node: self.call(node),
    "string": Evaluate._string,
    "template_string": Evaluate._template,
    "number": Evaluate._number,
    "true": Evaluate._known,
    "false": Evaluate._known,
    "null": Evaluate._known,
    "undefined": lambda _run, _node: constant(None),
    "regex": Evaluate._regex,
    "array": Evaluate._array,
    "object": Evaluate._object,
    "binary_expression": Evaluate._binary,
    "unary_expression": Evaluate._unary,
    "update_expression": lambda _run, _node: named(FIXED),
    "assignment_expression": Evaluate._assignment,
    "augmented_assignment_expression": Evaluate._augmented,
    "ternary_expression": Evaluate._ternary,
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
