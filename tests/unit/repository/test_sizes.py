"""Modules and functions stay small; those that are not yet are listed in `sizes.toml`, which may only shrink."""

import ast
import tomllib
from pathlib import Path

from tests.unit.repository.source import ROOT, Function, Module, definitions, module_from, modules

MODULE_LINES = 400
FUNCTION_LINES = 40
ALLOWED: dict[str, int] = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text(encoding="utf-8"))


def function_lines(function: Function) -> int:
    """Return the lines of a function from `def` to its end, without its docstring."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total  # fmt: skip


def oversized(module: Module) -> dict[str, int]:
    """Return what is too long in a module: `path` or `path::function` to its lines."""
    found = {}
    if (lines := module.text.count("\n")) > MODULE_LINES:
        found[module.path] = lines
    for name, node in definitions(module.tree):
        if not isinstance(node, ast.ClassDef) and (lines := function_lines(node)) > FUNCTION_LINES:
            found[f"{module.path}::{name}"] = lines
    return found


def typescript_modules() -> dict[str, int]:
    """Return the modules of the extension that are too long."""
    paths = (ROOT / "extension" / "src").rglob("*.ts")
    lines = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("\n") for path in paths
    }
    # Generated from the server's messages, so that its size is not ours to choose.
    return {path: n for path, n in lines.items() if n > MODULE_LINES and not path.endswith("/protocol.ts")}


def test_modules_and_functions_are_no_longer_than_allowed() -> None:
    found = typescript_modules()
    for module in modules():
        found |= oversized(module)
    grown = [
        f"{name}: {n} lines, {ALLOWED.get(name, 0)} allowed"
        for name, n in found.items()
        if n > ALLOWED.get(name, 0)
    ]
    assert not grown, f"over {MODULE_LINES} lines a module or {FUNCTION_LINES} a function:\n" + "\n".join(
        sorted(grown)
    )
    shrunk = [
        f"{name}: {found.get(name, 0)}" for name, allowed in ALLOWED.items() if found.get(name, 0) < allowed
    ]
    assert not shrunk, "lower these in sizes.toml, or remove them (0):\n" + "\n".join(shrunk)


def test_a_long_function_is_found_and_its_docstring_not_counted() -> None:
    body = "    x = 1\n" * FUNCTION_LINES
    long = module_from("class C:\n" + "    def f(self):\n" + body.replace("    x", "        x"))
    assert oversized(long) == {"server/treewright/explore/example.py::C.f": FUNCTION_LINES + 1}
    documented = module_from(
        'def f():\n    """One.\n\n    Two.\n    """\n' + body.removeprefix("    x = 1\n")
    )
    assert oversized(documented) == {}


def test_a_long_module_is_found() -> None:
    assert oversized(module_from("x = 1\n" * (MODULE_LINES + 1))) == {
        "server/treewright/explore/example.py": 401
    }
