"""Who may reach which record, by what a request may prove its rights, and what an answer gives away."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.python.checks.web import function_text, head
from treewright.performers.static.python.entries import Entry, entry_of

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

Function = ast.FunctionDef | ast.AsyncFunctionDef
_PERSONAL = re.compile(
    r"(?i)(invoice|order|account|profile|user|customer|member|patient|employee|document|message|payment|medical|record|salary|"
    r"payslip|ticket|note|address|transaction|statement|booking|reservation|subscription|wallet|address|contract|prescription|"
    r"mail|chat|file|upload|attachment|receipt|card|secret|private|report|loan|claim|grade|diary|photo|backup)s?$"
)
_ASKS_WHOSE = re.compile(
    r"(?i)(request\.user|current_user|\bg\.user|owner|session\[|session\.get|user_id\s*=\s*(session|current|g\.)|is_staff|is_admin|"
    r"is_superuser|permission|has_perm|check_(access|owner|perm)|\bauthor|tenant|allowed|identity|claims|abort\(40[13]|"
    r"PermissionDenied|Forbidden|Depends\(|get_queryset|verify_|authoriz|created_by|belongs)"
)


def route_of(unit: "Unit", node: Function) -> Entry | None:
    """How a web request reaches a function, or None when none does."""
    parent = unit.source.parent(node)
    entry = entry_of(unit.source, node, parent if isinstance(parent, ast.ClassDef) else None)
    return entry if entry.strength >= 3 and entry.web and entry.web != "lambda" else None


@check("record-of-anyone", ast.FunctionDef, ast.AsyncFunctionDef)
def foreign_record(unit: "Unit", node: Function) -> None:
    """A route that looks a personal record up by the id in its address, whoever asks."""
    if unit.source.is_test or unit.source.library or route_of(unit, node) is None:
        return
    text = function_text(unit, node)
    bare = re.sub(r"(@\S*)?login_required\b|[\"'].*?[\"']", lambda hit: " " * len(hit.group()), text)
    asked = _ASKS_WHOSE.search(bare)
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        model = _model_by_id(unit, call)
        if not model or not _PERSONAL.search(model):
            continue
        shown = (("shown", model),)
        if asked:
            line = _first_line(node) + bare[: asked.start()].count("\n")
            unit.report("record-of-anyone", call, what=model, safe="the record is compared with who asks",
                        safe_line=line, facts=shown)  # fmt: skip
        else:
            unit.report("record-of-anyone", call, what=model, facts=shown)
        return


def _model_by_id(unit: "Unit", call: ast.Call) -> str:
    """The model of `Model.objects.get(pk=pk)`, `get_object_or_404(Model, id=x)`, `Model.query.get(x)`, `session.get(Model, x)`."""
    func = unit.source.segment(call.func)
    ids = [k for k in call.keywords if k.arg in {"pk", "id"} and not isinstance(k.value, ast.Constant)]
    found = re.match(r"(\w+)\.objects\.get$", func)
    if found and ids:
        return found[1]
    if func.endswith("get_object_or_404") and call.args and ids:
        return unit.source.segment(call.args[0])
    found = re.match(r"(\w+)\.query\.get(_or_404)?$", func)
    if found and len(call.args) == 1 and not isinstance(call.args[0], ast.Constant):
        return found[1]
    if (
        re.search(r"(^|\.)session\.get$", func)
        and len(call.args) == 2
        and not isinstance(call.args[1], ast.Constant)
    ):
        return unit.source.segment(call.args[0])
    return ""


def _first_line(node: Function) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


_FOREIGN_ROLE = re.compile(
    r"(?i)request\.(args|form|GET|POST|query|values|json|params|forms|query_params|data|headers|get_json\(\))"
    r"[\w.\[\]()\"', -]{0,30}(is_?admin|role|privilege|is_?staff|is_?superuser|is_?authenticated|is_?logged)"
)
_CLIENT_ADDRESS = re.compile(
    r"(?i)(request\.(headers|META|environ)|getheader|headers\.get).{0,40}(forwarded|real.?ip|client.?ip|referer)"
)


@check("access-decided-by-cookie", ast.If)
def decided_by_request(unit: "Unit", node: ast.If) -> None:
    """`if request.args["role"] == "admin"`: the request says what it may."""
    text = unit.source.segment(node.test)
    if (
        _FOREIGN_ROLE.search(text)
        and re.search(r"==|!=|\bis\b|\bin\b|^[^=<>]*$", text)
        and not unit.source.is_test
    ):
        shown = text.split("\n")[0][:80]
        unit.report("access-decided-by-cookie", node.test, what=shown, facts=(("shown", shown),))


@check("access-decided-by-cookie", ast.Assign)
def decided_by_address(unit: "Unit", node: ast.Assign) -> None:
    """`ip = request.headers["X-Forwarded-For"]`, then `if ip == "10.0.0.1"`."""
    text = unit.source.segment(node.value)
    foreign = _CLIENT_ADDRESS.search(text) or _FOREIGN_ROLE.search(text)
    function = unit.source.function_of(node)
    if not foreign or not isinstance(node.targets[0], ast.Name) or function is None or unit.source.is_test:
        return
    if unit.source.library:
        return
    name = node.targets[0].id
    for part in ast.walk(function):
        if isinstance(part, (ast.If, ast.IfExp)) and _compares(part.test, name):
            shown = unit.source.segment(part.test).split("\n")[0][:80]
            unit.report("access-decided-by-cookie", part.test, what=shown, facts=(("shown", shown),))
            return


def _compares(test: ast.expr, name: str) -> bool:
    """A test that compares a name with a text, a setting or a list, not only looks whether it is there."""
    for part in ast.walk(test):
        if not isinstance(part, ast.Compare):
            continue
        sides = [part.left, *part.comparators]
        fixed = any(
            (isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value != "")
            or (isinstance(side, ast.Name) and side.id.isupper())
            or (isinstance(side, (ast.List, ast.Tuple, ast.Set)) and side.elts)
            for side in sides
        )
        if fixed and any(isinstance(side, ast.Name) and side.id == name for side in ast.walk(part)):
            return True
    return False


_OWN_HOST = re.compile(
    r"(?i)request\.(host(_url)?|url_root|base_url)\b|HTTP_(X_FORWARDED_)?HOST|headers(\.get)?[\[(]\s*[\"'](X-Forwarded-)?Host\b"
)


@check("link-made-of-host-header", ast.FunctionDef, ast.AsyncFunctionDef)
def host_in_link(unit: "Unit", node: Function) -> None:
    """A mail with a link whose host the request names."""
    text = function_text(unit, node)
    found = _OWN_HOST.search(text)
    if found is None or unit.source.is_test or unit.source.library:
        return
    mails = re.search(
        r"(?i)send_?mail|sendmail|send_message|EmailMessage|mail\.send|send_reset|MIMEText|send_email", text
    )
    if not mails or not re.search(r"(?i)reset|token|verif|confirm|invite|activat|magic|password", text):
        return
    line = _first_line(node) + text[: found.start()].count("\n")
    anchor = _anchor(unit, node, line, found.group())
    unit.report(
        "link-made-of-host-header", anchor, what=found.group(), facts=(("shown", found.group()[:60]),)
    )


def _anchor(unit: "Unit", node: Function, line: int, text: str) -> ast.AST:
    """The smallest expression on a line that holds a text."""
    best: ast.AST = head(node)
    size = 10**6
    for part in ast.walk(node):
        if isinstance(part, ast.expr) and part.lineno == line and part.end_lineno == line:
            segment = unit.source.segment(part)
            if text in segment and len(segment) < size:
                best, size = part, len(segment)
    return best


@check("login-tried-without-limit", ast.FunctionDef, ast.AsyncFunctionDef)
def unlimited_tries(unit: "Unit", node: Function) -> None:
    """A login route that counts no failures."""
    if (
        unit.source.is_test
        or unit.source.library
        or not re.search(r"(?i)log_?in|sign_?in|authenticate", node.name)
    ):
        return
    text = function_text(unit, node)
    if route_of(unit, node) is None or not re.search(r"(?i)passw|pwd", text):
        return
    bounded = re.search(
        r"(?i)limit|throttl|attempt|lock(ed|out)|captcha|fail(ed|ure)s?_|axes|rate", unit.source.text
    )
    if bounded is None:
        unit.report(
            "login-tried-without-limit",
            head(node),
            what=node.name,
            strength=-1,
            facts=(("shown", node.name),),
        )


_GIVEN_AWAY = re.compile(
    r"(?i)^(pass(word|wd|phrase)(_?hash)?|pwd|hashed_password|secret(_key)?|ssn|social_security(_number)?|credit_card(_number)?|"
    r"card_number|cvv|api_?key|private_key|access_token|refresh_token|security_answer|pin)$"
)


@check("secret-in-response", ast.Return)
def given_away(unit: "Unit", node: ast.Return) -> None:
    """A route whose answer holds a stored password, number or key."""
    function = unit.source.function_of(node)
    if node.value is None or function is None or unit.source.is_test or unit.source.library:
        return
    if route_of(unit, function) is None:
        return
    whole = re.search(
        r"\b(dict\((\w+\.)?app\.config\)|app\.config\.items\(\)|vars\(settings\)|dir\(settings\)|settings\.__dict__)",
        unit.source.segment(node.value),
    )
    if whole:
        facts = (("source", f"`{whole[1]}`"), ("sink", "the response"))
        unit.report("environment-shown-in-response", node, what="the response", facts=facts)
    for part in ast.walk(node.value):
        if not isinstance(part, ast.Dict):
            continue
        for key, value in zip(part.keys, part.values, strict=True):
            name = value.attr if isinstance(value, ast.Attribute) else ""
            if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
                name = str(value.slice.value)
            if isinstance(key, ast.Constant) and _GIVEN_AWAY.match(name):
                unit.report("secret-in-response", value, what=name, facts=(("shown", name),))
                return


_LONG_LIVED = {
    "PERMANENT_SESSION_LIFETIME": 31, "SESSION_COOKIE_AGE": 60, "JWT_ACCESS_TOKEN_EXPIRES": 7, "REMEMBER_COOKIE_DURATION": 366,
}  # fmt: skip
"""Settings that bound a session, with the days from which the bound is none (OWASP session guidance: days, not months)."""


@check("session-without-end", ast.Assign)
def session_lifetime(unit: "Unit", node: ast.Assign) -> None:
    """`app.config["PERMANENT_SESSION_LIFETIME"] = timedelta(days=3650)`, `JWT_ACCESS_TOKEN_EXPIRES = False`."""
    target = node.targets[0]
    name = ""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        name = str(target.slice.value)
    elif isinstance(target, (ast.Name, ast.Attribute)):
        name = unit.source.segment(target).rpartition(".")[2]
    most = _LONG_LIVED.get(name.upper() if name == "permanent_session_lifetime" else name)
    days = _days(unit, node.value) if most is not None else None
    if most is not None and days is not None and days > most:
        unit.report(
            "session-without-end", node, what=name, facts=(("shown", unit.source.segment(node)[:80]),)
        )


def _days(unit: "Unit", node: ast.expr) -> float | None:
    """A duration in days: `timedelta(days=...)`, a number of seconds, or False for none."""
    if isinstance(node, ast.Constant) and node.value is False:
        return 10**6
    if isinstance(node, ast.Call) and unit.source.dotted(node.func).endswith("timedelta"):
        factors = {"days": 1.0, "weeks": 7.0, "hours": 1 / 24}
        numbers = [(k.arg or "", k.value) for k in node.keywords]
        numbers += [("days", argument) for argument in node.args[:1]]
        return sum(factors.get(unit_name, 0.0) * (number(value) or 0.0) for unit_name, value in numbers)
    seconds = number(node)
    return seconds / 86_400 if seconds is not None else None


def number(node: ast.expr) -> float | None:
    """A constant number, products included."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return float(node.value) if abs(node.value) < 10**15 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = number(node.left), number(node.right)
        return left * right if left is not None and right is not None else None
    return None


@check("session-without-end", ast.Call)
def token_lifetime(unit: "Unit", node: ast.Call) -> None:
    """`jwt.encode({"sub": user}, key)`: the claims name no end."""
    if (
        unit.source.dotted(node.func) not in {"jwt.encode", "jose.jwt.encode"}
        or not node.args
        or unit.source.is_test
    ):
        return
    claims: ast.AST | None = node.args[0]
    function: ast.AST = unit.source.function_of(node) or unit.source.tree
    if isinstance(claims, ast.Name):
        name = claims.id
        text = unit.source.segment(function) if isinstance(function, ast.stmt) else unit.source.text
        assigned = [
            part.value for part in ast.walk(function)
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and part.targets[0].id == name
        ]  # fmt: skip
        claims = assigned[0] if len(assigned) == 1 else None
        if re.search(rf"{name}(\[|\.update|\.setdefault)", text):
            return
    if not isinstance(claims, ast.Dict) or not claims.keys or any(key is None for key in claims.keys):
        return
    names = {key.value for key in claims.keys if isinstance(key, ast.Constant)}
    if "exp" in names:
        unit.report("session-without-end", node, what="jwt.encode", safe="the claims name an end",
                    facts=(("shown", "jwt.encode"),))  # fmt: skip
    else:
        unit.report("session-without-end", node, what="jwt.encode", facts=(("shown", "jwt.encode"),))


@check("attributes-set-from-input", ast.ClassDef)
def all_fields(unit: "Unit", node: ast.ClassDef) -> None:
    """`class Meta: fields = "__all__"` of a model form or serializer."""
    bases = " ".join(unit.source.segment(base) for base in node.bases)
    if (
        unit.source.is_test
        or unit.source.library
        or not re.search(r"ModelForm|ModelSerializer|ModelSchema", bases)
    ):
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and unit.source.segment(part.targets[0]) == "fields":
            text = unit.source.segment(part.value)
            facts = (("source", f"What `{node.name}` is given"), ("sink", "fields"))
            if text.strip("\"'") == "__all__":
                unit.report("attributes-set-from-input", part, what="fields", facts=facts)
            elif isinstance(part.value, (ast.List, ast.Tuple)):
                unit.report(
                    "attributes-set-from-input",
                    part,
                    what="fields",
                    safe="the fields are listed",
                    facts=facts,
                )
            return


@check("spreadsheet-cell-from-input", ast.Call)
def cells(unit: "Unit", node: ast.Call) -> None:
    """A route that writes stored texts into a CSV answer as they are."""
    function = unit.source.function_of(node)
    if (
        function is None
        or unit.source.library
        or unit.source.is_test
        or not isinstance(node.func, ast.Attribute)
    ):
        return
    if node.func.attr != "writerow" or route_of(unit, function) is None or not node.args:
        return
    text = function_text(unit, function)
    if re.search(r"startswith\(|lstrip\(|escape|sanit|defuse|[\"']'[\"']\s*\+|[=+@-]{3,}", text):
        return
    row = node.args[0]
    stored = [
        part
        for part in ast.walk(row)
        if isinstance(part, ast.Attribute) and not re.search(r"(^|_)(id|at|date|count|total)$", part.attr)
    ]
    if isinstance(row, (ast.List, ast.Tuple)) and stored:
        facts = (("source", "A stored text"), ("sink", "writerow"))
        unit.report("spreadsheet-cell-from-input", node, what="writerow", facts=facts)


@check("change-without-forgery-check", ast.FunctionDef, ast.AsyncFunctionDef)
def forged(unit: "Unit", node: Function) -> None:
    """A Flask route that changes what belongs to the session's user, with nothing against requests of other sites."""
    entry = route_of(unit, node)
    if entry is None or entry.web not in {"flask", "bottle"} or unit.source.is_test or unit.source.library:
        return
    text = function_text(unit, node)
    if not re.search(r"session\[|session\.get\(|current_user|get_cookie\(|cookies\.get\(", text):
        return
    if re.search(
        r"(?i)csrf|samesite|x-requested-with|_token\b|login|sign_?in",
        unit.source.text if "csrf" in unit.source.text.lower() else text,
    ):
        return
    changes = re.search(
        r"(?i)\.delete\(|delete\s+from|update\s+\w+\s+set|insert\s+into|\.commit\(|\.password\s*=|\.email\s*=|balance",
        text,
    )
    named = re.search(
        r"(?i)transfer|password|email|delete|remove|withdraw|pay|purchase|update|change|settings|profile",
        f"{entry.route} {node.name}",
    )
    if changes and named:
        unit.report("change-without-forgery-check", head(node), what=node.name, facts=(("shown", node.name),))
