"""All edits of a program, cheapest first.

The cost of an edit is the prior cost of its operator, less what the observed symptoms speak for it, plus how
little its line is suspected. Costs are bits: one more means half as likely.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from treewright.search.mutate import (
    arithmetic,
    calls,
    compare_ops,
    conditions,
    constants,
    donors,
    everywhere,
    forms,
    insertions,
    names,
    offsets,
    returns,
    slices,
    statements,
    unknown,
)
from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.priors import operator_costs
from treewright.search.mutate.site import Site
from treewright.search.mutate.usage import unread_names

Family = Callable[[ast.AST, Site, Material], Iterator[Edit]]

FAMILIES: tuple[Family, ...] = (
    compare_ops.propose,
    arithmetic.propose,
    constants.propose,
    offsets.propose,
    names.propose,
    calls.propose,
    slices.propose,
    conditions.propose,
    returns.propose,
    statements.propose,
    insertions.propose,
    donors.propose,
    forms.propose,
    unknown.propose,
    everywhere.propose,
)

UNREAD_BITS = 2.0
"""Bits off for an edit that puts a name to use that nothing has read so far."""

_WORD = re.compile(r"[A-Za-z_]\w*")

UNKNOWN_COST = 9.0
"""Bits for an operator that the priors do not list."""


def edits_of(
    site: Site,
    material: Material,
    line_costs: Mapping[int, float],
    discounts: Mapping[str, float],
    *,
    families: tuple[Family, ...] = FAMILIES,
) -> list[tuple[float, Edit]]:
    """Every edit of the suspected lines with its cost in bits, unsorted.

    Args:
        site: the program.
        material: donors.
        line_costs: bits by line; lines that are not listed are left alone.
        discounts: bits taken off an operator (or a whole family, `compare.*`) for observed symptoms.
        families: which operators to ask.
    """
    costs = operator_costs()
    unread = unread_names(site.tree)
    unplaced = _unplaced(site.tree)
    found: list[tuple[float, Edit]] = []
    for node in ast.walk(site.tree):
        line = getattr(node, "lineno", None) or _line_of_comprehension(node)
        if line is None or id(node) in unplaced:
            continue
        last = getattr(node, "end_lineno", line) or line
        if line not in line_costs and not (
            isinstance(node, (ast.FunctionDef, ast.stmt)) and _any(line_costs, line, last)
        ):
            continue
        for family in families:
            for edit in family(node, site, material):
                at = line_costs.get(edit.line)
                if at is None:
                    at = min(
                        (line_costs[one] for one in range(line, last + 1) if one in line_costs), default=None
                    )
                    if at is None:
                        continue
                cost = costs.get(edit.operator, UNKNOWN_COST) + edit.extra + at
                cost -= discounts.get(edit.operator, 0.0) + discounts.get(
                    edit.operator.split(".")[0] + ".*", 0.0
                )
                if unread and any(_uses(text, unread) for _, _, text in edit.splices):
                    cost -= UNREAD_BITS
                found.append((cost, edit))
    return found


def _unplaced(tree: ast.AST) -> set[int]:
    """Nodes whose positions cannot be trusted: those inside f-strings, before Python 3.12."""
    if sys.version_info >= (3, 12):
        return set()
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
        if inner is not node
    }


def _uses(text: str, names: set[str]) -> bool:
    return not names.isdisjoint(_WORD.findall(text))


def _line_of_comprehension(node: ast.AST) -> int | None:
    return node.iter.lineno if isinstance(node, ast.comprehension) else None


def _any(line_costs: Mapping[int, float], first: int, last: int) -> bool:
    return any(line in line_costs for line in range(first, last + 1))
