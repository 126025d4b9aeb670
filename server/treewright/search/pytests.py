"""Reads the simple tests of a pytest or unittest file as single checks that need no pytest.

A test function without fixtures, or parametrised over values that can be read, is split like any assert; so are
`self.assertEqual` and its kin. What needs pytest (fixtures, marks, classes with set-up) stays one pytest check
a test node.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from typing import Any

from treewright.parsing import parse_program
from treewright.search.checks import Check, CheckKind
from treewright.search.splitting import Split, checks_of_body, names_read, without_imports

_UNITTEST = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertIs": ast.Is,
}


def split_pytest(source: str, provided: frozenset[str]) -> Split:
    """Read a test file.

    Args:
        source: the file's text.
        provided: names that the program defines.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = parse_program(source)
    split = Split()
    fixtures = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _is_fixture(node)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            split.checks.extend(_test_checks(node, "", fixtures, node.name))
        elif isinstance(node, ast.ClassDef) and _holds_tests(node):
            split.checks.extend(_class_checks(node, fixtures))
        elif isinstance(node, ast.Assert):
            split.checks.extend(checks_of_body([node], []))
        elif isinstance(node, ast.FunctionDef) and node.name in fixtures:
            continue
        elif not _is_main(node):
            kept = without_imports(node, provided)
            if kept:
                split.setup.append(kept)
    return split


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in names_read(node.test)


def _is_fixture(node: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def _holds_tests(node: ast.ClassDef) -> bool:
    return any(isinstance(child, ast.FunctionDef) and child.name.startswith("test") for child in node.body)


def _class_checks(node: ast.ClassDef, fixtures: set[str]) -> Iterator[Check]:
    prepared = {child.name for child in node.body if isinstance(child, ast.FunctionDef)} & {
        "setUp",
        "setup_method",
        "setUpClass",
        "setup_class",
        "tearDown",
        "teardown_method",
    }
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name.startswith("test"):
            name = f"{node.name}::{child.name}"
            if prepared:
                yield node_check(name, ast.unparse(child))
            else:
                yield from _test_checks(child, "self", fixtures, name)


def node_check(name: str, source: str) -> Check:
    """The check of one pytest node, run by pytest beside the candidate.

    Args:
        name: node id below the test file, such as `test_f` or `TestF::test_g`.
        source: the test's text.
    """
    return Check(id="c0", kind=CheckKind.PYTEST, source=source, evaluate=name)


def _test_checks(node: ast.FunctionDef, owner: str, fixtures: set[str], name: str) -> Iterator[Check]:
    arguments = [arg.arg for arg in node.args.args if arg.arg != owner]
    cases = _cases(node)
    text = ast.unparse(node)
    body = [_plain(child) for child in node.body]
    uses_self = bool(owner) and any(owner in names_read(child) for child in body)
    needs_pytest = set(arguments) != set(cases[0] if cases else ()) or uses_self or set(arguments) & fixtures
    marked = any("skip" in ast.unparse(one) or "xfail" in ast.unparse(one) for one in node.decorator_list)
    if needs_pytest or marked or isinstance(node, ast.AsyncFunctionDef):
        yield node_check(name, text)
        return
    found = 0
    for case in cases or [{}]:
        context = [f"{argument} = {value}" for argument, value in case.items()]
        for check in checks_of_body(body, context):
            found += 1
            shown = ", ".join(f"{argument}={value}" for argument, value in case.items())
            yield check.model_copy(update={"source": f"{check.source}  # {shown}"}) if shown else check
    if not found:
        yield Check(
            id="c0", kind=CheckKind.STATEMENT, source=text, evaluate="\n".join(map(ast.unparse, body))
        )


def _cases(node: ast.FunctionDef) -> list[dict[str, str]]:
    """The parameters of `pytest.mark.parametrize` with lists that stand in the file; [{}] without any."""
    sets: list[list[dict[str, str]]] = []
    for decorator in node.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows), *_],
            ):
                sets.append(_rows(names, rows))
            case _:
                continue
    return [{name: value for case in chosen for name, value in case.items()} for chosen in product(*sets)]


def _rows(names: ast.expr, rows: list[ast.expr]) -> list[dict[str, str]]:
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        keys = [name.strip() for name in names.value.split(",")]
    elif isinstance(names, (ast.List, ast.Tuple)):
        keys = [str(item.value) for item in names.elts if isinstance(item, ast.Constant)]
    else:
        return []
    found = []
    for row in rows:
        if isinstance(row, ast.Call) and isinstance(row.func, ast.Attribute) and row.func.attr == "param":
            row = ast.Tuple(row.args, ast.Load()) if len(keys) > 1 else row.args[0]
        items = row.elts if len(keys) > 1 and isinstance(row, (ast.Tuple, ast.List)) else [row]
        if len(items) != len(keys):
            return []
        found.append({key: ast.unparse(item) for key, item in zip(keys, items, strict=True)})
    return found


def _plain(node: ast.stmt) -> ast.stmt:
    """`self.assertEqual(a, b)` and its kin as a plain assert."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=args, keywords=options
            )
        ):
            return _plain_assert(node, name, args, options)
        case ast.With(
            items=[
                ast.withitem(
                    context_expr=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="assertRaises"))
                )
            ]
        ):
            call = node.items[0].context_expr
            assert isinstance(call, ast.Call)  # the pattern says so
            raises = ast.Call(
                ast.Attribute(ast.Name("pytest", ast.Load()), "raises", ast.Load()), call.args, []
            )
            return ast.fix_missing_locations(
                ast.copy_location(ast.With([ast.withitem(raises)], node.body), node)
            )
        case _:
            return node


def _plain_assert(node: ast.Expr, name: str, args: list[ast.expr], options: list[ast.keyword]) -> ast.stmt:
    test: ast.expr | None = None
    if name in _UNITTEST and len(args) >= 2:
        test = ast.Compare(args[0], [_UNITTEST[name]()], [args[1]])
    elif name == "assertTrue" and args:
        test = args[0]
    elif name == "assertFalse" and args:
        test = ast.UnaryOp(ast.Not(), args[0])
    elif name in ("assertIsNone", "assertIsNotNone") and args:
        op: Any = ast.Is() if name == "assertIsNone" else ast.IsNot()
        test = ast.Compare(args[0], [op], [ast.Constant(None)])
    elif name == "assertAlmostEqual" and len(args) >= 2:
        places = next(
            (option.value for option in options if option.arg in ("places", "delta")), ast.Constant(7)
        )
        limit = places if any(option.arg == "delta" for option in options) else _decimal(places)
        gap = ast.Call(ast.Name("abs", ast.Load()), [ast.BinOp(args[0], ast.Sub(), args[1])], [])
        test = ast.Compare(gap, [ast.LtE()], [limit])
    if test is None:
        return node
    return ast.fix_missing_locations(ast.copy_location(ast.Assert(test), node))


def _decimal(places: ast.expr) -> ast.expr:
    count = places.value if isinstance(places, ast.Constant) and isinstance(places.value, int) else 7
    return ast.Constant(0.5 * 10**-count)
