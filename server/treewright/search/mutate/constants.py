"""Constants: numbers off by one, other numbers and strings of the function, flipped flags, list literals."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import FACTOR, Site


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
                "constant.none", (site.replace(node, text, FACTOR if text == "-1" else 14),), node.lineno
            )


def _number(node: ast.Constant, value: float, site: Site, material: Material) -> Iterator[Edit]:
    near = [value + 1, value - 1] if isinstance(value, int) else []
    seen: set[float] = {value}

    def edit(other: float, operator: str, extra: float = 0.0) -> Iterator[Edit]:
        if other not in seen:
            seen.add(other)
            yield Edit(
                operator, (site.replace(node, repr(other), 14 if other >= 0 else FACTOR),), node.lineno, extra
            )

    for other in near:
        yield from edit(other, "constant.step")
    yield from edit(-value, "constant.sign")
    for number in material.donors(node).numbers:
        yield from edit(number, "constant.donor")
    common: tuple[float, ...] = (
        (0, 1, 2, -1, 10) if isinstance(value, int) else (0.0, 1.0, 0.5, value + 1, value - 1)
    )
    for wanted in common:
        yield from edit(wanted, "constant.common")
    scope = site.scope_of(node)
    for name in site.readable(node):
        if scope.kinds.of_name(name) in ("num", "any"):
            unsure = 0.0 if scope.kinds.of_name(name) == "num" else 1.0
            if isinstance(site.parents.get(node), ast.Compare):
                unsure += 1.5
            yield Edit("constant.name", (site.replace(node, name),), node.lineno, unsure)
    if isinstance(value, int):
        for other, extra in (
            (value + 2, 0.0),
            (value - 2, 0.0),
            (value * 2, 0.5),
            (value // 2, 0.5),
            (value * 10, 1.0),
        ):
            yield from edit(other, "constant.common", extra)
        if value == 0:
            for text in ("float('-inf')", "float('inf')", "None"):
                yield Edit("constant.limit", (site.replace(node, text),), node.lineno)
        if value in (0, 1) and isinstance(site.parents.get(node), (ast.Assign, ast.Return)):
            yield Edit(
                "constant.limit", (site.replace(node, "False" if value == 0 else "True"),), node.lineno, 2.0
            )


def _string(node: ast.Constant, value: str, site: Site, material: Material) -> Iterator[Edit]:
    seen = {value}

    def edit(other: str, operator: str, extra: float = 0.0) -> Iterator[Edit]:
        if other not in seen:
            seen.add(other)
            yield Edit(operator, (site.replace(node, repr(other)),), node.lineno, extra)

    if value in ("", " "):
        yield from edit(" " if value == "" else "", "constant.blank")
    elif value:
        if len(value) <= 3:
            yield from edit("", "constant.blank", 2.0)
            yield from edit(" ", "constant.blank", 2.0)
    for other in (
        value.strip(),
        value.lower(),
        value.upper(),
        f"{value} ",
        f" {value}",
        value[1:],
        value[:-1],
    ):
        if value.strip():
            yield from edit(other, "constant.text")
    for other in material.donors(node).strings:
        yield from edit(other, "constant.string")
    if len(value) == 1 and not value.isspace():
        for other in material.check_letters:
            yield from edit(other, "constant.char")
    if value.isidentifier() and value in site.readable(node):
        yield Edit("constant.quoted", (site.replace(node, value),), node.lineno)
    for other in material.check_strings:
        if _nearly(value, other):
            yield from edit(other, "constant.spelling")
    for word, other in _spellings(value, material.check_strings):
        yield from edit(value.replace(word, other), "constant.spelling")
    if 1 < len(value) <= 16:
        for index in range(len(value)):
            yield from edit(value[:index] + value[index + 1 :], "constant.letter")


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
