"""Structural checks by the node type they look at; a check is a function with its rule's id.

A check gets the unit and one node and calls `unit.report`. Order does not matter; each looks alone.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

Check = Callable[["Unit", Any], None]
_checks: list[tuple[str, tuple[type[ast.AST], ...], Check]] = []
_FAMILIES: tuple[str, ...] = (
    "secrets", "errors", "regex", "files", "web", "access", "settings", "passwords", "hosts", "logic", "loops", "running",
    "sequence", "numbers", "crypto",
)  # fmt: skip


def check(rule: str, *types: type[ast.AST]) -> Callable[[Check], Check]:
    """Register a check for nodes of the given exact types; `ast.Module` gets the whole file."""

    def register(function: Check) -> Check:
        _checks.append((rule, types, function))
        return function

    return register


def run_checks(unit: "Unit") -> None:
    """Run every registered check over a unit's nodes, counting the sites each looked at."""
    for family in _FAMILIES:
        import_module(f"treewright.performers.static.python.checks.{family}")
    import_module("treewright.performers.static.python.shapes")
    for rule, types, function in _checks:
        nodes = unit.source.nodes(*types)
        unit.facts.examined[rule] = unit.facts.examined.get(rule, 0) + len(nodes)
        try:
            for node in nodes:
                function(unit, node)
        except Exception as error:  # noqa: BLE001 one check's fault must not cost the audit; the record says so
            note = f"the check {rule} failed ({type(error).__name__}: {error})"
            unit.facts.decoding = "; ".join(filter(None, (unit.facts.decoding, note)))
