"""Assignments: names, members, items and patterns that values are stored under."""

from treewright.performers.static.env import element
from treewright.performers.static.facts import Step
from treewright.performers.static.javascript.guards import Guards
from treewright.performers.static.javascript.node import Node, bare, member_path, property_name, property_part
from treewright.performers.static.python.value import Value, add_step, merge_flows


class Binding(Guards):
    """The assigning part of a function's interpreter."""

    def bind(self, target: Node, value: Value, line: int) -> None:
        """Assign a value to a name or pattern; a parameter is bound with line 0, which is no step of its way."""
        target = bare(target)
        kind = target.kind
        if kind in {"identifier", "shorthand_property_identifier_pattern"}:
            self.env.vars[target.text] = _stored(value, target.text, line)
            self._forget(target.text)
        elif kind == "object_pattern":
            self._unpack_object(target, value, line)
        elif kind == "array_pattern":
            exact = value.items is not None and len(value.items) >= len(target.named)
            for index, part in enumerate(target.named):
                self.bind(part, value.items[index] if exact and value.items else element(value), line)
        elif kind in {"assignment_pattern", "object_assignment_pattern"}:
            self.eval(target.field("right"))
            self.bind(target.need("left"), value, line)
        elif kind == "rest_pattern" and target.named:
            self.bind(target.named[0], Value(value.flows, name=value.name), line)
        elif kind == "member_expression":
            self._bind_member(target, value, line)
        elif kind == "subscript_expression":
            self._bind_item(target, value, line)

    def _unpack_object(self, target: Node, value: Value, line: int) -> None:
        for part in target.named:
            if part.kind == "pair_pattern":
                key = property_name(part.need("key"))
                inner = self.member(value, key, part) if key is not None else Value(value.flows)
                self.bind(part.need("value"), inner, line)
            elif part.kind == "rest_pattern":
                self.bind(part, value, line)
            else:
                name = part.need("left").text if part.kind == "object_assignment_pattern" else part.text
                inner = self.member(value, name, part)
                if part.kind == "object_assignment_pattern":
                    inner = self.either(inner, self.eval(part.field("right"))) if inner.flows else inner
                self.env.vars[name] = _stored(inner, name, line)
                self._forget(name)

    def _forget(self, name: str) -> None:
        """A rebound name has no known members any more."""
        if name in self.unit.source.in_parts:
            dotted = name + "."
            for key in [key for key in self.env.vars if key.startswith(dotted)]:
                del self.env.vars[key]
        self.unit.bound_tests.pop((self.facts.name, name), None)

    def assign(self, target: Node, value: Value, node: Node, source: Node | None) -> None:
        """`target = value`, with the rules about what is assigned to."""
        target = bare(target)
        self.unit.on_assign(self, target, value, node, source)
        self.bind(target, value, node.line)
        self.remember_test(target, source)

    def remember_test(self, target: Node, source: Node | None) -> None:
        """Keep what a name stands for as a condition."""
        path = member_path(target) if target.kind in {"identifier", "member_expression"} else None
        if path and source is not None and bare(source).kind in {
            "binary_expression", "unary_expression", "call_expression", "await_expression",
        }:  # fmt: skip
            self.unit.bound_tests[(self.facts.name, path)] = bare(source)

    def _bind_member(self, target: Node, value: Value, line: int) -> None:
        path = member_path(target)
        if path is None:
            self.eval(target.field("object"))
            return
        stored = add_step(value, Step(line, f"it is stored in `{path}`"))
        self.env.vars[path] = stored
        if self.class_name and path.startswith("this.") and path.count(".") == 1:
            field = f"{self.class_name}.{property_part(target)}"
            if value.name and value.name.endswith("()"):
                self.unit.class_constants.setdefault(field, Value(name=value.name))
            for flow in self.effective(stored.flows):
                self.unit.facts.field_writes.setdefault(field, []).append((self.facts.name, flow))
        base = path.rpartition(".")[0]
        known = self.env.vars.get(base)
        if known is not None and (stored.flows or known.entries is not None):
            entries = {**known.entries, property_part(target): stored} if known.entries is not None else None
            flows = merge_flows(known.flows, stored.flows)
            self.env.vars[base] = Value(flows, name=known.name, entries=entries)

    def _bind_item(self, target: Node, value: Value, line: int) -> None:
        base, index = self.eval(target.field("object")), self.eval(target.field("index"))
        self.unit.on_item(self, target, base, index, value)
        path = member_path(target.need("object"))
        if path is None or path not in self.env.vars:
            return
        stored = add_step(value, Step(line, f"it is stored in `{path}[...]`"))
        entries = None
        if base.entries is not None and isinstance(index.const, str):
            entries = {**base.entries, index.const: stored}
        self.env.vars[path] = Value(merge_flows(base.flows, stored.flows), name=base.name, entries=entries)


def _stored(value: Value, name: str, line: int) -> Value:
    return add_step(value, Step(line, f"it is stored in `{name}`")) if line else value
