"""Secrets that stand in the code or in logs, and secrets drawn from a guessable generator."""

import re
from typing import TYPE_CHECKING

from treewright.performers.static.javascript.checks.registry import check
from treewright.performers.static.javascript.node import Node, bare, member_path, property_name, string_of
from treewright.performers.static.python.checks.secrets import looks_secret

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_NAME = re.compile(
    r"(?i)(^|_|[a-z](?=[A-Z]))(pass(word|wd|phrase)?|pwd|secret(_?(key|access_?key|or_?key))?|api_?key|auth_?key|access_?key(_?id)?|private_?key|"
    r"encryption_?key|signing_?key|jwt_?(secret|key)|session_?secret|cookie_?secret|(auth|access|api|bearer|bot|refresh|github|slack)_?token|token|"
    r"client_?secret|db_?pass(word)?|aes_?key|hmac_?key|crypto_?key|master_?key)\d*$"
)
_SHAPES = re.compile(
    r"^(AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|xox[abprs]-[A-Za-z0-9-]{10,}|sk_live_[0-9a-zA-Z]{16,}|"
    r"AIza[0-9A-Za-z_-]{35}|glpat-[\w-]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----\s*\S{16,})"
)
_URL_PASSWORD = re.compile(r"^[a-z][\w+.-]*://[^/\s:@{}]+:([^/\s:@{}$%<>*]+)@[^/\s]+")
_LABEL = re.compile(
    r"(?i)^(password|passwd|secret|token|api.?key|change.?me|your.*|xxx+|\*+|test|example|placeholder|dummy|string|text|bearer|basic)$|^[a-z]+(\.[a-z]+)+$|\s"
)
_RANDOM_FOR = re.compile(
    r"(?i)token|secret|passw|session|csrf|nonce|otp|salt|api_?key|reset|verification|invite_?code|auth|\bpin\b|\biv\b"
)
_LOGGED = re.compile(r"^(console|log|logger|winston)\.(log|info|warn|error|debug)$")
_MASK = re.compile(r"(?i)mask|redact|hash|\.length|\*\*\*|encrypt|hidden|typeof|Boolean\(|!!|\?")


def _name_of(node: Node) -> tuple[str, Node | None]:
    if node.kind == "pair":
        return property_name(node.need("key")) or "", node.field("value")
    if node.kind in {"variable_declarator", "public_field_definition"}:
        return node.need("name").text, node.field("value")
    if node.kind == "field_definition":
        return node.need("property").text, node.field("value")
    left = bare(node.need("left"))
    if left.kind == "subscript_expression":
        return string_of(left.need("index")) or "", node.field("right")
    path = member_path(left)
    return (path or left.text).rpartition(".")[2], node.field("right")


@check(
    "secret-in-code",
    "pair",
    "variable_declarator",
    "assignment_expression",
    "field_definition",
    "public_field_definition",
)
def secrets(unit: "Unit", node: Node) -> None:
    """`const apiKey = "..."`, `password: "..."`, `config.secret = "..."`; read from the environment it is refuted."""
    name, value = _name_of(node)
    if value is None or unit.source.is_test:
        return
    value = bare(value)
    named = _NAME.search(name) is not None
    if (
        named
        and value.text.startswith(("process.env", "import.meta.env", "Deno.env"))
        and "||" not in value.text
    ):
        unit.report("secret-in-code", node, what=name, safe="it is read from the environment", facts=(("shown", name), ("env", "")))  # fmt: skip
        return
    if value.kind == "binary_expression" and value.need("operator").text in {"||", "??"} and named:
        value = bare(value.need("right"))
    text = string_of(value)
    if text is None:
        return
    shape = _SHAPES.match(text) is not None
    inside = _URL_PASSWORD.match(text)
    held = inside is not None and not _LABEL.search(inside.group(1)) and "localhost" not in text
    if shape or held or (named and not _LABEL.search(text) and looks_secret(text, unit.source.library)):
        env = re.sub(r"(?<=[a-z])(?=[A-Z])|\W+", "_", name).upper()
        unit.report("secret-in-code", node, what=name, strength=1 if shape else 0, facts=(("shown", name), ("env", env)))  # fmt: skip


@check("weak-random", "variable_declarator", "assignment_expression", "pair", "return_statement")
def guessable(unit: "Unit", node: Node) -> None:
    """`const token = Math.random()...`: a secret by its name, drawn from a generator that can be predicted."""
    if "Math.random()" not in node.text or unit.source.is_test or node.end - node.line > 6:
        return
    if node.kind == "return_statement":
        name = _function_name(node)
    else:
        name, value = _name_of(node)
        if (
            value is None
            or "Math.random()" not in value.text
            or bare(value).kind in {"arrow_function", "function_expression", "object"}
        ):
            return
    if _RANDOM_FOR.search(name):
        unit.report("weak-random", node, what="Math.random", facts=(("shown", name),))


@check("weak-random", "variable_declarator", "assignment_expression")
def unguessable(unit: "Unit", node: Node) -> None:
    """The same secrets drawn from the system's generator are recorded as refuted."""
    name, value = _name_of(node)
    if value is None or unit.source.is_test or not _RANDOM_FOR.search(name) or value.end - value.line > 3:
        return
    if re.match(r"(crypto\.)?(randomBytes|randomUUID|randomInt|getRandomValues)\(", bare(value).text):
        unit.report("weak-random", node, what=name, safe="it is drawn from the system's generator", facts=(("shown", name),))  # fmt: skip


def _function_name(node: Node) -> str:
    parent = node.raw.parent()
    while parent is not None:
        if parent.kind() in {"function_declaration", "method_definition"}:
            name = parent.field("name")
            return str(name.text()) if name is not None else ""
        if parent.kind() in {"arrow_function", "function_expression"}:
            above = parent.parent()
            name = above.field("name") if above is not None else None
            return str(name.text()) if name is not None else ""
        parent = parent.parent()
    return ""


@check("secret-reaches-log", "call_expression")
def logged(unit: "Unit", node: Node) -> None:
    """`console.log(password)`, `` logger.info(`token ${token}`) ``."""
    function, listed = node.field("function"), node.field("arguments")
    if function is None or listed is None or not _LOGGED.match(function.text) or unit.source.is_test:
        return
    for argument in listed.named:
        for part in [
            argument,
            *(p.named[0] for p in argument.named if p.kind == "template_substitution" and p.named),
        ]:
            inner = bare(part)
            path = member_path(inner) if inner.kind in {"identifier", "member_expression"} else None
            last = (path or "").rpartition(".")[2]
            if path and _secret_word(last) and not _MASK.search(inner.text):
                unit.report("secret-reaches-log", node, what=function.text, facts=(("shown", path),))
                return


def _secret_word(name: str) -> bool:
    return re.search(r"(?i)pass(word|wd|phrase)|secret|api_?key|private_?key|access_?token|auth_?token|^token$|credit_?card|cvv|ssn", name) is not None  # fmt: skip
