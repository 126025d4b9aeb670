"""Web applications: who may call what, settings, cookies, tokens, passwords."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.python.entries import entry_of, web_framework

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_CRITICAL = re.compile(
    r"(?i)(^|[/_\-.])(admin|delete|remove|destroy|drop|shutdown|restart|reboot|reset|wipe|purge|grant|promote|transfer|withdraw|"
    r"refund|payment|pay|password|sudo|exec(ute)?|command|cmd|backup|restore|config|settings|users?|accounts?|invoices?|orders?|salary|"
    r"medical|records?|bank|balance|private|secret|internal|upload|modify|update|edit|create_user|add_user|profile)([/_\-.<]|$)"
)
_DESTRUCTIVE = re.compile(
    r"(?i)(\bdelete\b|\.delete\(|\bdrop\b|remove|unlink|rmtree|shutdown|os\.system|subprocess|commit\(|execute\(|\.save\(|\.update\(|"
    r"insert|reboot|kill\(|setuid|del \w+\[|\.pop\(|write\()"
)
_AUTH = re.compile(
    r"(?i)(login_required|auth|current_user|permission|session\b|session\[|token|is_admin|is_staff|role|jwt|api_?key|credential|"
    r"abort\(40[13]|HTTP_?40[13]|,\s*40[13]\b|verify|(old|current)_?pass|passw\w*\W{1,4}[!=]=|[!=]=\s*[\w.]*passw|login\b|protected|require|secured|g\.user|request\.user|identity|csrf_protect|"
    r"Depends\(|Security\(|PermissionDenied|check_access|before_request|middleware)"
)


_STRONG = re.compile(
    r"(?i)(^|[/_\-.])(admin|delete|remove|destroy|drop|shutdown|restart|reboot|wipe|purge|grant|promote|transfer|withdraw|"
    r"exec|command|cmd|backup|private|secret|internal)|(change|set|update)_?password"
)
_ASKED_FOR_ALL = re.compile(r"before_request|LoginRequiredMixin|middleware\(|dependencies\s*=\s*\[")
"""Ways in which a module asks who it is for all of its routes at once."""
_WRITES = re.compile(
    r"(?i)update\s|delete\s|insert\s|\.delete\(|\.save\(|commit\(|\.update\(|\.remove\(|write\("
)
_OPEN_TO_ALL = re.compile(
    r"(?i)register|sign_?up|login|create_user|add_user|contact|subscribe|upload|forgot|reset_password|profile$"
)
"""Routes that are meant for those who are not logged in, or that many applications leave open."""


@check("no-login-on-critical-route", ast.FunctionDef, ast.AsyncFunctionDef)
def unprotected(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """A route named and written like something only some may do, without any check."""
    if unit.source.is_test or not web_framework(unit.source):
        return
    parent = unit.source.parent(node)
    entry = entry_of(unit.source, node, parent if isinstance(parent, ast.ClassDef) else None)
    if entry.strength < 3 or not entry.web or entry.web == "lambda":
        return
    name = f"{entry.route} {node.name}"
    text = function_text(unit, node)
    if not _CRITICAL.search(name.replace(" ", "/")):
        return
    strong, acts = _STRONG.search(name), _DESTRUCTIVE.search(text)
    if not strong and not acts:
        return
    bare = re.sub(r"\bdb\.session\b|[\"'].*?[\"']", lambda m: " " * len(m.group()), text)
    found = _AUTH.search(bare)
    shown = (("shown", node.name), ("route", entry.route))
    if found:
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        line = first + text[: found.start()].count("\n")
        unit.report("no-login-on-critical-route", head(node), what=entry.text, facts=shown,
                    safe="a check of who asks stands here", safe_line=line)  # fmt: skip
        return
    if _ASKED_FOR_ALL.search(unit.source.text):
        return
    writes = _WRITES.search(text) and not _OPEN_TO_ALL.search(name) and not unit.source.library
    strength = 0 if strong and acts else -1 if writes else -2
    unit.report("no-login-on-critical-route", head(node), what=entry.text, facts=shown, strength=strength)


def function_text(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function's lines, decorators first."""
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return "\n".join(unit.source.lines[first - 1 : node.end_lineno])


def head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    """A node that stands for the `def` line alone."""
    return ast.copy_location(
        ast.Name("def", ast.Load()),
        ast.Name("x", ast.Load(), lineno=node.lineno, col_offset=node.col_offset, end_lineno=node.lineno,
                 end_col_offset=node.col_offset + 4 + len(node.name)),
    )  # fmt: skip


@check("access-decided-by-cookie", ast.If)
def decided_by_client(unit: "Unit", node: ast.If) -> None:
    """`if request.cookies.get("admin") == "1"`: the client says that it may."""
    text = unit.source.segment(node.test)
    if re.search(
        r"(?i)(request\.(cookies|COOKIES|headers)|getheader|environ\[['\"]HTTP_|\.get_cookie\().{0,30}(admin|role|auth(?!orization)|logged|is_?user|user_?type|"
        r"privilege|level|permission|access|referer|forwarded|debug|REMOTE)", text,
    ):  # fmt: skip
        unit.report(
            "access-decided-by-cookie",
            node.test,
            what=text[:60],
            facts=(("shown", text.split("\n")[0][:80]),),
        )


@check("access-decided-by-cookie", ast.Assign)
def decided_later(unit: "Unit", node: ast.Assign) -> None:
    """`role = request.cookies.get("role")`, then `if role == "admin"`."""
    text = unit.source.segment(node.value)
    if not re.search(r"(?i)request\.(cookies|COOKIES)\b|get_cookie\(", text) or not isinstance(
        node.targets[0], ast.Name
    ):
        return
    name = node.targets[0].id
    if not re.search(
        r"(?i)admin|role|logged|auth|level|privilege|permission|access|is_user|user_type", f"{name} {text}"
    ):
        return
    function = unit.source.function_of(node)
    if function is None or re.search(
        r"(?i)unsign|loads\(|verify|decode\(|get_signed_cookie", unit.source.segment(function)
    ):
        return
    for part in ast.walk(function):
        if isinstance(part, (ast.If, ast.IfExp)) and any(
            isinstance(p, ast.Name) and p.id == name for p in ast.walk(part.test)
        ):
            shown = unit.source.segment(part.test).split("\n")[0][:80]
            unit.report("access-decided-by-cookie", part.test, what=shown, facts=(("shown", shown),))
            return


@check("forgery-protection-off", ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
def exempt(unit: "Unit", node: ast.FunctionDef | ast.ClassDef) -> None:
    """`@csrf_exempt`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        text = unit.source.segment(decorator)
        if (
            unit.source.dotted(target).rpartition(".")[2].lstrip("~") in {"csrf_exempt", "exempt"}
            or "csrf_exempt" in text
        ):
            unit.report("forgery-protection-off", decorator, what=f"@{text}"[:60])
