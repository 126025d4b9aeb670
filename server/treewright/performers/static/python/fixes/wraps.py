"""Recipes that put an escaping call around what comes from outside, or bind it as a parameter."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, assigned, insert_before, recipe, replace
from treewright.performers.static.python.source import DRIVERS, Source


def text_expression(source: Source, node: ast.expr) -> ast.expr | None:
    """The expression that builds a text: the node itself, or what the local name was assigned."""
    if isinstance(node, ast.Name):
        found = assigned(source, node.id, node)
        return (
            text_expression(source, found.value)
            if found is not None and not isinstance(found.value, ast.Name)
            else None
        )
    return node


def parts_of(source: Source, node: ast.expr) -> list[ast.expr]:
    """The pieces of a built text that are not constant."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [part for side in (node.left, node.right) for part in parts_of(source, side)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return [*node.args, *(keyword.value for keyword in node.keywords)]
        if node.func.attr in {"encode", "strip"}:
            return parts_of(source, node.func.value)
    return [] if isinstance(node, ast.Constant) else [node]


def wrap_parts(source: Source, node: ast.expr, before: str, after: str, *imports: str) -> Change | None:
    """Put text around each piece that is not constant."""
    target = text_expression(source, node)
    if target is None:
        return None
    change = Change(imports=list(imports))
    for part in parts_of(source, target):
        place = source.place(part)
        wrapped = f"{before}{source.segment(part)}{after}"
        change.edits.append((place.line, place.column, place.end, place.end_column, wrapped))
    return change if change.edits else None


def first_argument(node: ast.AST, *names: str) -> ast.expr | None:
    """A call's first argument, or the keyword of one of the names."""
    if not isinstance(node, ast.Call):
        return None
    if node.args:
        return node.args[0]
    return next((keyword.value for keyword in node.keywords if keyword.arg in names), None)


@recipe("shell-command-from-input")
def quote_for_shell(source: Source, node: ast.AST) -> Change | None:
    """`"ping " + host` becomes `"ping " + shlex.quote(host)`."""
    argument = first_argument(node, "args", "cmd", "command")
    target = text_expression(source, argument) if argument is not None else None
    if target is None or not isinstance(target, (ast.JoinedStr, ast.BinOp, ast.Call)):
        return None
    if isinstance(target, ast.Call) and not (
        isinstance(target.func, ast.Attribute) and target.func.attr == "format"
    ):
        return None
    return wrap_parts(source, target, "shlex.quote(", ")", "import shlex")


@recipe("page-built-from-input")
def escape_for_page(source: Source, node: ast.AST) -> Change | None:
    """Escape the pieces of a page."""
    value = (
        node.value
        if isinstance(node, ast.Return)
        else first_argument(node, "content", "response", "text", "body")
    )
    if isinstance(value, ast.Tuple):
        value = value.elts[0]
    if value is None:
        return None
    if any(name.startswith("flask") for name in source.imports.values()):
        return wrap_parts(source, value, "escape(", ")", "from markupsafe import escape")
    return wrap_parts(source, value, "html.escape(", ")", "import html")


@recipe("ldap-query-built-from-input")
def escape_for_ldap(source: Source, node: ast.AST) -> Change | None:
    """Escape the pieces of a filter."""
    if not isinstance(node, ast.Call):
        return None
    three = any(name.startswith("ldap3") for name in source.imports.values())
    call, statement = (
        ("escape_filter_chars(", "from ldap3.utils.conv import escape_filter_chars")
        if three
        else ("ldap.filter.escape_filter_chars(", "import ldap.filter")
    )
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        target = text_expression(source, argument)
        if isinstance(target, (ast.JoinedStr, ast.BinOp)) or (
            isinstance(target, ast.Call)
            and isinstance(target.func, ast.Attribute)
            and target.func.attr == "format"
        ):
            return wrap_parts(source, target, call, ")", statement)
    return None


@recipe("pattern-from-input")
def escape_pattern(source: Source, node: ast.AST) -> Change | None:
    """`re.search(q, ...)` becomes `re.search(re.escape(q), ...)`."""
    argument = first_argument(node, "pattern")
    return wrap_parts(source, argument, "re.escape(", ")", "import re") if argument is not None else None


@recipe("log-line-built-from-input")
def one_line(source: Source, node: ast.AST) -> Change | None:
    """Take line breaks out of each value."""
    if not isinstance(node, ast.Call):
        return None
    change = Change()
    for argument in node.args:
        target = text_expression(source, argument) or argument
        for part in parts_of(source, target):
            place = source.place(part)
            text = source.segment(part)
            held = (
                text if isinstance(part, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
            )
            new = f'str({held}).replace("\\r", "").replace("\\n", "")'
            change.edits.append(
                (place.line, place.column, place.end, place.end_column, _inside(source, part, new))
            )
    return change if change.edits else None


def _inside(source: Source, part: ast.expr, text: str) -> str:
    """Within an f-string, quotes and backslashes of older Pythons are not allowed: use `!r`."""
    parent = source.parent(part)
    return f"{source.segment(part)}!r" if isinstance(parent, ast.FormattedValue) else text


@recipe("header-built-from-input")
def one_line_header(source: Source, node: ast.AST) -> Change | None:
    """Take line breaks out of a header's value."""
    value: ast.expr | None = None
    if isinstance(node, ast.Call):
        value = (
            node.args[1]
            if len(node.args) > 1
            else next((k.value for k in node.keywords if k.arg == "value"), None)
        )
    else:
        statement = source.statement_of(node)
        value = statement.value if isinstance(statement, ast.Assign) else None
    if value is None:
        return None
    text = source.segment(value)
    held = text if isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
    return replace(source, value, f'{held}.replace("\\r", "").replace("\\n", "")')


@recipe("path-from-input")
def bare_name(source: Source, node: ast.AST) -> Change | None:
    """`os.path.join(base, name)` keeps only the last part of the name."""
    if not isinstance(node, ast.Call):
        return None
    argument = first_argument(node, "file", "path", "path_or_file", "filename", "filename_or_fp")
    if argument is None and isinstance(node.func, ast.Attribute):
        argument = node.func.value
    target = text_expression(source, argument) if argument is not None else None
    if target is None:
        return None
    if isinstance(target, ast.Call) and source.dotted(target.func) == "os.path.join" and len(target.args) > 1:
        change = Change(imports=["import os"])
        for part in target.args[1:]:
            if not isinstance(part, ast.Constant):
                place = source.place(part)
                new = f"os.path.basename({source.segment(part)})"
                change.edits.append((place.line, place.column, place.end, place.end_column, new))
        return change if change.edits else None
    if isinstance(target, ast.BinOp) and isinstance(target.op, ast.Div):
        return replace(source, target.right, f"os.path.basename({source.segment(target.right)})", "import os")
    if isinstance(target, (ast.JoinedStr, ast.BinOp)):
        return wrap_parts(source, target, "os.path.basename(", ")", "import os")
    return (
        replace(source, argument, f"os.path.basename({source.segment(argument)})", "import os")
        if argument
        else None
    )


@recipe("redirect-to-input")
def local_target(source: Source, node: ast.AST) -> Change | None:
    """Refuse a target that names a scheme or host."""
    argument = first_argument(node, "location", "to", "url", "redirect_to")
    if argument is None:
        return None
    statement = source.statement_of(node)
    name = argument.id if isinstance(argument, ast.Name) else "target"
    lines = [] if isinstance(argument, ast.Name) else [f"{name} = {source.segment(argument)}"]
    lines += [f"if urlsplit({name}).scheme or urlsplit({name}).netloc:", f'    {name} = "/"']
    change = insert_before(source, statement, lines, "from urllib.parse import urlsplit")
    if not isinstance(argument, ast.Name):
        place = source.place(argument)
        change.edits.append((place.line, place.column, place.end, place.end_column, name))
    return change


@recipe("request-sent-to-input")
def public_address(source: Source, node: ast.AST) -> Change | None:
    """Refuse addresses that are not public."""
    if not isinstance(node, ast.Call) or not source.dotted(node.func).startswith(
        ("requests.", "httpx.", "urllib", "aiohttp")
    ):
        return None
    argument = first_argument(node, "url")
    if argument is None:
        return None
    statement = source.statement_of(node)
    name = argument.id if isinstance(argument, ast.Name) else "url"
    lines = [] if isinstance(argument, ast.Name) else [f"{name} = {source.segment(argument)}"]
    lines += [
        f'if not ipaddress.ip_address(socket.gethostbyname(urlsplit({name}).hostname or "")).is_global:',
        '    raise ValueError("address not allowed")',
    ]
    imports = ("import ipaddress", "import socket", "from urllib.parse import urlsplit")
    change = insert_before(source, statement, lines, *imports)
    if not isinstance(argument, ast.Name):
        place = source.place(argument)
        change.edits.append((place.line, place.column, place.end, place.end_column, name))
    return change


_VALUE_PLACE = re.compile(
    r"(?i)(=|<|>|\blike|\bin\s*\(|\bvalues\s*\(.*?|,|\(|\blimit|\boffset|\band|\bbetween)\s*(['\"]?%?)$",
    re.DOTALL,
)


_STATEMENT = re.compile(r"(?i)^\s*(select|insert|update|delete|replace|with)\b")


def _placeholder(source: Source) -> str:
    """Return the placeholder of the database in use: as other statements of the file have it, else by the driver.

    The driver is what the file imports, else what the project imports.
    """
    statements = [
        node.value
        for node in source.parents
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _STATEMENT.match(node.value)
        and not (isinstance(above := source.parent(node), ast.BinOp) and isinstance(above.op, ast.Mod))
    ]
    for mark in ("?", "%s"):
        if any(mark in text for text in statements):
            return mark
    drivers = {name.partition(".")[0] for name in source.imports.values()}
    used = drivers & DRIVERS or source.drivers
    return "?" if used == {"sqlite3"} else "%s"


@recipe("sql-text-built-from-input")
def bind_parameters(source: Source, node: ast.AST) -> Change | None:
    """`execute(f"... = '{x}'")` becomes `execute("... = ?", (x,))`."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    target = text_expression(source, node.args[0])
    pieces = _pieces(source, target) if target is not None else None
    if pieces is None or target is None:
        return None
    mark = _placeholder(source)
    text, values = _bound(source, pieces, mark)
    if text is None or not values:
        return None
    tuple_text = f"({', '.join(values)}{',' if len(values) == 1 else ''})"
    change = replace(source, target, _literal(text))
    place = source.place(node.args[0])
    if node.args[0] is target:
        change.edits[0] = (*change.edits[0][:4], f"{_literal(text)}, {tuple_text}")
    else:
        at = (place.end, place.end_column)
        change.edits.append((*at, *at, f", {tuple_text}"))
    return change


def _literal(text: str) -> str:
    quoted = text.replace("\\", "\\\\")
    if "\n" in text:
        return f'"""{quoted}"""'
    return f'"{quoted}"' if '"' not in text else f"'{quoted}'" if "'" not in text else f'"""{quoted}"""'


def _pieces(source: Source, node: ast.expr) -> list[str | ast.expr] | None:
    """A built text as constants and expressions in order; None when its shape is not one of the four."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        found: list[str | ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None or part.conversion != -1:
                    return None
                found.append(part.value)
            elif isinstance(part, ast.Constant):
                found.append(str(part.value))
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _pieces(source, node.left), _pieces(source, node.right)
        return None if left is None or right is None else [*left, *right]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
        return _filled(str(node.left.value), r"%[sdi]", values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        if isinstance(node.func.value, ast.Constant) and not node.keywords:
            return _filled(str(node.func.value.value), r"\{\d*\}", list(node.args))
        return None
    return [
        node.args[0]
        if isinstance(node, ast.Call) and source.dotted(node.func) == "str" and node.args
        else node
    ]


def _filled(text: str, hole: str, values: list[ast.expr]) -> list[str | ast.expr] | None:
    constants = re.split(hole, text)
    if len(constants) != len(values) + 1:
        return None
    found: list[str | ast.expr] = [constants[0]]
    for value, constant in zip(values, constants[1:], strict=True):
        found += [value, constant]
    return found


def _bound(source: Source, pieces: list[str | ast.expr], mark: str) -> tuple[str | None, list[str]]:
    """The statement with marks, and the values; None when a piece stands where SQL takes no parameter."""
    text, values = "", []
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            text += (
                piece.replace("%", "%%")
                if mark == "%s" and "%" in piece and _is_like(piece) is False
                else piece
            )
            continue
        found = _VALUE_PLACE.search(text)
        if found is None:
            return None, []
        quote = found.group(2)
        expression = source.segment(piece)
        if quote:
            text = text[: -len(quote)]
            following = pieces[index + 1] if index + 1 < len(pieces) else ""
            if not isinstance(following, str):
                return None, []
            tail = re.match(r"%?['\"]", following)
            if tail is None:
                return None, []
            pieces[index + 1] = following[tail.end() :]
            before, after = ("%" if "%" in quote else ""), ("%" if "%" in tail.group() else "")
            if before or after:
                inner = "'" if '"' in expression else '"'
                expression = f"f{inner}{before}{{{expression}}}{after}{inner}"
        text += mark
        values.append(expression)
    return text, values


def _is_like(piece: str) -> bool:
    return "%" in piece and re.search(r"(?i)like", piece) is not None
