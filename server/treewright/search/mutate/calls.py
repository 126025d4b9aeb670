"""Calls: wrapped, unwrapped, with arguments swapped, dropped, added or aimed at another target."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import fits
from treewright.search.mutate.site import ATOM, FACTOR, NOT, POWER, Site, strength

_WRAPS: dict[str, tuple[str, ...]] = {
    "num": ("abs", "int", "str", "float", "round", "bin"),
    "bool": ("int",),
    "str": ("len", "int", "list", "set", "sorted", "ord"),
    "list": ("sorted", "len", "set", "sum", "max", "min", "list", "tuple", "reversed"),
    "tuple": ("list", "sorted", "len", "set"),
    "seq": ("sorted", "len", "set", "list", "sum", "max", "min", "reversed"),
    "set": ("len", "list", "sorted"),
    "dict": ("len", "list", "sorted"),
    "any": (
        "abs",
        "str",
        "int",
        "len",
        "list",
        "sorted",
        "set",
        "sum",
        "max",
        "min",
        "tuple",
        "bin",
        "ord",
        "float",
    ),
}
_METHODS: dict[str, tuple[str, ...]] = {
    "str": ("lower()", "upper()", "strip()", "split()"),
    "list": ("copy()",),
    "dict": ("items()", "keys()", "values()", "copy()"),
    "set": ("copy()",),
    "seq": ("copy()", "lower()"),
    "any": ("lower()", "upper()", "strip()", "copy()", "items()", "values()", "split()"),
}


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits that put a call around an expression, take one away, or change its arguments."""
    if isinstance(node, ast.Call):
        yield from _unwrap(node, site)
        yield from _arguments(node, site, material)
    if isinstance(node, (ast.Tuple, ast.List)) and 2 <= len(node.elts) <= 5:
        yield from _swaps(list(node.elts), site, "argument.element", node.lineno)
    if (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and not isinstance(node.comparators[0], ast.Constant)
    ):
        yield from _wrap_both(node, site)
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield from _wrap(node, site, material)


def _unwrap(node: ast.Call, site: Site) -> Iterator[Edit]:
    for arg in node.args[:3]:
        if not isinstance(arg, ast.Starred):
            text = site.text(arg)
            yield Edit("call.unwrap", (site.replace(node, text, strength(arg)),), node.lineno)
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        yield Edit("call.unwrap", (site.replace(node, site.text(owner), strength(owner)),), node.lineno)
        if isinstance(site.parents.get(node), (ast.Return, ast.Assign)) and node.func.attr in (
            "sort",
            "append",
            "extend",
            "reverse",
            "add",
            "insert",
            "update",
        ):
            statement = site.statement_of(node)
            if statement is not None and site.starts_line(statement):
                before = site.insert_before(statement, site.text(node).replace("\n", " "))
                yield Edit(
                    "call.unwrap",
                    (before, site.replace(node, site.text(owner), strength(owner))),
                    node.lineno,
                )


def _arguments(node: ast.Call, site: Site, material: Material) -> Iterator[Edit]:
    plain = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
    if 2 <= len(plain) <= 5:
        yield from _swaps(list(plain), site, "argument.swap", node.lineno)
        if len(plain) == 3:
            for turn in (1, 2):
                texts = [site.text(plain[(i + turn) % 3]) for i in range(3)]
                splices = tuple(site.replace(arg, text, 1) for arg, text in zip(plain, texts, strict=True))
                yield Edit("argument.swap", splices, node.lineno, 1.0)
    for index, arg in enumerate(node.args):
        if len(node.args) > 1:
            yield Edit("argument.drop", (_without(node, index, site),), arg.lineno)
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    end = site.span(node)[1] - 1
    if site.source[end] == ")" and not any(isinstance(arg, ast.GeneratorExp) for arg in node.args):
        yield from _added(node, name, end, site)
    yield from _keywords(node, site)
    if name in material.functions:
        yield from _recursion(node, site)


def _swaps(items: list[ast.expr], site: Site, operator: str, line: int) -> Iterator[Edit]:
    for one, other in combinations(items, 2):
        left, right = site.text(one), site.text(other)
        if left != right:
            splices = (site.replace(one, right, strength(other)), site.replace(other, left, strength(one)))
            yield Edit(operator, splices, line)


def _without(node: ast.Call, index: int, site: Site) -> tuple[int, int, str]:
    everything: list[ast.expr] = [*node.args, *(option.value for option in node.keywords)]
    start, end = site.span(node.args[index])
    if index + 1 < len(node.args):
        return start, site.span(node.args[index + 1])[0], ""
    if index:
        return site.span(everything[index - 1])[1], end, ""
    return start, end, ""


def _added(node: ast.Call, name: str, end: int, site: Site) -> Iterator[Edit]:
    comma = ", " if node.args or node.keywords else ""
    known = {option.arg for option in node.keywords}
    if name in ("sorted", "sort") and "reverse" not in known:
        yield Edit("argument.add", ((end, end, f"{comma}reverse=True"),), node.lineno)
    if name in ("sorted", "sort", "max", "min") and "key" not in known:
        for key in (
            "len",
            "abs",
            "str",
            "lambda x: x[1]",
            "lambda x: -x",
            "lambda x: (-len(set(x)), x)",
            "lambda x: (len(x), x)",
        ):
            yield Edit("argument.key", ((end, end, f"{comma}key={key}"),), node.lineno)
    if name == "pop" and not node.args:
        yield Edit("argument.add", ((end, end, "0"),), node.lineno)
        yield Edit("argument.add", ((end, end, "-1"),), node.lineno, 1.0)
    if name == "range" and len(node.args) == 1:
        start = site.span(node.args[0])[0]
        for first in ("1", "2"):
            yield Edit("argument.start", ((start, start, f"{first}, "),), node.lineno)
        for other in site.readable(node):
            if site.scope_of(node).kinds.of_name(other) == "num":
                yield Edit("argument.start", ((start, start, f"{other}, "),), node.lineno, 1.0)
                yield Edit("argument.start", ((start, start, f"{other} + 1, "),), node.lineno, 1.0)
    if name == "range" and len(node.args) == 2:
        for step in ("2", "-1"):
            yield Edit("argument.start", ((end, end, f", {step}"),), node.lineno, 1.0)
    if name == "enumerate" and len(node.args) == 1:
        yield Edit("argument.start", ((end, end, ", 1"),), node.lineno, 1.0)


def _keywords(node: ast.Call, site: Site) -> Iterator[Edit]:
    for option in node.keywords:
        if option.arg in ("reverse", "key", "start", "default", "maxsplit"):
            before = [*node.args, *(other.value for other in node.keywords[: node.keywords.index(option)])]
            if before:
                start, end = site.span(before[-1])[1], site.span(option.value)[1]
                yield Edit("argument.drop", ((start, end, ""),), node.lineno)


def _recursion(node: ast.Call, site: Site) -> Iterator[Edit]:
    """Arguments of a call to a function of this file: a step smaller, a slice shorter, less something known."""
    names = site.readable(node)
    kinds = site.scope_of(node).kinds
    for arg in node.args:
        text = site.text(arg)
        kind = kinds.of(arg)
        if isinstance(arg, ast.Constant):
            continue
        if fits(kind, "seq") and isinstance(arg, ast.Name):
            for bounds in ("[1:]", "[:-1]"):
                yield Edit("recursion.smaller", (site.replace(arg, text + bounds),), node.lineno)
        if fits(kind, "num"):
            for name in names:
                if name != text and fits(kinds.of_name(name), "num"):
                    for sign in ("-", "+"):
                        yield Edit(
                            "recursion.less",
                            (site.replace(arg, f"{site.operand(arg, 10)} {sign} {name}", 10),),
                            node.lineno,
                        )
                        yield Edit(
                            "recursion.less",
                            (site.replace(arg, f"{name} {sign} {site.operand(arg, 11)}", 10),),
                            node.lineno,
                            1.0,
                        )
            for name in names:
                if name != text and fits(kinds.of_name(name), "num"):
                    yield Edit(
                        "recursion.less",
                        (site.replace(arg, f"{site.operand(arg, 11)} % {name}", 11),),
                        node.lineno,
                        1.5,
                    )


_UNWRAPPED = (
    ast.Constant,
    ast.Slice,
    ast.Starred,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Lambda,
    ast.Yield,
    ast.YieldFrom,
    ast.NamedExpr,
    ast.Await,
    ast.GeneratorExp,
)
"""Expressions that nothing is put around."""


def _wrap(node: ast.expr, site: Site, material: Material) -> Iterator[Edit]:
    parent = site.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    owner = isinstance(parent, ast.Attribute) and isinstance(node, ast.Name)
    if isinstance(node, _UNWRAPPED) or called or owner:
        return
    kind = site.scope_of(node).kinds.of(node)
    text = site.text(node)
    for function in _WRAPS.get(kind, ()):
        likely = 0.0 if _natural(function, parent) and kind != "any" else 1.5
        if function == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            likely = -1.5
        yield Edit("wrap.call", (site.replace(node, f"{function}({text})"),), node.lineno, likely)
    if isinstance(parent, ast.Expr):
        return
    for method in _METHODS.get(kind, ()):
        likely = 0.0 if kind != "any" else 1.5
        changed = f"{site.operand(node, ATOM)}.{method}"
        yield Edit("wrap.method", (site.replace(node, changed),), node.lineno, likely)
    yield from _changed_value(node, kind, site)
    yield from _own_functions(node, text, site, material)


def _changed_value(node: ast.expr, kind: str, site: Site) -> Iterator[Edit]:
    """A number negated, squared or bounded; a flag the other way round."""
    line = node.lineno
    if fits(kind, "num") and kind != "bool":
        negated = f"-{site.operand(node, FACTOR + 1)}"
        yield Edit("wrap.negate", (site.replace(node, negated, FACTOR),), line)
        yield Edit("wrap.power", (site.replace(node, f"{site.operand(node, ATOM)} ** 2", POWER),), line)
        yield from _extremes(node, site.text(node), site)
    if kind == "bool" and not isinstance(node, ast.Compare):
        yield Edit("condition.negate", (site.replace(node, f"not {site.operand(node, NOT)}", NOT),), line)


def _wrap_both(node: ast.Compare, site: Site) -> Iterator[Edit]:
    """Both sides of a comparison in the same wrapper."""
    left, right = node.left, node.comparators[0]
    for function in ("set", "sorted", "len", "abs", "str", "sum"):
        splices = tuple(site.replace(side, f"{function}({site.text(side)})") for side in (left, right))
        yield Edit("wrap.both", splices, node.lineno)
    splices = tuple(site.replace(side, f"{site.operand(side, 14)}.lower()") for side in (left, right))
    yield Edit("wrap.both", splices, node.lineno, 0.5)


def _natural(function: str, parent: ast.AST | None) -> bool:
    """Whether a wrapped value plausibly stands where the wrapper puts it."""
    if function in ("abs", "int", "round", "float", "sum", "max", "min"):
        return isinstance(parent, (ast.Assign, ast.Return, ast.BinOp, ast.Compare, ast.Call, ast.AugAssign))
    if function == "len":
        return isinstance(parent, (ast.Compare, ast.BinOp, ast.Call, ast.Return, ast.Assign))
    return True


def _extremes(node: ast.expr, text: str, site: Site) -> Iterator[Edit]:
    """`max(name, value)` and `min(name, value)` where a value is stored or returned."""
    parent = site.parents.get(node)
    if not isinstance(parent, (ast.Assign, ast.Return, ast.AugAssign, ast.Call, ast.BinOp, ast.Subscript)):
        return
    kinds = site.scope_of(node).kinds
    others = [
        "0",
        "1",
        *(name for name in site.readable(node) if name != text and fits(kinds.of_name(name), "num")),
    ]
    targets = [site.text(target) for target in parent.targets] if isinstance(parent, ast.Assign) else []
    extra = 0.0 if isinstance(parent, (ast.Assign, ast.Return)) else 2.0
    for other in dict.fromkeys([*targets, *others]):
        own = -2.0 if other in targets else 0.0
        for function in ("max", "min"):
            yield Edit(
                "wrap.extreme",
                (site.replace(node, f"{function}({other}, {text})"),),
                node.lineno,
                extra + own,
            )


def _own_functions(node: ast.expr, text: str, site: Site, material: Material) -> Iterator[Edit]:
    if isinstance(site.parents.get(node), (ast.Return, ast.Assign, ast.Call, ast.AugAssign)):
        for name, function in material.functions.items():
            if len(function.args.args) == 1 and function is not site.parents.get(node):
                yield Edit("wrap.own", (site.replace(node, f"{name}({text})"),), node.lineno)
