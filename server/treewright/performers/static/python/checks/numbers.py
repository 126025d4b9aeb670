"""Numbers: divisors that may be zero, patterns that check only the beginning, expressions that were meant as assignments."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_SHORT = 80
"""Lines up to which a file is taken for a piece of code shown by itself."""


def short(unit: "Unit") -> bool:
    """Whether a file is a piece of code that stands alone, so that anybody may call its functions."""
    return not unit.source.library and len(unit.source.lines) <= _SHORT


@check("divisor-may-be-zero", ast.BinOp)
def divided(unit: "Unit", node: ast.BinOp) -> None:
    """`sum(values) / len(values)` of an empty list, `a / b` of a parameter that nobody looked at."""
    if not isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)) or unit.source.is_test:
        return
    function = unit.source.function_of(node)
    subject = _counted(unit, node.right) or (node.right.id if isinstance(node.right, ast.Name) else "")
    if function is None or not subject or isinstance(node.left, (ast.JoinedStr, ast.Constant)):
        return
    counted = not isinstance(node.right, ast.Name)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if subject not in {argument.arg for argument in arguments}:
        return
    if not counted and not _numeric(unit, function, subject):
        return
    shown = unit.source.segment(node.right)[:60]
    line = _looked_at(unit, function, subject, node)
    if line:
        if short(unit):
            unit.report(
                "divisor-may-be-zero",
                node,
                what=shown,
                safe="zero is looked at",
                safe_line=line,
                facts=(("shown", shown),),
            )
        return
    unit.report(
        "divisor-may-be-zero", node, what=shown, strength=0 if short(unit) else -1, facts=(("shown", shown),)
    )


def _counted(unit: "Unit", node: ast.expr) -> str:
    """The name in `len(name)`."""
    if isinstance(node, ast.Call) and unit.source.dotted(node.func) == "len" and node.args:
        return node.args[0].id if isinstance(node.args[0], ast.Name) else ""
    return ""


def _numeric(unit: "Unit", function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Not a path: neither annotated nor used as text."""
    note = next(
        (a.annotation for a in ast.walk(function.args) if isinstance(a, ast.arg) and a.arg == name), None
    )
    text = unit.source.segment(note) if note is not None else ""
    named = re.search(r"(?i)path|dir|folder|file|name|suffix|sub|part|root|base|url|rel", name)
    return not named and (not text or bool(re.search(r"\b(int|float|Decimal|Number)\b", text)))


def _looked_at(unit: "Unit", function: ast.AST, name: str, node: ast.AST) -> int:
    """The line of a test, bound or handler that deals with zero, or 0."""
    for part in ast.walk(function):
        line: int = getattr(part, "lineno", 0)
        if isinstance(part, (ast.If, ast.IfExp, ast.While, ast.Assert)) and re.search(
            rf"\b{name}\b", unit.source.segment(part.test)
        ):
            return line
        if isinstance(part, ast.BoolOp) and re.search(rf"\b{name}\b", unit.source.segment(part)):
            return line
        if isinstance(part, ast.ExceptHandler) and (
            part.type is None
            or re.search(r"ZeroDivisionError|ArithmeticError|Exception", unit.source.segment(part.type))
        ):
            return line
        if isinstance(part, (ast.Assign, ast.AugAssign)) and part.lineno < node.lineno:  # type: ignore[attr-defined]  # a BinOp
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return line
        if (
            isinstance(part, (ast.For, ast.comprehension))
            and name in unit.source.segment(part.iter)
            and _inside(unit, node, part)
        ):
            return line or node.lineno  # type: ignore[attr-defined]  # a BinOp; in the loop it is not empty
    return 0


def _inside(unit: "Unit", node: ast.AST, loop: ast.AST) -> bool:
    current = unit.source.parent(node)
    while current is not None and current is not loop:
        current = unit.source.parent(current)
    return current is loop and isinstance(loop, ast.For)


@check("comparison-without-effect", ast.Expr)
def compared_for_nothing(unit: "Unit", node: ast.Expr) -> None:
    """`state.count == 0` on a line of its own."""
    value = node.value
    if not isinstance(value, ast.Compare) or unit.source.is_test or len(value.ops) != 1:
        return
    if isinstance(value.ops[0], ast.Eq) and isinstance(value.left, (ast.Name, ast.Attribute, ast.Subscript)):
        shown = unit.source.segment(value)[:60]
        left, right = unit.source.segment(value.left), unit.source.segment(value.comparators[0])
        place = unit.source.place(value)
        edit = (place.line, place.column, place.end, place.end_column, f"{left} = {right}")
        unit.report(
            "comparison-without-effect",
            node,
            what=shown,
            strength=1,
            facts=(("shown", shown),),
            edits=(edit,),
        )


_CHECKS = re.compile(
    r"(?i)(^|_)(is|valid|validate|check|verify|sanit|safe|allowed|ensure|match(es)?)(_|$)|valid"
)
_ACTS = re.compile(
    r"subprocess|os\.(system|popen)|execute\(|\beval\(|\bexec\(|\bopen\(|redirect\(|requests\.|urlopen"
)


@check("pattern-checks-beginning-only", ast.Call)
def open_ended(unit: "Unit", node: ast.Call) -> None:
    """`if re.match(r"[a-z]+", name)` as the check of a value: what follows the match is not looked at."""
    name = unit.source.dotted(node.func)
    if (
        name not in {"re.match", "re.search"}
        or len(node.args) < 2
        or unit.source.is_test
        or unit.source.library
    ):
        return
    pattern = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    function = unit.source.function_of(node)
    if not isinstance(pattern, str) or function is None or not re.search(r"[\]\w)}][+*?]*$|\}$", pattern):
        return
    if (
        pattern.endswith(("$", r"\Z", r"\b", ".*", ".+"))
        or not re.search(r"[+*{]", pattern)
        or "|" in pattern
    ):
        return
    parent = unit.source.parent(node)
    while isinstance(parent, (ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call)):
        parent = unit.source.parent(parent)
    tested = isinstance(parent, (ast.If, ast.Return)) and name == "re.match"
    text = unit.source.segment(function)
    if tested and (_CHECKS.search(function.name) or (isinstance(parent, ast.If) and _ACTS.search(text))):
        new = unit.source.segment(node.func).replace("match", "fullmatch")
        place = unit.source.place(node.func)
        edit = (place.line, place.column, place.end, place.end_column, new)
        unit.report(
            "pattern-checks-beginning-only",
            node,
            what=pattern[:60],
            facts=(("shown", pattern[:60]),),
            edits=(edit,),
        )
