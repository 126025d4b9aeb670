"""Calls: which rule looks at them, what they do to a value, what they hand to other functions."""

import ast
import re
from typing import Any

from treewright.performers.static.facts import ALL, CallOut, Flow, Label, Mark, SinkHit, Step
from treewright.performers.static.python.compose import after_query
from treewright.performers.static.python.evaluate import Evaluate
from treewright.performers.static.python.indirect import handed_on, named_by_text
from treewright.performers.static.python.parts import element, path_key
from treewright.performers.static.python.patterns import Arguments, holds
from treewright.performers.static.python.settled import keeps_fixed, nothing_comes_in
from treewright.performers.static.python.stores import fetched, store
from treewright.performers.static.python.texts import beside, split_command, told
from treewright.performers.static.python.value import MAX_MARKS, Value, constant, merge_flows, named

_KEYED = frozenset(["get", "getlist", "pop", "get_all", "getone", "getall", "setdefault"])


_KEEPS_TEXT = frozenset(
    {"str", "~text", "sqlalchemy.text", "sqlalchemy.sql.text", "sqlalchemy.sql.expression.text"}
)
"""Calls that give back the text they get, as what it was."""


class Calls(Evaluate):
    """The call part of a function's interpreter."""

    def call(self, node: ast.Call) -> Value:
        """Evaluate a call: its parts, the rules about it, its result."""
        arguments = self.arguments(node)
        name = self.callee(node, arguments)
        names = self.unit.alternatives(name)
        self.unit.on_call(node)
        clean = False
        for alias in names:
            self._table_rules(alias, node, arguments)
            clean = self._sinks(alias, node, arguments) or clean
        passed = handed_on(name, node, arguments)
        if passed is not None:
            self._sinks(passed[0], node, passed[1])
        if not clean:
            told(self, name, node, arguments)
        if arguments.spread and name.rpartition(".")[2][:1].isupper():
            self._sinks("(class)", node, arguments)
        return self.result(names, node, arguments)

    def arguments(self, node: ast.Call) -> Arguments:
        """Evaluate receiver and arguments."""
        found = Arguments(node)
        if isinstance(node.func, ast.Attribute):
            found.receiver_node, found.receiver = node.func.value, self.eval(node.func.value)
        for part in node.args:
            if isinstance(part, ast.Starred):
                value = self.eval(part.value)
                found.open = True
                found.positional.append((part, element(value)))
            else:
                found.positional.append((part, self.eval(part)))
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                found.keywords[keyword.arg] = (keyword.value, value)
            elif value.entries is not None:
                found.keywords |= {str(k): (keyword.value, v) for k, v in value.entries.items()}
            else:
                found.open = True
                found.positional.append((keyword.value, element(value)))
                found.spread.append((keyword.value, value))
        return found

    def callee(self, node: ast.Call, arguments: Arguments) -> str:
        """The dotted name of what is called."""
        if isinstance(node.func, ast.Attribute):
            key = path_key(node.func)
            stored = self.env.vars.get(key) if key else None
            if stored is not None and stored.name:
                return stored.name
            if isinstance(arguments.receiver.const, str):
                return f"str().{node.func.attr}"
            return f"{arguments.receiver.name or '?'}.{node.func.attr}"
        return self.eval(node.func).name

    def _table_rules(self, name: str, node: ast.Call, arguments: Arguments) -> None:
        """Structural call rules of the table."""
        text = self.unit.source.segment
        for entry in self.unit.tables.calls.find(name):
            rule = entry["rule"]
            self.unit.facts.examined[rule] = self.unit.facts.examined.get(rule, 0) + 1
            if not holds(entry.get("where", ()), arguments, text) or not self.unit.context(entry, self):
                continue
            self.unit.report(
                rule, node, what=shown(name), safe=entry.get("safe", ""), strength=entry.get("strength", 0),
                facts=self._facts(entry, arguments),
            )  # fmt: skip
            if not entry.get("also"):
                break

    def _facts(self, entry: dict[str, Any], arguments: Arguments) -> tuple[tuple[str, str], ...]:
        """What the entry wants shown of the arguments."""
        if "shown" in entry:
            return (("shown", entry["shown"]),)
        found = arguments.get(entry["show"]) if "show" in entry else None
        if found is None:
            return ()
        return (("shown", self.unit.source.segment(found[0]).split("\n")[0][:80]),)

    def _sinks(self, name: str, node: ast.Call, arguments: Arguments) -> bool:
        """Flow rules of the table: what of this call's arguments would do harm there."""
        hit = False
        for entry in self.unit.tables.sinks.find(name):
            rule = entry["rule"]
            self.unit.facts.examined[rule] = self.unit.facts.examined.get(rule, 0) + 1
            if not holds(entry.get("where", ()), arguments, self.unit.source.segment):
                continue
            flows, composed = self._reaching(entry, arguments)
            unknown = composed or (bool(entry.get("unknown")) and self._not_known(entry, arguments))
            if not flows and (nothing_comes_in(self, entry, arguments, node, shown(name)) or not (
                unknown and self.unit.rules[rule].opaque
            )):  # fmt: skip
                continue
            bound = self.unit.rules[rule].kind == "sql" and len(arguments.positional) > 1
            if bound and not flows and not self.unit.quiet:
                beside(self, node, shown(name), "the values are given beside the statement")
            self.sink(
                rule, node, shown(name), flows, entry.get("safe", ""), decides=bool(entry.get("decides")),
                composed=composed or (unknown and self.unit.rules[rule].kind != "command"), bound=bound,
            )  # fmt: skip
            hit = True
        return hit

    def _not_known(self, entry: dict[str, Any], arguments: Arguments) -> bool:
        """Whether the argument is neither a constant nor made by a call that is known to be harmless."""
        found = next((pair for spec in entry["args"] if (pair := arguments.get(spec)) is not None), None)
        if found is None or found[1].is_const:
            return False
        value = found[1]
        parts = value.items or (value,)
        if all(part.is_const or part.name.startswith(("sys.", "os.")) for part in parts):
            return False
        return not value.name.endswith(("dumps()", "open()", "BytesIO()"))

    def _reaching(self, entry: dict[str, Any], arguments: Arguments) -> tuple[tuple[Flow, ...], bool]:
        found = [arguments.get(spec) for spec in entry.get("args", ["0"])]
        if entry.get("args") == ["*"]:
            found = list(arguments.all())
        values = [pair[1] for pair in found if pair is not None]
        if entry.get("first_item"):
            values = [value.items[0] if value.items else value for value in values]
        if entry.get("options"):
            values = [item for value in values for item in _options(value)]
        if entry.get("composed"):
            values = [value for value in values if value.composed or value.items is None]
        flows = merge_flows(*(value.flows for value in values)) if values else ()
        return self.effective(flows), any(value.composed for value in values)

    def sink(self, rule: str, node: ast.AST, what: str, flows: tuple[Flow, ...], safe: str = "", *,
             decides: bool = False, composed: bool = False, bound: bool = False, callee: str = "") -> None:  # fmt: skip
        """Record that flows reach a place where they do harm.

        Args:
            composed: the text is put together from parts. bound: values are given beside the text. callee: a function
                that may be the project's own, which then answers for itself. decides: `safe` holds for the whole call, whatever other rows say of it.
        """
        if self.unit.quiet:
            return
        kind = self.unit.rules[rule].kind
        marked = (
            ("composed", "yes" if composed else ""),
            ("bound", "yes" if bound else ""),
            ("callee", callee),
        )
        facts = tuple((key, text) for key, text in marked if text)
        hit = SinkHit(rule, kind, self.place(node), what, flows, safe, facts)
        self.unit.noted.sink(self.facts, hit, decides=decides)

    def result(self, names: tuple[str, ...], node: ast.Call, arguments: Arguments) -> Value:
        """What the call gives back."""
        name = names[0]
        reached = named_by_text(name, arguments)
        if reached is not None:
            return reached
        for alias in names:
            source = self.origin(alias + "()", node)
            if source is not None:
                return self._keyed_source(source, arguments, node)
        given = arguments.all()
        if name.endswith(".replace") and len(given) == 2:
            given = given[1:]  # the text that is taken out does not come in
        flows = merge_flows(arguments.receiver.flows, *(value.flows for _, value in given))
        kept = store(self, node, arguments) or fetched(self, node, arguments)
        if kept is not None:
            return kept
        known = self._tabled(names, node, arguments, flows)
        if known is not None:
            return known
        special = self._textual(name, node, arguments, flows)
        if special is not None:
            return special
        if any(base.endswith("Enum") for base in self.unit.bases.get(name, ())):
            mark = Mark(frozenset({ALL}), node.lineno, f"`{shown(name)}` accepts only its members")
            return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows))
        target = self.unit.project_callee(name)
        if target and len(given) == len(arguments.all()):
            return self._call_out(target, node, arguments)
        joined = name == "os.path.join" and bool(flows) and len(arguments.positional) > 1
        fixed = not flows and keeps_fixed(name, arguments)
        return Value(flows, name=settled(f"{name}()") if name else "", composed=joined, fixed=fixed)

    def _tabled(
        self, names: tuple[str, ...], node: ast.Call, arguments: Arguments, flows: tuple[Flow, ...]
    ) -> Value | None:
        """What the tables of validators, sanitisers and decoders say of a call; None when they say nothing."""
        name, tables = names[0], self.unit.tables
        for alias in names:
            for entry in tables.validators.find(alias):
                self._validate(entry, node, arguments)
            for entry in tables.sanitisers.find(alias):
                if holds(entry.get("where", ()), arguments, self.unit.source.segment):
                    return self._cleaned(entry, node, name, flows, arguments)
            if tables.restores.find(alias):
                given = arguments.positional[0][1] if arguments.positional else arguments.receiver
                if given.is_const:
                    return constant(given.const)  # a text of the program's own, however it is written
                return Value(_undone(flows), name=settled(f"{name}()"), fixed=not flows and given.is_fixed)
            if tables.drops.find(alias):
                return named(settled(f"{name}()"))
        return None

    def _keyed_source(self, source: Value, arguments: Arguments, node: ast.Call) -> Value:
        if arguments.positional:
            return self.refine(source, arguments.positional[0][1], source.name, node)
        return source

    def _cleaned(
        self, entry: dict[str, Any], node: ast.Call, name: str, flows: tuple[Flow, ...], arguments: Arguments
    ) -> Value:
        mark = Mark(frozenset(entry["kinds"]), node.lineno, entry["why"].format(name=shown(name)))
        if "drop_prefix" in entry:
            return Value(tuple(f._replace(marks=(*f.marks, mark)) for f in flows), name=f"{name}()")
        first = arguments.positional[0][1] if arguments.positional else arguments.receiver
        marked = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows)
        fixed = not flows and first.is_fixed
        return Value(
            marked, name=settled(f"{name}()"), prefix=first.prefix, composed=first.composed, fixed=fixed
        )

    def _validate(self, entry: dict[str, Any], node: ast.Call, arguments: Arguments) -> None:
        """A call that raises unless its argument is fit: mark the labels from here on."""
        found = arguments.get(entry.get("arg", "0"))
        if found is None or not holds(entry.get("where", ()), arguments, self.unit.source.segment):
            return
        if found[1].name.startswith("socket."):
            return  # what a name resolves to was checked, not the name
        mark = Mark(frozenset(entry["kinds"]), node.lineno, entry["why"])
        for flow in found[1].flows:
            self.add_mark(flow.label, mark)

    def add_mark(self, label: Label, mark: Mark) -> None:
        """From here on the label is harmless for the mark's kinds."""
        known = self.env.marks.get(label, ())
        if mark not in known and not (mark.token and len(known) >= MAX_MARKS):
            self.env.marks[label] = (*known, mark)

    def _textual(
        self, name: str, node: ast.Call, arguments: Arguments, flows: tuple[Flow, ...]
    ) -> Value | None:
        """String methods whose result's shape matters; None for everything else."""
        if name in _KEEPS_TEXT and _one_const(arguments):
            return constant(arguments.positional[0][1].const)
        if not isinstance(node.func, ast.Attribute):
            return None
        attr, receiver = node.func.attr, arguments.receiver
        if attr == "format" and isinstance(receiver.const, str):
            if not arguments.open and all(value.is_const for _, value in arguments.all()):
                return None
            head = receiver.const.partition("{")[0]
            fixed = all(value.is_fixed for _, value in arguments.all())
            filled = Value(flows, prefix=head, composed=True, fixed=fixed)
            return self.unit.prefixed(after_query(filled, head, node), node)
        if attr == "join" and isinstance(receiver.const, (str, bytes)):
            fixed = all(value.is_fixed for _, value in arguments.all())
            return Value(flows, composed=True, fixed=fixed)
        if attr in {"strip", "rstrip", "lstrip", "encode", "decode", "lower", "upper", "expandtabs"}:
            const = _apply(receiver, attr) if not arguments.all() else None
            if const is not None:
                return constant(const)
            return Value(flows, prefix=receiver.prefix, composed=receiver.composed, fixed=receiver.is_fixed)
        if attr == "split" and receiver.composed and not arguments.all():
            return split_command(receiver)
        if attr in _KEYED and arguments.positional:
            key = arguments.positional[0][1]
            if receiver.entries is not None and key.is_const and key.const in receiver.entries:
                return receiver.entries[key.const]
            if receiver.entries is not None and receiver.entries and not receiver.flows:
                return self._looked_up(node, arguments)
            return self.refine(Value(receiver.flows), key, f"{name}()", node)
        return None

    def _looked_up(self, node: ast.Call, arguments: Arguments) -> Value:
        """`TABLE.get(x)` of a constant table gives one of its values, whatever x is."""
        mark = Mark(frozenset({ALL}), node.lineno, "the value is looked up in a fixed table")
        flows = arguments.positional[0][1].flows
        if len(arguments.positional) > 1 and arguments.positional[1][1].flows:
            return Value(flows)
        return Value(tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows))

    def _call_out(self, target: str, node: ast.Call, arguments: Arguments) -> Value:
        """A call that another function's summary answers."""
        self.facts.called.append(target)
        passed = [
            (str(index), self.effective(value.flows)) for index, (_, value) in enumerate(arguments.positional)
        ]
        passed += [(key, self.effective(value.flows)) for key, (_, value) in arguments.keywords.items()]
        if arguments.receiver.flows:
            passed.append(("self", self.effective(arguments.receiver.flows)))
        number = self.unit.number(node)
        kept = tuple((key, flows) for key, flows in passed if flows)
        if not self.unit.quiet:
            self.unit.noted.call(self.facts, CallOut(number, target, node.lineno, kept))
        for key, flows in kept:
            mark = Mark(
                frozenset(), node.lineno, f"`{shown(target)}` returned normally", f"pass:{target}#{key}"
            )
            for flow in flows:
                self.add_mark(flow.label, mark)
        step = Step(node.lineno, f"`{shown(target)}` gives it back")
        return named(f"{target}()", (Flow(Label("ret", str(number)), (step,)),))


def _undone(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """A decoded value is what it was before it was encoded."""
    return tuple(
        flow._replace(marks=tuple(mark for mark in flow.marks if "encoded" not in mark.kinds))
        for flow in flows
    )


def _options(value: Value) -> tuple[Value, ...]:
    """The arguments of a program that it may take for options: all before `--` that have no constant beginning."""
    found = []
    for item in (value.items or ())[1:]:
        if item.const in ("--", "--end-of-options"):
            break
        if not item.prefix:
            found.append(item)
    return tuple(found)


_PATH_KEEPS = re.compile(
    r"^pathlib\.(Pure|Posix|PurePosix|Windows)?Path(\(\)|\.cwd\(\)|\.home\(\))"
    r"(\.(resolve|absolute|joinpath|with_suffix|with_name|expanduser|relative_to|parent)(\(\))?)*$"
)


def settled(name: str) -> str:
    """One name for every way to make a path object."""
    if name.startswith("pathlib.") and _PATH_KEEPS.match(name):
        return "pathlib.Path()"
    return name[:160]


def shown(name: str) -> str:
    """A dotted name as a reader writes it: the last two parts, no marks of ours."""
    parts = name.lstrip("~?.").replace("()", "").replace("[]", "").split(".")
    return ".".join(part for part in parts[-2:] if part)


def _one_const(arguments: Arguments) -> bool:
    return len(arguments.positional) == 1 and isinstance(arguments.positional[0][1].const, str)


def _apply(receiver: Value, attr: str) -> Any:
    if isinstance(receiver.const, (str, bytes)) and hasattr(receiver.const, attr):
        try:
            return getattr(receiver.const, attr)()
        except (UnicodeError, LookupError):
            return None
    return None
