"""One file under analysis: its tables, its names, the functions still to interpret, what was reported."""

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from treewright.performers.static.env import Env
from treewright.performers.static.facts import (
    ALL,
    Definition,
    FileFacts,
    Flow,
    FunctionFacts,
    Label,
    Mark,
    Match,
    Place,
)
from treewright.performers.static.facts import Source as Origin
from treewright.performers.static.noted import Noted
from treewright.performers.static.python import entries, hooks
from treewright.performers.static.python.entries import Entry, entry_of
from treewright.performers.static.python.fields import fields_of
from treewright.performers.static.python.flow import FunctionRun
from treewright.performers.static.python.patterns import NameTable
from treewright.performers.static.python.source import BUILTINS, FUNCTIONS, Source
from treewright.performers.static.python.value import UNKNOWN, Value, named
from treewright.performers.static.rulebook import Rule, rules, table

_FIXED_URL = re.compile(r"^(https?|ftp|wss?)://[^/?#\s]+[/?#]")
_FIXED_PATH = re.compile(r"^(/[^/\\]|[\w.-]+/|\?|#)")
_SAFE_NOTES = frozenset(
    ["int", "float", "bool", "uuid.UUID", "datetime.date", "datetime.datetime", "decimal.Decimal"]
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The call tables of Python, indexed by name."""

    calls: NameTable
    sinks: NameTable
    sources: NameTable
    sanitisers: NameTable
    drops: NameTable
    validators: NameTable
    predicates: NameTable
    ends: NameTable
    restores: NameTable


_loaded: list[Tables] = []


def tables() -> Tables:
    """Load the tables once a process."""
    if not _loaded:
        cleaning = table("python", "sanitisers")

        def index(rows: list[dict[str, Any]]) -> NameTable:
            return NameTable((row["calls"], row) for row in rows)

        _loaded.append(
            Tables(
                index(table("python", "calls")["call"]),
                index(table("python", "sinks")["sink"]),
                index(table("python", "sources")["source"]),
                index(cleaning["sanitiser"]),
                NameTable([(cleaning["drops"], True)]),
                index(cleaning["validator"]),
                index(cleaning["predicate"]),
                NameTable([(cleaning["ends"], True)]),
                NameTable([(cleaning["restores"], True)]),
            )
        )
    return _loaded[0]


@dataclass(slots=True)
class Pending:
    """A function that waits to be interpreted."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    scope: dict[str, Value]
    class_node: ast.ClassDef | None
    class_name: str
    outer: FunctionFacts


@dataclass(slots=True)
class Unit:
    """The state of one file's analysis."""

    source: Source
    facts: FileFacts
    rules: dict[str, Rule] = field(default_factory=rules)
    tables: Tables = field(default_factory=tables)
    pending: list[Pending] = field(default_factory=list)
    queued: set[ast.AST] = field(default_factory=set)
    class_constants: dict[str, Value] = field(default_factory=dict)
    bound_tests: dict[tuple[str, str], ast.expr] = field(default_factory=dict)
    compiled: dict[str, str] = field(default_factory=dict)
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[ast.AST, int] = field(default_factory=dict)
    reported: dict[tuple[str, Place], int] = field(default_factory=dict)
    noted: Noted = field(default_factory=Noted)
    """Where a function's sinks and calls stand in its facts."""
    entry_nodes: dict[str, Entry] = field(default_factory=dict)
    local_names: dict[str, str] = field(default_factory=dict)
    quiet: bool = False
    web: str = ""

    def run(self) -> None:
        """Interpret the module body, then every function in it."""
        self.web = entries.web_framework(self.source)
        for node in self.source.tree.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                self.local_names[node.name] = f"{self.source.module}.{node.name}"
        total = len(self.source.lines)
        module = (
            FunctionFacts("<module>", self.source.place(self.source.tree.body[0]), public=True)
            if (self.source.tree.body)
            else FunctionFacts("<module>", hooks.whole(total))
        )
        module.place = hooks.whole(total)
        self.facts.functions.append(module)
        run = FunctionRun(self, module, {})
        env = Env()
        end = run.run(self.source.tree.body, env)
        scope = (end or run.env).vars
        while self.pending:
            self._interpret(self.pending.pop(), scope, module)

    def _interpret(self, task: Pending, module_scope: dict[str, Value], module: FunctionFacts) -> None:
        node, source = task.node, self.source
        entry = entry_of(source, node, task.class_node)
        self.entry_nodes[task.name] = entry
        facts = FunctionFacts(task.name, source.place(node), entry=entry.text, entry_strength=entry.strength)
        facts.public = not node.name.startswith("_")
        facts.sources = list({known.key: known for known in (*module.sources, *task.outer.sources)}.values())
        scope = (
            {**module_scope, **{k: _outside(v) for k, v in task.scope.items()}}
            if task.scope
            else module_scope
        )
        env = Env(self._parameters(task, entry, facts))
        self.facts.functions.append(facts)
        self_name = facts.params[0] if task.class_node is not None and facts.params else ""
        FunctionRun(self, facts, scope, task.class_name, self_name).run(node.body, env)

    def _parameters(self, task: Pending, entry: Entry, facts: FunctionFacts) -> dict[str, Value]:
        """The values that parameters start with."""
        arguments = task.node.args
        found: dict[str, Value] = {}
        plain = [*arguments.posonlyargs, *arguments.args]
        method = task.class_node is not None and not any(
            name.endswith("staticmethod") for name in entry.decorators
        )
        for index, argument in enumerate([*plain, *arguments.kwonlyargs]):
            note = self.annotated(argument.annotation)
            if index == 0 and method:
                found[argument.arg] = named(f"{task.class_name}()")
            else:
                found[argument.arg] = self._parameter(argument.arg, note, entry, task.node)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                found[extra.arg] = Value((Flow(Label("param", extra.arg)),))
        facts.params = tuple(found)
        line = task.node.lineno
        facts.sources += [
            Origin(f"exception:{name}", line, 3, "the text of a caught exception")
            for name, value in found.items()
            if value.name == "exception()"
        ]
        return found

    def _parameter(self, name: str, note: Value, entry: Entry, node: ast.AST) -> Value:
        if name in {"request", "req"} or note.name.endswith(("~request", "Request()", "HttpRequest()")):
            return Value((), name="~request")
        if any(d.endswith(("errorhandler", "exception_handler")) for d in entry.decorators):
            return Value((Flow(Label("source", f"exception:{name}")),), name="exception()")
        if name in entry.clean and entry.strength > 1:
            return Value((), name=note.name)
        marks: tuple[Mark, ...] = ()
        line: int = node.lineno  # type: ignore[attr-defined]  # functions have a line
        if note.name[:-2] in _SAFE_NOTES and entry.web in {"fastapi", "litestar", "ninja"}:
            marks = (
                Mark(frozenset({ALL}), line, f"`{name}` is declared as `{note.name[:-2]}` and converted"),
            )
        if re.search(rf"<(int|float|uuid):{re.escape(name)}>", entry.route):
            marks = (Mark(frozenset({ALL}), line, f"the route converts `{name}`"),)
        return Value((Flow(Label("param", name), (), marks),), name=note.name)

    def annotated(self, note: ast.expr | None) -> Value:
        """What a type annotation says of a value."""
        if isinstance(note, ast.Subscript) and self.source.dotted(note.value).endswith(
            ("Optional", "Annotated")
        ):
            inner = note.slice.elts[0] if isinstance(note.slice, ast.Tuple) else note.slice
            return self.annotated(inner)
        if isinstance(note, ast.BinOp) and isinstance(note.op, ast.BitOr):
            return self.annotated(note.left)
        name = self.source.dotted(note) if isinstance(note, (ast.Name, ast.Attribute)) else ""
        if not name or name.lstrip("~") in {"str", "bytes", "Any", "typing.Any", "object", "dict", "list"}:
            return UNKNOWN
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        if (
            last in {"Request", "HttpRequest"}
            and root in entries.WEB_ROOTS
            and root not in {"tornado", "aiohttp"}
        ):
            return named("~request")
        return named(f"{self.local_names.get(name.lstrip('~'), name)}()")

    def qualify(self, name: str) -> str:
        """The qualified name of a module-level name."""
        if name in self.source.imports:
            return self.source.imports[name]
        if name in self.local_names:
            return self.local_names[name]
        return name if name in BUILTINS else f"~{name}"

    def sources(self, name: str) -> list[dict[str, Any]]:
        """Entries of the source table for a name that count in this file."""
        return [
            entry
            for alias in self.alternatives(name)
            for entry in self.tables.sources.find(alias)
            if not entry.get("web") or self.web or not self.source.library
        ]

    def alternatives(self, name: str) -> tuple[str, ...]:
        """A name, and the same under each base class of the class it begins with."""
        head, dot, rest = name.partition("()")
        bases = self.bases.get(head)
        if not bases or not dot:
            return (name,)
        return (name, *(f"{base}(){rest}" for base in bases))

    def project_callee(self, name: str) -> str:
        """The function's name within the project that a call may mean, or empty."""
        if not name or name[0] in "~?" or "[]" in name:
            return ""
        plain = name.replace("()", "")
        return plain if "." in plain and self.source.in_project(plain.partition(".")[0]) else ""

    def define(self, run: FunctionRun, node: ast.FunctionDef | ast.AsyncFunctionDef, env: Env) -> str:
        """Queue a function met while interpreting; gives its qualified name."""
        outer = run.facts
        prefix = self.source.module if outer.name == "<module>" else outer.name
        name = (
            f"{run.class_name or prefix}.{node.name}" if outer.name == "<module>" else f"{prefix}.{node.name}"
        )
        if node not in self.queued:
            self.queued.add(node)
            parent = self.source.parent(node)
            owner = parent if isinstance(parent, ast.ClassDef) else None
            scope = {} if outer.name == "<module>" else dict(env.vars)
            self.pending.append(Pending(node, name, scope, owner, run.class_name if owner else "", outer))
            public = not node.name.startswith("_")
            self.facts.definitions.append(Definition(name, "function", self.source.place(node), public))
        return name

    def define_class(self, run: FunctionRun, node: ast.ClassDef, env: Env) -> str:
        """Run a class body and queue its methods; gives its qualified name."""
        outer = run.facts.name
        prefix = run.class_name or (self.source.module if outer == "<module>" else outer)
        name = f"{prefix}.{node.name}"
        if node in self.queued:
            return name
        self.queued.add(node)
        place = self.source.place(node)
        self.facts.definitions.append(Definition(name, "class", place, not node.name.startswith("_")))
        bases = tuple(base for part in node.bases if (base := self.source.dotted(part)))
        self.bases[name] = tuple(base.lstrip("~") for base in bases)
        self.facts.bases[name] = [self.local_names.get(b.lstrip("~"), b.lstrip("~")) for b in bases]
        before = run.class_name
        run.class_name = name
        self.class_constants |= fields_of(self.source, run, node, name)
        inner = run.env.copy()
        end = run.block(node.body, inner)
        run.class_name = before
        run.env = env
        for key, value in (end.vars if end else inner.vars).items():
            if "." not in key and env.vars.get(key) is not value:
                self.class_constants[f"{name}.{key}"] = self.class_constants[f"{name}().{key}"] = value
        return name

    def number(self, node: ast.AST) -> int:
        """A number for a call that is the same each time it is met."""
        return self.numbers.setdefault(node, len(self.numbers))

    def prefixed(self, value: Value, node: ast.expr) -> Value:
        """A text that begins with a fixed host or path cannot send a request or a browser elsewhere."""
        if not value.flows or not value.prefix:
            return value
        if _FIXED_URL.match(value.prefix):
            kinds, why = frozenset({"ssrf", "redirect"}), "the text before it fixes the host"
        elif _FIXED_PATH.match(value.prefix):
            kinds, why = frozenset({"redirect"}), "the text before it keeps it a local path"
        else:
            return value
        mark = Mark(kinds, node.lineno, why)
        flows = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in value.flows)
        return Value(flows, value.const, value.name, value.prefix, value.composed)

    def report(
        self, rule: str, node: ast.AST, what: str = "", safe: str = "", strength: int = 0, safe_line: int = 0,
        facts: tuple[tuple[str, str], ...] = (), edits: tuple[tuple[int, int, int, int, str], ...] = (),
        imports: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """Record a structural hit, once a place."""
        if self.quiet:
            return
        place = self.source.place(node)
        shown = what or self.source.segment(node).split("\n")[0][:80]
        hit = Match(rule, place, shown, safe, safe_line, strength, facts, edits, imports)
        index = self.reported.setdefault((rule, place), len(self.facts.matches))
        if index == len(self.facts.matches):
            self.facts.matches.append(hit)
        elif (
            self.facts.matches[index].safe and not safe
        ):  # what one row takes for the safe form another knows better
            self.facts.matches[index] = hit

    def context(self, entry: dict[str, Any], run: Any) -> bool:
        """Conditions of a call entry about what stands around it."""
        if "near" in entry or "not_near" in entry:
            around = f"{run.facts.name} {self.statement_text} {self._uses(run) if entry.get('uses') else ''}"
            if "near" in entry and not re.search(entry["near"], around, re.IGNORECASE):
                return False
            if "not_near" in entry and re.search(entry["not_near"], around, re.IGNORECASE):
                return False
        if entry.get("snippet") and self.source.library:
            return False
        return not (entry.get("library") and not self.source.library)

    statement_text: str = ""
    statement: ast.stmt | None = None

    def _uses(self, run: Any) -> str:
        """The lines of this function that use the one name the statement gives its value to."""
        statement = self.statement
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return ""
        name, place = statement.targets[0].id, run.facts.place
        rows = self.source.lines[statement.end_lineno or statement.lineno : place.end]
        return " ".join(row for row in rows[:60] if re.search(rf"(?<![\w.]){re.escape(name)}\b", row))

    def fixed_route(self, function: str) -> bool:
        """Whether a function is entered by a route without parts that vary."""
        entry = self.entry_nodes.get(function)
        return entry is not None and entry.route[:1] == "/" and not re.search(r"[<{:*(]", entry.route)

    def exception_value(self, run: FunctionRun, handler: ast.ExceptHandler) -> Value:
        """The value an `except ... as e` binds: its text tells about the inside."""
        key = f"exception:{handler.lineno}"
        if not any(known.key == key for known in run.facts.sources):
            run.facts.sources.append(Origin(key, handler.lineno, 3, "the text of a caught exception"))
        return Value((Flow(Label("source", key)),), name="exception()")

    def on_call(self, node: ast.Call) -> None:
        """A call was met."""
        statement = self.statement = self.source.statement_of(node)
        first = self.source.lines[statement.lineno - 1]
        last = self.source.lines[min(node.end_lineno or node.lineno, len(self.source.lines)) - 1]
        self.statement_text = first if first is last else f"{first} {last}"

    def on_return(self, run: Any, node: ast.Return, value: Value) -> None:
        """A return with a value was met."""
        hooks.on_return(self, run, node, value)

    def on_assign(self, run: Any, target: ast.expr, node: ast.expr) -> None:
        """An assignment was met."""
        hooks.on_assign(self, run, target, node)

    def on_item(self, run: Any, target: ast.Subscript, base: Value, index: Value, value: Value) -> None:
        """`base[index] = value` was met."""
        hooks.on_item(run, target, base, index, value)

    def on_subscript(self, run: Any, node: ast.Subscript, base: Value, index: Value) -> None:
        """`base[index]` was read."""
        hooks.on_subscript(self, run, node, base, index)

    def on_join(self, run: Any, node: ast.BinOp, left: Value, right: Value) -> None:
        """`left / right` was met (a path joined, or a division)."""
        hooks.on_operation(run, node, left, right)

    def on_operation(self, run: Any, node: ast.BinOp, left: Value, right: Value) -> None:
        """An arithmetic operation was met."""
        hooks.on_operation(run, node, left, right)


def _outside(value: Value) -> Value:
    """A closure's view of an outer variable: only sources are labels that mean the same inside."""
    flows = tuple(flow for flow in value.flows if flow.label.kind == "source")
    return Value(flows, value.const, value.name, value.prefix, value.composed, value.items, value.entries)
