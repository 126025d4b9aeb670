"""Structural rules as data, matched over tree-sitter by ast-grep (contract: exploration, 10)."""

import re
from typing import TYPE_CHECKING, Any

from treewright.performers.static.javascript.checks.registry import check
from treewright.performers.static.javascript.node import Node
from treewright.performers.static.rulebook import table

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_IN_TESTS = frozenset({"test-not-run"})


@check("compared-with-itself", "program")
def shapes(unit: "Unit", node: Node) -> None:
    """Match every shape of the table over one file."""
    for row in table("javascript", "shapes")["shape"]:
        config: Any = {"rule": row["match"]}
        rule = row["rule"]
        if unit.source.is_test != (rule in _IN_TESTS):
            continue
        for raw in node.raw.find_all(config):
            found = Node(raw)
            text = found.text
            if "outside" in row and re.search(row["outside"], text):
                continue
            if rule == "index-past-the-end" and not _reads_by_it(text):
                continue
            shown = text.split("\n")[0][:60]
            strength = row.get("strength", 0)
            unit.report(
                rule,
                found,
                what=shown,
                safe=row.get("safe", ""),
                strength=strength,
                facts=(("shown", shown),),
            )


def _reads_by_it(loop: str) -> bool:
    """Tell whether a loop that goes on to the length reads the list at its counter."""
    head = re.search(r"(\w+)\s*<=\s*([\w.]+)\.length", loop)
    return (
        head is not None and re.search(rf"\b{re.escape(head[2])}\[{head[1]}\](?!\s*=[^=])", loop) is not None
    )
