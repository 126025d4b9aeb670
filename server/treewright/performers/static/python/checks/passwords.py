"""Passwords and secrets: their rules, how they are compared, what a login tells."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.python.checks.web import head

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit


_STRONG = re.compile(
    r"(?i)(hmac|digest\(|hexdigest|signature|\bsig\b|_sig\b|mac\b|csrf|api_?key|secret|password_?hash|hash(ed)?_?(pw|password)|auth_?token|reset_?token|session_?token|access_?token)"
)
_WEAK = re.compile(
    r"(?i)(^|[._])(token|password|passwd|pwd|pw|otp|checksum|code|key|hash\w*|pass_?hash|digest)(\b|$)"
)


@check("secret-compared-in-variable-time", ast.Compare)
def compared(unit: "Unit", node: ast.Compare) -> None:
    """`digest == request_signature`, `token == stored_token`."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)) or unit.source.is_test:
        return
    left, right = node.left, node.comparators[0]
    if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
        return
    texts = [unit.source.segment(part) for part in (left, right)]
    if isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):  # one character after the other
        texts = [text.partition("[")[0] for text in texts] if texts[0].endswith("]") else texts
    if any(text.isupper() or text.startswith(("len(", "type(", "tokenize.")) for text in texts):
        return
    if re.search(r"\bsignal\.|cache|_SIG", " ".join(texts)):
        return
    secretive = re.search(r"hmac|hashlib|secrets|request|password|jwt|crypt|api_?key", unit.source.text)
    if (secretive and any(_STRONG.search(text) for text in texts)) or (
        all(_WEAK.search(text) for text in texts)
        and any(re.search(r"(?i)pass|pwd|pw$|otp|token", text) for text in texts)
        and not unit.source.library
    ):
        strength = 0
    else:
        return
    edit: tuple[tuple[int, int, int, int, str], ...] = ()
    place = unit.source.place(node)
    negation = "not " if isinstance(node.ops[0], ast.NotEq) else ""
    if place.line == place.end and not isinstance(left, ast.Subscript):
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
    hashed = re.search(r"(?i)hash|crypt|scrypt|pbkdf2|argon", text)
    strength = -1 if hashed else 0
    unit.report(
        "weak-password-rule", head(node), what=node.name, facts=(("shown", node.name),), strength=strength
    )


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
    logs_in = re.search(r"(?i)log_?in|sign_?in|auth|verify|check|token", node.name) or not unit.source.library
    if unknown and wrong and unknown != wrong and logs_in:
        unit.report(
            "login-error-tells-which",
            head(node),
            what=node.name,
            facts=(("shown", unknown[:50]), ("other", wrong[:50])),
        )
