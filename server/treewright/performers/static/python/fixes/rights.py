"""Recipes about who may do what: logins, sessions, tokens, cross-site requests, passwords."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, assigned, insert_before, recipe, replace
from treewright.performers.static.python.source import FUNCTIONS, Source

Function = ast.FunctionDef | ast.AsyncFunctionDef


def framework(source: Source) -> str:
    """`flask`, `django` or empty: the two whose sessions the recipes know."""
    names = {name.partition(".")[0] for name in source.imports.values()}
    return "flask" if "flask" in names else "django" if "django" in names else ""


def function_at(source: Source, node: ast.AST) -> Function | None:
    """The function whose `def` line a node stands for, or the one around it."""
    line = getattr(node, "lineno", 0)
    for kind in FUNCTIONS:
        for known in source.nodes(kind):
            if isinstance(known, FUNCTIONS) and known.lineno == line:
                return known
    return source.function_of(node)


def first_statement(function: Function) -> ast.stmt:
    """The first statement behind the docstring."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
    )
    return function.body[1] if documented else first


@recipe("no-login-on-critical-route")
def login_first(source: Source, node: ast.AST) -> Change | None:
    """Nobody without a session gets past the first line; Django's own decorator does the same."""
    function = function_at(source, node)
    if function is None:
        return None
    kind = framework(source)
    if kind == "flask":
        lines = ['if "user_id" not in session:', "    abort(401)"]
        return insert_before(
            source, first_statement(function), lines, "from flask import abort", "from flask import session"
        )
    if kind == "django" and isinstance(source.parent(function), ast.Module):
        line = function.lineno
        edit = (line, 0, line, 0, "@login_required\n")
        return Change([edit], ["from django.contrib.auth.decorators import login_required"])
    return None


@recipe("access-decided-by-cookie")
def from_session(source: Source, node: ast.AST) -> Change | None:
    """What the client says becomes what the server remembers: `request.cookies.get("role")`, `session.get("role")`."""
    kind = framework(source)
    session = {"flask": "session", "django": "request.session"}.get(kind)
    if session is None:
        return None
    function = source.function_of(node)
    change = Change(imports=["from flask import session"] if kind == "flask" else [])
    reads = re.compile(r"^request\.(cookies|COOKIES|args|form|GET|POST|values|headers|json)(\.get\(|\[)")
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    scope: list[ast.AST] = [node]
    for part in ast.walk(function) if function is not None else ():
        if (
            isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Name)
            and part.targets[0].id in names
        ):
            scope.append(part.value)  # noqa: PERF401 reads better beside its three conditions
    for part in (p for area in scope for p in ast.walk(area)):
        text = source.segment(part) if isinstance(part, (ast.Call, ast.Subscript)) else ""
        found = reads.match(text)
        if not found:
            continue
        if re.search(r"(?i)forwarded|real.?ip|client.?ip", text):
            change.edits += replace(
                source, part, "request.remote_addr" if kind == "flask" else 'request.META["REMOTE_ADDR"]'
            ).edits
        else:
            change.edits += replace(source, part, text.replace(found[0], f"{session}{found[2]}", 1)).edits
    return change if change.edits else None


@recipe("session-without-end")
def ends(source: Source, node: ast.AST) -> Change | None:
    """The claims get an `exp` an hour from now; a lifetime becomes a day."""
    if isinstance(node, ast.Assign):
        new = "86400" if isinstance(node.value, (ast.Constant, ast.BinOp)) else None
        if isinstance(node.value, ast.Constant) and node.value.value is False:
            return replace(source, node.value, "datetime.timedelta(hours=1)", "import datetime")
        if isinstance(node.value, ast.Call):
            new = f"{source.segment(node.value.func)}(days=1)"
        return replace(source, node.value, new) if new else None
    claims = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(claims, ast.Name):
        found = assigned(source, claims.id, node)
        claims = found.value if found is not None else None
    if not isinstance(claims, ast.Dict) or not claims.values:
        return None
    place = source.place(claims.values[-1])
    imported = source.imports.get("datetime") == "datetime.datetime"
    now = (
        "datetime.now(timezone.utc) + timedelta(hours=1)"
        if imported
        else "datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)"
    )
    imports = (
        ["from datetime import timedelta", "from datetime import timezone"]
        if imported
        else ["import datetime"]
    )
    at = (place.end, place.end_column)
    return Change([(*at, *at, f', "exp": {now}')], imports)


@recipe("token-signature-unverified")
def key_from_environment(source: Source, node: ast.AST) -> Change | None:
    """A token that was read without its signature is verified with a key of the environment."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    name = source.dotted(node.func)
    if name.endswith(("get_unverified_claims", "process_jwt")):
        module = "jose.jwt" if name.startswith("jose") else "jwt"
        function = (
            "jwt.decode" if module == "jwt" or source.imports.get("jwt") == module else f"{module}.decode"
        )
        new = f'{function}({source.segment(node.args[0])}, os.environ["JWT_KEY"], algorithms=["HS256"])'
        return replace(source, node, new, "import os")
    if not name.endswith("jwt.decode") and not name.endswith("PyJWT().decode"):
        return None
    given = (
        node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "key"), None)
    )
    none = given is None or (isinstance(given, ast.Constant) and not given.value)
    key = 'os.environ["JWT_KEY"]' if none else source.segment(given)  # type: ignore[arg-type]  # not None then
    new = f'{source.segment(node.func)}({source.segment(node.args[0])}, {key}, algorithms=["HS256"])'
    return replace(source, node, new, *(["import os"] if none else []))


@recipe("change-without-forgery-check")
def protected(source: Source, node: ast.AST) -> Change | None:
    """`CSRFProtect(app)` behind the application."""
    del node
    for part in source.tree.body:
        if isinstance(part, ast.Assign) and source.segment(part.value).startswith("Flask("):
            name = source.segment(part.targets[0])
            line = (part.end_lineno or part.lineno) + 1
            return Change(
                [(line, 0, line, 0, f"CSRFProtect({name})\n")], ["from flask_wtf import CSRFProtect"]
            )
    return None


@recipe("weak-password-rule")
def long_enough(source: Source, node: ast.AST) -> Change | None:
    """A check of the length in front of what is done with the password."""
    function = function_at(source, node) if not isinstance(node, ast.Compare) else None
    if function is None:
        return None
    flask = framework(source) == "flask"
    refuse = "abort(400)" if flask else 'raise ValueError("the password is too short")'
    imports = ["from flask import abort"] if flask else []
    arguments = [a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)]
    secret = re.compile(r"(?i)^(new_?)?(password|passwd|pwd)$")
    for name in arguments:
        if secret.match(name):
            return insert_before(
                source, first_statement(function), [f"if len({name}) < 12:", f"    {refuse}"], *imports
            )
    for statement in function.body[:-1]:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and secret.match(target.id):
            following = function.body[function.body.index(statement) + 1]
            return insert_before(source, following, [f"if len({target.id}) < 12:", f"    {refuse}"], *imports)
    read = next((p for p in ast.walk(function) if isinstance(p, (ast.Subscript, ast.Call))
                 and re.match(r"request\.(form|json|POST|args)(\[|\.get\()[\"']\w*pass\w*[\"']", source.segment(p))), None)  # fmt: skip
    if read is None:
        return None
    return insert_before(
        source,
        source.statement_of(read),
        [f"if len({source.segment(read)}) < 12:", f"    {refuse}"],
        *imports,
    )


@recipe("password-stored-in-clear", "password-hashed-fast")
def hashed(source: Source, node: ast.AST) -> Change | None:
    """The framework's own slow hash: werkzeug's with Flask, `make_password` with Django."""
    function, statement = {
        "flask": ("generate_password_hash", "from werkzeug.security import generate_password_hash"),
        "django": ("make_password", "from django.contrib.auth.hashers import make_password"),
    }.get(framework(source), ("", ""))
    if not function or not isinstance(node, ast.expr):
        return None
    target: ast.expr = node
    inner = source.segment(node)
    if isinstance(node, ast.Call) and source.dotted(node.func).startswith("hashlib."):
        outer = source.parent(node)
        call = source.parent(outer) if isinstance(outer, ast.Attribute) else None
        if not isinstance(call, ast.Call) or len(node.args) != 1:
            return None
        target = call
        inner = re.sub(r"\.encode\([^)]*\)$", "", source.segment(node.args[0]))
    return replace(source, target, f"{function}({inner})", statement)


@recipe("secret-in-response")
def left_out(source: Source, node: ast.AST) -> Change | None:
    """The entry goes from the response."""
    parent = source.parent(node)
    if not isinstance(parent, ast.Dict) or len(parent.values) < 2 or not isinstance(node, ast.expr):
        return None
    index = parent.values.index(node)
    key = parent.keys[index]
    if key is None:
        return None
    if index:
        before = source.place(parent.values[index - 1])
        place = source.place(node)
        return Change([(before.end, before.end_column, place.end, place.end_column, "")])
    following = parent.keys[1]
    if following is None:
        return None
    start, end = source.place(key), source.place(following)
    return Change([(start.line, start.column, end.line, end.column, "")])


@recipe("any-origin-allowed", "any-host-allowed")
def named_origin(source: Source, node: ast.AST) -> Change | None:
    """The star becomes one named origin, to be replaced by the site's own."""
    change = Change()
    if isinstance(node, ast.Assign) and not re.search(r"[\"']\*[\"']", source.segment(node.value)):
        return replace(source, node.value, '"https://www.example.com"')
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and part.value == "*":
            parent = source.parent(part)
            if isinstance(parent, ast.keyword) and parent.arg and "method" in parent.arg:
                continue
            grand = source.parent(parent) if parent is not None else None
            if (
                isinstance(grand, ast.keyword)
                and grand.arg
                and "origin" not in grand.arg
                and grand.arg != "resources"
            ):
                continue
            hosts = isinstance(node, ast.Assign) and "HOSTS" in source.segment(node.targets[0])
            change.edits += replace(
                source, part, '"www.example.com"' if hosts else '"https://www.example.com"'
            ).edits
    if (
        not change.edits
        and isinstance(node, ast.Call)
        and not any(k.arg in {"origins", "resources"} for k in node.keywords)
    ):
        place = source.place(node)
        at = (place.end, place.end_column - 1)
        comma = ", " if node.args or node.keywords else ""
        change.edits.append((*at, *at, f'{comma}origins=["https://www.example.com"]'))
    return change if change.edits else None
