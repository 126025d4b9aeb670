"""Where edits may be made: the program's syntax tree, its text, and what is in scope where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from treewright.search.mutate.edit import Splice
from treewright.search.mutate.kinds import Kinds

# Binding strength of expressions, loosest first (the order of Python's grammar).
TUPLE, TEST, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, ARITH, TERM, FACTOR, POWER, ATOM = range(
    15
)

_BINARY_STRENGTH: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: ARITH,
    ast.Sub: ARITH,
    ast.Pow: POWER,
}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Block = list[ast.stmt]


def strength(node: ast.AST) -> int:
    """How tightly an expression binds."""
    match node:
        case ast.Tuple() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
            return TUPLE
        case ast.IfExp() | ast.Lambda() | ast.Starred():
            return TEST
        case ast.BoolOp(op=op):
            return OR if isinstance(op, ast.Or) else AND
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.Compare():
            return COMPARE
        case ast.BinOp(op=op):
            return _BINARY_STRENGTH.get(type(op), TERM)
        case ast.UnaryOp():
            return FACTOR
        case ast.Await():
            return POWER
        case _:
            return ATOM


class Scope:
    """One function (or the module's own statements) and the names that can be read in it.

    Attributes:
        node: the function, or the module.
        names: readable names: parameters and locals of it and of the functions around it, in source order.
        local: the subset that belongs to this function itself.
        globals: names bound at the top of the module that are not functions, classes or modules.
        kinds: what values names seem to hold.
    """

    def __init__(self, node: FunctionNode | ast.Module, outer: Scope | None, module: ast.Module) -> None:
        self.node = node
        self.outer = outer
        self.kinds: Kinds = Kinds(node, outer.kinds if outer else None)
        self.local = _bound_in(node)
        self.params = _parameters(node)
        around = list(outer.names) if outer and not isinstance(outer.node, ast.Module) else []
        self.globals = _module_values(module)
        self.names: list[str] = list(dict.fromkeys(self.local + around))

    @cached_property
    def functions(self) -> list[str]:
        """Names of the functions that are defined right inside this scope or around it."""
        found = [
            node.name
            for node in ast.walk(self.node)
            if isinstance(node, ast.FunctionDef) and node is not self.node
        ]
        return list(dict.fromkeys(found + (self.outer.functions if self.outer else [])))


def _parameters(node: FunctionNode | ast.Module) -> list[str]:
    if isinstance(node, ast.Module):
        return []
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    return [arg.arg for arg in every]


def _bound_in(node: FunctionNode | ast.Module) -> list[str]:
    names = _parameters(node)
    for child in own_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.append(child.id)
        elif isinstance(child, ast.ExceptHandler) and child.name:
            names.append(child.name)
    return [name for name in dict.fromkeys(names) if name != "_"]


def _module_values(module: ast.Module) -> list[str]:
    return [
        target.id
        for node in module.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def own_nodes(node: ast.AST, *, comprehensions: bool = False) -> Iterator[ast.AST]:
    """Every node of a function's own body: not of functions and classes inside it.

    Args:
        node: a function or a module.
        comprehensions: also what comprehensions and lambdas bind.
    """
    body = (
        list(node.body) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)) else [node]
    )
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        child = stack.pop()
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(child, _COMPREHENSIONS) and not comprehensions:
            continue
        yield child
        stack.extend(reversed(list(ast.iter_child_nodes(child))))


class Site:
    """A program with its text, ready to be edited.

    Attributes:
        source: the text; ends with a newline.
        tree: its syntax tree.
        parents: each node's parent.
        scopes: each function inside the region, and the module when its statements are in the region.
    """

    def __init__(self, source: str, tree: ast.Module | None = None) -> None:
        self.source = source if source.endswith("\n") else source + "\n"
        self.tree = tree if tree is not None else ast.parse(self.source)
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self._starts = _line_starts(self.source)
        self._ascii = self.source.isascii()
        self._lines = self.source.split("\n")

    # Text

    def offset(self, line: int, column: int) -> int:
        """Character offset of a syntax tree position (1-based line, UTF-8 byte column)."""
        if not self._ascii and column:
            column = len(self._lines[line - 1].encode()[:column].decode(errors="replace"))
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Start and end offset of a node's text."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """A node's text as it stands in the program."""
        start, end = self.span(node)
        return self.source[start:end]

    def operand(self, node: ast.expr, least: int) -> str:
        """A node's text, in parentheses when it binds more loosely than `least`."""
        text = self.text(node)
        if strength(node) < least and not (isinstance(node, ast.Tuple) and text.startswith("(")):
            return f"({text})"
        return text

    def replace(self, node: ast.expr, text: str, binds: int = ATOM) -> Splice:
        """The splice that puts an expression in a node's place, with parentheses where they are needed.

        Args:
            node: the expression to replace.
            text: the new expression.
            binds: how tightly the new expression binds.
        """
        start, end = self.span(node)
        if (
            isinstance(node, ast.GeneratorExp)
            and self.source[start] == "("
            and start
            and self.source[start - 1].isalnum()
        ):
            return start, end, f"({text})"
        needed = self.required(node)
        if binds < needed and not (
            self.source[start - 1 : start] == "(" and self.source[end : end + 1] == ")"
        ):
            text = f"({text})"
        if start and self.source[start - 1].isalnum() and text[:1].isalnum():
            text = " " + text
        if text[-1:].isalnum() and self.source[end : end + 1].isalnum():
            text += " "
        return start, end, text

    def required(self, node: ast.expr) -> int:
        """How tightly an expression must bind to stand where a node stands."""
        match self.parents.get(node):
            case ast.BinOp(op=op, left=left):
                level = _BINARY_STRENGTH.get(type(op), TERM)
                if isinstance(op, ast.Pow):
                    return level + 1 if node is left else FACTOR
                return level if node is left else level + 1
            case ast.BoolOp(op=op):
                return AND if isinstance(op, ast.Or) else NOT
            case ast.UnaryOp(op=op):
                return NOT if isinstance(op, ast.Not) else FACTOR
            case ast.Compare():
                return BIT_OR
            case ast.Attribute() | ast.Await():
                return ATOM
            case ast.Subscript(value=value) | ast.Call(func=value):
                return ATOM if node is value else TEST
            case ast.IfExp(orelse=orelse):
                return TEST if node is orelse else OR
            case ast.comprehension() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                return OR
            case ast.Return() | ast.Assign() | ast.Expr() | ast.AugAssign() | ast.For():
                return TUPLE
            case _:
                return TEST

    # Statements

    def indent(self, node: ast.stmt) -> str:
        """The white space before a statement that starts its line."""
        line = self._lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def starts_line(self, node: ast.stmt) -> bool:
        """Whether a statement stands on its own: only white space before it on its line, and it is no `elif`."""
        line = self._lines[node.lineno - 1]
        blank = len(line) - len(line.lstrip())
        return blank == node.col_offset and not (isinstance(node, ast.If) and self.is_elif(node))

    def is_elif(self, node: ast.If) -> bool:
        """Whether an `if` is written as the `elif` of another."""
        return self.source.startswith("elif", self.span(node)[0])

    def lines_span(self, node: ast.stmt) -> tuple[int, int]:
        """Offsets of the whole lines that a statement takes, decorators and line end included."""
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        end_line = node.end_lineno or node.lineno
        end = self._starts[end_line] if end_line < len(self._starts) else len(self.source)
        return self._starts[first - 1], end

    def lines_text(self, node: ast.stmt) -> str:
        """The whole lines that a statement takes."""
        start, end = self.lines_span(node)
        return self.source[start:end]

    def block_of(self, node: ast.stmt) -> Block:
        """The list of statements that a statement stands in."""
        parent = self.parents.get(node)
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and node in block:
                return block
        return [node]

    def insert_before(self, node: ast.stmt, *lines: str) -> Splice:
        """The splice that puts lines (indented relative to the statement) before a statement."""
        at = self.lines_span(node)[0]
        indent = self.indent(node)
        return at, at, "".join(f"{indent}{line}\n" for line in lines)

    def insert_after(self, node: ast.stmt, *lines: str) -> Splice:
        """The splice that puts lines after a statement, in the same block."""
        at = self.lines_span(node)[1]
        indent = self.indent(node)
        return at, at, "".join(f"{indent}{line}\n" for line in lines)

    def remove(self, node: ast.stmt) -> Splice:
        """The splice that takes a statement out; a block that would be empty keeps a `pass`."""
        if not self.starts_line(node) or len(self.block_of(node)) == 1:
            start, end = self.span(node)
            return start, end, "pass"
        start, end = self.lines_span(node)
        return start, end, ""

    def reindented(self, node: ast.stmt, indent: str) -> str:
        """A statement's lines moved to another depth; comments and strings over lines keep their text."""
        old = self.indent(node)
        lines = self.lines_text(node).splitlines(keepends=True)
        return "".join(indent + line[len(old) :] if line.startswith(old) else line for line in lines)

    # Structure

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds a node."""
        while not isinstance(node, ast.stmt):
            above = self.parents.get(node)
            if above is None:
                return None
            node = above
        return node

    def function_of(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function around a node."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            above = self.parents.get(above)
        return above

    def loop_of(self, node: ast.AST) -> ast.For | ast.While | None:
        """The innermost loop around a node, inside the same function."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(above, (ast.For, ast.While)):
                return above
            above = self.parents.get(above)
        return None

    @cached_property
    def _scopes(self) -> dict[ast.AST, Scope]:
        return {}

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope whose names can be read at a node."""
        function = (
            node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else self.function_of(node)
        )
        key: FunctionNode | ast.Module = function or self.tree
        if key not in self._scopes:
            outer = self.scope_of(self.parents[key]) if function is not None and key in self.parents else None
            self._scopes[key] = Scope(key, outer if key is not self.tree else None, self.tree)
        return self._scopes[key]

    def readable(self, node: ast.AST) -> list[str]:
        """Names that can be read at a node: those of its scope and of the comprehensions around it."""
        names: list[str] = []
        above: ast.AST | None = node
        while above is not None and not isinstance(above, (ast.stmt,)):
            names.extend(_comprehension_names(above))
            above = self.parents.get(above)
        return list(dict.fromkeys(names + self.scope_of(node).names))


def _comprehension_names(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [
            child.id
            for generator in node.generators
            for child in ast.walk(generator.target)
            if isinstance(child, ast.Name)
        ]
    if isinstance(node, ast.Lambda):
        return [arg.arg for arg in node.args.args]
    return []


def _line_starts(source: str) -> list[int]:
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts.pop()
    return starts
