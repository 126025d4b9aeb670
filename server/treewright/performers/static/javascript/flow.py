"""Statements: one function's body interpreted from top to bottom, every branch taken."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treewright.performers.static.env import Env, element, join_env, replace_flows
from treewright.performers.static.facts import ALL, Flow, FunctionFacts, Label, Mark, Step
from treewright.performers.static.javascript.binding import Binding
from treewright.performers.static.javascript.node import (
    CLASSES,
    Node,
    bare,
    parameter_target,
    parameters,
)
from treewright.performers.static.javascript.operators import FIXED
from treewright.performers.static.python.value import UNKNOWN, Value, add_step, merge_flows, named

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_MAX_RETURNS = 24
_MAX_INLINE = 10
"""Callbacks inside callbacks that are followed."""


class FunctionRun(Binding):
    """Interprets one function."""

    def __init__(self, unit: "Unit", facts: FunctionFacts, scope: dict[str, Value], class_name: str = ""):
        self.unit, self.facts, self.scope, self.class_name = unit, facts, scope, class_name
        self.env: Env = Env()
        self.loops: list[tuple[list[Env], list[Env]]] = []
        self.exits: list[Env] = []
        self.truths: list[dict[Label, tuple[Mark, ...]]] = []
        self.inlined: list[list[Value]] = []

    def run(self, body: Node, env: Env) -> Env | None:
        """Interpret a body; an arrow function's expression is returned.

        Returns:
            The environment at its end, or None when the end is not reached.
        """
        self.env = env
        if body.kind not in {"statement_block", "program"}:
            self._returned(body, self.eval(body), body)
            end: Env | None = self.env
        else:
            end = self.block(body.named, env)
        if end is not None:
            self.exits.append(end)
        self._summarise()
        return end

    def block(self, body: list[Node], env: Env | None) -> Env | None:
        """Interpret statements until one ends the way; function declarations hold from the start."""
        if env is not None:
            self.env = env
            for statement in body:
                self._hoist(statement)
        for statement in body:
            if env is None:
                return None
            self.env = env
            env = self.statement(statement)
        return env

    def _hoist(self, statement: Node) -> None:
        if statement.kind == "export_statement":
            statement = statement.field("declaration") or statement
        if statement.kind in {"function_declaration", "generator_function_declaration"}:
            name = statement.need("name").text
            self.env.vars[name] = named(self.unit.define(self, statement, name, self.env))

    def statement(self, node: Node) -> Env | None:
        """Interpret one statement in `self.env`."""
        handler = _HANDLERS.get(node.kind)
        return handler(self, node) if handler is not None else self.env

    def inline(self, node: Node, bound: list[Value]) -> Value:
        """Interpret a function literal where it is passed on: it may run once, or not at all, with what is known here."""
        if len(self.inlined) >= _MAX_INLINE or not self.unit.enter(node):
            return UNKNOWN
        before, outer_exits, outer_loops = self.env, self.exits, self.loops
        self.env, self.exits, self.loops = before.copy(), [], []
        results: list[Value] = []
        self.inlined.append(results)
        own = self._bind_parameters(node, bound)
        body = node.need("body")
        if body.kind == "statement_block":
            end = self.block(body.named, self.env)
        else:
            value = self.eval(body)
            results.append(replace_flows(value, self.effective(value.flows)))
            end = self.env
        for other in self.exits:
            end = join_env(end, other)
        self.inlined.pop()
        self.exits, self.loops = outer_exits, outer_loops
        after = join_env(before, end) or before
        for name in own:
            if name in before.vars:
                after.vars[name] = before.vars[name]
            else:
                after.vars.pop(name, None)
        self.env = after
        self.unit.leave(node)
        return _joined(results)

    def _bind_parameters(self, node: Node, bound: list[Value]) -> list[str]:
        own: list[str] = []
        for index, parameter in enumerate(parameters(node)):
            target = parameter_target(parameter)
            self.bind(target, bound[index] if index < len(bound) else UNKNOWN, 0)
            own.append(target.text)
            self.unit.parameter_hints(self, parameter, target)
        return own

    def _declaration(self, node: Node) -> Env | None:
        for part in node.named:
            if part.kind == "variable_declarator":
                self._declarator(part)
        return self.env

    def _declarator(self, part: Node) -> None:
        target, source = part.need("name"), part.field("value")
        if source is None:
            if target.kind == "identifier":
                self.env.vars.setdefault(target.text, self.unit.typed(part.field("type")))
            return
        value = self.named_function(source, target.text if target.kind == "identifier" else "")
        self.bind(target, value, part.line)
        self.remember_test(target, source)

    def _expression(self, node: Node) -> Env | None:
        if not node.named:
            return self.env
        self.eval(node.named[0])
        return None if self._ends(bare(node.named[0])) else self.env

    def _ends(self, node: Node) -> bool:
        """Tell whether a call never returns (`process.exit(1)`, `ctx.throw(400)`)."""
        if node.kind == "await_expression" and node.named:
            node = bare(node.named[0])
        if node.kind != "call_expression":
            return False
        _, name = self.arguments_quiet(node)
        return bool(self.unit.tables.ends.find(name))

    def _return(self, node: Node) -> Env | None:
        if node.named:
            self._returned(node.named[0], self.named_function(node.named[0], ""), node)
        else:
            self.exits.append(self.env)
        return None

    def _returned(self, expression: Node, value: Value, node: Node) -> None:
        effective = self.effective(value.flows)
        if self.inlined:
            self.inlined[-1].append(replace_flows(value, effective))
            self.exits.append(self.env)
            return
        if len(self.facts.returns) < _MAX_RETURNS:
            step = Step(node.line, "it is returned")
            self.facts.returns.extend(add_step(Value(effective), step).flows)
        self._predicate(expression, value)
        self.exits.append(self.env)

    def _predicate(self, node: Node, value: Value) -> None:
        """What holds of the parameters when this return gives something true."""
        if value.is_const and not value.const:
            return
        saved = dict(self.env.marks)
        if not value.is_const:
            self.assume(node, True)
        self.truths.append(self.env.marks)
        self.env.marks = saved

    def _summarise(self) -> None:
        """Turn marks at the exits into `predicate` and `validates`."""
        groups = (
            (self.truths, self.facts.predicate),
            ([env.marks for env in self.exits], self.facts.validates),
        )
        for parameter in self.facts.params:
            label = Label("param", parameter)
            for outcomes, into in groups:
                for mark in outcomes[0].get(label, ()) if outcomes else ():
                    held = all(
                        any(o.kinds >= mark.kinds for o in outcome.get(label, ())) for outcome in outcomes
                    )
                    if mark.kinds and held:
                        into.append((parameter, mark.kinds, mark.line, mark.why))

    def _throw(self, node: Node) -> Env | None:
        self.eval(node.named[0] if node.named else None)
        return None

    def _if(self, node: Node) -> Env | None:
        test = node.need("condition")
        self.eval(test)
        before, ends = self.env, []
        other = node.field("alternative")
        for truth, body in ((True, node.field("consequence")), (False, other)):
            self.env = before.copy()
            self.assume(test, truth)
            inside = body.named if body is not None and body.kind == "else_clause" else [body] if body else []
            ends.append(self.block(inside, self.env))
        return join_env(ends[0], ends[1])

    def _loop(
        self, start: Env | None, once: Callable[[], None], body: Node | None
    ) -> tuple[Env | None, list[Env]]:
        """Run a loop's body twice from a start; gives the way round and the ways out by `break`."""
        breaks: list[Env] = []
        for _ in range(1 if self.unit.deep_loops(self.loops) else 2):
            if start is None:
                break
            self.env = start.copy()
            once()
            continues: list[Env] = []
            self.loops.append((breaks, continues))
            end = self.block([body] if body is not None else [], self.env)
            self.loops.pop()
            for other in continues:
                end = join_env(end, other)
            start = join_env(start, end)
        return start, breaks

    def _for_in(self, node: Node) -> Env | None:
        iterable = self.eval(node.field("right"))
        effective = replace_flows(iterable, self.effective(iterable.flows))
        keys = node.need("operator").text == "in"
        item = Value(effective.flows) if keys else element(effective)
        if iterable.entries is not None and not iterable.flows:
            item = named(FIXED)

        def once() -> None:
            self.bind(node.need("left"), item, node.line)

        after, breaks = self._loop(self.env, once, node.field("body"))
        for other in breaks:
            after = join_env(after, other)
        return after

    def _for(self, node: Node) -> Env | None:
        start = node.field("initializer")
        if start is not None:
            self.statement(start)
        return self._while(node)

    def _while(self, node: Node) -> Env | None:
        test = node.field("condition")
        if test is not None and test.kind == "expression_statement" and test.named:
            test = test.named[0]
        if test is not None and test.kind == "empty_statement":
            test = None

        def once() -> None:
            if test is not None:
                self.eval(test)
                self.assume(test, True)

        after, breaks = self._loop(self.env, once, node.field("body"))
        step = node.field("increment")
        if step is not None and after is not None:
            self.env = after
            self.eval(step)
        endless = test is None or bare(test).text in {"true", "1"}
        if endless:
            after = None
        elif after is not None and test is not None:
            self.env = after
            self.assume(test, False)
        for other in breaks:
            after = join_env(after, other)
        return after

    def _switch(self, node: Node) -> Env | None:
        subject_node = node.need("value")
        subject = self.eval(subject_node)
        breaks: list[Env] = []
        before, total = self.env, False
        running: Env | None = None
        body = node.field("body")
        for case in body.named if body is not None else []:
            self.env = before.copy()
            value = case.field("value")
            if value is None:
                total = True
            elif self.eval(value).is_const:
                self._guard(subject.flows, frozenset({ALL, "index"}), value, "it equals the case's value")
            self.loops.append((breaks, self.loops[-1][1] if self.loops else []))
            statements = [s for s in case.named if value is None or s.key != value.key]
            running = self.block(statements, join_env(self.env, running))
            self.loops.pop()
        after = running
        for other in breaks:
            after = join_env(after, other)
        return after if total else join_env(after, before)

    def _break(self, _node: Node) -> Env | None:
        if self.loops:
            self.loops[-1][0].append(self.env)
        return None

    def _continue(self, _node: Node) -> Env | None:
        if self.loops:
            self.loops[-1][1].append(self.env)
        return None

    def _try(self, node: Node) -> Env | None:
        before = self.env.copy()
        end = self.block([node.need("body")], self.env)
        handler, final = node.field("handler"), node.field("finalizer")
        if handler is not None:
            self.env = join_env(before, end.copy() if end is not None else None) or before.copy()
            parameter = handler.field("parameter")
            if parameter is not None:
                self.bind(parameter, self.unit.exception_value(self, handler), handler.line)
            end = join_env(end, self.block([handler.need("body")], self.env))
        if final is not None:
            inside = final.field("body")
            ran = self.block(
                [inside] if inside is not None else [], end if end is not None else before.copy()
            )
            end = ran if end is not None else None
        return end

    def _class_statement(self, node: Node) -> Env | None:
        name = node.need("name").text
        self.env.vars[name] = named(self.unit.define_class(self, node, name, self.env))
        return self.env

    def _nested(self, node: Node) -> Env | None:
        return self.block(node.named, self.env)

    def _export(self, node: Node) -> Env | None:
        declared, value = node.field("declaration"), node.field("value")
        if declared is not None:
            self.statement(declared)
        elif value is not None:
            self.unit.export("default", self.named_function(value, "default"), node.line)
        elif node.has("="):  # TypeScript: export = x
            self.unit.export("default", self.eval(node.named[-1]), node.line)
        return self.env

    def _enum(self, node: Node) -> Env | None:
        self.env.vars[node.need("name").text] = Value(name=FIXED, entries={"": named(FIXED)})
        return self.env


def _joined(values: list[Value]) -> Value:
    if not values:
        return UNKNOWN
    if len(values) == 1:
        return values[0]
    flows: tuple[Flow, ...] = merge_flows(*(value.flows for value in values))
    return Value(flows, composed=any(value.composed for value in values))


_HANDLERS: dict[str, Callable[[Any, Node], Env | None]] = {
    "expression_statement": FunctionRun._expression,
    "lexical_declaration": FunctionRun._declaration,
    "variable_declaration": FunctionRun._declaration,
    "return_statement": FunctionRun._return,
    "throw_statement": FunctionRun._throw,
    "if_statement": FunctionRun._if,
    "for_statement": FunctionRun._for,
    "for_in_statement": FunctionRun._for_in,
    "while_statement": FunctionRun._while,
    "do_statement": FunctionRun._while,
    "switch_statement": FunctionRun._switch,
    "break_statement": FunctionRun._break,
    "continue_statement": FunctionRun._continue,
    "try_statement": FunctionRun._try,
    "statement_block": FunctionRun._nested,
    "labeled_statement": FunctionRun._nested,
    "internal_module": lambda self, node: self.block([node.need("body")], self.env),
    "export_statement": FunctionRun._export,
    "enum_declaration": FunctionRun._enum,
    **dict.fromkeys(sorted(CLASSES), FunctionRun._class_statement),
}
