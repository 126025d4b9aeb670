"""Calls: what they are named, the rules about them, what they give back."""

import re
from typing import Any, cast

from treewright.performers.static.env import element, replace_flows
from treewright.performers.static.facts import ALL, CallOut, Flow, Label, Mark, SinkHit, Step
from treewright.performers.static.javascript import entries, hooks
from treewright.performers.static.javascript.evaluate import Evaluate
from treewright.performers.static.javascript.names import around, method, shown, text_of
from treewright.performers.static.javascript.node import (
    FUNCTIONS,
    Node,
    bare,
    member_path,
    property_part,
)
from treewright.performers.static.javascript.operators import FIXED
from treewright.performers.static.javascript.source import resolve
from treewright.performers.static.javascript.texts import replaced, textual
from treewright.performers.static.python.patterns import Arguments, holds
from treewright.performers.static.python.value import MAX_MARKS, UNKNOWN, Value, merge_flows, named

_MUTATORS = frozenset(["push", "unshift", "add", "append", "set", "splice", "write", "concat"])
_CHAIN = frozenset(
    ["status", "type", "set", "header", "setHeader", "cookie", "vary", "append", "links", "code", "contentType", "attachment", "writeHead"]
)  # fmt: skip
_FIRST_OF_RECEIVER = frozenset(
    ["forEach", "map", "filter", "some", "every", "find", "findIndex", "flatMap", "findLast", "then", "each", "finally"]
)  # fmt: skip
_FROM_CALLBACK = frozenset(["map", "flatMap", "then", "reduce", "reduceRight", "Promise"])
_RESOLVE = named("#resolve")
"""The first parameter of a promise's executor."""

_WHOLE = re.compile(r":~(req|ctx(\.request|\.req)?)\.(query|body|params|headers?|cookies|files?|fields)$")
"""Sources that are objects: written out whole they become JSON or an inspection, not raw text."""


class Calls(Evaluate):
    """The call part of a function's interpreter."""

    def inline(self, node: Node, bound: list[Value]) -> Value:
        """Implemented by `flow.FunctionRun`."""
        raise NotImplementedError

    def call(self, node: Node) -> Value:
        """Evaluate a call or `new`: its parts, the rules about it, its result."""
        listed = node.field("arguments")
        if listed is not None and listed.kind == "template_string":
            return self.tagged(node)
        function = bare(node.field("function") or node.field("constructor") or node)
        arguments, callbacks = self.arguments(node, function)
        name = self.callee(function, arguments)
        loaded = self._loaded(name, arguments)
        if loaded is not None:
            return loaded
        if name == _RESOLVE.name and self.unit.resolutions and arguments.positional:
            given = arguments.positional[0][1]
            self.unit.resolutions[-1].append(replace_flows(given, self.effective(given.flows)))
            return UNKNOWN
        self.unit.statement_text = around(self.unit.source.lines, node)
        clean = self.rules_about(name, node, arguments)
        del clean
        given = self._callbacks(name, arguments, callbacks)
        if function.kind in FUNCTIONS and not self.unit.quiet:
            return self.inline(function, [value for _, value in arguments.positional])
        return self.result(name, node, arguments, given)

    def rules_about(self, name: str, node: Node, arguments: Arguments) -> bool:
        """Match the call against the tables of structural and flow rules."""
        self._table_rules(name, node, arguments)
        hit = self._sinks(name, node, arguments)
        if name.startswith("~reply."):
            return self._sinks(f"~res.{name[7:]}", node, arguments, reply=True) or hit
        return hit

    def _loaded(self, name: str, arguments: Arguments) -> Value | None:
        """`require("x")` and `import("x")` as the module's value."""
        if name not in {"require", "import", "require.resolve"} or not arguments.positional:
            return None
        wanted = arguments.positional[0][1].text()
        return named(resolve(self.unit.source.path, wanted)) if wanted else None

    def arguments(self, node: Node, function: Node) -> tuple[Arguments, list[tuple[int, Node]]]:
        """Evaluate receiver and arguments; function literals are kept for `_callbacks`."""
        found = Arguments(cast("Any", node))
        callbacks: list[tuple[int, Node]] = []
        if function.kind in {"member_expression", "subscript_expression"}:
            receiver = function.need("object")
            found.receiver_node, found.receiver = cast("Any", receiver), self.eval(receiver)
        listed = node.field("arguments")
        for index, part in enumerate(listed.named if listed is not None else []):
            inner = bare(part)
            if inner.kind in FUNCTIONS:
                callbacks.append((index, inner))
                value = UNKNOWN
            elif part.kind == "spread_element":
                value = element(self.eval(part))
                found.open = True
            else:
                value = self.eval(part)
            found.positional.append((cast("Any", part), value))
            for key, entry in (value.entries or {}).items():
                found.keywords.setdefault(str(key), (cast("Any", part), entry))
        return found, callbacks

    def callee(self, function: Node, arguments: Arguments) -> str:
        """The dotted name of what is called."""
        if function.kind == "member_expression":
            path = member_path(function)
            stored = self.env.vars.get(path) if path else None
            if stored is not None and stored.name:
                return stored.name
            part, receiver = property_part(function), arguments.receiver
            entry = (receiver.entries or {}).get(part)
            if entry is not None and entry.name:
                return entry.name
            return method(receiver, part)
        if function.kind == "subscript_expression":
            index = self.eval(function.field("index"))
            if isinstance(index.const, str):
                return method(arguments.receiver, index.const)
            if index.flows and not self.unit.quiet:
                flows = self.effective(index.flows)
                self.sink("module-chosen-by-input", function, function.text.split("\n")[0][:40], flows)
            return "?[]"
        if function.kind in {"super", "import"}:
            return function.kind
        if function.kind in FUNCTIONS:
            return ""
        return self.eval(function).name

    def _table_rules(self, name: str, node: Node, arguments: Arguments) -> None:
        for entry in self.unit.tables.calls.find(name):
            rule = entry["rule"]
            self.unit.facts.examined[rule] = self.unit.facts.examined.get(rule, 0) + 1
            if not holds(entry.get("where", ()), arguments, text_of) or not self.unit.context(entry, self):
                continue
            if entry.get("new", False) and node.kind != "new_expression":
                continue
            shown_part = arguments.get(entry["show"]) if "show" in entry else None
            facts = (("shown", cast("Any", shown_part[0]).text.split("\n")[0][:80]),) if shown_part else ()
            self.unit.report(
                rule, node, what=shown(name), safe=entry.get("safe", ""), strength=entry.get("strength", 0), facts=facts
            )  # fmt: skip
            if not entry.get("also"):
                break

    def _sinks(self, name: str, node: Node, arguments: Arguments, reply: bool = False) -> bool:
        hit = False
        for entry in self.unit.tables.sinks.find(name):
            rule = entry["rule"]
            if entry.get("browser") and not self.unit.browser:
                continue
            self.unit.facts.examined[rule] = self.unit.facts.examined.get(rule, 0) + 1
            if not holds(entry.get("where", ()), arguments, text_of) or not self.unit.context(entry, self):
                continue
            if entry.get("plain_page") and not self._is_page(reply):
                continue
            flows, composed = self._reaching(entry, arguments)
            unknown = composed or (bool(entry.get("unknown")) and hooks.not_known(self, entry, arguments))
            opaque = unknown and self.unit.rules[rule].opaque and not entry.get("safe")
            if not flows and (
                hooks.nothing_comes_in(self, entry, arguments, node, shown(name)) or not opaque
            ):
                continue
            self.sink(
                rule, node, shown(name), flows, entry.get("safe", ""), decides=bool(entry.get("decides"))
            )
            hit = True
        return hit

    def _reaching(self, entry: dict[str, Any], arguments: Arguments) -> tuple[tuple[Flow, ...], bool]:
        specs = entry.get("args", ["0"])
        found = list(arguments.all()) if specs == ["*"] else [arguments.get(spec) for spec in specs]
        values = [pair[1] for pair in found if pair is not None]
        if entry.get("first_item"):
            values = [value.items[0] if value.items else value for value in values]
        if entry.get("texts"):
            values = [value for value in values if value.entries is None and value.items is None]
        if entry.get("objects"):
            values = [value for value in values if not value.composed and value.prefix is None]
        if entry.get("composed"):
            values = [value for value in values if value.composed]
        flows = merge_flows(*(value.flows for value in values)) if values else ()
        if entry.get("leaf"):
            flows = tuple(flow for flow in flows if not _WHOLE.search(flow.label.key))
        if entry.get("whole"):
            flows = tuple(flow for flow in flows if _WHOLE.search(flow.label.key))
        return self.effective(flows), any(value.composed and value.items is None for value in values)

    def sink(
        self, rule: str, node: Node, what: str, flows: tuple[Flow, ...], safe: str = "", *, decides: bool = False
    ) -> None:  # fmt: skip
        """Record that flows reach a place where they do harm.

        Args:
            decides: `safe` holds for the whole call, whatever other rows say of it.
        """
        if self.unit.quiet:
            return
        if rule == "path-from-input" and any(flow.label.key.startswith("archive:") for flow in flows):
            hooks.archive_member(self.unit, node, what, flows)
            return
        hit = SinkHit(rule, self.unit.rules[rule].kind, node.place, what, flows, safe)
        self.unit.noted.sink(self.facts, hit, decides=decides)

    def _callbacks(self, name: str, arguments: Arguments, callbacks: list[tuple[int, Node]]) -> Value:
        """Interpret function literals that are passed on; gives what the last one returns."""
        given = UNKNOWN
        for index, function in callbacks:
            entry = entries.of_callback(self.unit, name, arguments, function)
            if entry is not None and entry.strength >= 2:
                self.unit.define(self, function, "", self.env, entry)
            elif name == "Promise" and not self.unit.quiet:
                given = self._executed(function)
            elif not self.unit.quiet:
                given = self.inline(function, self._bound(name, arguments, index, function))
        return given

    def _executed(self, function: Node) -> Value:
        """What a promise is resolved with by its executor."""
        found: list[Value] = []
        self.unit.resolutions.append(found)
        self.inline(function, [_RESOLVE])
        self.unit.resolutions.pop()
        flows = merge_flows(*(value.flows for value in found)) if found else ()
        return Value(flows, composed=any(value.composed for value in found))

    def _bound(self, name: str, arguments: Arguments, index: int, function: Node) -> list[Value]:
        """The values that a callback's parameters start with."""
        bound = self.unit.callback_sources(self, name, arguments, function)
        if bound:
            return bound
        last = name.rpartition(".")[2]
        receiver = replace_flows(arguments.receiver, self.effective(arguments.receiver.flows))
        if last in {"reduce", "reduceRight"}:
            seed = arguments.positional[1][1] if len(arguments.positional) > 1 else UNKNOWN
            return [seed, element(receiver)]
        if name.startswith(("lodash", "~_.", "_.", "underscore", "async.")) and index > 0:
            return [element(arguments.positional[0][1])]
        if last in _FIRST_OF_RECEIVER:
            return [receiver if last in {"then", "finally"} else element(receiver)]
        return []

    def result(self, name: str, node: Node, arguments: Arguments, given: Value) -> Value:
        """What the call gives back."""
        tables, last = self.unit.tables, name.rpartition(".")[2]
        source = self.origin(name + "()", node)
        if source is not None:
            first = arguments.positional[0][1] if arguments.positional else UNKNOWN
            return (
                self.refine(source, first.const, source.name, node)
                if isinstance(first.const, str)
                else source
            )
        if name.startswith(("~res.", "~reply.")) and last in _CHAIN:
            self._content_type(last, arguments)
            return named(name.partition(".")[0])
        flows = merge_flows(arguments.receiver.flows, *(value.flows for _, value in arguments.positional))
        self._mutate(last, arguments)
        target = self.unit.project_callee(name)
        if target:
            return self._call_out(target, node, arguments)
        for entry in tables.validators.find(name):
            self._validate(entry, node, arguments)
        for entry in tables.sanitisers.find(name):
            if holds(entry.get("where", ()), arguments, text_of):
                return self._cleaned(entry, node, name, flows, arguments)
        if tables.drops.find(name):
            return named(f"{name}()"[:160])
        if last in _FROM_CALLBACK and (given.flows or given.name or given.is_const or given.composed):
            return Value(
                given.flows, name=f"{name}()"[:160] if not given.name else given.name, composed=given.composed
            )
        if last == "replace" or last == "replaceAll":
            return replaced(self, node, arguments)
        special = textual(self, name, last, node, arguments, flows)
        if special is not None:
            return special
        return Value(flows, name=f"{name}()"[:160] if name else "")

    def _is_page(self, reply: bool) -> bool:
        """Whether a text that is sent here is read as HTML."""
        if reply:
            return "~res!page" in self.env.vars
        return "~res!plain" not in self.env.vars

    def _content_type(self, last: str, arguments: Arguments) -> None:
        """A response declared as something other than a page is not read as HTML."""
        texts = [value.text() or "" for _, value in arguments.positional]
        texts += [f"{key} {value.text()}" for key, (_, value) in arguments.keywords.items()]
        kind = (
            "" if last in {"status", "cookie", "code", "vary", "links"} else " ".join(texts).lower().strip()
        )
        if "html" in kind:
            self.env.vars["~res!page"] = named(FIXED)
        if re.search(r"content-type|^\S+$", kind) and re.search(
            r"json|plain|\btxt\b|csv|octet-stream|image|pdf", kind
        ):
            self.env.vars["~res!plain"] = named(FIXED)

    def _cleaned(
        self, entry: dict[str, Any], node: Node, name: str, flows: tuple[Flow, ...], arguments: Arguments
    ) -> Value:
        mark = Mark(frozenset(entry["kinds"]), node.line, entry["why"].format(name=shown(name)))
        marked = tuple(flow._replace(marks=(*flow.marks, mark)) for flow in flows)
        if ALL in mark.kinds:
            return Value(marked, name=FIXED if not entry.get("names") else entry["names"])
        first = arguments.positional[0][1] if arguments.positional else arguments.receiver
        return Value(
            marked, name=entry.get("names", f"{name}()")[:160], prefix=first.prefix, composed=first.composed
        )

    def _validate(self, entry: dict[str, Any], node: Node, arguments: Arguments) -> None:
        found = arguments.get(entry.get("arg", "0"))
        if found is None or not holds(entry.get("where", ()), arguments, text_of):
            return
        mark = Mark(frozenset(entry["kinds"]), node.line, entry["why"])
        for flow in found[1].flows:
            self.add_mark(flow.label, mark)

    def add_mark(self, label: Label, mark: Mark) -> None:
        """From here on the label is harmless for the mark's kinds."""
        known = self.env.marks.get(label, ())
        if mark not in known and not (mark.token and len(known) >= MAX_MARKS):
            self.env.marks[label] = (*known, mark)

    def _mutate(self, last: str, arguments: Arguments) -> None:
        """`items.push(x)`, `Object.assign(target, x)`: the target may carry what the arguments carry."""
        holder = arguments.receiver_node if last in _MUTATORS else None
        added = [value.flows for _, value in arguments.positional]
        if last in {"assign", "merge", "extend"} and len(arguments.positional) > 1:
            holder, added = arguments.positional[0][0], added[1:]
        key = member_path(bare(cast("Node", holder))) if holder is not None else None
        merged = merge_flows(*added) if added else ()
        if key is None or not merged or key not in self.env.vars:
            return
        old = self.env.vars[key]
        flows = merge_flows(old.flows, self.effective(merged))
        self.env.vars[key] = Value(flows, name=old.name, composed=old.composed or last == "push")

    def _call_out(self, target: str, node: Node, arguments: Arguments) -> Value:
        """A call that another function's summary answers."""
        self.facts.called.append(target)
        passed = [(str(i), self.effective(value.flows)) for i, (_, value) in enumerate(arguments.positional)]
        if arguments.receiver.flows:
            passed.append(("this", self.effective(arguments.receiver.flows)))
        number = self.unit.number(node)
        kept = tuple((key, flows) for key, flows in passed if flows)
        if not self.unit.quiet:
            self.unit.noted.call(self.facts, CallOut(number, target, node.line, kept))
        why = f"`{shown(target)}` returned normally"
        for key, flows in kept:
            mark = Mark(frozenset(), node.line, why, f"pass:{target}#{key}")
            for flow in flows:
                self.add_mark(flow.label, mark)
        step = Step(node.line, f"`{shown(target)}` gives it back")
        return named(f"{target}()", (Flow(Label("ret", str(number)), (step,)),))

    def tagged(self, node: Node) -> Value:
        """A tagged template: known tags bind or escape their values, others see them as arguments."""
        name = self.eval(node.need("function")).name
        template = node.need("arguments")
        value = self._template(template)
        last = name.rpartition(".")[2]
        for entry in self.unit.tables.tags.find(name):
            flows = self.effective(value.flows)
            if entry.get("rule") and flows:
                self.sink(entry["rule"], node, shown(name), flows, entry.get("safe", ""))
            if entry.get("kinds"):
                mark = Mark(frozenset(entry["kinds"]), node.line, entry["why"])
                return Value(tuple(f._replace(marks=(*f.marks, mark)) for f in value.flows), name=FIXED)
        if last == "raw":
            return value
        return Value(value.flows, name=f"{name}()")

    def jsx(self, node: Node) -> Value:
        """Markup in code: React escapes texts; raw markup and addresses are looked at."""
        for part in node.walk():
            if part.kind == "jsx_attribute" and len(part.named) == 2:
                value = self.eval(part.named[1])
                if part.named[0].text == "dangerouslySetInnerHTML" and value.entries:
                    inner = value.entries.get("__html", UNKNOWN)
                    self.unit.raw_markup(self, part, inner)
                elif part.named[0].text in {"srcDoc", "srcdoc"}:
                    self.sink("page-built-from-input", part, "srcDoc", self.effective(value.flows))
            elif part.kind == "jsx_expression":
                self.eval(part)
        return named("#jsx")
