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
    r"refund|payment|pay|sudo|exec(ute)?|command|cmd|backup|restore|config|settings|users?|accounts?|invoices?|orders?|salary|"
    r"medical|records?|bank|balance|private|secret|internal|upload|modify|update|edit|create_user|add_user|profile)([/_\-.<]|$)"
)
_DESTRUCTIVE = re.compile(
    r"(?i)(\bdelete\b|\.delete\(|\bdrop\b|remove|unlink|rmtree|shutdown|os\.system|subprocess|commit\(|execute\(|\.save\(|\.update\(|"
    r"insert|reboot|kill\(|setuid|del \w+\[|\.pop\(|write\()"
)
_AUTH = re.compile(
    r"(?i)(login_required|auth|current_user|permission|session\b|session\[|token|is_admin|is_staff|role|jwt|api_?key|credential|"
    r"abort\(40[13]|HTTP_?40[13]|,\s*40[13]\b|verify|password|login|protected|require|secured|g\.user|request\.user|identity|csrf_protect|"
    r"Depends\(|Security\(|PermissionDenied|check_access|before_request|middleware)"
)


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
    text = "\n".join(
        unit.source.lines[
            (node.decorator_list[0].lineno if node.decorator_list else node.lineno) - 1 : node.end_lineno
        ]
    )
    if not _CRITICAL.search(name.replace(" ", "/")):
        return
    strong = re.search(
        r"(?i)(^|[/_\-.])(admin|delete|remove|destroy|drop|shutdown|restart|reboot|wipe|purge|grant|promote|transfer|withdraw|exec|command|cmd|backup|config|private|secret|internal)",
        name,
    )
    acts = _DESTRUCTIVE.search(text)
    if not strong and not acts:
        return
    bare = re.sub(r"\bdb\.session\b|[\"'].*?[\"']", lambda m: " " * len(m.group()), text)
    found = _AUTH.search(bare)
    module = re.search(
        r"before_request|LoginRequiredMixin|middleware\(|dependencies\s*=\s*\[", unit.source.text
    )
    shown = (("shown", node.name), ("route", entry.route))
    if found or module:
        line = (
            (node.decorator_list[0].lineno if node.decorator_list else node.lineno)
            + text[: found.start()].count("\n")
            if found
            else node.lineno
        )
        if found:
            unit.report("no-login-on-critical-route", _head(node), what=entry.text, facts=shown,
                        safe="a check of who asks stands here", safe_line=line)  # fmt: skip
        return
    writes = re.search(
        r"(?i)update\s|delete\s|insert\s|\.delete\(|\.save\(|commit\(|\.update\(|\.remove\(|write\(", text
    )
    joins = re.search(r"(?i)register|sign_?up|login|create_user|add_user|contact|subscribe", name)
    strength = 0 if strong and acts else -1 if writes and not joins and not unit.source.library else -2
    unit.report("no-login-on-critical-route", _head(node), what=entry.text, facts=shown, strength=strength)


def _head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
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


_SETTINGS: tuple[tuple[str, str, object], ...] = (
    ("WTF_CSRF_ENABLED", "forgery-protection-off", False),
    ("WTF_CSRF_CHECK_DEFAULT", "forgery-protection-off", False),
    ("CSRF_ENABLED", "forgery-protection-off", False),
    ("DEBUG", "debug-mode-on", True),
    ("FLASK_DEBUG", "debug-mode-on", True),
    ("DEBUG_PROPAGATE_EXCEPTIONS", "debug-mode-on", True),
    ("TEMPLATE_DEBUG", "debug-mode-on", True),
    ("SESSION_COOKIE_SECURE", "cookie-without-protection", False),
    ("SESSION_COOKIE_HTTPONLY", "cookie-without-protection", False),
    ("CSRF_COOKIE_SECURE", "cookie-without-protection", False),
    ("REMEMBER_COOKIE_HTTPONLY", "cookie-without-protection", False),
    ("CORS_ORIGIN_ALLOW_ALL", "any-origin-allowed", True),
    ("CORS_ALLOW_ALL_ORIGINS", "any-origin-allowed", True),
    ("SECURE_SSL_REDIRECT", "clear-text-protocol", False),
    ("verify_ssl", "tls-verification-off", False),
    ("check_hostname", "tls-verification-off", False),
    ("verify", "tls-verification-off", False),
    ("PYTHONHTTPSVERIFY", "tls-verification-off", "0"),
    ("CURL_CA_BUNDLE", "tls-verification-off", ""),
    ("SSL_VERIFY", "tls-verification-off", False),
    ("autoescape", "autoescape-off", False),
    ("debug", "debug-mode-on", True),
)


@check("debug-mode-on", ast.Assign)
def settings(unit: "Unit", node: ast.Assign) -> None:
    """`DEBUG = True`, `app.config["WTF_CSRF_ENABLED"] = False`, `context.check_hostname = False`."""
    if unit.source.is_test or not isinstance(
        node.value, (ast.Constant, ast.Attribute, ast.Name, ast.List, ast.Tuple)
    ):
        return
    target = node.targets[0]
    name = ""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        name = str(target.slice.value)
    elif isinstance(target, ast.Attribute):
        name = target.attr
    elif isinstance(target, ast.Name) and unit.source.function_of(node) is None:
        name = target.id
    shown = unit.source.segment(node)[:80]
    if isinstance(node.value, ast.Constant):
        for key, rule, bad in _SETTINGS:
            if (
                name == key
                and type(node.value.value) is type(bad)
                and node.value.value == bad
                and _plausible(unit, target, key)
            ):
                unit.report(rule, node, what=shown, strength=_optional(unit, node))
            elif (
                name == key
                and isinstance(bad, bool)
                and node.value.value is (not bad)
                and _plausible(unit, target, key)
            ):
                unit.report(rule, node, what=shown, safe=f"`{key}` is set the safe way")
    _named_settings(unit, node, name, shown)


def _named_settings(unit: "Unit", node: ast.Assign, name: str, shown: str) -> None:
    """Settings whose value is a name or a list."""
    text = unit.source.segment(node.value)
    if name == "verify_mode" and text.endswith("CERT_NONE"):
        unit.report("tls-verification-off", node, what=shown, strength=_optional(unit, node))
    elif name == "verify_mode" and text.endswith("CERT_REQUIRED"):
        unit.report("tls-verification-off", node, what=shown, safe="a certificate is required")
    elif name == "_create_default_https_context" and "unverified" in text:
        unit.report("tls-verification-off", node, what=shown)
    elif name == "ALLOWED_HOSTS" and "'*'" in text.replace('"', "'"):
        unit.report("any-host-allowed", node, what=shown)
    elif name == "minimum_version" and re.search(r"SSLv3|TLSv1$|TLSv1_1", text):
        unit.report("old-tls-version", node, what=shown)


def _optional(unit: "Unit", node: ast.AST) -> int:
    """In a package, a switch under a condition is the caller's to choose."""
    current = unit.source.parent(node)
    while current is not None:
        if isinstance(current, ast.If) and unit.source.library:
            return -1
        current = unit.source.parent(current)
    return 0


def _plausible(unit: "Unit", target: ast.expr, key: str) -> bool:
    """Lower-case names mean the setting only on an object that has it."""
    if key.isupper():
        if unit.source.library and not re.search(
            r"(^|/)(settings|config)[^/]*\.py$|/settings/", unit.source.path
        ):
            return False
        return key != "DEBUG" or not unit.source.library or not isinstance(target, ast.Name)
    owner = unit.source.segment(target.value) if isinstance(target, ast.Attribute) else ""
    if key == "verify":
        return bool(re.search(r"(?i)session|client|sess|\bs$", owner))
    if key == "debug":
        return bool(re.search(r"(?i)\bapp$", owner))
    return bool(owner) and owner != "self"


@check("any-origin-allowed", ast.Assign)
def origin_header(unit: "Unit", node: ast.Assign) -> None:
    """`response.headers["Access-Control-Allow-Origin"] = "*"`."""
    target = node.targets[0]
    if (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and str(target.slice.value).lower() == "access-control-allow-origin"
    ):
        text = unit.source.segment(node.value)
        if text.strip("\"'") == "*" or re.search(r"(?i)request\.|origin", text):
            unit.report("any-origin-allowed", node, what=unit.source.segment(node)[:60])


@check("secret-compared-in-variable-time", ast.Compare)
def compared(unit: "Unit", node: ast.Compare) -> None:
    """`digest == request_signature`, `token == stored_token`."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)) or unit.source.is_test:
        return
    left, right = node.left, node.comparators[0]
    if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
        return
    texts = [unit.source.segment(part) for part in (left, right)]
    if any(text.isupper() or text.startswith(("len(", "type(", "tokenize.")) for text in texts):
        return
    strong = re.compile(
        r"(?i)(hmac|digest\(|hexdigest|signature|\bsig\b|_sig\b|mac\b|csrf|api_?key|secret|password_?hash|hash(ed)?_?(pw|password)|auth_?token|reset_?token|session_?token|access_?token)"
    )
    weak = re.compile(
        r"(?i)(^|[._])(token|password|passwd|pwd|otp|checksum|code|key|hash\w*|pass_?hash|digest)(\b|$)"
    )
    if re.search(r"\bsignal\.|cache|_SIG", " ".join(texts)):
        return
    secretive = re.search(r"hmac|hashlib|secrets|request|password|jwt|crypt|api_?key", unit.source.text)
    if (secretive and any(strong.search(text) for text in texts)) or (
        all(weak.search(text) for text in texts)
        and any(re.search(r"(?i)pass|pwd|otp|token", text) for text in texts)
        and not unit.source.library
    ):
        strength = 0
    else:
        return
    edit: tuple[tuple[int, int, int, int, str], ...] = ()
    place = unit.source.place(node)
    negation = "not " if isinstance(node.ops[0], ast.NotEq) else ""
    if place.line == place.end:
        edit = (
            (
                place.line,
                place.column,
                place.end,
                place.end_column,
                f"{negation}hmac.compare_digest({texts[0]}, {texts[1]})",
            ),
        )
    unit.report("secret-compared-in-variable-time", node, what=unit.source.segment(node)[:80], strength=strength,
                facts=(("shown", texts[0][:60]),), edits=edit, imports=("import hmac",))  # fmt: skip


@check("secret-compared-in-variable-time", ast.Call)
def compared_well(unit: "Unit", node: ast.Call) -> None:
    """`hmac.compare_digest(a, b)`."""
    name = unit.source.dotted(node.func)
    if name in {"hmac.compare_digest", "secrets.compare_digest"}:
        unit.report(
            "secret-compared-in-variable-time",
            node,
            what=name,
            safe="the comparison takes the same time for every value",
        )


@check("weak-password-rule", ast.Compare)
def short_password(unit: "Unit", node: ast.Compare) -> None:
    """`len(password) < 4`: the bound is below eight."""
    if (
        len(node.ops) != 1
        or not isinstance(node.left, ast.Call)
        or not isinstance(node.comparators[0], ast.Constant)
    ):
        return
    if unit.source.dotted(node.left.func) != "len" or not node.left.args:
        return
    bound = node.comparators[0].value
    if not isinstance(bound, int) or not re.search(
        r"(?i)pass(word|wd)?|pwd", unit.source.segment(node.left.args[0])
    ):
        return
    least = bound + (1 if isinstance(node.ops[0], (ast.Gt, ast.LtE)) else 0)
    if isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.GtE, ast.Gt)) and 0 < least < 8:
        unit.report(
            "weak-password-rule",
            node,
            what=unit.source.segment(node),
            facts=(("shown", unit.source.segment(node)),),
        )
    elif isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.GtE, ast.Gt)) and least >= 8:
        unit.report("weak-password-rule", node, what=unit.source.segment(node), safe="at least eight characters are required",
                    facts=(("shown", unit.source.segment(node)),))  # fmt: skip


@check("weak-password-rule", ast.FunctionDef, ast.AsyncFunctionDef)
def no_password_rule(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """A registration or change that takes any password."""
    if unit.source.is_test or unit.source.library:
        return
    if not re.search(
        r"(?i)(register|sign_?up|create_(user|account)|add_user|set_password|change_password|new_user|reset_password|update_password)",
        node.name,
    ):
        return
    text = unit.source.segment(node)
    if not re.search(r"(?i)password|passwd|pwd", text) or re.search(
        r"(?i)len\(|re\.(match|search|fullmatch)|validate|strength|policy|check_password|is_valid|form\.|validators",
        text,
    ):
        return
    unit.report("weak-password-rule", _head(node), what=node.name, facts=(("shown", node.name),), strength=0)


@check("login-error-tells-which", ast.FunctionDef, ast.AsyncFunctionDef)
def telling(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """A login that says whether the name or the password was wrong."""
    if unit.source.is_test:
        return
    texts = [
        p.value
        for p in ast.walk(node)
        if isinstance(p, ast.Constant) and isinstance(p.value, str) and len(p.value) < 120
    ]
    unknown = next(
        (
            t
            for t in texts
            if re.search(
                r"(?i)(user(name)?|account|email|login).{0,20}(not|n't|no such|unknown|does not|invalid|incorrect|wrong)|no such user|(unknown|invalid|wrong|incorrect) (user|email|account|login)",
                t,
            )
        ),
        None,
    )
    wrong = next(
        (
            t
            for t in texts
            if re.search(
                r"(?i)(wrong|incorrect|invalid|bad).{0,15}pass|pass\w*.{0,15}(wrong|incorrect|invalid|not match|mismatch)",
                t,
            )
        ),
        None,
    )
    if unknown and wrong and unknown != wrong:
        unit.report(
            "login-error-tells-which",
            _head(node),
            what=node.name,
            facts=(("shown", unknown[:50]), ("other", wrong[:50])),
        )


@check("host-checked-by-substring", ast.Compare)
def substring_host(unit: "Unit", node: ast.Compare) -> None:
    """`"example.com" in url`."""
    if (
        len(node.ops) == 1
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and isinstance(node.left, ast.Constant)
    ):
        text = node.left.value
        subject = unit.source.segment(node.comparators[0])
        if (
            isinstance(text, str)
            and re.fullmatch(r"(https?://)?([\w-]+\.)+(com|org|net|io|edu|gov|dev|app|co|local)/?", text)
            and re.search(
                r"(?i)url|uri|host|link|target|referer|redirect|domain|origin|netloc|next|address", subject
            )
        ):
            unit.report(
                "host-checked-by-substring",
                node,
                what=unit.source.segment(node)[:60],
                facts=(("shown", text),),
            )


@check("host-checked-by-substring", ast.Call)
def suffix_host(unit: "Unit", node: ast.Call) -> None:
    """`url.startswith("https://example.com")`, `host.endswith("example.com")`."""
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in {"startswith", "endswith"}
        or not node.args
    ):
        return
    argument = node.args[0]
    text = argument.value if isinstance(argument, ast.Constant) else None
    subject = unit.source.segment(node.func.value)
    if not isinstance(text, str) or not re.search(
        r"(?i)url|uri|host|link|target|domain|netloc|origin|redirect|next|referer", subject
    ):
        return
    if (node.func.attr == "startswith" and re.fullmatch(r"https?://[\w.-]+\.\w{2,}", text)) or (
        node.func.attr == "endswith"
        and re.fullmatch(r"[\w-]+(\.[\w-]+)+", text)
        and text.rpartition(".")[2] in {"com", "org", "net", "io", "edu", "gov", "local"}
    ):
        unit.report(
            "host-checked-by-substring", node, what=unit.source.segment(node)[:60], facts=(("shown", text),)
        )
