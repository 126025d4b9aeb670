"""Settings of web applications and of connections."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

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
