"""Imports point one way, and each third-party package has its few importers (`layers.toml`)."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.repository.source import Module, module_from, modules

TABLE = tomllib.loads(Path(__file__).with_name("layers.toml").read_text(encoding="utf-8"))
STEP = {part: number for number, parts in enumerate(TABLE["steps"]) for part in parts}


@dataclass(frozen=True)
class Import:
    """One imported module.

    Attributes:
        name: dotted, as far as it was written; of `from a import b` both `a` and `a.b` are seen.
        line: counted from 1.
        lazy: it stands in a function.
    """

    name: str
    line: int
    lazy: bool


def imports(module: Module) -> Iterator[Import]:
    """Yield every import of a module, relative ones made absolute, those for type checkers included."""
    # A package's own name is a level deeper than a module's.
    here = ["treewright", *(module.name.split(".") if module.name else [])]
    if not module.path.endswith("/__init__.py"):
        here.pop()

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, lazy)
            elif isinstance(child, ast.ImportFrom):
                base = here[: len(here) - child.level + 1] if child.level else []
                name = ".".join([*base, *(child.module.split(".") if child.module else [])])
                yield Import(name, child.lineno, lazy)
                for alias in child.names:
                    yield Import(f"{name}.{alias.name}", child.lineno, lazy)
            inner = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from walk(child, inner)

    yield from walk(module.tree, lazy=False)


def part_of(name: str) -> str | None:
    """Return the part that a dotted name below `treewright` belongs to; None for the package itself."""
    for length in (2, 1):
        part = ".".join(name.split(".")[:length])
        if part in STEP:
            return part
    return None


def is_within(name: str, part: str) -> bool:
    """Say whether a dotted name is a part or lies below it."""
    return name == part or name.startswith(part + ".")


def faults(module: Module) -> list[str]:
    """Return what is wrong with a module's imports, one line each."""
    return sorted({fault for found in imports(module) if (fault := _fault(module, found))})


def _fault(module: Module, found: Import) -> str:
    top, _, below = found.name.partition(".")
    where = f"{module.path}:{found.line}: "
    if top == "treewright":
        return where + told if (told := _direction_fault(module, below, found.lazy)) else ""
    if top in sys.stdlib_module_names:
        pure = any(is_within(module.name, part) for part in TABLE["pure"])
        impure = any(is_within(found.name, name) for name in TABLE["impure_modules"])
        return f"{where}{module.name} is pure and may not import {found.name}" if pure and impure else ""
    return where + told if (told := _third_party_fault(module, top)) else ""


def _direction_fault(module: Module, below: str, lazy: bool) -> str:
    own, other = part_of(module.name), part_of(below)
    if module.name in ("__main__", "surfaces") or other is None or own == other:
        return ""
    if own is None:
        return f"{module.name or 'treewright'} may import no part, and imports {other}"
    if lazy and other in TABLE["lazily"].get(own, []):
        return ""
    return "" if STEP[other] < STEP[own] else f"{own} may not import {other}"


def _third_party_fault(module: Module, top: str) -> str:
    importers = TABLE["third_party"].get(top)
    if importers is None:
        return f"{top} is in no line of layers.toml"
    if "*" in importers or any(is_within(module.name, part) for part in importers):
        return ""
    return f"only {', '.join(importers)} may import {top}"


def test_imports_point_one_way() -> None:
    told = [fault for module in modules() for fault in faults(module)]
    assert not told, "\n" + "\n".join(told)


def test_every_module_belongs_to_a_part() -> None:
    homeless = [
        module.path
        for module in modules()
        if module.name not in ("", "__main__", "surfaces") and part_of(module.name) is None
    ]
    assert not homeless, "name their step in layers.toml: " + ", ".join(homeless)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("explore.x", "from treewright.store import journal", "explore may not import store"),
        ("explore.x", "import treewright.search.task", "explore may not import search"),
        ("explore.x", "from ..search import task", "explore may not import search"),
        ("explore.x", "from treewright import app", "explore may not import app"),
        ("runner", "def f():\n    import treewright.app", "runner may not import app"),
        ("surfaces.lsp.x", "def f():\n    import treewright.surfaces.cli", "surfaces.lsp may not import surfaces.cli"),
        ("surfaces.cli.x", "import treewright.surfaces.lsp", "surfaces.cli may not import surfaces.lsp"),
        ("explore.x", "import httpx", "only models may import httpx"),
        ("performers.model", "import ast_grep_py", "only performers.static may import ast_grep_py"),
        ("app", "import numpy", "numpy is in no line"),
        ("search.x", "from urllib.request import urlopen", "is pure and may not import urllib.request"),
        ("explore.x", "import time", "is pure and may not import time"),
    ],
)  # fmt: skip
def test_each_wrong_direction_is_told(name: str, text: str, told: str) -> None:
    assert told in "\n".join(faults(module_from(text, name)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("explore.x", "from treewright.tree.node import Node\nfrom .ports import Clock\nimport json"),
        ("surfaces.cli.x", "def f():\n    from treewright.surfaces.lsp import server"),
        ("app", "from treewright.runner import Runner\nfrom treewright import __version__"),
        ("presets.x", "from urllib.parse import quote\nimport pydantic"),
    ],
)
def test_right_directions_are_silent(name: str, text: str) -> None:
    assert faults(module_from(text, name)) == []
