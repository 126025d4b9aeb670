"""What the house rules look at: the modules of the package, parsed once."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "server" / "treewright"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One parsed module.

    Attributes:
        path: relative to the checkout, with forward slashes.
        name: dotted, below `treewright`: `explore.rules.hedging`; empty for the package itself.
        text: the source.
        tree: the parsed source.
    """

    path: str
    name: str
    text: str
    tree: ast.Module


def module_from(text: str, name: str = "explore.example") -> Module:
    """Parse a snippet as if it were the module `treewright.<name>`."""
    return Module(f"server/treewright/{name.replace('.', '/')}.py", name, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package, by path."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


def _read(path: Path) -> Module:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(ROOT).as_posix(), name, text, ast.parse(text, filename=str(path)))


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Yield each class and function with its qualified name, outer before inner."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.")
        else:
            yield from definitions(node, prefix)


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return the files that git keeps, and new ones that it would keep; symbolic links are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    paths = (ROOT / name for name in done.stdout.split("\0") if name)
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())
