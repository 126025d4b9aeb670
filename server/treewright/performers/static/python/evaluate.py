"""Expressions: the abstract value of each, with the calls in them handed to `call`."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewright.performers.static.env import Env
from treewright.performers.static.facts import ALL, Flow, FunctionFacts, Label, Mark, Place
from treewright.performers.static.facts import Source as Origin
from treewright.performers.static.python.compose import after_query, from_template
from treewright.performers.static.python.newer import STANDING
from treewright.performers.static.python.parts import compared, element, entry_at, fold, path_key
from treewright.performers.static.python.value import (
    UNKNOWN,
    UNSET,
    Value,
    constant,
    join,
    merge_flows,
    named,
)

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_LOG_ONLY = frozenset({"log", "header"})


class Evaluate:
    """Evaluates expressions of one function in the current `env`."""

    unit: "Unit"
    facts: FunctionFacts
    env: Env
    scope: dict[str, Value]
    class_name: str
    self_name: str

    def eval(self, node: ast.expr | None) -> Value:
        """The abstract value of an expression."""
        if node is None:
            return UNKNOWN
        handler = _HANDLERS.get(type(node))
        return handler(self, node) if handler is not None else UNKNOWN

    def call(self, node: ast.Call) -> Value:
        """Implemented by `call.Calls`."""
        raise NotImplementedError

    def assume(self, test: ast.expr, truth: bool) -> None:
        """Implemented by `guards.Guards`."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value, line: int) -> None:
        """Implemented by `flow.FunctionRun`."""
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

    def origin(self, name: str, node: ast.AST) -> Value | None:
        """A source named in the table, as a value; None when the name is no source."""
        for entry in self.unit.sources(name):
            key = f"{entry['id']}:{name}"
            self._note(key, node, entry)
            line: int = node.lineno  # type: ignore[attr-defined]  # only expressions and statements come here
            clean = entry.get("clean")
            marks = (Mark(frozenset(clean), line, "it is this request's own address"),) if clean else ()
            if clean and name.endswith(".path") and self.unit.fixed_route(self.facts.name):
                marks = (
                    Mark(frozenset({ALL}), line, "the route has no parts that vary, so its path is fixed"),
                )
            return Value((Flow(Label("source", key), (), marks),), name=name)
        return None

    def _note(self, key: str, node: ast.AST, entry: dict[str, Any]) -> None:
        if not any(known.key == key for known in self.facts.sources):
            line: int = node.lineno  # type: ignore[attr-defined]  # only expressions and statements come here
            what = entry["what"].format(text=self.unit.source.segment(node)[:80].split("\n")[0])
            strength = entry.get("library_strength") if self.unit.source.library else None
            self.facts.sources.append(Origin(key, line, strength or entry["strength"], what))

    def _constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _name(self, node: ast.Name) -> Value:
        found = self.env.vars.get(node.id)
        if found is not None:
            return found
        return self.outer(node.id, node)

    def outer(self, name: str, node: ast.AST) -> Value:
        """A name that the function does not bind itself."""
        found = self.scope.get(name)
        if found is not None:
            return found
        if name in STANDING:
            return constant(STANDING[name])
        qualified = self.unit.qualify(name)
        return self.origin(qualified, node) or named(qualified)

    def _attribute(self, node: ast.Attribute) -> Value:
        key = path_key(node)
        if key is not None:
            stored = self.env.vars.get(key)
            if stored is not None:
                return stored
        base = self.eval(node.value)
        if base.entries and node.attr in base.entries:
            return base.entries[node.attr]
        if base.name == "pathlib.Path()" and node.attr in {"name", "stem"} and base.flows:
            mark = Mark(frozenset({"path"}), node.lineno, f"`.{node.attr}` keeps only the last part of it")
            return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in base.flows))
        name = f"{base.name or '?'}.{node.attr}"
        source = self.origin(name, node)
        if source is not None:
            return source
        if self.class_name and isinstance(node.value, ast.Name) and node.value.id == self.self_name:
            stored = self.unit.class_constants.get(f"{self.class_name}.{node.attr}")
            flow = Flow(Label("field", f"{self.class_name}.{node.attr}"))
            return (
                Value((flow,), stored.const, stored.name or name, stored.prefix)
                if stored
                else named(name, (flow,))
            )
        stored = self.unit.class_constants.get(name)
        return stored if stored is not None else named(name, base.flows)

    def _subscript(self, node: ast.Subscript) -> Value:
        base, index = self.eval(node.value), self.eval(node.slice)
        self.unit.on_subscript(self, node, base, index)
        if index.is_const:
            key = path_key(node.value)
            stored = self.env.vars.get(f"{key}[{index.const!r}]") if key else None
            if stored is not None:
                return stored
            known = entry_at(base, index.const)
            if known is not None:
                return known
        if base.entries and not base.flows and index.flows:
            mark = Mark(frozenset({ALL}), node.lineno, "the value is looked up in a fixed table")
            return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in index.flows))
        return self.refine(base, index, f"{base.name}[]" if base.name else "", node)

    def refine(self, base: Value, index: Value, name: str, node: ast.AST) -> Value:
        """Reading one constant key of a source (`request.args["q"]`) is a source of its own."""
        if not (index.is_const and len(base.flows) == 1 and not base.flows[0].steps):
            return named(name, base.flows)
        label = base.flows[0].label
        if label.kind != "source" or "[" in label.key:
            return named(name, base.flows)
        whole = next((known for known in self.facts.sources if known.key == label.key), None)
        key = f"{label.key}[{index.const!r}]"
        if whole is not None and not any(known.key == key for known in self.facts.sources):
            text = self.unit.source.segment(node).split("\n")[0][:80]
            what = f"{whole.what.partition(' `')[0]} `{text}`"
            self.facts.sources.append(Origin(key, node.lineno, whole.strength, what))  # type: ignore[attr-defined]  # only expressions and statements come here
        return named(name, (Flow(Label("source", key), (), base.flows[0].marks),))

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        if left.is_const and right.is_const:
            return fold(node.op, left, right)
        if (
            isinstance(node.op, ast.Mult)
            and isinstance(left.const, (str, bytes))
            and not right.flows
            and len(left.const) == 1
        ):
            return constant(left.const * 16)  # however often: a text of one sign
        flows = merge_flows(left.flows, right.flows)
        if isinstance(node.op, ast.Add):
            prefix = left.prefix
            if left.items is not None and right.items is not None:
                return Value(flows, items=(*left.items, *right.items))
            if left.items and not (right.is_const or right.composed or right.prefix is not None):
                return Value(flows, items=(*left.items, Value(right.flows)))
            textual = left.prefix is not None or right.prefix is not None or left.composed or right.composed
            joint = node.left.right if isinstance(node.left, ast.BinOp) else node.left
            if isinstance(joint, ast.Constant) and isinstance(joint.value, str):
                led = isinstance(node.left, ast.BinOp)
                flows = merge_flows(left.flows, after_query(right, joint.value, node, led=led).flows)
            whole = Value(
                flows, prefix=prefix, composed=textual or bool(flows), fixed=left.is_fixed and right.is_fixed
            )
            return self.unit.prefixed(whole, node)
        if isinstance(node.op, ast.Mod) and isinstance(left.const, str):
            return self._filled(node, left.const, left, right)
        own = all(flow.label.kind == "field" for flow in left.flows)
        if isinstance(node.op, ast.Mod) and left.name and own and right.flows:
            given = from_template(Value(right.flows), node)
            return Value(merge_flows(left.flows, given.flows), composed=True)
        if isinstance(node.op, ast.Div) and left.name:
            self.unit.on_join(self, node, left, right)
            return Value(flows, name=left.name, fixed=left.is_fixed and right.is_fixed)
        self.unit.on_operation(self, node, left, right)
        return Value(flows, name="")

    def _filled(self, node: ast.BinOp, template: str, left: Value, right: Value) -> Value:
        """`"...%s..." % values`: the values in order of their places when they are a tuple."""
        pieces = template.split("%s")
        flows = merge_flows(left.flows, right.flows)
        if right.items is not None and len(pieces) == len(right.items) + 1:
            before, groups = "", []
            for piece, item in zip(pieces, right.items, strict=False):
                before += piece
                groups.append(after_query(item, before, node).flows)
            flows = merge_flows(*groups) if groups else ()
        head = template.partition("%")[0]
        return self.unit.prefixed(Value(flows, prefix=head, composed=True, fixed=right.is_fixed), node)

    def _joined(self, node: ast.JoinedStr) -> Value:
        flows: tuple[Flow, ...] = ()
        prefix, open_prefix, whole, before, fixed = "", True, True, "", True
        for part in node.values:
            value = self.eval(part)
            text = value.const if value.is_const else None
            fixed = fixed and value.is_fixed
            if text is not None and open_prefix:
                prefix += str(text)
            elif text is None:
                if open_prefix and value.prefix:
                    prefix += value.prefix
                open_prefix = whole = False
            flows = merge_flows(flows, after_query(value, before, node, led=not open_prefix).flows)
            before += str(text) if text is not None else ""
        if whole:
            return constant(prefix)
        return self.unit.prefixed(Value(flows, prefix=prefix, composed=True, fixed=fixed), node)

    def _formatted(self, node: ast.FormattedValue) -> Value:
        value = self.eval(node.value)
        if node.conversion == 114 and value.flows:  # !r shows line breaks as escapes
            mark = Mark(_LOG_ONLY, node.lineno, "`!r` writes line breaks as escapes")
            return Value(
                tuple(flow._replace(marks=(*flow.marks, mark)) for flow in value.flows), composed=True
            )
        return value

    def _boolop(self, node: ast.BoolOp) -> Value:
        saved = dict(self.env.marks)
        result: Value | None = None
        for index, part in enumerate(node.values):
            value = self.eval(part)
            effective = Value(
                self.effective(value.flows), value.const, value.name, value.prefix, value.composed,
                fixed=value.fixed,
            )  # fmt: skip
            result = effective if result is None else join(result, effective)
            if index + 1 < len(node.values):
                self.assume(part, isinstance(node.op, ast.And))
        self.env.marks = saved
        return result or UNKNOWN

    def settled_test(self, test: ast.expr, value: Value) -> bool | None:
        """What a condition over constants of this very function comes to; None for every other."""
        if not value.is_const:
            return None
        names = [part.id for part in ast.walk(test) if isinstance(part, ast.Name)]
        own = self.facts.name != "<module>" and all(name in self.env.vars for name in names)
        return bool(value.const) if own or not names else None

    def _ifexp(self, node: ast.IfExp) -> Value:
        settled = self.settled_test(node.test, self.eval(node.test))
        if settled is not None:
            return self.eval(node.body if settled else node.orelse)
        saved = dict(self.env.marks)
        sides = []
        for truth, part in ((True, node.body), (False, node.orelse)):
            self.assume(node.test, truth)
            value = self.eval(part)
            effective = self.effective(value.flows)
            sides.append(
                Value(effective, value.const, value.name, value.prefix, value.composed, fixed=value.fixed)
            )
            self.env.marks = dict(saved)
        return join(*sides)

    def _compare(self, node: ast.Compare) -> Value:
        sides = [self.eval(part) for part in (node.left, *node.comparators)]
        return compared(node.ops[0], *sides) if len(sides) == 2 else UNKNOWN

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if value.is_const and isinstance(node.op, ast.USub) and isinstance(value.const, (int, float)):
            return constant(-value.const)
        if value.is_const and isinstance(node.op, ast.Not):
            return constant(not value.const)
        return UNKNOWN if isinstance(node.op, ast.Not) else Value(value.flows)

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        items = tuple(self.eval(part) for part in node.elts)
        flows = merge_flows(*(item.flows for item in items)) if items else ()
        const: Any = UNSET
        if isinstance(node, ast.Tuple) and all(item.is_const for item in items):
            const = tuple(item.const for item in items)
        kept = items if not any(isinstance(part, ast.Starred) for part in node.elts) else None
        return Value(flows, const, items=kept)

    def _dict(self, node: ast.Dict) -> Value:
        entries: dict[Any, Value] = {}
        flows: tuple[Flow, ...] = ()
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.eval(part)
            flows = merge_flows(flows, value.flows)
            if key is not None:
                known = self.eval(key)
                flows = merge_flows(flows, known.flows)
                if known.is_const and isinstance(known.const, (str, int)):
                    entries[known.const] = value
        return Value(flows, entries=entries)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        saved = self.env
        self.env = saved.copy()
        for generator in node.generators:
            self.bind(generator.target, element(self.eval(generator.iter)), node.lineno)
            for test in generator.ifs:
                self.eval(test)
                self.assume(test, True)
        if isinstance(node, ast.DictComp):
            key, value = self.eval(node.key), self.eval(node.value)
            flows = merge_flows(self.effective(key.flows), self.effective(value.flows))
        else:
            value = self.eval(node.elt)
            flows = self.effective(value.flows)
        self.env = saved
        return Value(flows, composed=value.composed)

    def _lambda(self, node: ast.Lambda) -> Value:
        saved = self.env
        self.env = saved.copy()
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.env.vars[argument.arg] = UNKNOWN
        self.eval(node.body)
        self.env = saved
        return UNKNOWN

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.bind(node.target, value, node.lineno)
        return value

    def _inner(self, node: ast.Await | ast.Starred | ast.YieldFrom) -> Value:
        return self.eval(node.value)

    def _yield(self, node: ast.Yield) -> Value:
        value = self.eval(node.value)
        self.facts.returns.extend(self.effective(value.flows)[:4])
        return UNKNOWN

    def _slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            self.eval(part)
        return UNKNOWN

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        return self.unit.source.place(node)


_HANDLERS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Constant: Evaluate._constant,
    ast.Name: Evaluate._name,
    ast.Attribute: Evaluate._attribute,
    ast.Subscript: Evaluate._subscript,
    ast.Call: lambda self, node: self.call(node),
    ast.BinOp: Evaluate._binop,
    ast.JoinedStr: Evaluate._joined,
    ast.FormattedValue: Evaluate._formatted,
    ast.BoolOp: Evaluate._boolop,
    ast.IfExp: Evaluate._ifexp,
    ast.Compare: Evaluate._compare,
    ast.UnaryOp: Evaluate._unary,
    ast.Tuple: Evaluate._display,
    ast.List: Evaluate._display,
    ast.Set: Evaluate._display,
    ast.Dict: Evaluate._dict,
    ast.ListComp: Evaluate._comprehension,
    ast.SetComp: Evaluate._comprehension,
    ast.GeneratorExp: Evaluate._comprehension,
    ast.DictComp: Evaluate._comprehension,
    ast.Lambda: Evaluate._lambda,
    ast.NamedExpr: Evaluate._named,
    ast.Await: Evaluate._inner,
    ast.Starred: Evaluate._inner,
    ast.YieldFrom: Evaluate._inner,
    ast.Yield: Evaluate._yield,
    ast.Slice: Evaluate._slice,
}
