"""Splits assert statements into single checks.

`assert f(1) == 2 and g(3)` becomes two checks, an assert inside a `check(candidate)` function takes the
statements before it along as its context, a loop with asserts stays one check. What stands beside the asserts
(imports, constants, functions) becomes the setup of the plan.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from treewright.parsing import parse_program
from treewright.search.checks import Check, CheckKind
from treewright.search.literal import NotReadable, read_value

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_MIRRORED = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "is": "is",
    "is not": "is not",
}


@dataclass(slots=True)
class Split:
    """Checks found in a text, and the statements they share.

    Attributes:
        checks: without their final ids.
        setup: statements to run once before any check.
    """

    checks: list[Check] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)


def split_asserts(source: str, entry_point: str | None, provided: frozenset[str] = frozenset()) -> Split:
    """Read every assert of a text.

    Args:
        source: Python statements.
        entry_point: name of the function under test; the parameter of a `check(candidate)` function stands
            for it.
        provided: names that the program under test defines; imports of these are dropped, since the program
            is loaded by the branch itself.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = parse_program(source)
    split = Split()
    split_block(tree.body, split, entry_point, provided)
    return split


def split_block(
    body: Sequence[ast.stmt], split: Split, entry_point: str | None, provided: frozenset[str]
) -> None:
    """Read the asserts among statements at the top of a file into `split`."""
    called = {name for node in body if (name := _plain_call(node))}
    for node in body:
        if isinstance(node, ast.Assert):
            split.checks.extend(checks_of_assert(node, ""))
        elif isinstance(node, ast.FunctionDef) and _holds_assert(node) and _is_check_function(node, called):
            split.checks.extend(checks_of_function(node, _stands_for(node, entry_point, body)))
        elif (name := _plain_call(node)) and any(
            isinstance(one, ast.FunctionDef) and one.name == name and _holds_assert(one) for one in body
        ):
            continue
        elif isinstance(node, (ast.For, ast.While, ast.With, ast.Try, ast.If)) and _is_main_guard(node):
            split_block(node.body, split, entry_point, provided)
        elif isinstance(node, (ast.For, ast.While, ast.With, ast.Try, ast.If)) and _holds_assert(node):
            split.checks.append(statement_check(node, ""))
        else:
            kept = without_imports(node, provided)
            if kept:
                split.setup.append(kept)


def _plain_call(node: ast.stmt) -> str | None:
    """The name that a statement calls, when the statement is nothing but a call of a plain name."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name
        case _:
            return None


def _is_main_guard(node: ast.stmt) -> Any:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _holds_assert(node: ast.AST) -> bool:
    return any(isinstance(child, ast.Assert) for child in ast.walk(node))


def _is_check_function(node: ast.FunctionDef, called: set[str]) -> bool:
    return node.name in called or node.name.startswith(("check", "test")) or len(node.args.args) == 1


def _stands_for(node: ast.FunctionDef, entry_point: str | None, body: Sequence[ast.stmt]) -> str:
    """The binding of the function's parameter, taken from its call in the file or the entry point."""
    if len(node.args.args) != 1:
        return ""
    name = node.args.args[0].arg
    for other in body:
        if (
            _plain_call(other) == node.name
            and isinstance(other, ast.Expr)
            and isinstance(other.value, ast.Call)
        ):
            call = other.value
            if len(call.args) == 1:
                bound = ast.unparse(call.args[0])
                bound = entry_point if bound == "candidate" and entry_point else bound
                return "" if bound == name else f"{name} = {bound}"
    return f"{name} = {entry_point}" if entry_point and name != entry_point else ""


def checks_of_function(node: ast.FunctionDef, binding: str) -> Iterator[Check]:
    """Read the asserts in a function's body; statements before an assert become its context."""
    context = [binding] if binding else []
    yield from checks_of_body(node.body, context)


def checks_of_body(body: Iterable[ast.stmt], context: list[str]) -> Iterator[Check]:
    """Read asserts from statements that share local state; `context` grows as they are passed."""
    bound: set[str] = set()
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assert):
            yield from checks_of_assert(node, "\n".join(context))
            if bound & names_read(node.test):
                context.append(ast.unparse(node.test))
        elif _raises_block(node) is not None and isinstance(node, ast.With):
            yield raises_check(node, "\n".join(context))
        elif _holds_assert(node):
            yield statement_check(node, "\n".join(context))
            context.append(ast.unparse(_strip_asserts(node)))
        else:
            bound |= _names_bound(node)
            context.append(ast.unparse(node))


def _strip_asserts(node: ast.stmt) -> ast.stmt:
    """The statement again, its asserts replaced by nothing, so that later checks see its effects."""

    class Strip(ast.NodeTransformer):
        def visit_Assert(self, node: ast.Assert) -> ast.stmt:
            return ast.copy_location(ast.Pass(), node)

    stripped: ast.stmt = Strip().visit(parse_program(ast.unparse(node)).body[0])
    return ast.fix_missing_locations(stripped)


def names_read(node: ast.AST) -> set[str]:
    """Every name that appears in a syntax tree."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def _names_bound(node: ast.AST) -> set[str]:
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }


def without_imports(node: ast.stmt, provided: frozenset[str]) -> str:
    """The statement's text, less imports of what the program itself provides; empty when nothing is left."""
    if isinstance(node, ast.ImportFrom):
        if node.level or (node.module or "") == "__future__":
            return ""
        kept = [alias for alias in node.names if alias.name not in provided and alias.name != "*"]
        return ast.unparse(ast.ImportFrom(node.module, kept, 0)) if kept else ""
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if alias.name not in provided and alias.name != "pytest"]
        return ast.unparse(ast.Import(names)) if names else ""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return ""
    return ast.unparse(node)


def checks_of_assert(node: ast.Assert, context: str) -> Iterator[Check]:
    """One check a conjunct of the assert's test."""
    tests = (
        node.test.values
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        else [node.test]
    )
    for test in tests:
        yield check_of_test(test, context, f"assert {ast.unparse(test)}")


def check_of_test(test: ast.expr, context: str, source: str) -> Check:
    """The check of one boolean expression: compared here where it compares, else evaluated to a truth value."""
    if (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and not isinstance(test.operand, ast.Compare)
    ):
        return value_check(test.operand, "falsity", context=context, source=source)
    close = _closeness(test)
    if close is not None:
        left, expected, rel, absolute = close
        return value_check(
            left, "close", expected, context=context, source=source, rel=rel, absolute=absolute
        )
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test.left, _OPERATORS[type(test.ops[0])], test.comparators[0], context, source)
    return value_check(test, "truth", context=context, source=source)


def value_check(
    evaluate: ast.expr,
    operator: str,
    expected: Any = None,
    *,
    context: str,
    source: str,
    right: ast.expr | None = None,
    rel: float = 0.0,
    absolute: float = 0.0,
) -> Check:
    """A check whose expression the kernel evaluates and whose comparison is made here."""
    return Check.model_validate(
        {
            "id": "c0",
            "kind": CheckKind.VALUE,
            "source": source,
            "context": context,
            "evaluate": ast.unparse(evaluate),
            "right": ast.unparse(right) if right is not None else None,
            "operator": operator,
            "expected": expected,
            "rel": rel,
            "absolute": absolute,
        }
    )


def _comparison(left: ast.expr, operator: str, right: ast.expr, context: str, source: str) -> Check:
    for evaluated, other, way in ((left, right, operator), (right, left, _MIRRORED.get(operator))):
        if way is None or not _holds_call_or_name(evaluated):
            continue
        approx = _approx(other)
        if approx is not None and way == "==":
            expected, rel, absolute = approx
            return value_check(
                evaluated, "close", expected, context=context, source=source, rel=rel, absolute=absolute
            )
        try:
            return value_check(evaluated, way, read_value(other), context=context, source=source)
        except NotReadable:
            continue
    return value_check(left, operator, context=context, source=source, right=right)


def _holds_call_or_name(node: ast.expr) -> bool:
    return any(isinstance(child, (ast.Call, ast.Name)) for child in ast.walk(node))


def _closeness(test: ast.expr) -> tuple[ast.expr, Any, float, float] | None:
    """Recognise `abs(a - b) < eps`, `math.isclose(a, b, ...)` and `np.isclose` with one readable side."""
    match test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=a, op=ast.Sub(), right=b)]),
            ops=[ast.Lt() | ast.LtE()],
            comparators=[limit],
        ):
            return _close_pair(a, b, 0.0, _number(limit))
        case ast.Call(
            func=ast.Attribute(attr="isclose" | "allclose") | ast.Name(id="isclose"),
            args=[a, b, *_],
            keywords=options,
        ):
            given = {option.arg: _number(option.value) for option in options}
            rel, absolute = (
                given.get("rel_tol", given.get("rtol", 1e-9)),
                given.get("abs_tol", given.get("atol", 0.0)),
            )
            return None if rel is None or absolute is None else _close_pair(a, b, rel, absolute)
        case _:
            return None


def _close_pair(
    a: ast.expr, b: ast.expr, rel: float, absolute: float | None
) -> tuple[ast.expr, Any, float, float] | None:
    if absolute is None:
        return None
    for evaluated, other in ((a, b), (b, a)):
        try:
            expected = read_value(other)
        except NotReadable:
            continue
        if _holds_call_or_name(evaluated) and isinstance(expected, (int, float, list, tuple)):
            return evaluated, expected, rel, absolute
    return None


def _number(node: ast.expr) -> float | None:
    try:
        value = read_value(node)
    except NotReadable:
        return None
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None


def _approx(node: ast.expr) -> tuple[Any, float, float] | None:
    """Recognise `pytest.approx(value, rel=, abs=)`; its defaults are 1e-6 relative and 1e-12 absolute."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="approx") | ast.Name(id="approx"), args=[value, *rest], keywords=options
        ):
            given = {option.arg: _number(option.value) for option in options}
            rel = _number(rest[0]) if rest else given.get("rel")
            absolute = given.get("abs")
            if absolute is not None and rel is None:
                rel = 0.0
            try:
                return (
                    read_value(value),
                    1e-6 if rel is None else rel,
                    1e-12 if absolute is None else absolute,
                )
            except NotReadable:
                return None
        case _:
            return None


def statement_check(node: ast.stmt, context: str) -> Check:
    """A block with asserts inside, kept whole: it passes when it does not raise."""
    text = ast.unparse(node)
    return Check(id="c0", kind=CheckKind.STATEMENT, source=text, context=context, evaluate=text)


def _raises_block(node: ast.stmt) -> str | None:
    """Names of the exceptions that a `with pytest.raises(...)` block expects, joined by `|`."""
    match node:
        case ast.With(
            items=[
                ast.withitem(
                    context_expr=ast.Call(
                        func=ast.Attribute(attr="raises" | "assertRaises"), args=[kinds, *_]
                    )
                )
            ]
        ):
            names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
            return "|".join(ast.unparse(name).rpartition(".")[2] for name in names)
        case _:
            return None


def raises_check(node: ast.With, context: str) -> Check:
    """The check of a `with pytest.raises(E):` block."""
    *before, last = node.body
    lines = [context, *(ast.unparse(one) for one in before)]
    return Check(
        id="c0",
        kind=CheckKind.RAISES,
        source=ast.unparse(node),
        context="\n".join(line for line in lines if line),
        evaluate=ast.unparse(last.value) if isinstance(last, ast.Expr) else ast.unparse(last),
        expected=_raises_block(node),
    )
