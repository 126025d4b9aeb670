"""Small conditions over the names in scope: what a missing condition or a missing guard may ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from treewright.search.mutate.facts import Material
from treewright.search.mutate.kinds import COLLECTIONS, fits
from treewright.search.mutate.site import Site

_MOST_NAMES = 9


def atoms_at(
    node: ast.AST, site: Site, material: Material, also: tuple[str, ...] = ()
) -> Iterator[tuple[str, float]]:
    """Conditions that can be asked at a node, with an extra cost in bits.

    Args:
        node: where the condition would stand.
        site: the program.
        material: conditions of the same function are offered too, as they stand and negated.
        also: names that can be read there besides those in scope.
    """
    kinds = site.scope_of(node).kinds
    names = list(dict.fromkeys([*also, *site.readable(node)]))[:_MOST_NAMES]
    here = site.text(node) if isinstance(node, ast.expr) else ""
    seen = {here}
    for text, extra in _all(names, kinds.of_name, material, node):
        if text not in seen:
            seen.add(text)
            yield text, extra


def _all(names: list[str], kind_of: object, material: Material, node: ast.AST) -> Iterator[tuple[str, float]]:
    kinds = {name: kind_of(name) for name in names} if callable(kind_of) else {}
    for name in names:
        yield from _single(name, kinds[name])
    yield from _attributes(names, kinds, material)
    for text in material.donors(node).conditions[:10]:
        yield text, 0.5
        yield f"not ({text})", 1.5
    for one, other in permutations(names, 2):
        yield from _pair(one, kinds[one], other, kinds[other])


def _single(name: str, kind: str) -> Iterator[tuple[str, float]]:
    unsure = 1.0 if kind == "any" else 0.0
    yield f"not {name}", 0.0 if kind in COLLECTIONS or kind in ("bool", "seq") else 0.5
    yield name, 0.0 if kind in COLLECTIONS or kind in ("bool", "seq") else 0.5
    if kind == "any":
        yield f"{name} is None", 0.5
        yield f"{name} is not None", 0.5
    if fits(kind, "num") and kind != "bool":
        for text, extra in (
            (f"{name} == 0", 0.5),
            (f"{name} > 0", 0.5),
            (f"{name} < 0", 0.5),
            (f"{name} == 1", 1.0),
            (f"{name} <= 1", 1.0),
            (f"{name} > 1", 1.0),
            (f"{name} % 2 == 0", 2.0),
            (f"{name} % 2 == 1", 2.0),
            (f"{name} != 0", 1.0),
            (f"{name} != 1", 1.5),
            (f"{name} >= 0", 1.0),
            (f"{name} < 2", 1.0),
        ):
            yield text, extra + unsure
    if kind in COLLECTIONS or kind == "seq":
        for text in (f"len({name}) == 1", f"len({name}) <= 1", f"len({name}) > 1"):
            yield text, 1.0


def _attributes(names: list[str], kinds: dict[str, str], material: Material) -> Iterator[tuple[str, float]]:
    for name in names:
        if kinds[name] == "any":
            for attribute in material.attributes[:4]:
                yield f"{name}.{attribute} is None", 1.5
                yield f"{name}.{attribute}", 2.0


def _pair(one: str, kind: str, other: str, other_kind: str) -> Iterator[tuple[str, float]]:
    unsure = (1.0 if "any" in (kind, other_kind) else 0.0) + 1.0
    if (
        fits(kind, other_kind)
        and kind not in COLLECTIONS
        and other_kind not in COLLECTIONS
        and "seq" not in (kind, other_kind)
    ):
        if one < other:
            yield f"{one} == {other}", unsure
            yield f"{one} != {other}", unsure
        if kind != "bool":
            yield f"{one} < {other}", unsure
            yield f"{one} <= {other}", unsure + 0.3
    if other_kind in COLLECTIONS or other_kind == "seq":
        if kind not in ("list", "dict", "set"):
            yield f"{one} in {other}", unsure
            yield f"{one} not in {other}", unsure
        if fits(kind, "num") and kind != "bool":
            yield f"{one} < len({other})", unsure + 0.5
            yield f"{one} >= len({other})", unsure + 0.5
    if kind in ("list", "str", "seq") and other_kind == "num":
        yield f"len({one}) == {other}", unsure + 0.5
        yield f"len({one}) < {other}", unsure + 1.0
