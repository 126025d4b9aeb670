"""Operators, templates and choices: which text a result begins with, and whether the program alone decides it."""

import re
from typing import TYPE_CHECKING, Any

from treewright.performers.static.env import Env, replace_flows
from treewright.performers.static.facts import ALL, Flow, FunctionFacts, Mark
from treewright.performers.static.javascript.node import (
    Node,
    unescape,
)
from treewright.performers.static.python.value import UNKNOWN, Value, constant, join, merge_flows, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

FIXED = "#fixed"
"""The name of a value that is a number, a truth value, or one of several constants: it carries no foreign text."""
GLOBALS = frozenset({"window", "globalThis", "self", "global", "top", "parent"})
_NUMERIC = frozenset({"-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>", ">>>"})
_CONSTANT_NAME = re.compile(r"(^|\.)[A-Z][A-Z0-9_]+$")


class Operators:
    """Operators and templates, in the current `env`."""

    unit: "Unit"
    facts: FunctionFacts
    env: Env
    scope: dict[str, Value]
    class_name: str

    def eval(self, node: Node | None) -> Value:
        """Implemented by `evaluate.Evaluate`."""
        raise NotImplementedError

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


def _shown(value: Any) -> str:
    if value is True or value is False:
        return str(value).lower()
    return "null" if value is None else str(value)
