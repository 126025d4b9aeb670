"""Conditions that make a value harmless on the way they guard (branch-sensitive).

What counts is what the condition does; a function's name or a comment counts for nothing, a project predicate is
looked into (its summary).
"""

import re
from typing import Any, cast

from treewright.performers.static.facts import ALL, Flow, Mark
from treewright.performers.static.javascript.call import Calls
from treewright.performers.static.javascript.names import shown
from treewright.performers.static.javascript.node import Node, bare, member_path, property_part
from treewright.performers.static.javascript.operators import FIXED
from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value

_HOST = re.compile(r"\b(hostname|host|origin|domain|netloc)\b", re.IGNORECASE)
_SUFFIX = re.compile(
    r"extname|\bext(ension)?\b|mimetype|content-?type|\.split\(['\"]\.['\"]\)", re.IGNORECASE
)
_URL_PREFIX = re.compile(r"^https?://[^/]+/")
_LOOSE = re.compile(r"\.\*|\.\+|\\S|\[\^|\\D|\\W")
_PART_KINDS = {
    "host": frozenset({"ssrf", "redirect", "origin"}),
    "scheme": frozenset({"scheme"}),
    "suffix": frozenset({"upload", "suffix"}),
    "whole": frozenset({ALL, "index", "size", "origin"}),
}
_LACKS = {
    "..": ("path:dotdot",),
    "../": ("path:dotdot",),
    "/": ("path", "path:dotdot", "path:absolute"),
    "\n": ("log", "header"),
    "\r": ("header", "header:r"),
    "//": ("redirect:host",),
    "://": ("redirect:host",),
    "__proto__": ("proto",),
}
_MEMBERSHIP = frozenset({"includes", "has", "hasOwnProperty", "some", "hasOwn", "call"})
_PROTO = frozenset({"__proto__", "constructor", "prototype"})


class Guards(Calls):
    """The condition part of a function's interpreter."""

    def assume(self, test: Node, truth: bool) -> None:
        """Take a condition as true or false from here on."""
        test = bare(test)
        if test.kind == "unary_expression" and test.need("operator").text == "!":
            self.assume(test.need("argument"), not truth)
        elif test.kind == "binary_expression":
            self._binary_guard(test, truth)
        elif test.kind == "call_expression":
            self._call_guard(test, truth)
        elif test.kind == "await_expression" and test.named:
            self.assume(test.named[0], truth)
        elif test.kind == "subscript_expression" and truth:
            self._table_entry(test)
        elif test.kind in {"identifier", "member_expression"}:
            self._assume_bound(test, truth)

    def _binary_guard(self, test: Node, truth: bool) -> None:
        operator, left, right = test.need("operator").text, test.need("left"), test.need("right")
        if operator in {"&&", "||"}:
            if (operator == "&&") == truth:
                self.assume(left, truth)
                self.assume(right, truth)
            else:
                self._assume_any([left, right], truth)
        elif operator in {"===", "==", "!==", "!="}:
            self._equality(test, left, right, (operator in {"===", "=="}) == truth)
        elif operator in {"<", "<=", ">", ">="}:
            self._comparison(test, left, right, operator, truth)
        elif operator == "in" and truth:
            value, container = self.quiet(left), self.quiet(right)
            if not container.flows and (container.entries is not None or container.name == FIXED):
                self._guard(value.flows, _PART_KINDS["whole"], test, f"it is a key of `{_short(right)}`")
        elif operator == "instanceof" and truth:
            pass

    def _assume_any(self, parts: list[Node], truth: bool) -> None:
        """One of several holds: a label is safe only when each alternative makes it so."""
        saved = dict(self.env.marks)
        outcomes = []
        for part in parts:
            self.assume(part, truth)
            outcomes.append(self.env.marks)
            self.env.marks = dict(saved)
        for label, marks in outcomes[0].items():
            for mark in marks:
                held = all(any(o.kinds >= mark.kinds for o in other.get(label, ())) for other in outcomes[1:])
                if mark not in saved.get(label, ()) and held:
                    self.add_mark(label, mark)

    def _guard(
        self, flows: tuple[Flow, ...], kinds: frozenset[str], node: Node, why: str, token: str = ""
    ) -> None:
        if not flows:
            return
        self.unit.facts.guards += 1
        for flow in flows:
            self.add_mark(flow.label, Mark(kinds, node.line, why, token))

    def quiet(self, node: Node) -> Value:
        """Evaluate again without recording."""
        before, self.unit.quiet = self.unit.quiet, True
        try:
            return self.eval(node)
        finally:
            self.unit.quiet = before

    def _equality(self, test: Node, left: Node, right: Node, equal: bool) -> None:
        for tested, fixed in ((bare(left), bare(right)), (bare(right), bare(left))):
            if tested.kind == "unary_expression" and tested.need("operator").text == "typeof":
                self._typeof(test, tested, self.quiet(fixed).text(), equal)
                return
            other = self.quiet(fixed)
            if tested.kind == "call_expression" and other.is_const:
                self._call_equals(test, tested, other, equal)
            value = self.quiet(tested)
            if value.flows:
                self._equals(test, tested, value, fixed, other, equal)
            elif other.is_const and not value.is_const:
                self._key_name(test, value, other, equal)

    def _equals(
        self, test: Node, tested: Node, value: Value, fixed: Node, other: Value, equal: bool
    ) -> None:  # fmt: skip
        part = self._part_of(tested, value)
        if not equal:
            if other.const in _PROTO:
                self._guard(value.flows, frozenset({"proto"}), test, f"it is not `{other.const}`")
            return
        foreign = any(flow.label.kind == "source" for flow in other.flows)
        if other.is_const and other.const not in (None, "", True, False):
            self._guard(value.flows, _PART_KINDS[part], test, f"it equals `{other.const!r}`")
        elif part == "host" and not foreign and not other.is_const:
            self._guard(value.flows, _PART_KINDS["host"], test, f"its host equals `{_short(fixed)}`")
        elif "basename" in other.name or "basename" in value.name:
            self._guard(value.flows, frozenset({"path"}), test, "it has no folder part")

    def _key_name(self, test: Node, value: Value, other: Value, equal: bool) -> None:
        del value
        if not equal and other.const in _PROTO:
            self.unit.proto_checks.append(test)

    def _typeof(self, test: Node, tested: Node, kind: str | None, equal: bool) -> None:
        flows = self.quiet(tested.need("argument")).flows
        if equal and kind == "string":
            self._guard(flows, frozenset({"nosql"}), test, "it is a text, so operators cannot come in")
        elif equal and kind in {"number", "boolean", "bigint"}:
            self._guard(flows, frozenset({ALL}), test, f"it is a {kind}")

    def _call_equals(self, test: Node, call: Node, other: Value, equal: bool) -> None:
        """`list.indexOf(x) !== -1`, `x.indexOf("..") === -1`, `path.startsWith(base) === true`."""
        function = bare(call.need("function"))
        last = property_part(function)
        if last in {"indexOf", "search", "findIndex"} and other.const == -1:
            self._inclusion(test, call, not equal)
        elif last in {"indexOf", "lastIndexOf"} and other.const == 0 and equal:
            arguments, _ = self.arguments_quiet(call)
            if arguments.positional:
                self._prefix_guard(test, arguments.receiver, arguments.positional[0][1], True)
        elif isinstance(other.const, bool):
            self.assume(call, equal == other.const)
        elif other.const is None:
            self.assume(call, not equal)

    def _comparison(self, test: Node, left: Node, right: Node, operator: str, truth: bool) -> None:
        inner, bound = bare(left), self.quiet(right)
        if inner.kind == "call_expression" and property_part(bare(inner.need("function"))) == "indexOf":
            if bound.const in {-1, 0}:
                held = (operator in {">", ">="}) == truth
                self._inclusion(test, inner, held)
            return
        for part in (left, right):
            self._guard(self.quiet(part).flows, frozenset({"size", "index"}), test, "its size is bounded")

    def _part_of(self, node: Node, value: Value) -> str:
        """Which part of a value is tested: its host, its scheme, its suffix, or the whole."""
        probe = f"{node.text} {value.name}"
        if _HOST.search(probe):
            return "host"
        if re.search(r"\.protocol\b", probe):
            return "scheme"
        return "suffix" if _SUFFIX.search(probe) else "whole"

    def arguments_quiet(self, call: Node) -> tuple[Arguments, str]:
        """Evaluate a call's parts without recording."""
        before, self.unit.quiet = self.unit.quiet, True
        try:
            function = bare(call.field("function") or call)
            arguments, _ = self.arguments(call, function)
            return arguments, self.callee(function, arguments)
        finally:
            self.unit.quiet = before

    def _call_guard(self, test: Node, truth: bool) -> None:
        """Calls used as conditions: membership, prefixes, patterns, predicates of tables and of the project."""
        arguments, name = self.arguments_quiet(test)
        last = name.rpartition(".")[2]
        first = arguments.positional[0][1] if arguments.positional else None
        if last in _MEMBERSHIP and arguments.receiver_node is not None:
            self._inclusion(test, test, truth)
        elif last == "startsWith" and first is not None:
            self._prefix_guard(test, arguments.receiver, first, truth)
        elif last == "endsWith" and first is not None and truth:
            self._suffix_guard(test, arguments.receiver, first)
        elif last in {"test", "exec"} and first is not None:
            self._pattern_guard(test, arguments.receiver.name, first, truth)
        elif last == "match" and first is not None:
            self._pattern_guard(test, first.name, arguments.receiver, truth)
        elif last == "isArray" and first is not None and not truth:
            pass
        else:
            self._table_guard(test, name, arguments, truth)

    def _table_guard(self, test: Node, name: str, arguments: Arguments, truth: bool) -> None:
        for entry in self.unit.tables.predicates.find(name):
            found = arguments.get(entry.get("arg", "0"))
            if entry.get("truth", True) == truth and found is not None:
                self._guard(found[1].flows, frozenset(entry["kinds"]), test, entry["why"])
        target = self.unit.project_callee(name)
        if target and truth:
            for index, (_, value) in enumerate(arguments.positional):
                why = f"`{shown(target)}` returned true"
                self._guard(value.flows, frozenset(), test, why, f"call:{target}#{index}")

    def _inclusion(self, test: Node, call: Node, inside: bool) -> None:
        """`ALLOWED.includes(x)`, `SET.has(x)`, `Object.hasOwn(TABLE, x)`; or `x.includes("..")` led away."""
        arguments, name = self.arguments_quiet(call)
        last = name.rpartition(".")[2]
        if last == "some":
            self._any_of(test, call, arguments, inside)
            return
        if last in {"hasOwn", "call"} and len(arguments.positional) > 1:
            container, value, node = (
                arguments.positional[0][1],
                arguments.positional[1][1],
                arguments.positional[1][0],
            )
            shown_node = arguments.positional[0][0]
        elif arguments.positional:
            container, (node, value) = arguments.receiver, arguments.positional[0]
            shown_node = arguments.receiver_node or node
        else:
            return
        if container.flows and value.is_const:
            lacks = _LACKS.get(str(value.const)) if not inside else None
            if lacks:
                self._guard(container.flows, frozenset(lacks), test, f"it does not contain `{value.const}`")
            return
        if not inside:
            if value.name and self.quiet(cast("Node", node)).is_const is False and container.items:
                self._absent_keys(test, container, value)
            return
        if container.flows and any(flow.label.kind == "source" for flow in container.flows):
            return
        if isinstance(container.const, str) or not value.flows:
            return
        kinds = _PART_KINDS[self._part_of(cast("Node", node), value)]
        self._guard(value.flows, kinds, test, f"it is one of `{_short(cast('Node', shown_node))}`")

    def _absent_keys(self, test: Node, container: Value, value: Value) -> None:
        names = {item.const for item in container.items or ()}
        if "__proto__" in names:
            self._guard(value.flows, frozenset({"proto"}), test, "it is none of the prototype's names")

    def _any_of(self, test: Node, call: Node, arguments: Arguments, inside: bool) -> None:
        """`ALLOWED.some(one => one === x)`: read as a comparison with each of a fixed list."""
        listed = call.field("arguments")
        function = bare(listed.named[0]) if listed is not None and listed.named else None
        body = function.field("body") if function is not None else None
        if not inside or body is None or arguments.receiver.flows:
            return
        if body.kind == "binary_expression" and body.need("operator").text in {"===", "=="}:
            for part in (body.need("left"), body.need("right")):
                value = self.quiet(part)
                self._guard(
                    value.flows, _PART_KINDS[self._part_of(part, value)], test, "it is one of a fixed list"
                )

    def _prefix_guard(self, test: Node, value: Value, prefix: Value, truth: bool) -> None:
        """`full.startsWith(base)`: of a resolved path it confines; of a URL only with host and slash."""
        if not value.flows:
            return
        fixed = prefix.text()
        resolved = any(
            "resolved" in mark.kinds for flow in self.effective(value.flows) for mark in flow.marks
        )
        if not truth:
            if fixed in {"/", "\\"}:
                self._guard(value.flows, frozenset({"path:absolute"}), test, "it is not absolute")
            if fixed is not None and fixed.startswith(("http", "//")):
                self._guard(value.flows, frozenset({"redirect:host"}), test, "it names no host of its own")
            if fixed is not None and fixed.startswith(".."):
                self._guard(value.flows, frozenset({"path"}), test, "it does not lead out of the base folder")
            return
        if fixed and _URL_PREFIX.match(fixed):
            self._guard(value.flows, frozenset({"ssrf", "redirect"}), test, f"it begins with `{fixed}`")
        elif (fixed is None and resolved and not any(f.label.kind == "source" for f in prefix.flows)) or (
            fixed is not None and resolved and fixed.startswith("/") and len(fixed) > 1
        ):
            self._guard(
                value.flows, frozenset({"path"}), test, "the resolved path stays below the base folder"
            )
        elif fixed == "/":
            self._guard(value.flows, frozenset({"redirect:host"}), test, "it begins with '/'")

    def _suffix_guard(self, test: Node, value: Value, suffix: Value) -> None:
        text = suffix.text() or ""
        if text.startswith("."):
            host = _HOST.search(value.name) is not None
            kinds = _PART_KINDS["host"] if host else _PART_KINDS["suffix"]
            self._guard(value.flows, kinds, test, f"it ends with `{text}`")

    def _pattern_guard(self, test: Node, regex: str, value: Value, truth: bool) -> None:
        """`/^[a-z]+$/.test(x)`: a pattern over the whole text that admits no run of anything."""
        if not regex.startswith("#regex:"):
            return
        pattern = regex.removeprefix("#regex:")
        if truth and pattern.startswith("^") and pattern.endswith("$") and not _LOOSE.search(pattern):
            self._guard(value.flows, frozenset({ALL}), test, "the whole of it matches a narrow pattern")
        elif truth and re.match(r"\^(https\?|https|http):\\/\\/[\w\\.-]+(\\/|\$)", pattern):
            self._guard(value.flows, frozenset({"ssrf", "redirect"}), test, "the pattern fixes its host")
        elif truth and re.match(r"\^\\/(\(\?!\\/|\[\^|\[a-zA-Z)", pattern):
            self._guard(value.flows, frozenset({"redirect"}), test, "the pattern keeps it a local path")
        elif not truth and re.fullmatch(r"\[\^[\w\s.\\-]+\]", pattern):
            self._guard(value.flows, frozenset({ALL}), test, "no other than plain characters is in it")
        elif not truth and re.search(r"\\\.\\\.|\[\\/\\\\\]", pattern):
            self._guard(value.flows, frozenset({"path:dotdot"}), test, "it does not contain `..`")

    def _table_entry(self, test: Node) -> None:
        """`if (TABLE[x])`: x is a key of a fixed table."""
        container, index = self.quiet(test.need("object")), self.quiet(test.need("index"))
        if container.entries and not container.flows:
            self._guard(
                index.flows, _PART_KINDS["whole"], test, f"it is a key of `{_short(test.need('object'))}`"
            )

    def _assume_bound(self, test: Node, truth: bool) -> None:
        """A name that stands for a condition; taken out meanwhile, since it may be defined by itself."""
        key = (self.facts.name, member_path(test) or "")
        bound: Any = self.unit.bound_tests.pop(key, None)
        if bound is not None:
            self.assume(bound, truth)
            self.unit.bound_tests[key] = bound
            return
        value = self.quiet(test)
        if truth and value.flows and value.name == FIXED:
            return
        part = property_part(test) if test.kind == "member_expression" else ""
        if not truth and part in {"host", "hostname", "protocol"} and value.flows:
            kinds = frozenset({"redirect", "redirect:host"}) if part != "protocol" else frozenset({"scheme"})
            self._guard(value.flows, kinds, test, f"its {part} is empty")


def _short(node: Node) -> str:
    return node.text.split("\n")[0][:60]
