"""Recipes that change a call: another function, another argument, one more keyword."""

import ast
import re

from treewright.performers.static.python.fixes.change import (
    Change,
    Recipe,
    recipe,
    replace,
    set_keyword,
)
from treewright.performers.static.python.source import Source


def keyword(name: str, value: str) -> Recipe:
    """A recipe that gives a call's keyword a value."""

    def change(source: Source, node: ast.AST) -> Change | None:
        return set_keyword(source, node, name, value) if isinstance(node, ast.Call) else None

    return change


def renamed(new: str, *imports: str) -> Recipe:
    """A recipe that calls another function with the same arguments."""

    def change(source: Source, node: ast.AST) -> Change | None:
        return replace(source, node.func, new, *imports) if isinstance(node, ast.Call) else None

    return change


recipe("code-evaluated-from-input")(renamed("ast.literal_eval", "import ast"))
recipe("autoescape-off")(keyword("autoescape", "True"))
recipe("archive-extracted-unchecked")(keyword("filter", '"data"'))
recipe("wait-without-limit")(keyword("timeout", "10"))
recipe("text-without-encoding")(keyword("encoding", '"utf-8"'))
recipe("temporary-name-guessable")(
    lambda source, node: (
        replace(source, node, "tempfile.mkstemp()[1]", "import tempfile")
        if isinstance(node, ast.Call) and source.dotted(node.func) == "tempfile.mktemp"
        else None
    )
)


@recipe("unsafe-yaml-loader", "untrusted-data-deserialised")
def safe_yaml(source: Source, node: ast.AST) -> Change | None:
    """`yaml.load(x, Loader=...)` becomes `yaml.safe_load(x)`."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    name = source.dotted(node.func)
    if name not in {
        "yaml.load",
        "yaml.unsafe_load",
        "yaml.full_load",
        "yaml.load_all",
        "yaml.unsafe_load_all",
    }:
        return None
    owner = source.segment(node.func.value) if isinstance(node.func, ast.Attribute) else "yaml"
    function = "safe_load_all" if name.endswith("_all") else "safe_load"
    return replace(source, node, f"{owner}.{function}({source.segment(node.args[0])})", "import yaml")


@recipe("weak-hash")
def strong_hash(source: Source, node: ast.AST) -> Change | None:
    """MD5 and SHA-1 become SHA-256."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name.startswith("hashlib.") and name != "hashlib.new":
        return replace(source, node.func, "hashlib.sha256", "import hashlib")
    if name.startswith(("Crypto.Hash.", "Cryptodome.Hash.")) and len(node.args) <= 1 and not node.keywords:
        return replace(source, node.func, "hashlib.sha256", "import hashlib")
    if name.startswith("cryptography.hazmat.primitives.hashes."):
        owner = source.segment(node.func)
        return replace(source, node.func, re.sub(r"(MD5|SHA1)$", "SHA256", owner))
    for argument in [*node.args, *(k.value for k in node.keywords)]:
        if isinstance(argument, ast.Constant) and str(argument.value).lower().replace("-", "") in {
            "md5",
            "sha1",
        }:
            return replace(source, argument, '"sha256"')
        if isinstance(argument, ast.Attribute) and source.dotted(argument) in {"hashlib.md5", "hashlib.sha1"}:
            return replace(source, argument, "hashlib.sha256")
    return None


@recipe("weak-random")
def secure_random(source: Source, node: ast.AST) -> Change | None:
    """`random.choice` becomes `secrets.choice`, the others go to SystemRandom."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name == "uuid.uuid1":
        return replace(source, node.func, source.segment(node.func).replace("uuid1", "uuid4"))
    if not name.startswith("random.") or name.count(".") != 1:
        return None
    last = name.rpartition(".")[2]
    if last == "randbytes":
        return replace(source, node.func, "secrets.token_bytes", "import secrets")
    if last == "getrandbits":
        return replace(source, node.func, "secrets.randbits", "import secrets")
    new = "secrets.choice" if last == "choice" else f"secrets.SystemRandom().{last}"
    return replace(source, node.func, new, "import secrets")


@recipe("random-seeded-with-constant")
def no_seed(source: Source, node: ast.AST) -> Change | None:
    """`random.seed(1)` on a line of its own goes."""
    statement = source.statement_of(node)
    if (
        isinstance(statement, ast.Expr)
        and statement.value is node
        and isinstance(node, ast.Call)
        and node.args
    ):
        place = source.place(node)
        return Change(
            [(place.line, place.column, place.end, place.end_column, f"{source.segment(node.func)}()")]
        )
    return None


@recipe("tls-verification-off")
def verified(source: Source, node: ast.AST) -> Change | None:
    """Verification goes back on."""
    if isinstance(node, ast.Assign):
        text = source.segment(node.value)
        if text.endswith("CERT_NONE"):
            return replace(source, node.value, text.replace("CERT_NONE", "CERT_REQUIRED"))
        if text == "False":
            return replace(source, node.value, "True")
        if "unverified" in text:
            return replace(source, node.value, "ssl.create_default_context", "import ssl")
        return None
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name in {"ssl._create_unverified_context", "ssl._create_stdlib_context"}:
        return replace(source, node.func, "ssl.create_default_context", "import ssl")
    for option in ("verify", "ssl", "verify_ssl"):
        if any(k.arg == option for k in node.keywords):
            return set_keyword(source, node, option, "True")
    if any(k.arg == "cert_reqs" for k in node.keywords):
        return set_keyword(
            source,
            node,
            "cert_reqs",
            '"CERT_REQUIRED"' if name.startswith("urllib3") else "ssl.CERT_REQUIRED",
        )
    return None


@recipe("tls-context-without-checks", "old-tls-version")
def default_context(source: Source, node: ast.AST) -> Change | None:
    """`ssl.SSLContext(...)` becomes `ssl.create_default_context()`."""
    if isinstance(node, ast.Call) and source.dotted(node.func) == "ssl.SSLContext":
        return replace(source, node, "ssl.create_default_context()", "import ssl")
    if isinstance(node, ast.Call) and source.dotted(node.func) == "ssl.wrap_socket" and node.args:
        first = source.segment(node.args[0])
        host = next((source.segment(k.value) for k in node.keywords if k.arg == "server_hostname"), "")
        extra = (
            f", server_hostname={host}"
            if host
            else ", server_hostname=host"
            if "host" in _names(source, node)
            else ""
        )
        if extra:
            return replace(
                source, node, f"ssl.create_default_context().wrap_socket({first}{extra})", "import ssl"
            )
    if isinstance(node, ast.Assign):
        return replace(source, node.value, "ssl.TLSVersion.TLSv1_2", "import ssl")
    return None


def _names(source: Source, node: ast.AST) -> set[str]:
    function = source.function_of(node)
    return {a.arg for a in function.args.args} if function else set()


@recipe("host-key-accepted-unseen")
def reject_hosts(source: Source, node: ast.AST) -> Change | None:
    """`AutoAddPolicy` becomes `RejectPolicy`."""
    if isinstance(node, ast.Call) and node.args:
        text = re.sub(r"AutoAddPolicy|WarningPolicy", "RejectPolicy", source.segment(node.args[0]))
        imported = re.match(r"RejectPolicy", text)
        return replace(
            source, node.args[0], text, *(["from paramiko import RejectPolicy"] if imported else [])
        )
    return None


@recipe("token-signature-unverified")
def verify_token(source: Source, node: ast.AST) -> Change | None:
    """Drop the option that switches verification off, fix the algorithm."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name.endswith("encode"):
        return set_keyword(source, node, "algorithm", '"HS256"')
    if not name.endswith("jwt.decode") or (
        len(node.args) < 2 and not any(k.arg == "key" for k in node.keywords)
    ):
        return None
    if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value is None:
        return None
    kept = [source.segment(a) for a in node.args[:2]]
    kept += [
        f"{k.arg}={source.segment(k.value)}"
        for k in node.keywords
        if k.arg not in {"verify", "options", "algorithms", None}
    ]
    return replace(source, node, f'{source.segment(node.func)}({", ".join(kept)}, algorithms=["HS256"])')


@recipe("debug-mode-on")
def debug_off(source: Source, node: ast.AST) -> Change | None:
    """`debug=True` becomes `debug=False`."""
    if isinstance(node, ast.Assign):
        return replace(source, node.value, "False")
    if isinstance(node, ast.Call):
        option = "use_debugger" if any(k.arg == "use_debugger" for k in node.keywords) else "debug"
        return set_keyword(source, node, option, "False")
    return None


@recipe("cookie-without-protection")
def cookie_flags(source: Source, node: ast.AST) -> Change | None:
    """Add or switch on `secure` and `httponly`."""
    if isinstance(node, ast.Assign):
        return replace(source, node.value, "True")
    if not isinstance(node, ast.Call):
        return None
    change, added = Change(), []
    for name, value in (("secure", "True"), ("httponly", "True"), ("samesite", '"Lax"')):
        if any(k.arg == name for k in node.keywords):
            if name != "samesite":
                change.edits += set_keyword(source, node, name, value).edits
        else:
            added.append(f"{name}={value}")
    if added:
        head, _, tail = added[0].partition("=")
        extra = "".join(f", {entry}" for entry in added[1:])
        change.edits += [
            (a, b, c, d, text + extra) for a, b, c, d, text in set_keyword(source, node, head, tail).edits
        ]
    return change


@recipe("iv-is-constant", "salt-is-constant")
def fresh_bytes(source: Source, node: ast.AST) -> Change | None:
    """The constant vector or salt becomes `os.urandom(...)`."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    size = "12" if "GCM" in source.segment(node) else "8" if ".DES" in name else "16"
    for k in node.keywords:
        if k.arg in {"iv", "IV", "nonce", "salt", "initialization_vector"}:
            return replace(source, k.value, f"os.urandom({size})", "import os")
    position = (
        2 if name.endswith((".new", "pbkdf2_hmac")) else 1 if name.endswith(("PBKDF2", "scrypt")) else 0
    )
    if len(node.args) > position and not name.endswith(("hashpw", "crypt")):
        return replace(source, node.args[position], f"os.urandom({size})", "import os")
    return None


@recipe("key-too-short", "key-derived-in-few-rounds")
def larger(source: Source, node: ast.AST) -> Change | None:
    """The number in the call becomes a sufficient one."""
    if not isinstance(node, ast.Call):
        return None
    rounds = bool(re.search(r"(?i)pbkdf2|gensalt", source.dotted(node.func)))
    wanted = "12" if source.dotted(node.func).endswith("gensalt") else "600000" if rounds else "3072"
    for k in node.keywords:
        if k.arg in {"key_size", "bits", "iterations", "count", "rounds"}:
            return replace(source, k.value, wanted)
    numbers = [
        a
        for a in node.args
        if isinstance(a, ast.Constant) and isinstance(a.value, int) and a.value not in {3, 65537}
    ]
    return replace(source, numbers[-1], wanted) if numbers else None


@recipe("block-mode-leaks-pattern")
def chained_mode(source: Source, node: ast.AST) -> Change | None:
    """`MODE_ECB` becomes `MODE_EAX`, which takes a fresh nonce by itself."""
    if isinstance(node, ast.Call):
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            text = source.segment(argument)
            if text.endswith("MODE_ECB"):
                return replace(source, argument, text.replace("MODE_ECB", "MODE_EAX"))
    return None


@recipe("listens-on-every-interface")
def local_address(source: Source, node: ast.AST) -> Change | None:
    """The address becomes the local one."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and part.value in {"0.0.0.0", "::", ""}:  # noqa: S104 (what is looked for)
            return replace(source, part, '"127.0.0.1"')
    return None


@recipe("file-open-to-everyone")
def owner_only(source: Source, node: ast.AST) -> Change | None:
    """The mode becomes the owner's."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func).rpartition(".")[2]
    new = "0o077" if name == "umask" else "0o700" if "mkdir" in name or name == "makedirs" else "0o600"
    for k in node.keywords:
        if k.arg == "mode":
            return replace(source, k.value, new)
    return replace(source, node.args[-1], new) if node.args else None


@recipe("xml-with-external-entities")
def closed_parser(source: Source, node: ast.AST) -> Change | None:
    """lxml gets a closed parser, the standard parsers become defusedxml's."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name.startswith("lxml.etree.") and isinstance(node.func, ast.Attribute):
        owner = source.segment(node.func.value)
        return set_keyword(
            source, node, "parser", f"{owner}.XMLParser(resolve_entities=False, no_network=True)"
        )
    modules = {
        "xml.etree.ElementTree": "defusedxml.ElementTree", "xml.etree.cElementTree": "defusedxml.ElementTree",
        "xml.dom.minidom": "defusedxml.minidom", "xml.sax": "defusedxml.sax", "xml.dom.pulldom": "defusedxml.pulldom",
    }  # fmt: skip
    head, _, last = name.rpartition(".")
    if head in modules:
        return replace(source, node.func, f"{modules[head]}.{last}", f"import {modules[head]}")
    return None


@recipe("xml-parser-resolves-entities")
def no_entities(source: Source, node: ast.AST) -> Change | None:
    """`resolve_entities=False`."""
    if not isinstance(node, ast.Call):
        return None
    if source.dotted(node.func).endswith("setFeature") and len(node.args) == 2:
        return replace(source, node.args[1], "False")
    owner = source.segment(node.func)
    return replace(source, node, f"{owner}(resolve_entities=False, no_network=True, load_dtd=False)")


@recipe("clear-text-protocol")
def encrypted(source: Source, node: ast.AST) -> Change | None:
    """FTP becomes FTP_TLS, `http://` becomes `https://`."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    if name == "ftplib.FTP":
        return replace(source, node.func, "ftplib.FTP_TLS", "import ftplib")
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and part.value.startswith("http://")
        ):
            return replace(source, part, source.segment(part).replace("http://", "https://", 1))
    return None


@recipe("function-is-gone")
def successor(source: Source, node: ast.AST) -> Change | None:
    """Functions whose successor takes the same arguments."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    new = {
        "time.clock": ("time.perf_counter", "import time"), "cgi.escape": ("html.escape", "import html"),
        "os.getlogin": ("getpass.getuser", "import getpass"), "string.maketrans": ("str.maketrans", ""),
        "threading.currentThread": ("threading.current_thread", "import threading"),
        "base64.encodestring": ("base64.encodebytes", "import base64"), "base64.decodestring": ("base64.decodebytes", "import base64"),
        "datetime.datetime.utcnow": None, "inspect.getargspec": ("inspect.getfullargspec", "import inspect"),
    }.get(name)  # fmt: skip
    return replace(source, node.func, new[0], *([new[1]] if new[1] else [])) if new else None


@recipe("answer-read-without-limit")
def bounded_read(source: Source, node: ast.AST) -> Change | None:
    """`read()` becomes a read of at most ten megabytes."""
    return (
        replace(source, node, f"{source.segment(node.func)}(10_000_000)")
        if isinstance(node, ast.Call)
        else None
    )
