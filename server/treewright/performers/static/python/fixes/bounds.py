"""Recipes that bound, convert, mask or replace one value."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, insert_before, recipe, replace
from treewright.performers.static.python.fixes.wraps import _pieces, first_argument, text_expression
from treewright.performers.static.python.source import Source


@recipe("size-from-input")
def bounded(source: Source, node: ast.AST) -> Change | None:
    """`range(count)` becomes `range(min(count, 1000))`."""
    if not isinstance(node, ast.Call):
        return None
    argument = node.args[-1] if node.args else None
    if argument is None or isinstance(argument, ast.Constant):
        return None
    return replace(source, argument, f"min({source.segment(argument)}, 1000)")


@recipe("exception-text-in-response")
def fixed_message(source: Source, node: ast.AST) -> Change | None:
    """The exception's text becomes a fixed message."""
    if not isinstance(node, ast.Return) or node.value is None:
        return None
    current: ast.AST | None = node
    while current is not None and not isinstance(current, ast.ExceptHandler):
        current = source.parent(current)
    name = current.name if isinstance(current, ast.ExceptHandler) else None
    change = Change()
    taken: list[ast.AST] = []
    for part in ast.walk(node.value):
        if any(part is inner for done in taken for inner in ast.walk(done)):
            continue
        text = source.segment(part) if isinstance(part, ast.expr) else ""
        whole = isinstance(part, (ast.Call, ast.JoinedStr, ast.BinOp)) and (
            (name is not None and re.fullmatch(rf"(str|repr)\({name}\)|{name}\.args.*", text))
            or (
                name is not None
                and isinstance(part, (ast.JoinedStr, ast.BinOp))
                and re.search(rf"\b{name}\b", text)
            )
            or text.startswith(("traceback.format_exc", "format_exc"))
        )
        if whole or (isinstance(part, ast.Name) and part.id == name):
            taken.append(part)
            change.edits += replace(source, part, '"internal error"').edits
    return change if change.edits else None


@recipe("nosql-query-from-input")
def as_text(source: Source, node: ast.AST) -> Change | None:
    """`{"name": value}` becomes `{"name": str(value)}`."""
    argument = first_argument(node, "filter")
    target = text_expression(source, argument) if argument is not None else None
    if not isinstance(target, ast.Dict):
        return None
    change = Change()
    for value in target.values:
        if not isinstance(value, (ast.Constant, ast.Dict)):
            change.edits += replace(source, value, f"str({source.segment(value)})").edits
    return change if change.edits else None


@recipe("xpath-built-from-input")
def xpath_variables(source: Source, node: ast.AST) -> Change | None:
    """`xpath("//u[n='" + name + "']")` becomes `xpath("//u[n=$v0]", v0=name)`."""
    if (
        not isinstance(node, ast.Call)
        or len(node.args) != 1
        or not source.segment(node.func).endswith(".xpath")
    ):
        return None
    target = text_expression(source, node.args[0])
    pieces = _pieces(source, target) if target is not None else None
    if pieces is None or target is None:
        return None
    text = ""
    values: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            text += re.sub(r"^['\"]", "", piece) if values and text.endswith("\0") else piece
            text = text.replace("\0", "")
            continue
        text = re.sub(r"['\"]$", "", text) + f"$v{len(values)}\0"
        values.append(f"v{len(values)}={source.segment(piece)}")
    text = text.replace("\0", "")
    if '"' in text or not values:
        return None
    given = f'"{text}"'
    change = replace(source, target, given)
    place = source.place(node.args[0])
    if node.args[0] is target:
        change.edits[0] = (*change.edits[0][:4], f"{given}, {', '.join(values)}")
    else:
        change.edits.append(
            (place.end, place.end_column, place.end, place.end_column, f", {', '.join(values)}")
        )
    return change


@recipe("secret-reaches-log")
def masked(source: Source, node: ast.AST) -> Change | None:
    """The secret in the message becomes a mask."""
    if not isinstance(node, ast.Call):
        return None
    secret = re.compile(
        r"(?i)(^|[_.\[\"'])(pass(word|wd|phrase)|pwd|secret|token|key|ssn|cvv|card\w*|pin\w*)\w*[\"'\])]*$"
    )
    change = Change()
    for part in [p for argument in node.args for p in ast.walk(argument)]:
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and secret.search(source.segment(part)):
            parent = source.parent(part)
            if isinstance(parent, ast.FormattedValue):
                place = source.place(part)
                change.edits.append((place.line, place.column - 1, place.end, place.end_column + 1, "***"))
            elif not isinstance(parent, (ast.Attribute, ast.Subscript)):
                change.edits += replace(source, part, '"***"').edits
    return change if change.edits else None


@recipe("login-error-tells-which")
def one_answer(source: Source, node: ast.AST) -> Change | None:
    """Both texts become one."""
    function = next(
        (
            f
            for f in ast.walk(source.tree)
            if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
            and f.lineno == getattr(node, "lineno", 0)
        ),
        None,
    )
    if function is None:
        return None
    change = Change()
    for part in ast.walk(function):
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and re.search(
                r"(?i)(user|account|email|login|pass).{0,25}(not|wrong|incorrect|invalid|unknown|no such|does)|(wrong|incorrect|invalid|unknown|no such).{0,15}(pass|user|email|login)",
                part.value,
            )
        ):
            change.edits += replace(source, part, '"Invalid credentials"').edits
    return change if len(change.edits) > 1 else None


@recipe("login-without-password")
def password_from_environment(source: Source, node: ast.AST) -> Change | None:
    """The empty or missing password comes from the environment."""
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if keyword.arg in {"password", "passwd"}:
            return replace(source, keyword.value, 'os.environ["PASSWORD"]', "import os")
    if len(node.args) == 2:
        return replace(source, node.args[1], 'os.environ["PASSWORD"]', "import os")
    if len(node.args) == 1:
        place = source.place(node.args[0])
        return Change(
            [(place.end, place.end_column, place.end, place.end_column, ', os.environ["PASSWORD"]')],
            ["import os"],
        )
    return None


@recipe("file-stored-under-its-own-name")
def suffix_checked(source: Source, node: ast.AST) -> Change | None:
    """Refuse suffixes that are not listed."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = source.segment(node.func.value)
    flask = any(name.startswith("flask") for name in source.imports.values())
    refuse = "abort(400)" if flask else 'raise ValueError("file type")'
    lines = [
        f'if not {owner}.filename.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".pdf", ".txt")):',
        f"    {refuse}",
    ]
    return insert_before(
        source, source.statement_of(node), lines, *(["from flask import abort"] if flask else [])
    )


@recipe("shared-value-without-lock")
def under_lock(source: Source, node: ast.AST) -> Change | None:
    """The change happens while a lock is held."""
    if not isinstance(node, (ast.Assign, ast.AugAssign)):
        return None
    function = source.function_of(node)
    if function is None or not isinstance(source.parent(function), ast.Module):
        return None
    indent = source.lines[node.lineno - 1][: node.col_offset]
    change = replace(source, node, f"with _shared_lock:\n{indent}    {source.segment(node)}")
    change.edits.append((function.lineno, 0, function.lineno, 0, "_shared_lock = threading.Lock()\n\n\n"))
    change.imports.append("import threading")
    return change if not function.decorator_list else None


@recipe("template-from-input")
def template_variable(source: Source, node: ast.AST) -> Change | None:
    """Pieces of the template become variables of it."""
    argument = first_argument(node, "source", "template")
    target = text_expression(source, argument) if argument is not None else None
    if (
        target is None
        or argument is None
        or not source.segment(getattr(node, "func", node)).endswith("render_template_string")
    ):
        return None
    pieces = _pieces(source, target)
    if pieces is None or any(isinstance(piece, str) and '"' in piece for piece in pieces):
        return None
    text = ""
    values: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        else:
            text += f"{{{{ v{len(values)} }}}}"
            values.append(f"v{len(values)}={source.segment(piece)}")
    if not values or "\n" in text:
        return None
    change = replace(source, target, f'"{text}"')
    place = source.place(argument)
    if argument is target:
        change.edits[0] = (*change.edits[0][:4], f'"{text}", {", ".join(values)}')
    else:
        change.edits.append(
            (place.end, place.end_column, place.end, place.end_column, f", {', '.join(values)}")
        )
    return change


@recipe("identity-compared-with-literal")
def equal_values(source: Source, node: ast.AST) -> Change | None:
    """`a is b` becomes `a == b`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        operator = "!=" if isinstance(node.ops[0], ast.IsNot) else "=="
        return replace(
            source, node, f"{source.segment(node.left)} {operator} {source.segment(node.comparators[0])}"
        )
    return None
