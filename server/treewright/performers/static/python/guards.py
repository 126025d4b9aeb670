"""Conditions that make a value harmless on the way they guard (branch-sensitive).

`assume(test, truth)` marks every label whose value the test constrains. What counts is what the condition does;
a function's name or a comment counts for nothing, a project predicate is looked into (its summary).
"""

import ast
import re
from typing import Any

from treewright.performers.static.facts import ALL, Flow, Mark
from treewright.performers.static.python.call import Calls, shown
from treewright.performers.static.python.parts import path_key
from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value

_TEXT_TESTS = frozenset(
    ["isdigit", "isdecimal", "isnumeric", "isalnum", "isalpha", "isidentifier", "isascii_alnum"]
)
_SAFE_TYPES = frozenset(
    [
        "int",
        "float",
        "bool",
        "UUID",
        "datetime",
        "date",
        "Decimal",
        "IPv4Address",
        "IPv6Address",
        "Enum",
        "complex",
    ]
)
_URL_PREFIX = re.compile(r"^https?://[^/]+/")
_HOST = re.compile(r"(hostname|netloc|host|domain)\b")
_LOOSE = re.compile(r"\.\*|\.\+|\\S|\[\^|\\D|\\W")


class Guards(Calls):
    """The condition part of a function's interpreter."""

    def assume(self, test: ast.expr, truth: bool) -> None:
        """Take a condition as true or false from here on."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.assume(test.operand, not truth)
        elif isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) == truth:
                for part in test.values:
                    self.assume(part, truth)
            else:
                self._assume_any(test.values, truth)
        elif isinstance(test, ast.Compare):
            self._compare_guard(test, truth)
        elif isinstance(test, ast.Call):
            self._call_guard(test, truth)
        elif isinstance(test, ast.NamedExpr):
            self.assume(test.value, truth)
        elif isinstance(test, ast.Attribute) and test.attr in _INTERNAL and truth == _INTERNAL[test.attr]:
            why = "the address it resolves to is not an internal one"
            self._guard(self.quiet(test.value).flows, frozenset({"ssrf"}), test, why)
        elif isinstance(test, ast.Attribute) and not truth:
            self._absent_host(test)
        elif isinstance(test, ast.Name):
            self._assume_bound((self.facts.name, test.id), truth)
            if truth:
                self._guard(self.quiet(test).flows, frozenset({"divisor"}), test, "it is not zero here")
            else:
                self._empty(test)

    def _absent_host(self, test: ast.Attribute) -> None:
        """`if urlsplit(x).netloc: refuse` led away: x names no host."""
        kinds = {
            "netloc": ("redirect", "redirect:host"),
            "hostname": ("redirect", "redirect:host"),
            "scheme": ("scheme",),
        }
        if test.attr in kinds:
            self._guard(
                self.quiet(test.value).flows, frozenset(kinds[test.attr]), test, f"its {test.attr} is empty"
            )

    def _empty(self, test: ast.Name) -> None:
        """A value that is false is empty, and an empty one carries nothing; only what the name itself holds is known."""
        value = self.quiet(test)
        own = tuple(
            flow
            for flow in value.flows
            if (flow.label.kind == "param" and flow.label.key == test.id)
            or (flow.label.kind == "source" and "[" in flow.label.key and len(flow.steps) <= 1)
        )
        self._guard(own, frozenset({ALL}), test, "it is empty here")

    def _assume_bound(self, key: tuple[str, str], truth: bool) -> None:
        """A name that stands for a condition; taken out meanwhile, since it may be defined by itself."""
        bound = self.unit.bound_tests.pop(key, None)
        if bound is not None:
            self.assume(bound, truth)
            self.unit.bound_tests[key] = bound

    def _assume_any(self, parts: list[ast.expr], truth: bool) -> None:
        """One of several holds: a label is safe only when each alternative makes it so."""
        saved = dict(self.env.marks)
        outcomes = []
        for part in parts:
            self.assume(part, truth)
            outcomes.append(self.env.marks)
            self.env.marks = dict(saved)
        for label, marks in outcomes[0].items():
            for mark in marks:
                if mark not in saved.get(label, ()) and all(
                    any(other.kinds >= mark.kinds for other in outcome.get(label, ()))
                    for outcome in outcomes[1:]
                ):
                    self.add_mark(label, mark)

    def _guard(
        self, flows: tuple[Flow, ...], kinds: frozenset[str], node: ast.AST, why: str, token: str = ""
    ) -> None:
        if not flows:
            return
        self.unit.facts.guards += 1
        line: int = node.lineno  # type: ignore[attr-defined]  # nodes here have a line
        for flow in flows:
            self.add_mark(flow.label, Mark(kinds, line, why, token))

    def _found_guard(self, test: ast.Compare, truth: bool) -> bool:
        """`re.fullmatch(...) is not None` says what the call says."""
        right = test.comparators[0]
        if not (isinstance(right, ast.Constant) and right.value is None and isinstance(test.left, ast.Call)):
            return False
        positive = isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
        self.assume(test.left, truth if positive else not truth)
        return True

    def _compare_guard(self, test: ast.Compare, truth: bool) -> None:
        if len(test.ops) == 1 and self._found_guard(test, truth):
            return
        if len(test.ops) != 1:
            if truth:  # a < x < b
                for part in (test.left, *test.comparators):
                    self._guard(
                        self.quiet(part).flows, frozenset({"size", "index"}), test, "its range is bounded"
                    )
            return
        operator, left, right = test.ops[0], test.left, test.comparators[0]
        member = isinstance(operator, ast.In) if truth else isinstance(operator, ast.NotIn)
        if member:
            self._membership(test, left, right)
        elif isinstance(operator, ast.In if not truth else ast.NotIn):
            self._absence(test, left, right)
        elif isinstance(operator, (ast.Eq, ast.Is) if truth else (ast.NotEq, ast.IsNot)):
            self._equality(test, left, right)
        elif isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            for part in (left, right):
                self._guard(self.quiet(part).flows, frozenset({"size", "index"}), test, "its size is bounded")

    def quiet(self, node: ast.expr) -> Value:
        """Evaluate again without recording sinks or calls twice."""
        quiet, self.unit.quiet = self.unit.quiet, True
        try:
            return self.eval(node)
        finally:
            self.unit.quiet = quiet

    def _membership(self, test: ast.Compare, left: ast.expr, right: ast.expr) -> None:
        """`x in ALLOWED`: x is one of a set that the user does not choose."""
        value, container = self.quiet(left), self.quiet(right)
        if isinstance(right, ast.Attribute) and right.attr == "parents":
            self._guard(container.flows, frozenset({"path"}), test, "the base folder is among its parents")
            return
        if container.flows and any(flow.label.kind == "source" for flow in container.flows):
            return
        if isinstance(container.const, str) or not value.flows:
            return
        part = self._part_of(left)
        kinds = frozenset({ALL, "index", "size"}) if part == "whole" else _PART_KINDS[part]
        self._guard(value.flows, kinds, test, f"it is one of `{self._text(right)}`")

    def _part_of(self, node: ast.expr) -> str:
        """Which part of a value is tested: its host, its scheme, its suffix, or the whole."""
        text = self._text(node)
        value = self.quiet(node)
        probe = f"{text} {value.name}"
        if _HOST.search(probe):
            return "host"
        if re.search(r"\.scheme\b", probe):
            return "scheme"
        if re.search(r"suffix|splitext|rsplit|\bext(ension)?\b|mimetype|content_type", probe):
            return "suffix"
        return "whole"

    def _absence(self, test: ast.Compare, left: ast.expr, right: ast.expr) -> None:
        """`'..' in x` led away: x lacks it."""
        needle, value = self.quiet(left), self.quiet(right)
        if not isinstance(needle.const, str) or not value.flows:
            return
        kinds = _LACKS.get(needle.const)
        if isinstance(right, ast.Subscript) and isinstance(right.slice, ast.Slice):
            kinds = ("code:inside",) if needle.const in _QUOTES else None  # the rest of it may have one
        if kinds is not None:
            self._guard(value.flows, frozenset(kinds), test, f"it does not contain `{needle.const!r}`")

    def _equality(self, test: ast.Compare, left: ast.expr, right: ast.expr) -> None:
        for tested, fixed in ((left, right), (right, left)):
            value, other = self.quiet(tested), self.quiet(fixed)
            if not value.flows:
                continue
            if other.is_const and other.const not in (None, ""):
                part = self._part_of(tested)
                kinds = frozenset({ALL, "index", "size"}) if part == "whole" else _PART_KINDS[part]
                self._guard(value.flows, kinds, test, f"it equals `{other.const!r}`")
            elif "commonpath" in value.name or "commonprefix" in value.name:
                self._guard(value.flows, frozenset({"path"}), test, "it stays below the base folder")
            elif other.name and "." in other.name and not other.flows and _HOST.search(self._text(tested)):
                self._guard(value.flows, _PART_KINDS["host"], test, f"its host equals `{self._text(fixed)}`")
            elif _HOST.search(self._text(tested)) and _own_host(other):
                self._guard(value.flows, _PART_KINDS["host"], test, "its host is this site's own")
            elif other.is_const and _HOST.search(self._text(tested)):
                self._guard(value.flows, frozenset({"redirect"}), test, "it names no host of its own")

    def _call_guard(self, test: ast.Call, truth: bool) -> None:
        """Calls used as conditions: text tests, prefixes, patterns, predicates of tables and of the project."""
        arguments = self.arguments_quiet(test)
        name = self.callee(test, arguments)
        attr = name.rpartition(".")[2]
        if truth and attr in _TEXT_TESTS:
            self._guard(arguments.receiver.flows, frozenset({ALL, "size"}), test, f"`{attr}()` holds for it")
        elif truth and attr == "endswith" and test.args and self.quiet(test.args[0]).const in _QUOTES:
            self._guard(arguments.receiver.flows, frozenset({"code:ends"}), test, "it ends with a quote")
        elif attr == "startswith":
            self._prefix_guard(test, arguments.receiver, truth)
        elif truth and name == "isinstance" and len(test.args) == 2:
            if any(part == "str" for part in self._type_names(test.args[1])):
                flows = arguments.positional[0][1].flows
                self._guard(flows, frozenset({"nosql"}), test, "it is a text, so operators cannot come in")
            if any(part.rpartition(".")[2] in _SAFE_TYPES for part in self._type_names(test.args[1])):
                self._guard(arguments.positional[0][1].flows, frozenset({ALL}), test, "its type is checked")
        elif truth and attr in {"all", "any"} and test.args and isinstance(test.args[0], ast.GeneratorExp):
            if attr == "all":
                flows = self.quiet(test.args[0].generators[0].iter).flows
                self._guard(flows, frozenset({ALL}), test, "every character of it is checked")
        else:
            self._table_guard(test, name, truth)

    def _table_guard(self, test: ast.Call, name: str, truth: bool) -> None:
        arguments = self.arguments_quiet(test)
        for alias in self.unit.alternatives(name):
            for entry in self.unit.tables.predicates.find(alias):
                if entry.get("truth", True) == truth:
                    self._apply_predicate(entry, test, arguments)
        target = self.unit.project_callee(name)
        if target and truth:
            for index, (_, value) in enumerate(arguments.positional):
                why = f"`{shown(target)}` returned true"
                self._guard(value.flows, frozenset(), test, why, f"call:{target}#{index}")

    def _apply_predicate(self, entry: dict[str, Any], test: ast.Call, arguments: Arguments) -> None:
        found = arguments.get(entry.get("arg", "0"))
        if found is None:
            return
        if entry.get("pattern"):
            pattern = arguments.get(entry["pattern"])
            text = pattern[1].text() if pattern else None
            if text is None and pattern is not None and pattern[1].name.startswith("re.compile"):
                text = self.unit.compiled.get(path_key(pattern[0]) or "")
            if text is None or not _strict(text, whole=bool(entry.get("whole"))):
                return
        self._guard(found[1].flows, frozenset(entry["kinds"]), test, entry["why"])

    def arguments_quiet(self, node: ast.Call):  # type: ignore[no-untyped-def]  # Arguments, as of `arguments`
        """Evaluate a call's parts without recording."""
        quiet, self.unit.quiet = self.unit.quiet, True
        try:
            return self.arguments(node)
        finally:
            self.unit.quiet = quiet

    def _prefix_guard(self, test: ast.Call, value: Value, truth: bool) -> None:
        """`full.startswith(base)`: of a resolved path it confines; of a URL only with host and slash."""
        if not test.args or not value.flows:
            return
        prefix = self.quiet(test.args[0])
        fixed = (
            [prefix.const]
            if isinstance(prefix.const, str)
            else list(prefix.const if prefix.is_const and isinstance(prefix.const, tuple) else [])
        )
        resolved = any("resolved" in mark.kinds for flow in value.flows for mark in flow.marks)
        if truth and len(fixed) == 1 and fixed[0] in _QUOTES:
            self._guard(value.flows, frozenset({"code:begins"}), test, "it begins with a quote")
        if not truth:
            if any(text == "-" for text in fixed):
                self._guard(value.flows, frozenset({"argument"}), test, "it does not begin with a dash")
            if any(text in {"/", "\\"} for text in fixed):
                self._guard(value.flows, frozenset({"path:absolute"}), test, "it is not absolute")
            if any(text.startswith(("http", "//")) for text in fixed if isinstance(text, str)):
                self._guard(value.flows, frozenset({"redirect:host"}), test, "it names no host of its own")
            return
        if fixed and all(isinstance(text, str) and _URL_PREFIX.match(text) for text in fixed):
            self._guard(value.flows, frozenset({"ssrf", "redirect"}), test, f"it begins with `{fixed[0]}`")
        elif resolved and not any(flow.label.kind == "source" for flow in prefix.flows):
            self._guard(
                value.flows, frozenset({"path"}), test, "the resolved path stays below the base folder"
            )
        elif fixed == ["/"]:
            self._guard(value.flows, frozenset({"redirect:host"}), test, "it begins with '/'")

    def _type_names(self, node: ast.expr) -> list[str]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return [self.quiet(part).name for part in parts]

    def _text(self, node: ast.AST) -> str:
        return self.unit.source.segment(node).split("\n")[0][:60]


def _own_host(value: Value) -> bool:
    """A value that says which host this request was sent to."""
    return bool(value.flows) and all(
        flow.label.kind == "source" and re.search(r"host|url_root|base_url", flow.label.key)
        for flow in value.flows
    )


_INTERNAL = {"is_global": True, "is_private": False}
"""Attributes of an IP address, with the value that keeps a request off internal hosts."""
_PART_KINDS = {
    "host": frozenset({"ssrf", "redirect"}),
    "scheme": frozenset({"scheme"}),
    "suffix": frozenset({"upload", "suffix"}),
}
_QUOTES = frozenset({"'", '"'})
_LACKS = {
    "..": ("path:dotdot",),
    "../": ("path:dotdot",),
    "/": ("path", "path:dotdot", "path:absolute"),
    "\n": ("log", "header", "header:n"),
    "\r": ("header", "header:r"),
    "//": ("redirect:host",),
    "://": ("redirect:host",),
    "'": ("xpath",),
    '"': ("xpath:double",),
}


def _strict(pattern: str, whole: bool) -> bool:
    """Tell whether a pattern bounds a text: it covers the whole text and admits no run of anything."""
    anchored = whole or pattern.rstrip(")").endswith(("$", r"\Z", r"\z"))
    return anchored and not _LOOSE.search(pattern)
