"""Names that the running program found missing: a known name, a builtin or a method of the same sound in their place."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable, Iterator

from treewright.search.mutate.edit import Edit
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import Site

_MISSING = re.compile(
    r"name '(\w+)' is not defined|has no attribute '(\w+)'|local variable '(\w+)'|free variable '(\w+)'"
)
_FOREIGN = {"true": "True", "false": "False", "null": "None", "none": "None", "nil": "None", "this": "self"}
"""What other languages call Python's constants."""

_COMMON = (
    "len",
    "sum",
    "max",
    "min",
    "sorted",
    "set",
    "list",
    "abs",
    "int",
    "str",
    "range",
    "tuple",
    "any",
    "all",
)
_JOINING = ("''.join", "Counter", "reversed")
_NEAR = 0.75
"""How alike two names must be to be taken for a slip of the pen."""


def missing_names(messages: Iterable[str]) -> frozenset[str]:
    """Names that the messages of failing checks say are not there.

    Args:
        messages: of NameError, UnboundLocalError and AttributeError.
    """
    return frozenset(
        next(filter(None, found.groups())) for text in messages for found in _MISSING.finditer(text)
    )


def propose(node: ast.AST, site: Site, material: Material) -> Iterator[Edit]:
    """Edits of one name that is not there."""
    if isinstance(node, ast.Name) and node.id in material.missing and isinstance(node.ctx, ast.Load):
        parent = site.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            yield from _called(node, node.id, site, material)
        else:
            yield from _read(node, site)
    elif isinstance(node, ast.Attribute) and node.attr in material.missing:
        yield from _attribute(node, site, material)


def _read(node: ast.Name, site: Site) -> Iterator[Edit]:
    """Another name, here and wherever else the function reads the missing one."""
    function = site.function_of(node) or site.tree
    same = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Load)
    ]
    known = dict.fromkeys(
        [*_FOREIGN.get(node.id, "").split(), *site.readable(node), *_module_names(site.tree)]
    )
    for name in known:
        if name == node.id:
            continue
        operator = "unknown.near" if _alike(node.id, name) else "unknown.name"
        if len(same) > 1 and same[0] is node:
            yield Edit(operator, tuple(site.replace(one, name) for one in same), node.lineno)
        yield Edit(operator, (site.replace(node, name),), node.lineno, 0.5 if len(same) > 1 else 0.0)
    if _methods(site.tree):
        yield Edit("unknown.owner", (site.replace(node, f"self.{node.id}"),), node.lineno)


def _called(node: ast.expr, missing: str, site: Site, material: Material) -> Iterator[Edit]:
    """Another function in the place of one that is not there."""
    known = dict.fromkeys([*material.functions, *_module_names(site.tree), *dir(builtins)])
    near = [name for name in known if _alike(missing, name)]
    for name in near:
        yield Edit("unknown.near", (site.replace(node, name),), node.lineno)
    if missing in _methods(site.tree):
        yield Edit("unknown.owner", (site.replace(node, f"self.{missing}"),), node.lineno)
    call = site.parents.get(node)
    if call is not None and isinstance(site.parents.get(call), ast.Expr):
        return  # nobody takes what a builtin would answer here
    for name in (*_COMMON, *_JOINING):
        if name not in near:
            yield Edit("unknown.function", (site.replace(node, name),), node.lineno)
    for name in material.functions:
        if name not in near and name != missing:
            yield Edit("unknown.function", (site.replace(node, name),), node.lineno, 1.0)


def _attribute(node: ast.Attribute, site: Site, material: Material) -> Iterator[Edit]:
    """`self.name` for a plain name; another method; the owner by itself."""
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    parent = site.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    end = site.span(node)[1]
    span = (end - len(node.attr), end)
    if own and (node.attr in site.readable(node) or node.attr in dir(builtins) or not called):
        yield from _everywhere(node, site)
    if own and called:
        yield from _called(node, node.attr, site, material)
    others = _methods(site.tree) if own else sorted(_METHODS)
    for name in others:
        if name != node.attr:
            operator = "unknown.near" if _alike(node.attr, name) else "unknown.method"
            yield Edit(operator, ((*span, name),), node.lineno, 0.0 if own else 1.0)
    if not own and called and isinstance(node.value, ast.Name):
        for name in _module_names(site.tree):
            yield Edit("unknown.name", (site.replace(node.value, name),), node.lineno, 1.0)


def _everywhere(node: ast.Attribute, site: Site) -> Iterator[Edit]:
    text = site.text(node)
    same = [
        one
        for one in ast.walk(site.function_of(node) or site.tree)
        if isinstance(one, ast.Attribute) and one.attr == node.attr and site.text(one) == text
    ]
    if len(same) > 1 and same[0] is node:
        yield Edit("unknown.owner", tuple(site.replace(one, node.attr) for one in same), node.lineno)
    yield Edit("unknown.owner", (site.replace(node, node.attr),), node.lineno, 0.5 if len(same) > 1 else 0.0)


_METHODS = frozenset(
    name for kind in (list, str, dict, set) for name in dir(kind) if not name.startswith("_")
) | {"popleft", "appendleft", "most_common"}


def _alike(one: str, other: str) -> bool:
    if one in _FOREIGN:
        return _FOREIGN[one] == other
    low, high = one.lower().replace("_", ""), other.lower().replace("_", "")
    if not low or not high:
        return False
    return low == high or difflib.SequenceMatcher(None, low, high).ratio() >= _NEAR


def _module_names(tree: ast.Module) -> list[str]:
    """Modules, functions and classes that the file imports or defines at its top."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.extend((one.asname or one.name).split(".")[0] for one in node.names if one.name != "*")
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
    return found


def _methods(tree: ast.Module) -> list[str]:
    """Methods of the file's classes."""
    return [
        one.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for one in node.body
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("__")
    ]
