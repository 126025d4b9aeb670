"""What the program and its checks offer as material for edits: constants, calls, conditions, attributes."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property

from treewright.search.mutate.site import Scope, Site


class Material:
    """Donors found in a program.

    Args:
        site: the program.
        check_strings: strings that appear in the checks, for constants that are nearly one of them.
        missing: names that the running program did not find.
    """

    def __init__(
        self, site: Site, check_strings: tuple[str, ...] = (), missing: frozenset[str] = frozenset()
    ) -> None:
        self.site = site
        self.missing = missing
        self.check_strings = check_strings
        self._by_function: dict[ast.AST, _Donors] = {}

    def donors(self, node: ast.AST) -> _Donors:
        """The donors of the function that a node stands in."""
        scope = self.site.scope_of(node)
        if scope.node not in self._by_function:
            self._by_function[scope.node] = _Donors(self.site, scope)
        return self._by_function[scope.node]

    @cached_property
    def check_letters(self) -> list[str]:
        """Letters and signs that appear in the checks' strings, most frequent first, at most 16."""
        found = Counter(letter for text in self.check_strings for letter in text if not letter.isspace())
        return [letter for letter, _ in found.most_common(16)]

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """Every function of the file that a plain name reaches, by name."""
        return {node.name: node for node in ast.walk(self.site.tree) if isinstance(node, ast.FunctionDef)}

    @cached_property
    def attributes(self) -> list[str]:
        """Attributes that are read without being called, most used first."""
        called = {id(node.func) for node in ast.walk(self.site.tree) if isinstance(node, ast.Call)}
        found = Counter(
            node.attr
            for node in ast.walk(self.site.tree)
            if isinstance(node, ast.Attribute) and id(node) not in called and not _is_module(node.value)
        )
        return [name for name, _ in found.most_common(12)]


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in (
        "math",
        "string",
        "collections",
        "itertools",
        "re",
        "sys",
        "os",
    )


class _Donors:
    """Material of one function."""

    def __init__(self, site: Site, scope: Scope) -> None:
        self.scope = scope
        self.conditions: list[str] = []
        self.numbers: list[int | float] = []
        self.strings: list[str] = []
        self.expressions: dict[str, list[tuple[str, ast.expr]]] = {}
        self.statements: list[ast.stmt] = []
        for node in ast.walk(scope.node):
            if isinstance(node, ast.Constant):
                self._constant(node)
            elif isinstance(node, ast.expr):
                self._expression(site, node)
            elif isinstance(node, ast.stmt) and node is not scope.node:
                self.statements.append(node)
        self.conditions = list(dict.fromkeys(self.conditions))

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value not in self.numbers:
            self.numbers.append(value)
        elif isinstance(value, str) and len(value) < 60 and value not in self.strings:
            self.strings.append(value)

    def _expression(self, site: Site, node: ast.expr) -> None:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or isinstance(
            node, (ast.Name, ast.Starred, ast.Slice)
        ):
            return
        text = site.text(node)
        if "\n" in text or len(text) > 60:
            return
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            self.conditions.append(text)
        kind = self.scope.kinds.of(node)
        known = self.expressions.setdefault(kind, [])
        if all(text != other for other, _ in known):
            known.append((text, node))
