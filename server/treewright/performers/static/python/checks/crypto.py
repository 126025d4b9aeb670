"""Ciphers made at home, vectors made of the key, algorithms that the token itself names, secrets in addresses."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit


@check("broken-cipher", ast.FunctionDef)
def made_at_home(unit: "Unit", node: ast.FunctionDef) -> None:
    """A function called encrypt that puts its text and key together with `^` or shifts letters."""
    if unit.source.is_test or not re.search(r"(?i)encrypt|decrypt|cipher|encipher|obfuscate", node.name):
        return
    for part in ast.walk(node):
        xor = isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitXor)
        shift = (
            isinstance(part, ast.Call)
            and unit.source.dotted(part.func) == "chr"
            and re.search(r"ord\(.*[+-]", unit.source.segment(part)) is not None
        )
        if xor or shift:
            strength = -1 if unit.source.library else 0
            unit.report("broken-cipher", part, what="a cipher made at home", strength=strength)
            return


@check("iv-is-constant", ast.Call)
def vector_of_key(unit: "Unit", node: ast.Call) -> None:
    """`AES.new(key, AES.MODE_CBC, key[:16])`: the vector is part of the key."""
    name = unit.source.dotted(node.func)
    if not re.search(r"(Crypto|Cryptodome)\.Cipher\.\w+\.new$", name) or len(node.args) < 2:
        return
    vector = (
        node.args[2]
        if len(node.args) > 2
        else next((k.value for k in node.keywords if k.arg in {"iv", "IV", "nonce"}), None)
    )
    text = unit.source.segment(vector) if vector is not None else ""
    if isinstance(vector, ast.Name):
        scope: ast.AST = unit.source.function_of(node) or unit.source.tree
        made = [
            p for p in ast.walk(scope)
            if isinstance(p, ast.Assign) and isinstance(p.targets[0], ast.Name) and p.targets[0].id == text
        ]  # fmt: skip
        text = unit.source.segment(made[0].value) if len(made) == 1 else ""
    key = unit.source.segment(node.args[0])
    if vector is not None and re.match(rf"{re.escape(key)}(\[|$|\.encode)", text):
        unit.report(
            "iv-is-constant", node, what=name.rpartition(".Cipher.")[2], facts=(("shown", text[:60]),)
        )


_SECRET_PARAMETER = re.compile(
    r"(?i)[?&](password|passwd|pwd|token|access_token|api_?key|secret|auth|session_?id|ssn|pin)=$"
)


@check("secret-in-address", ast.JoinedStr, ast.BinOp)
def in_address(unit: "Unit", node: ast.JoinedStr | ast.BinOp) -> None:
    """`f"https://host/login?password={password}"`: addresses end up in logs, histories and Referer headers."""
    if unit.source.is_test or unit.source.library:
        return
    if isinstance(node, ast.BinOp):
        text = node.left.right if isinstance(node.left, ast.BinOp) else node.left
        parts: list[ast.expr] = [text, node.right] if isinstance(node.op, ast.Add) else []
    else:
        parts = node.values
    for before, value in zip(parts, parts[1:], strict=False):  # noqa: RUF007 parts is not always more than one
        if (
            isinstance(before, ast.Constant)
            and isinstance(before.value, str)
            and not isinstance(value, ast.Constant)
        ):
            found = _SECRET_PARAMETER.search(before.value)
            if found:
                unit.report("secret-in-address", node, what=found[1], facts=(("shown", found[1]),))
                return


@check("secret-in-code", ast.Call)
def constant_login(unit: "Unit", node: ast.Call) -> None:
    """`server.login("bot@example.org", "hunter2")`."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in {
        "login",
        "auth",
        "authenticate",
        "simple_bind_s",
    }:
        return
    if unit.source.is_test or unit.source.library or len(node.args) != 2:
        return
    first, second = node.args
    if isinstance(second, ast.Constant) and isinstance(second.value, str) and len(second.value) > 3 and isinstance(
        first, (ast.Constant, ast.Name)
    ):  # fmt: skip
        shown = unit.source.segment(node.func)
        unit.report(
            "secret-in-code",
            second,
            what=f"the password of {shown}",
            facts=(("shown", f"the password of {shown}"), ("env", "PASSWORD")),
        )
