"""How much each line is suspected, from which checks execute which lines.

The measure is Ochiai's: failing checks that execute the line, over the root of all failing checks times all
checks that execute it. Expressed in bits, so that it adds to the prior cost of an edit.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

_LEAST = 0.05
_WEIGHT = 1.6
"""Bits are stretched by this: one failing check says more about a line than a prior about an operator."""


def line_costs(
    tree: ast.Module, executed: Mapping[str, Sequence[int]], passed: Mapping[str, bool]
) -> dict[int, float]:
    """Cost in bits by line; lines that no failing check executes are left out.

    Args:
        tree: the program.
        executed: lines that each check executed, by check id; empty when no host could tell.
        passed: verdict by check id.

    Returns:
        Lines with 0.0 for the most suspected. Without any traces, every line of the program at 0.0.
    """
    failing = [set(executed.get(check, ())) for check, good in passed.items() if not good]
    passing = [set(executed.get(check, ())) for check, good in passed.items() if good]
    lines = set().union(*failing) if failing else set()
    if not lines:
        last = max((getattr(node, "end_lineno", 0) or 0 for node in ast.walk(tree)), default=0)
        return dict.fromkeys(range(1, last + 1), 0.0)
    scores = {line: _ochiai(line, failing, passing) for line in lines}
    best = max(scores.values())
    costs = {line: _WEIGHT * math.log2(best / max(score, _LEAST)) for line, score in scores.items()}
    return _spread(tree, costs)


def _ochiai(line: int, failing: Sequence[set[int]], passing: Sequence[set[int]]) -> float:
    bad = sum(1 for lines in failing if line in lines)
    good = sum(1 for lines in passing if line in lines)
    return bad / math.sqrt(len(failing) * (bad + good)) if bad else 0.0


def _spread(tree: ast.Module, costs: dict[int, float]) -> dict[int, float]:
    """Give lines without code of their own (continued lines, `else`, a header) the cost of what they belong to."""
    found = dict(costs)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        first, last = node.lineno, node.end_lineno or node.lineno
        inner = [costs[line] for line in range(first, last + 1) if line in costs]
        if not inner:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = [costs[line] for line in range(node.body[0].lineno, last + 1) if line in costs]
            if body:
                found[first] = min(body)
        elif not hasattr(node, "body"):
            for line in range(first, last + 1):
                found.setdefault(line, min(inner))
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, max(costs.values()) + 2.0)
    return found
