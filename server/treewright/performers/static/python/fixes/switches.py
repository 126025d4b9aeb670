"""Recipes that set a setting the safe way: a switch, the scheme of an address, a version, an option that is missing."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, recipe, replace, set_keyword
from treewright.performers.static.python.source import Source

_RULES = (
    "cloud-data-unencrypted", "cloud-open-to-everyone", "tls-verification-off", "clear-text-protocol", "autoescape-off",
    "cookie-without-protection", "token-signature-unverified", "forgery-protection-off", "any-origin-allowed",
    "untrusted-data-deserialised", "debug-mode-on", "key-derived-in-few-rounds", "runs-as-root",
)  # fmt: skip
_SAFER = {
    "ws://": "wss://",
    "http://": "https://",
    "ftp://": "sftp://",
    "telnet://": "ssh://",
    "ldap://": "ldaps://",
}
_TEXTS = (
    (r"^0\.0\.0\.0/0$", "10.0.0.0/8"), (r"^::/0$", "fd00::/8"), (r"^(public-read|public-read-write|authenticated-read)$", "private"),
    (r"^\*$", "https://example.org"), (r"^\^?\.[*+]\$?$", "https://example.org"), (r"^unsafe$", "safe"), (r"^None$", "Lax"),
)  # fmt: skip


def _values(node: ast.AST) -> list[ast.expr]:
    """The parts of a node that may be what it is set to, the last first."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        return _leaves(node.value)
    if isinstance(node, ast.Call):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return [leaf for part in reversed(given) for leaf in _leaves(part)]
    return _leaves(node) if isinstance(node, ast.expr) else []


def _leaves(node: ast.expr) -> list[ast.expr]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Constant)]


@recipe(*_RULES)
def switched(source: Source, node: ast.AST) -> Change | None:
    """The one switch in it is turned over."""
    found = [
        part for part in _values(node) if isinstance(part, ast.Constant) and isinstance(part.value, bool)
    ]
    return (
        replace(source, found[0], str(not found[0].value))
        if found and isinstance(found[0], ast.Constant)
        else None
    )


@recipe(*_RULES)
def safer_text(source: Source, node: ast.AST) -> Change | None:
    """An address gets the encrypted scheme; a text that names everybody names somebody."""
    for part in _values(node):
        if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
            continue
        for scheme, better in _SAFER.items():
            if part.value.startswith(scheme):
                return replace(source, part, repr(better + part.value[len(scheme) :]))
        for pattern, text in _TEXTS:
            if re.search(pattern, part.value):
                return replace(source, part, repr(text))
    return None


@recipe("cloud-data-unencrypted")
def option_added(source: Source, node: ast.AST) -> Change | None:
    """The option that is missing is given."""
    if not isinstance(node, ast.Call):
        return None
    kind = source.dotted(node.func).rpartition(".")[2]
    name = {"Bucket": "enforce_ssl", "CfnReplicationGroup": "transit_encryption_enabled"}.get(
        kind, "encrypted"
    )
    return set_keyword(source, node, name, "True")


@recipe("bucket-owner-unchecked")
def owner_named(source: Source, node: ast.AST) -> Change | None:
    """The owner that is expected is read from the environment."""
    if not isinstance(node, ast.Call):
        return None
    change = set_keyword(source, node, "ExpectedBucketOwner", 'os.environ["BUCKET_OWNER"]')
    change.imports.append("import os")
    return change


@recipe("old-tls-version")
def newer_names(source: Source, node: ast.AST) -> Change | None:
    """The name of an old version becomes that of a newer one; weak ciphers give way to strong ones."""
    if isinstance(node, ast.Call) and re.search(r"set_cipher", source.dotted(node.func)) and node.args:
        return replace(source, node.args[0], '"ECDHE+AESGCM:ECDHE+CHACHA20"')
    text = source.segment(node)
    new = re.sub(r"\b(SSLv[23]|TLSv1(_1)?)(?=$|[\s,)])", "TLSv1_2", text)
    new = re.sub(r"TLS_1_0", "TLS_1_2", new)
    return replace(source, node, new) if new != text else None


@recipe("key-derived-in-few-rounds")
def memory_raised(source: Source, node: ast.AST) -> Change | None:
    """Memory and blocks of argon2 and scrypt become sufficient ones."""
    enough = {"memory_cost": "65536", "r": "8", "n": "2**15", "N": "2**15", "rounds": "600000"}
    return _first_keyword(source, node, enough)


@recipe("key-too-short")
def exponent_and_curve(source: Source, node: ast.AST) -> Change | None:
    """The usual exponent, a curve of 256 bits."""
    return _first_keyword(source, node, {"e": "65537", "public_exponent": "65537", "curve": '"p256"'})


def _first_keyword(source: Source, node: ast.AST, better: dict[str, str]) -> Change | None:
    """Give a call's first keyword that is named here its new value."""
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if keyword.arg in better:
            return replace(source, keyword.value, better[keyword.arg])
    return None


@recipe("weak-hash")
def named_hash(source: Source, node: ast.AST) -> Change | None:
    """`hashlib.new` gets the name of a hash without known collisions."""
    if isinstance(node, ast.Call) and source.dotted(node.func).endswith("hashlib.new") and node.args:
        return replace(source, node.args[0], '"sha256"')
    return None
