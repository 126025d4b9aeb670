"""Recipes that rearrange statements: `with` around a handle, `try` instead of a look, a guard in front of a use."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, RawEdit, insert_before, recipe, replace
from treewright.performers.static.python.fixes.rights import framework
from treewright.performers.static.python.source import Source


def block_of(source: Source, node: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that holds a statement."""
    parent = source.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and node in block:
            return block
    return [node]


def indented(source: Source, statements: list[ast.stmt]) -> list[RawEdit] | None:
    """Edits that indent whole statements by four more; None where a text spans lines, which indenting would change."""
    for part in (p for statement in statements for p in ast.walk(statement)):
        if isinstance(part, (ast.Constant, ast.JoinedStr)) and part.end_lineno != part.lineno:
            return None
    first, last = statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno
    return [(line, 0, line, 0, "    ") for line in range(first, last + 1) if source.lines[line - 1].strip()]


@recipe("handle-left-open")
def in_with(source: Source, node: ast.AST) -> Change | None:
    """`f = open(path)` and what follows become `with open(path) as f:`."""
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return None
    block = block_of(source, statement)
    rest = block[block.index(statement) + 1 :]
    name = statement.targets[0].id
    uses = [s for s in rest if any(isinstance(p, ast.Name) and p.id == name for p in ast.walk(s))]
    if not uses:
        return None
    inside = rest[: rest.index(uses[-1]) + 1]
    edits = indented(source, inside)
    if edits is None:
        return None
    head = replace(source, statement, f"with {source.segment(statement.value)} as {name}:")
    return Change([*head.edits, *edits])


@recipe("check-and-act-parted")
def tried(source: Source, node: ast.AST) -> Change | None:
    """`if os.path.exists(path): act` becomes `try: act` with the failure handled."""
    statement = source.statement_of(node)
    if (
        not isinstance(statement, ast.If)
        or statement.test is not node
        or isinstance(node, (ast.UnaryOp, ast.BoolOp))
    ):
        return None
    indent = source.lines[statement.lineno - 1][: statement.col_offset]
    place = source.place(statement.test)
    line = source.lines[statement.lineno - 1]
    if (
        place.line != place.end
        or not line[place.end_column :].lstrip().startswith(":")
        or line.strip()[:2] != "if"
    ):
        return None
    change = Change([(statement.lineno, statement.col_offset, place.end, place.end_column, "try")])
    last = statement.body[-1]
    if statement.orelse:
        between = [
            n
            for n in range(last.end_lineno or 0, statement.orelse[0].lineno)
            if source.lines[n].strip() == "else:"
        ]
        if not between:
            return None
        number = between[0] + 1
        change.edits.append((number, len(indent), number, len(indent) + 4, "except OSError"))
        return change
    end = (last.end_lineno or last.lineno) + 1
    change.edits.append((end, 0, end, 0, f"{indent}except OSError:\n{indent}    pass\n"))
    return change if end <= len(source.lines) else None


@recipe("locks-in-two-orders")
def one_order(source: Source, node: ast.AST) -> Change | None:
    """The two locks change places."""
    if not isinstance(node, ast.With):
        return None
    outer: ast.AST | None = source.parent(node)
    while outer is not None and not isinstance(outer, ast.With):
        outer = source.parent(outer)
    if outer is None or len(outer.items) != 1 or len(node.items) != 1:
        return None
    first, second = outer.items[0].context_expr, node.items[0].context_expr
    change = replace(source, first, source.segment(second))
    change.edits += replace(source, second, source.segment(first)).edits
    return change


@recipe("used-after-close")
def closed_last(source: Source, node: ast.AST) -> Change | None:
    """The close goes behind the use; behind a `with` block the use goes into it."""
    statement = source.statement_of(node)
    block = block_of(source, statement)
    index = block.index(statement)
    name = source.segment(node).partition(".")[0]
    for before in reversed(block[:index]):
        if source.segment(before) == f"{name}.close()":
            line = before.lineno
            after = (statement.end_lineno or statement.lineno) + 1
            indent = source.lines[line - 1][: before.col_offset]
            if source.segment(node).endswith(".close"):
                return Change([(statement.lineno, 0, after, 0, "")]) if after <= len(source.lines) else None
            return Change([(line, 0, line + 1, 0, ""), (after, 0, after, 0, f"{indent}{name}.close()\n")])
        if isinstance(before, ast.With) and index and block[index - 1] is before:
            edits = indented(source, [statement])
            return Change(edits) if edits else None
    return None


@recipe("failure-taken-for-consent")
def refused(source: Source, node: ast.AST) -> Change | None:
    """`return True` becomes `return False`."""
    return (
        replace(source, node.value, "False")
        if isinstance(node, ast.Return) and node.value is not None
        else None
    )


@recipe("index-from-input")
def within_bounds(source: Source, node: ast.AST) -> Change | None:
    """Refuse an index outside the list first."""
    if not isinstance(node, ast.Subscript):
        return None
    statement = source.statement_of(node)
    items = source.segment(node.value)
    name = node.slice.id if isinstance(node.slice, ast.Name) else "index"
    flask = framework(source) == "flask"
    refuse = "abort(404)" if flask else 'raise LookupError("no such entry")'
    lines = [] if isinstance(node.slice, ast.Name) else [f"{name} = {source.segment(node.slice)}"]
    lines += [f"if not 0 <= {name} < len({items}):", f"    {refuse}"]
    change = insert_before(source, statement, lines, *(["from flask import abort"] if flask else []))
    if not isinstance(node.slice, ast.Name):
        change.edits += replace(source, node.slice, name).edits
    return change


@recipe("divisor-from-input", "divisor-may-be-zero")
def not_zero(source: Source, node: ast.AST) -> Change | None:
    """`a / n` becomes `(a / n if n else 0)`."""
    if not isinstance(node, ast.BinOp):
        return None
    right = node.right
    tested = right
    if isinstance(right, ast.Call) and source.dotted(right.func) == "len" and right.args:
        tested = right.args[0]
    if not isinstance(tested, ast.Name):
        return None
    return replace(source, node, f"({source.segment(node)} if {tested.id} else 0)")


@recipe("amount-from-input")
def sensible(source: Source, node: ast.AST) -> Change | None:
    """Refuse amounts that make no sense before calculating with them."""
    if not isinstance(node, ast.BinOp):
        return None
    names = [side.id for side in (node.left, node.right) if isinstance(side, ast.Name)]
    if not names:
        return None
    flask = framework(source) == "flask"
    refuse = "abort(400)" if flask else 'raise ValueError("amount out of range")'
    lines = [line for name in names for line in (f"if not 0 < {name} <= 1_000_000:", f"    {refuse}")]
    return insert_before(
        source, source.statement_of(node), lines, *(["from flask import abort"] if flask else [])
    )


@recipe("request-sent-to-input")
def public_host(source: Source, node: ast.AST) -> Change | None:
    """The same for clients kept in a variable and for bare sockets: refuse addresses that are not public."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    argument = node.args[0]
    if source.segment(node.func).endswith(".request") and len(node.args) > 1:
        argument = node.args[1]
    host = argument.elts[0] if isinstance(argument, ast.Tuple) and argument.elts else None
    subject = host if host is not None else argument
    name = subject.id if isinstance(subject, ast.Name) else "host" if host is not None else "url"
    lines = [] if isinstance(subject, ast.Name) else [f"{name} = {source.segment(subject)}"]
    takes_host = host is not None or re.search(
        r"HTTPS?Connection$|FTP(_TLS)?$|SMTP(_SSL)?$|create_connection$|Telnet$|\.connect$",
        source.segment(node.func),
    )
    looked = name if takes_host else f'urlsplit({name}).hostname or ""'
    lines += [
        f"if not ipaddress.ip_address(socket.gethostbyname({looked})).is_global:",
        '    raise ValueError("address not allowed")',
    ]
    imports = [
        "import ipaddress",
        "import socket",
        *([] if takes_host else ["from urllib.parse import urlsplit"]),
    ]
    change = insert_before(source, source.statement_of(node), lines, *imports)
    if not isinstance(subject, ast.Name):
        change.edits += replace(source, subject, name).edits
    return change
