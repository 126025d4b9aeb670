"""One file under analysis: its tables, its names, the functions still to interpret, what was reported."""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from treewright.performers.static.env import Env
from treewright.performers.static.facts import (
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
from treewright.performers.static.javascript import hooks, imports
from treewright.performers.static.javascript.entries import Entry, decorated, of_function
from treewright.performers.static.javascript.flow import FunctionRun
from treewright.performers.static.javascript.node import (
    CLASSES,
    FUNCTIONS,
    Node,
    bare,
    parameter_name,
    parameter_target,
    parameters,
    property_name,
)
from treewright.performers.static.javascript.source import Source
from treewright.performers.static.noted import Noted
from treewright.performers.static.python.patterns import Arguments, NameTable
from treewright.performers.static.python.value import UNKNOWN, Value, named
from treewright.performers.static.rulebook import Rule, rules_for, table

_FIXED_URL = re.compile(r"^(https?|ftp|wss?)://[^/?#\s]+[/?#]")
_FIXED_PATH = re.compile(r"^(/[^/\\]|[\w.-]+/|\?|#)")
_MAX_INLINED = 6
"""Times one function literal is followed within a file."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of the language, indexed by name."""

    calls: NameTable
    sinks: NameTable
    assigns: NameTable
    sources: NameTable
    callbacks: NameTable
    tags: NameTable
    sanitisers: NameTable
    drops: NameTable
    validators: NameTable
    predicates: NameTable
    ends: NameTable


@cache
def tables() -> Tables:
    """Load the tables once a process."""
    cleaning, sinks = table("javascript", "sanitisers"), table("javascript", "sinks")
    sources = table("javascript", "sources")

    def index(rows: list[dict[str, Any]]) -> NameTable:
        return NameTable((row["calls"], row) for row in rows)

    return Tables(
        index(table("javascript", "calls")["call"]),
        index(sinks["sink"]),
        index(sinks["assign"]),
        index(sources["source"]),
        index(sources["callback"]),
        index(sinks["tag"]),
        index(cleaning["sanitiser"]),
        NameTable([(cleaning["drops"], True)]),
        index(cleaning["validator"]),
        index(cleaning["predicate"]),
        NameTable([(cleaning["ends"], True)]),
    )


@dataclass(slots=True)
class Pending:
    """A function that waits to be interpreted."""

    node: Node
    name: str
    scope: dict[str, Value]
    class_name: str
    outer: FunctionFacts
    entry: Entry | None


@dataclass(slots=True)
class Unit:
    """The state of one file's analysis."""

    source: Source
    facts: FileFacts
    rules: dict[str, Rule] = field(default_factory=lambda: rules_for("javascript"))
    tables: Tables = field(default_factory=tables)
    pending: list[Pending] = field(default_factory=list)
    queued: dict[tuple[int, int, str], str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    exported: set[str] = field(default_factory=set)
    routed: dict[str, Entry] = field(default_factory=dict)
    class_constants: dict[str, Value] = field(default_factory=dict)
    bound_tests: dict[tuple[str, str], Node] = field(default_factory=dict)
    proto_checks: list[Node] = field(default_factory=list)
    numbers: dict[tuple[int, int, str], int] = field(default_factory=dict)
    inlining: dict[tuple[int, int, str], int] = field(default_factory=dict)
    active: set[tuple[int, int, str]] = field(default_factory=set)
    local_names: dict[str, str] = field(default_factory=dict)
    reported: set[tuple[str, Place]] = field(default_factory=set)
    noted: Noted = field(default_factory=Noted)
    """Where a function's sinks and calls stand in its facts."""
    quiet: bool = False
    web: str = ""
    browser: bool = True
    statement_text: str = ""
    resolutions: list[list[Value]] = field(default_factory=list)
    """What the promises that are being made are resolved with, the innermost last."""

    def run(self) -> None:
        """Interpret the module body, then every function in it."""
        root = self.source.root
        imports.read(self)
        lines = max(len(self.source.lines), 1)
        module = FunctionFacts("<module>", Place(1, lines), public=True)
        self.facts.functions.append(module)
        run = FunctionRun(self, module, {})
        start = Env({name: named(target) for name, target in self.local_names.items()})
        end = run.run(root, start)
        scope = (end or run.env).vars
        while self.pending:
            self._interpret(self.pending.pop(), scope, module)

    def _interpret(self, task: Pending, module_scope: dict[str, Value], module: FunctionFacts) -> None:
        exported = task.name in self.exported or (
            not self.exported and task.name.count(".") <= 2 and self.plain
        )
        entry = task.entry or self.routed.get(task.name) or of_function(self, task.node, task.name, exported)
        facts = FunctionFacts(task.name, task.node.place, entry=entry.text, entry_strength=entry.strength)
        facts.public = exported
        facts.sources = list({known.key: known for known in (*module.sources, *task.outer.sources)}.values())
        inner = {name: _outside(value) for name, value in task.scope.items()}
        scope = {**module_scope, **inner} if inner else module_scope
        run = FunctionRun(self, facts, scope, task.class_name)
        self.facts.functions.append(facts)
        self._parameters(task, entry, run)
        run.env.marks |= entry.checked
        run.run(task.node.need("body"), run.env)

    @property
    def plain(self) -> bool:
        """Whether the file exports nothing: a script, whose functions anything on the page may call."""
        return not self.source.library

    def _parameters(self, task: Pending, entry: Entry, run: Any) -> None:
        """Give parameters the values that they start with."""
        facts, names = run.facts, []
        fillers = decorated(task.node)
        for index, parameter in enumerate(parameters(task.node)):
            name = parameter_name(parameter)
            names.append(name)
            value = entry.values.get(index)
            if value is not None and value.name == "exception()":
                value = self.exception_value(run, parameter)
            if value is None and index in fillers:
                value = hooks.filled(self, run, fillers[index], name)
            if value is None:
                hint = self.typed(parameter.field("type"))
                known = hint.name or (f"~{name}" if name.isidentifier() else "")
                value = hint if hint.name == "~req" else Value((Flow(Label("param", name)),), name=known)
            run.bind(parameter_target(parameter), value, 0)
            self.parameter_hints(run, parameter, parameter_target(parameter))
        facts.params = tuple(names)

    def parameter_hints(self, run: Any, parameter: Node, target: Node) -> None:
        """TypeScript's `constructor(private x: T)` also makes a field."""
        if run.class_name and any(p.kind == "accessibility_modifier" for p in parameter.named):
            hint = self.typed(parameter.field("type"))
            if hint.name:
                self.class_constants[f"{run.class_name}.{target.text}"] = hint

    def typed(self, annotation: Node | None) -> Value:
        """What a type annotation says of a value."""
        part = annotation.named[0] if annotation is not None and annotation.named else None
        if part is not None and part.kind == "generic_type" and part.named:
            part = part.named[0]
        if part is None or part.kind not in {"type_identifier", "nested_type_identifier"}:
            return UNKNOWN
        name = self.local_names.get(part.text, part.text)
        if re.search(r"(^|\.)(Next(Api)?|Fastify|Express)?Request$", name) and self.web:
            return named("~req")
        return named(f"{name}()") if name != part.text or name in self.names else UNKNOWN

    def define(
        self, run: Any, node: Node, name: str, env: Env, entry: Entry | None = None
    ) -> str:  # fmt: skip
        """Queue a function once; gives its qualified name."""
        known = self.queued.get(node.key)
        if known is not None:
            return known
        own = node.field("name")
        name = name or (own.text if own is not None else "") or (entry.name if entry else "") or "anonymous"
        outer = run.facts.name
        prefix = run.class_name if node.kind == "method_definition" and run.class_name else (
            self.source.module if outer == "<module>" else outer
        )  # fmt: skip
        qualified = self.unique(f"{prefix}.{name}")
        self.queued[node.key] = qualified
        scope = dict(env.vars) if outer != "<module>" or run.inlined else {}
        self.pending.append(Pending(node, qualified, scope, run.class_name, run.facts, entry))
        self.facts.definitions.append(
            Definition(qualified, "function", node.place, qualified in self.exported)
        )
        return qualified

    def unique(self, name: str) -> str:
        """A name that no other function of the file has."""
        found, count = name, 1
        while found in self.names:
            count += 1
            found = f"{name}#{count}"
        self.names.add(found)
        return found

    def define_class(self, run: Any, node: Node, name: str, env: Env) -> str:
        """Queue a class's methods; gives its qualified name."""
        known = self.queued.get(node.key)
        if known is not None:
            return known
        own = node.field("name")
        name = own.text if own is not None else name or "anonymous"
        outer = run.facts.name
        qualified = self.unique(f"{self.source.module if outer == '<module>' else outer}.{name}")
        self.queued[node.key] = qualified
        self.facts.definitions.append(Definition(qualified, "class", node.place, True))
        if qualified in self.exported:
            self.exported.add(f"{qualified}.constructor")
        self.facts.bases[qualified] = [
            value.name
            for part in node.named
            if part.kind == "class_heritage"
            for value in [run.eval(_heir(part))]
            if value.name
        ]
        before, run.class_name = run.class_name, qualified
        body = node.field("body")
        for member in body.named if body is not None else []:
            if member.kind == "method_definition" and member.need("name").text == "constructor":
                for parameter in parameters(member):
                    self.parameter_hints(run, parameter, parameter_target(parameter))
        for member in body.named if body is not None else []:
            self._member(run, member, qualified, env)
        run.class_name = before
        return qualified

    def _member(self, run: Any, member: Node, owner: str, env: Env) -> None:
        key = member.field("name") or member.field("property")
        name = (property_name(key) if key is not None else None) or "computed"
        value = member.field("value")
        if member.kind == "method_definition":
            found = self.define(run, member, name, env)
            if owner in self.exported and not name.startswith(("#", "_")):
                self.exported.add(found)
        elif value is not None and bare(value).kind in FUNCTIONS:
            found = self.unique(f"{owner}.{name}")
            self.queued[bare(value).key] = found
            self.pending.append(Pending(bare(value), found, {}, owner, run.facts, None))
            self.facts.definitions.append(Definition(found, "function", member.place, owner in self.exported))
        elif value is not None and bare(value).kind not in CLASSES:
            self.class_constants[f"{owner}.{name}"] = run.eval(value)

    def enter(self, node: Node) -> bool:
        """Ask to follow a function literal where it is passed on; False when that was done often enough."""
        count = self.inlining.get(node.key, 0)
        if node.key in self.active or count >= _MAX_INLINED:
            return False
        self.inlining[node.key] = count + 1
        self.active.add(node.key)
        return True

    def leave(self, node: Node) -> None:
        """A function literal was followed to its end."""
        self.active.discard(node.key)

    def deep_loops(self, loops: list[Any]) -> bool:
        """Whether a loop stands so deep that one round must do."""
        return len(loops) >= 2

    def project_callee(self, name: str) -> str:
        """The project function a callee's name means, or empty for a foreign one."""
        head = name.rpartition("/")
        if not head[1]:
            return ""
        tail = head[2]
        plain = tail.replace("[]", "")
        if "." not in plain:
            plain += ".default"
        elif plain.partition(".")[0].endswith("()"):
            plain = plain.replace("().", ".default.", 1)
        return f"{head[0]}/{plain.replace('()', '')}"

    def number(self, node: Node) -> int:
        """A number for a call that is the same each time it is met."""
        return self.numbers.setdefault(node.key, len(self.numbers))

    def prefixed(self, value: Value, node: Node) -> Value:
        """A text that begins with a fixed host or path cannot send a request or a browser elsewhere."""
        if not value.flows or not value.prefix:
            return value
        if _FIXED_URL.match(value.prefix):
            kinds, why = frozenset({"ssrf", "redirect"}), "the text before it fixes the host"
        elif _FIXED_PATH.match(value.prefix):
            kinds, why = frozenset({"redirect"}), "the text before it keeps it a local path"
        else:
            return value
        mark = Mark(kinds, node.line, why)
        flows = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in value.flows)
        return Value(flows, value.const, value.name, value.prefix, value.composed)

    def based(self, value: Value, node: Node) -> Value:
        """A text that begins with a value of the program's own, such as a configured address."""
        mark = Mark(
            frozenset({"ssrf", "redirect"}), node.line, "the text before it does not come from outside"
        )
        flows = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in value.flows)
        return Value(flows, value.const, value.name, value.prefix, value.composed)

    def report(
        self, rule: str, node: Node, what: str = "", safe: str = "", strength: int = 0, safe_line: int = 0,
        facts: tuple[tuple[str, str], ...] = (), edits: tuple[tuple[int, int, int, int, str], ...] = (),
    ) -> None:  # fmt: skip
        """Record a structural hit, once a place."""
        if self.quiet or (rule, node.place) in self.reported:
            return
        self.reported.add((rule, node.place))
        shown = what or node.text.split("\n")[0][:80]
        self.facts.matches.append(Match(rule, node.place, shown, safe, safe_line, strength, facts, edits))

    def context(self, entry: dict[str, Any], run: Any) -> bool:
        """Conditions of a table row about what stands around the call."""
        if "near" in entry or "not_near" in entry:
            around = f"{run.facts.name} {self.statement_text}"
            if "near" in entry and not re.search(entry["near"], around, re.IGNORECASE):
                return False
            if "not_near" in entry and re.search(entry["not_near"], around, re.IGNORECASE):
                return False
        if "file" in entry and not re.search(entry["file"], " ".join(self.local_names.values())):
            return False
        return not (entry.get("snippet") and self.source.library)

    def callback_sources(
        self, run: Any, name: str, arguments: Arguments, function: Node
    ) -> list[Value]:  # fmt: skip
        """What a callback's parameters carry when the call hands foreign data to it."""
        return hooks.callback_sources(self, run, name, arguments, function)

    def exception_value(self, run: Any, handler: Node) -> Value:
        """The value that a catch clause binds: its text tells about the inside."""
        key = f"exception:{handler.line}"
        if not any(known.key == key for known in run.facts.sources):
            run.facts.sources.append(Origin(key, handler.line, 3, "the text of a caught exception"))
        return Value((Flow(Label("source", key)),), name="exception()")

    def raw_markup(self, run: Any, node: Node, value: Value) -> None:
        """Markup that a component is told to insert as it is."""
        hooks.raw_markup(self, run, node, value)

    def on_assign(self, run: Any, target: Node, value: Value, node: Node, source: Node | None) -> None:
        """An assignment was met."""
        hooks.on_assign(self, run, target, value, node, source)

    def on_item(self, run: Any, target: Node, base: Value, index: Value, value: Value) -> None:
        """`base[index] = value` was met."""
        hooks.on_item(self, run, target, base, index, value)

    def export(self, name: str, value: Value, line: int) -> None:
        """A value leaves the module under a name."""
        imports.export(self, name, value, line)


def _heir(part: Node) -> Node:
    inner = part.named[0] if part.named else part
    return inner.field("value") or inner if inner.kind == "extends_clause" else inner


def _outside(value: Value) -> Value:
    """A closure's view of an outer variable: only sources are labels that mean the same inside."""
    flows = tuple(flow for flow in value.flows if flow.label.kind == "source")
    return Value(flows, value.const, value.name, value.prefix, value.composed, value.items, value.entries)
