"""Statements: one function interpreted from top to bottom, every branch followed, loops twice."""

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treewright.performers.static.env import Env, join_env
from treewright.performers.static.facts import Flow, FunctionFacts, Label, Mark, Step
from treewright.performers.static.python.guards import Guards
from treewright.performers.static.python.parts import element, matching, path_key
from treewright.performers.static.python.value import Value, add_step, merge_flows, named

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_MAX_RETURNS = 12


class FunctionRun(Guards):
    """Interprets the body of one function (or of the module)."""

    def __init__(
        self,
        unit: "Unit",
        facts: FunctionFacts,
        scope: dict[str, Value],
        class_name: str = "",
        self_name: str = "",
    ) -> None:
        self.unit, self.facts, self.scope = unit, facts, scope
        self.class_name, self.self_name = class_name, self_name
        self.env: Env = Env()
        self.loops: list[tuple[list[Env], list[Env]]] = []
        self.exits: list[Env] = []
        self.truths: list[dict[Label, tuple[Mark, ...]]] = []

    def run(self, body: Sequence[ast.stmt], env: Env) -> Env | None:
        """Interpret a body.

        Returns:
            The environment at its end, or None when the end is not reached.
        """
        end = self.block(body, env)
        if end is not None:
            self.exits.append(end)
        self._summarise()
        return end

    def block(self, body: Sequence[ast.stmt], env: Env | None) -> Env | None:
        """Interpret statements until one ends the way."""
        for statement in body:
            if env is None:
                return None
            self.env = env
            env = self.statement(statement)
        return env

    def statement(self, node: ast.stmt) -> Env | None:
        """Interpret one statement in `self.env`."""
        handler = _HANDLERS.get(type(node))
        return handler(self, node) if handler is not None else self.env

    def bind(self, target: ast.expr, value: Value, line: int) -> None:
        """Assign a value to a target, taking tuples apart."""
        if isinstance(target, ast.Name):
            self.env.vars[target.id] = add_step(value, Step(line, f"it is stored in `{target.id}`"))
            self._forget(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, line)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Value(value.flows), line)
        elif isinstance(target, ast.Attribute):
            self._bind_attribute(target, value, line)
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, value, line)

    def _forget(self, name: str) -> None:
        """A rebound name has no known attributes any more."""
        if name not in self.unit.source.in_parts:
            return
        dotted, indexed = name + ".", name + "["
        stale = [key for key in self.env.vars if key.startswith((dotted, indexed))]
        for key in stale:
            del self.env.vars[key]

    def _unpack(self, targets: list[ast.expr], value: Value, line: int) -> None:
        exact = value.items is not None and len(value.items) == len(targets)
        for index, target in enumerate(targets):
            part = value.items[index] if exact and value.items else element(value)
            self.bind(target, part, line)

    def _bind_attribute(self, target: ast.Attribute, value: Value, line: int) -> None:
        key = path_key(target)
        self.eval(target.value)
        if key is None:
            return
        stored = add_step(value, Step(line, f"it is stored in `{key}`"))
        self.env.vars[key] = stored
        if self.class_name and isinstance(target.value, ast.Name) and target.value.id == self.self_name:
            field = f"{self.class_name}.{target.attr}"
            for flow in self.effective(stored.flows):
                self.unit.facts.field_writes.setdefault(field, []).append((self.facts.name, flow))

    def _bind_item(self, target: ast.Subscript, value: Value, line: int) -> None:
        base, index = self.eval(target.value), self.eval(target.slice)
        self.unit.on_item(self, target, base, index, value)
        key = path_key(target.value)
        if key is None:
            return
        stored = add_step(value, Step(line, f"it is stored in `{key}[...]`"))
        if index.is_const:
            self.env.vars[f"{key}[{index.const!r}]"] = stored
        entries = None
        if base.entries is not None and index.is_const and isinstance(index.const, (str, int)):
            entries = {**base.entries, index.const: stored}
        flows = merge_flows(base.flows, stored.flows)
        self.env.vars[key] = Value(flows, name=base.name, entries=entries)

    def _assign(self, node: ast.Assign) -> Env | None:
        value = self.eval(node.value)
        for target in node.targets:
            self.unit.on_assign(self, target, node.value)
            self.bind(target, value, node.lineno)
        return self.env

    def _annotated(self, node: ast.AnnAssign) -> Env | None:
        if node.value is not None:
            value = self.eval(node.value)
            self.unit.on_assign(self, node.target, node.value)
            self.bind(node.target, value, node.lineno)
        elif isinstance(node.target, ast.Name):
            self.env.vars.setdefault(node.target.id, self.unit.annotated(node.annotation))
        return self.env

    def _augmented(self, node: ast.AugAssign) -> Env | None:
        old, value = self.eval(node.target), self.eval(node.value)
        joined = Value(
            merge_flows(old.flows, value.flows),
            prefix=old.prefix,
            composed=True if old.prefix is not None else old.composed,
            fixed=old.is_fixed and value.is_fixed,
        )
        self.bind(node.target, joined, node.lineno)
        return self.env

    def _expression(self, node: ast.Expr) -> Env | None:
        self.eval(node.value)
        return None if self.ends(node.value) else self.env

    def ends(self, node: ast.expr) -> bool:
        """Tell whether a call never returns (`abort(403)`, `sys.exit()`)."""
        if isinstance(node, ast.Await):
            node = node.value
        if not isinstance(node, ast.Call):
            return False
        name = self.unit.source.dotted(node.func)
        return (
            any(self.unit.tables.ends.find(alias) for alias in self.unit.alternatives(name))
            if name
            else False
        )

    def _return(self, node: ast.Return) -> Env | None:
        value = self.eval(node.value)
        if node.value is not None:
            effective = self.effective(value.flows)
            self.unit.on_return(self, node, Value(effective, value.const, value.name, value.prefix, value.composed,
                                                  value.items, value.entries, value.fixed))  # fmt: skip
            if len(self.facts.returns) < _MAX_RETURNS:
                step = Step(node.lineno, "it is returned")
                self.facts.returns.extend(add_step(Value(effective), step).flows)
            self._predicate(node.value, value)
        self.exits.append(self.env)
        return None

    def _predicate(self, node: ast.expr, value: Value) -> None:
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
        for parameter in self.facts.params:
            label = Label("param", parameter)
            for outcomes, into in (
                (self.truths, self.facts.predicate),
                ([env.marks for env in self.exits], self.facts.validates),
            ):
                if not outcomes:
                    continue
                first = outcomes[0].get(label, ())
                into.extend(
                    (parameter, mark.kinds, mark.line, mark.why)
                    for mark in first
                    if mark.kinds
                    and all(
                        any(other.kinds >= mark.kinds for other in outcome.get(label, ()))
                        for outcome in outcomes
                    )
                )

    def _raise(self, node: ast.Raise) -> Env | None:
        self.eval(node.exc)
        self.eval(node.cause)
        return None

    def _if(self, node: ast.If) -> Env | None:
        test = self.eval(node.test)
        before = self.env
        ends = []
        for truth, body in ((True, node.body), (False, node.orelse)):
            self.env = before.copy()
            self.assume(node.test, truth)
            ends.append(self.block(body, self.env))
        self.env = before
        settled = self.settled_test(node.test, test)
        if settled is not None:
            return ends[0 if settled else 1]
        return join_env(ends[0], ends[1])

    def _for(self, node: ast.For | ast.AsyncFor) -> Env | None:
        iterable = self.eval(node.iter)
        breaks: list[Env] = []
        after: Env | None = self.env.copy()
        start: Env | None = self.env
        for _ in range(2):
            if start is None:
                break
            self.env = start.copy()
            self.bind(node.target, element(Value(self.effective(iterable.flows), name=iterable.name, items=iterable.items)),
                      node.lineno)  # fmt: skip
            continues: list[Env] = []
            self.loops.append((breaks, continues))
            end = self.block(node.body, self.env)
            self.loops.pop()
            for other in continues:
                end = join_env(end, other)
            after = join_env(after, end)
            start = join_env(start, end)
        result = self.block(node.orelse, after) if node.orelse else after
        for other in breaks:
            result = join_env(result, other)
        return result

    def _while(self, node: ast.While) -> Env | None:
        breaks: list[Env] = []
        start: Env | None = self.env
        for _ in range(2):
            if start is None:
                break
            self.env = start.copy()
            test = self.eval(node.test)
            self.assume(node.test, True)
            continues: list[Env] = []
            self.loops.append((breaks, continues))
            end = self.block(node.body, self.env)
            self.loops.pop()
            for other in continues:
                end = join_env(end, other)
            start = join_env(start, end)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        result = None if endless else start
        if result is not None:
            self.env = result
            self.assume(node.test, False)
            result = self.block(node.orelse, self.env)
        for other in breaks:
            result = join_env(result, other)
        del test
        return result

    def _break(self, _node: ast.Break) -> Env | None:
        if self.loops:
            self.loops[-1][0].append(self.env)
        return None

    def _continue(self, _node: ast.Continue) -> Env | None:
        if self.loops:
            self.loops[-1][1].append(self.env)
        return None

    def _with(self, node: ast.With | ast.AsyncWith) -> Env | None:
        for item in node.items:
            value = self.eval(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, node.lineno)
        return self.block(node.body, self.env)

    def _try(self, node: ast.Try) -> Env | None:
        before = self.env.copy()
        end = self.block(node.body, self.env)
        if end is not None and node.orelse:
            end = self.block(node.orelse, end)
        entry = join_env(before, end.copy() if end is not None else None)
        for handler in node.handlers:
            self.env = entry.copy() if entry is not None else before.copy()
            if handler.name:
                self.env.vars[handler.name] = self.unit.exception_value(self, handler)
            ended = self.block(handler.body, self.env)
            end = join_env(end, ended)
        if node.finalbody:
            if end is None:  # the finally part still runs
                self.block(node.finalbody, before.copy())
            else:
                end = self.block(node.finalbody, end)
        return end

    def _match(self, node: ast.Match) -> Env | None:
        subject = self.eval(node.subject)
        before, result, total = self.env, None, False
        for case in matching(node, subject):
            self.env = before.copy()
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.env.vars[name] = Value(subject.flows)
            if isinstance(case.pattern, (ast.MatchValue, ast.MatchSingleton)):
                self._guard(subject.flows, frozenset({"*"}), case.pattern, "it equals the case's value")
            if case.guard is not None:
                self.eval(case.guard)
                self.assume(case.guard, True)
            total = total or (
                isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and not case.guard
            )
            result = join_env(result, self.block(case.body, self.env))
        return result if total else join_env(result, before)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Env | None:
        for decorator in node.decorator_list:
            self.eval(decorator)
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.eval(default)
        self.env.vars[node.name] = named(self.unit.define(self, node, self.env))
        return self.env

    def _class(self, node: ast.ClassDef) -> Env | None:
        for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.eval(part)
        self.env.vars[node.name] = named(self.unit.define_class(self, node, self.env))
        return self.env

    def _delete(self, node: ast.Delete) -> Env | None:
        for target in node.targets:
            key = path_key(target)
            if key is not None:
                self.env.vars.pop(key, None)
        return self.env

    def _assert(self, node: ast.Assert) -> Env | None:
        self.eval(node.test)
        return self.env

    def _import(self, node: ast.Import | ast.ImportFrom) -> Env | None:
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            self.env.vars.pop(local, None)
            if local in self.unit.source.contested and isinstance(node, ast.ImportFrom) and not node.level:
                self.env.vars[local] = named(f"{node.module}.{alias.name}")
        return self.env


def parameter_flow(name: str) -> Flow:
    """The flow a parameter starts with."""
    return Flow(Label("param", name))


_HANDLERS: dict[type[ast.AST], Callable[[Any, Any], Env | None]] = {
    ast.Assign: FunctionRun._assign,
    ast.AnnAssign: FunctionRun._annotated,
    ast.AugAssign: FunctionRun._augmented,
    ast.Expr: FunctionRun._expression,
    ast.Return: FunctionRun._return,
    ast.Raise: FunctionRun._raise,
    ast.If: FunctionRun._if,
    ast.For: FunctionRun._for,
    ast.AsyncFor: FunctionRun._for,
    ast.While: FunctionRun._while,
    ast.Break: FunctionRun._break,
    ast.Continue: FunctionRun._continue,
    ast.With: FunctionRun._with,
    ast.AsyncWith: FunctionRun._with,
    ast.Try: FunctionRun._try,
    ast.TryStar: FunctionRun._try,
    ast.Match: FunctionRun._match,
    ast.FunctionDef: FunctionRun._definition,
    ast.AsyncFunctionDef: FunctionRun._definition,
    ast.ClassDef: FunctionRun._class,
    ast.Delete: FunctionRun._delete,
    ast.Assert: FunctionRun._assert,
    ast.Import: FunctionRun._import,
    ast.ImportFrom: FunctionRun._import,
}
