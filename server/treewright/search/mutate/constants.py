"""Constants: numbers off by one, other numbers and strings of the function, flipped flags, list literals."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import ATOM, FACTOR, Site


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits of one literal."""
    if isinstance(node, ast.Constant) and not _is_docstring(node, site):
        yield from _constant(node, site, material)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        yield from _collection(node, site)


def _is_docstring(node: ast.Constant, site: Site) -> bool:
    return isinstance(site.parents.get(node), (ast.Expr, ast.JoinedStr, ast.FormattedValue))


def _constant(node: ast.Constant, site: Site, material: Material) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield Edit("constant.flag", (site.replace(node, str(not value)),), node.lineno)
    elif isinstance(value, (int, float)):
        yield from _number(node, value, site, material)
    elif isinstance(value, str):
        yield from _string(node, value, site, material)
    elif value is None:
        for text in ("0", "[]", "True", "False", "''", "-1"):
            yield Edit(
                "constant.none", (site.replace(node, text, FACTOR if text == "-1" else ATOM),), node.lineno
            )


def _number(node: ast.Constant, value: float, site: Site, material: Material) -> Iterator[Edit]:
    seen: set[float] = {value}
    for operator, other, extra in _other_numbers(value, material.donors(node).numbers):
        if other not in seen:
            seen.add(other)
            binds = ATOM if other >= 0 else FACTOR
            yield Edit(operator, (site.replace(node, repr(other), binds),), node.lineno, extra)
    yield from _names(node, site)
    if type(value) is int:
        yield from _limits(node, value, site)


def _other_numbers(value: float, donors: Sequence[float]) -> Iterator[tuple[str, float, float]]:
    """Operator, number and extra cost: a step away, negated, numbers of the same function, common ones."""
    if not isinstance(value, int):
        yield "constant.sign", -value, 0.0
        yield from (("constant.donor", number, 0.0) for number in donors)
        yield from (("constant.common", number, 0.0) for number in (0.0, 1.0, 0.5, value + 1, value - 1))
        return
    yield "constant.step", value + 1, 0.0
    yield "constant.step", value - 1, 0.0
    yield "constant.sign", -value, 0.0
    yield from (("constant.donor", number, 0.0) for number in donors)
    yield from (("constant.common", number, 0.0) for number in (0, 1, 2, -1, 10, value + 2, value - 2))
    yield from (("constant.common", number, 0.5) for number in (value * 2, value // 2))
    yield from (("constant.common", number, 1.0) for number in (value * 10, value // 10, value * 100))


def _names(node: ast.Constant, site: Site) -> Iterator[Edit]:
    """A name in scope where a number stands."""
    kinds = site.scope_of(node).kinds
    compared = 1.5 if isinstance(site.parents.get(node), ast.Compare) else 0.0
    for name in site.readable(node):
        kind = kinds.of_name(name)
        if kind in ("num", "any"):
            extra = compared + (0.0 if kind == "num" else 1.0)
            yield Edit("constant.name", (site.replace(node, name),), node.lineno, extra)


def _limits(node: ast.Constant, value: int, site: Site) -> Iterator[Edit]:
    """Values that a search for an extreme may start from, and flags written as numbers."""
    if value == 0:
        for text in ("float('-inf')", "float('inf')", "None"):
            yield Edit("constant.limit", (site.replace(node, text),), node.lineno)
    if value in (0, 1) and isinstance(site.parents.get(node), (ast.Assign, ast.Return)):
        yield Edit("constant.limit", (site.replace(node, str(bool(value))),), node.lineno, 2.0)


def _string(node: ast.Constant, value: str, site: Site, material: Material) -> Iterator[Edit]:
    seen = {value}
    for operator, other, extra in _other_strings(value, material, material.donors(node).strings):
        if other not in seen:
            seen.add(other)
            yield Edit(operator, (site.replace(node, repr(other)),), node.lineno, extra)
    if value.isidentifier() and value in site.readable(node):
        yield Edit("constant.quoted", (site.replace(node, value),), node.lineno)


def _other_strings(value: str, material: Material, donors: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Operator, text and extra cost: blank or not, respelled, strings of the function and of the checks."""
    if value in ("", " "):
        yield "constant.blank", " " if value == "" else "", 0.0
    elif len(value) <= 3:
        yield from (("constant.blank", other, 2.0) for other in ("", " "))
    if value.strip():
        respelled = (
            value.strip(),
            value.lower(),
            value.upper(),
            f"{value} ",
            f" {value}",
            value[1:],
            value[:-1],
        )
        yield from (("constant.text", other, 0.0) for other in respelled)
    yield from (("constant.string", other, 0.0) for other in donors)
    if len(value) == 1 and not value.isspace():
        yield from (("constant.char", other, 0.0) for other in material.check_letters)
    yield from (
        ("constant.spelling", other, 0.0) for other in material.check_strings if _nearly(value, other)
    )
    for word, other in _spellings(value, material.check_strings):
        yield "constant.spelling", value.replace(word, other), 0.0
    if 1 < len(value) <= 16:
        for index in range(len(value)):
            yield "constant.letter", value[:index] + value[index + 1 :], 0.0


def _spellings(value: str, others: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Words of a longer string that are one or two letters off a string in the checks."""
    if " " in value:
        for word in value.split():
            for other in others:
                if word != other and _nearly(word, other):
                    yield word, other


def _nearly(one: str, other: str) -> bool:
    """Whether two words of some length differ by at most two letters."""
    if min(len(one), len(other)) < 4 or abs(len(one) - len(other)) > 2 or one == other:
        return False
    front = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    rest_one, rest_other = one[front:], other[front:]
    back = 0
    while back < min(len(rest_one), len(rest_other)) and rest_one[-1 - back] == rest_other[-1 - back]:
        back += 1
    return max(len(rest_one), len(rest_other)) - back <= 2


def _collection(node: ast.List | ast.Tuple | ast.Set, site: Site) -> Iterator[Edit]:
    items = node.elts
    if isinstance(node, ast.List) and not items:
        yield Edit("constant.nested", (site.replace(node, "[[]]"),), node.lineno)
        for name in site.readable(node):
            if site.scope_of(node).kinds.of_name(name) in ("num", "str", "any"):
                yield Edit("collection.fill", (site.replace(node, f"[{name}]"),), node.lineno)
        for number in ("0", "1"):
            yield Edit("collection.fill", (site.replace(node, f"[{number}]"),), node.lineno, 1.0)
        return
    if not 1 <= len(items) <= 12 or isinstance(site.parents.get(node), ast.Subscript):
        return
    texts = [site.text(item) for item in items]
    for index in range(len(items)):
        rest = texts[:index] + texts[index + 1 :]
        yield Edit("collection.drop", (site.replace(node, _display(node, rest)),), node.lineno)
    if isinstance(node, ast.List) and len(items) == 1:
        yield Edit("collection.unwrap", (site.replace(node, texts[0], 1),), node.lineno)


def _display(node: ast.AST, texts: list[str]) -> str:
    if isinstance(node, ast.List):
        return f"[{', '.join(texts)}]"
    if isinstance(node, ast.Set):
        return f"{{{', '.join(texts)}}}" if texts else "set()"
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
