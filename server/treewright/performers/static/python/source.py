"""One parsed Python file: tree, lines, comments, names of imports, and quick look-ups over them."""

import ast
import builtins
import io
import tokenize
import warnings
from dataclasses import dataclass, field
from functools import cached_property

from treewright.performers.static.facts import Place
from treewright.performers.static.python.legacy import modernised
from treewright.performers.static.python.newer import aged
from treewright.workspace.decode import split_lines

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DRIVERS = frozenset(["sqlite3", "psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "asyncpg", "pymssql"])
"""First names of the modules that speak to databases; all but `sqlite3` write values as `%s`."""


@dataclass(slots=True)
class Fault:
    """Why a file could not be parsed, and at which line."""

    reason: str
    line: int


@dataclass
class Source:
    """A file that parses.

    Attributes:
        path: POSIX path from the workspace. module: dotted name. roots: first names of the project's modules.
        library: whether the file belongs to a package that others import (then what callers pass is theirs to check).
        is_test: whether it is a test.
        imports: local name to qualified name. asked: which first names the analysis asked about; see `in_project`.
    """

    path: str
    module: str
    text: str
    tree: ast.Module
    roots: frozenset[str] = frozenset()
    asked: dict[str, bool] = field(default_factory=dict)
    library: bool = False
    is_test: bool = False
    old: bool = False
    """Whether it was read as Python 2."""
    imports: dict[str, str] = field(default_factory=dict)
    drivers: frozenset[str] = frozenset()
    """Those of `DRIVERS` that the project imports, where they are known; tells the database in use."""
    import_lines: dict[str, int] = field(default_factory=dict)
    contested: set[str] = field(default_factory=set)
    """Names that imports of this file bind to more than one thing."""
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    by_type: dict[type[ast.AST], list[ast.AST]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines without their ends."""
        return split_lines(self.text)

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Every comment with its line."""
        found: list[tuple[int, str]] = []
        try:
            tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
            found.extend((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)
        except (tokenize.TokenError, SyntaxError):
            pass  # the tree parsed; a tail that only the tokenizer dislikes has no comments we need
        return found

    def in_project(self, root: str) -> bool:
        """Whether the first name of a module is the project's own; what was asked is kept in `asked`."""
        own = root in self.roots
        if root != self.own_root:  # which is in `roots` whatever else the project holds
            self.asked[root] = own
        return own

    @cached_property
    def own_root(self) -> str:
        """The first name of this module."""
        return self.module.partition(".")[0]

    @cached_property
    def in_parts(self) -> frozenset[str]:
        """The names of which something reads or writes an attribute or an item."""
        parts = (node.value for node in self.nodes(ast.Attribute, ast.Subscript))  # type: ignore[attr-defined]  # both have one
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))

    def place(self, node: ast.AST) -> Place:
        """Where a node stands, columns in characters (ast counts UTF-8 bytes)."""
        line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]  # only nodes with a place are asked for
        return Place(
            line,
            end,
            self.column(line, node.col_offset),  # type: ignore[attr-defined]  # only nodes with a place are asked for
            self.column(end, node.end_col_offset),  # type: ignore[attr-defined]  # only nodes with a place are asked for
        )

    def column(self, line: int, offset: int) -> int:
        """Turn a UTF-8 byte offset within a line into a character column."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode("utf-8")[:offset].decode("utf-8", "ignore"))

    def segment(self, node: ast.AST) -> str:
        """The node's text, verbatim."""
        place = self.place(node)
        if place.line == place.end:
            return self.lines[place.line - 1][place.column : place.end_column]
        rows = self.lines[place.line - 1 : place.end]
        rows[0], rows[-1] = rows[0][place.column :], rows[-1][: place.end_column]
        return "\n".join(rows)

    def nodes(self, *types: type[ast.AST]) -> list[ast.AST]:
        """All nodes of the given exact types in document order within each type."""
        return [node for kind in types for node in self.by_type.get(kind, ())]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around it."""
        return self.parents.get(node)

    def function_of(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function around a node."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, FUNCTIONS):
            current = self.parents.get(current)
        return current

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement that holds a node."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        assert isinstance(current, ast.stmt)
        return current

    def dotted(self, node: ast.AST) -> str:
        """The qualified name of a Name/Attribute chain, imports resolved; `~name` first when unknown, else empty."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call):
            inner = self.dotted(node.func)
            if not inner:
                return ""
            parts.append(inner + "()")
        elif isinstance(node, ast.Name):
            parts.append(self.imports.get(node.id) or (node.id if node.id in BUILTINS else "~" + node.id))
        else:
            return ""
        return ".".join(reversed(parts))


BUILTINS = frozenset(dir(builtins)) | {
    "unicode", "raw_input", "execfile", "file", "reload", "xrange", "basestring",
}  # fmt: skip


def parse(path: str, module: str, text: str) -> Source | Fault:
    """Parse a file; Python 2 and other faults come back as a value.

    Args:
        path: POSIX path from the workspace. module: its dotted name. text: decoded, newlines as they are.
    """
    # CRLF and lone CR become LF: line numbers and columns stay the same.
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tree = _tree(plain)
    old = False
    if isinstance(tree, Fault):
        newer = _tree(aged(plain))
        again = _tree(modernised(plain)) if isinstance(newer, Fault) else newer
        if isinstance(again, Fault):
            return tree
        tree, old = again, again is not newer
    source = Source(path, module, text, tree, old=old)
    try:
        _survey(source)
    except RecursionError:
        return Fault("it is nested too deeply", 1)
    return source


def _tree(text: str) -> ast.Module | Fault:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        return Fault(f"it does not parse as Python 3: {error.msg}", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return Fault(f"it does not parse: {error}", 1)


def _survey(source: Source) -> None:
    """Fill parents, nodes by type and imports in one pass."""
    stack: list[ast.AST] = [source.tree]
    parents, by_type = source.parents, source.by_type
    while stack:
        node = stack.pop()
        by_type.setdefault(type(node), []).append(node)
        children = list(ast.iter_child_nodes(node))
        for child in children:
            if not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)):
                parents[child] = node
        stack.extend(child for child in reversed(children) if child in parents and parents[child] is node)
    package = source.module if source.path.endswith("__init__.py") else source.module.rpartition(".")[0]
    for node in by_type.get(ast.Import, []):
        assert isinstance(node, ast.Import)
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            source.imports[local] = alias.name if alias.asname else local
            source.import_lines[local] = node.lineno
    for node in by_type.get(ast.ImportFrom, []):
        assert isinstance(node, ast.ImportFrom)
        base = _base(package, node)
        for alias in node.names:
            local, qualified = alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name
            if source.imports.setdefault(local, qualified) != qualified:
                source.contested.add(local)
            source.imports[local] = qualified
            source.import_lines[local] = node.lineno
    _familiar(source)


_FAMILIAR = frozenset(
    [
        "os",
        "sys",
        "subprocess",
        "pickle",
        "cPickle",
        "yaml",
        "hashlib",
        "random",
        "re",
        "sqlite3",
        "requests",
        "json",
        "base64",
        "urllib",
        "urllib2",
        "shutil",
        "tempfile",
        "ssl",
        "socket",
        "jwt",
        "marshal",
        "shelve",
        "dill",
        "jsonpickle",
        "hmac",
        "secrets",
        "xml",
        "lxml",
        "zipfile",
        "tarfile",
        "html",
        "logging",
        "importlib",
        "paramiko",
        "ftplib",
        "telnetlib",
        "smtplib",
        "ctypes",
        "threading",
        "asyncio",
        "glob",
        "struct",
        "time",
        "datetime",
        "string",
        "uuid",
        "math",
        "itertools",
        "functools",
        "csv",
        "configparser",
        "platform",
        "pathlib",
        "io",
        "codecs",
        "commands",
        "popen2",
        "popen",
        "signal",
        "getpass",
        "psycopg2",
        "pymysql",
        "MySQLdb",
        "sqlalchemy",
        "flask",
        "markupsafe",
        "jinja2",
        "httpx",
        "aiohttp",
        "ldap",
        "ldap3",
    ]
)
"""Modules that a name means where the file neither imports nor binds it: a piece of a file that was cut out."""


def _familiar(source: Source) -> None:
    """Take well-known module names that nothing in the file binds for those modules."""
    names = source.by_type.get(ast.Name, [])
    loose = {node.id for node in names if isinstance(node, ast.Name)} & _FAMILIAR - set(source.imports)
    if not loose:
        return
    bound = {node.id for node in names if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in source.by_type.get(ast.arg, []) if isinstance(node, ast.arg)}
    bound |= {
        node.name
        for kind in (*FUNCTIONS, ast.ClassDef)
        for node in source.by_type.get(kind, [])
        if isinstance(node, kind)
    }
    source.imports |= {name: name for name in loose - bound}


def _base(package: str, node: ast.ImportFrom) -> str:
    """The absolute module of a `from` import."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    keep = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
    return ".".join([*keep, *([node.module] if node.module else [])])
