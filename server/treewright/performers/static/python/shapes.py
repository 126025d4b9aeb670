"""Structural rules as data, matched over tree-sitter by ast-grep (contract: exploration, 10)."""

import ast
from typing import TYPE_CHECKING, Any

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.rulebook import table

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_HARMLESS = frozenset({"self", "True", "None"})


@check("compared-with-itself", ast.Module)
def shapes(unit: "Unit", node: ast.Module) -> None:
    """Match every shape of the table over one file."""
    del node
    from ast_grep_py import SgRoot

    root = SgRoot(unit.source.text, "python").root()
    for row in table("python", "shapes")["shape"]:
        config: Any = {"rule": row["match"]}
        for found in root.find_all(config):
            span, text = found.range(), found.text()
            if _meant(row["rule"], text) or unit.source.is_test:
                continue
            anchor = ast.Name(
                "x",
                ast.Load(),
                lineno=span.start.line + 1,
                col_offset=_bytes(unit, span.start.line, span.start.column),
                end_lineno=span.end.line + 1,
                end_col_offset=_bytes(unit, span.end.line, span.end.column),
            )
            shown = text.split("\n")[0][:60]
            unit.report(row["rule"], anchor, what=shown, facts=(("shown", shown),))


def _bytes(unit: "Unit", line: int, column: int) -> int:
    """ast-grep counts characters, ast counts UTF-8 bytes."""
    lines = unit.source.lines
    return len(lines[line][:column].encode("utf-8")) if line < len(lines) else column


def _meant(rule: str, text: str) -> bool:
    """`x != x` tests for NaN, `name = name` re-exports or binds a default, calls differ from one to the next."""
    if rule == "compared-with-itself":
        return "(" in text or "!=" in text or "[" in text
    return rule == "assigned-to-itself" and ("." not in text.partition("=")[0] or "(" in text)
