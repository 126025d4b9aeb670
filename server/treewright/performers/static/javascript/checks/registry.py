"""The structural checks by the kind of node that they look at."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from treewright.performers.static.javascript.node import Node

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

Check = Callable[["Unit", Node], None]
_CHECKS: dict[str, list[tuple[str, Check]]] = {}
_MODULES = ("regex", "secrets", "shapes", "web", "logic")


def check(rule: str, *kinds: str) -> Callable[[Check], Check]:
    """Register a check of a rule for kinds of nodes."""

    def register(function: Check) -> Check:
        for kind in kinds:
            _CHECKS.setdefault(kind, []).append((rule, function))
        return function

    return register


def run_checks(unit: "Unit") -> None:
    """Run every check over one file's tree."""
    for name in _MODULES:
        import_module(f"treewright.performers.static.javascript.checks.{name}")
    for node in unit.source.root.walk():
        for rule, function in _CHECKS.get(node.kind, ()):
            unit.facts.examined[rule] = unit.facts.examined.get(rule, 0) + 1
            function(unit, node)
