"""Secrets that stand in the code, in logs, in files, in the open."""

import ast
import math
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_NAME = re.compile(
    r"(?i)(^|_|[a-z](?=[A-Z]))(pass(word|wd|phrase|code)?|pwd?|secret(_?key)?|api_?key|apikey|auth_?key|access_?key|private_?key|"
    r"encryption_?key|signing_?key|jwt_?(secret|key)|(auth|access|api|bearer|bot|refresh|github|slack)_?token|token|client_?secret|"
    r"credentials?|db_?pass|aes_?key|hmac_?key|crypto_?key|master_?key)(_?(value|str|string|bytes|hash|default|const))?\d*$"
)
_NOT_NAME = re.compile(
    r"(?i)(field|label|name|prompt|regex|pattern|url|uri|path|file|dir|env|header|param|prefix|suffix|type|class|form|input|"
    r"help|hint|msg|message|error|validators?|min|max|length|len|expir|ttl|age|count|index|attr|column|id)$|^(KEY|TOKEN)_?[A-Z]*_"
)
_PLACEHOLDER = re.compile(
    r"(?i)^$|^(x+|\*+|\.+|-+|none|null|true|false|test(ing)?|dummy|fake|example|sample|foo|bar|todo|undefined|optional|required|"
    r"password|passwd|secret|token|key|string|str|bearer|basic|hidden|redacted|placeholder|n/?a|unknown|default|api_?key)$"
    r"|^<.*>$|^\{.*\}$|^\$\{?\w+\}?$|^%\(?\w|your[_ -]|change[_ -]?me|replace[_ -]?me|insert|example\.|xxxx|\.\.\."
)
_TEMPLATE = re.compile(
    r"(?i)^<.*>$|^\{.*\}$|^\$\{?\w+\}?$|^%\(?\w|^\*+$|^x+$|^\.+$|^(none|null|true|false|bearer|basic|str|string|required|optional)$"
)
_SHAPES = re.compile(
    r"^(AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|xox[abprs]-[A-Za-z0-9-]{10,}|sk_live_[0-9a-zA-Z]{16,}|"
    r"AIza[0-9A-Za-z_-]{35}|glpat-[\w-]{20,}|sk-[A-Za-z0-9]{32,}|-----BEGIN [A-Z ]*PRIVATE KEY-----\s*\S{16,})"
)
_URL_PASSWORD = re.compile(r"^[a-z][\w+.-]*://[^/\s:@{}]+:([^/\s:@{}$%<>*]+)@[^/\s]+")
_PROSE = re.compile(r"\s\S+\s")
_IDENTIFIER_LIKE = re.compile(r"^[a-z]+([_.\-/:][a-z]+)+$|^[a-z]+$")
_LOG_CALL = re.compile(
    r"(^|\.)(log(ger|ging)?(\(\))?)\.(debug|info|warning|warn|error|critical|exception|log)$|^print$"
)
_MASK = re.compile(r"(?i)mask|redact|hash|len\(|\*\*\*|encrypt|obfusc|hidden|hexdigest|bool\(")


def looks_secret(text: str, strict: bool) -> bool:
    """Tell whether a constant under a secret's name is a real value rather than a label or placeholder.

    Args:
        strict: in a package that others import, also require a shape that words do not have.
    """
    if _SHAPES.match(text):
        return True
    if len(text) < 3 or _PROSE.search(text) or len(text) > 500:
        return False
    if not strict:
        return (
            not _TEMPLATE.search(text)
            and not text.startswith(("http://", "https://", "/"))
            and not text.endswith(":")
        )
    if _PLACEHOLDER.search(text):
        return False
    if _IDENTIFIER_LIKE.match(text) or text.startswith(("/", "http", "$")):
        return False
    return len(text) >= 8 and entropy(text) >= 3.0 and any(c.isdigit() for c in text) and " " not in text


def entropy(text: str) -> float:
    """Shannon entropy in bits a character."""
    counts = {char: text.count(char) for char in set(text)}
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def _report(unit: "Unit", node: ast.AST, name: str, strength: int = 0) -> None:
    env = re.sub(r"\W+", "_", name.rpartition(".")[2]).upper() or "SECRET"
    unit.report("secret-in-code", node, what=name, strength=strength, facts=(("shown", name), ("env", env)))


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return node.value if isinstance(node.value, str) else node.value.decode("latin-1")
    return None


def _judge(unit: "Unit", name: str, value: ast.expr | None, node: ast.AST) -> None:
    text = _text(value)
    if text is None or unit.source.is_test:
        return
    bare = name.rpartition(".")[2]
    if re.sub(r"\W|_", "", text).lower() == re.sub(r"\W|_", "", bare).lower() and not isinstance(
        node, ast.Compare
    ):
        return
    strict = unit.source.library or bare.lower() in {"token", "tok", "credentials"}
    if _SHAPES.match(text) or (
        _NAME.search(bare) and not _NOT_NAME.search(bare) and looks_secret(text, strict)
    ):
        strength = 1 if _SHAPES.match(text) else 0
        _report(unit, node, name, strength)


@check("secret-in-code", ast.Assign, ast.AnnAssign)
def assigned(unit: "Unit", node: ast.Assign | ast.AnnAssign) -> None:
    """`PASSWORD = "..."`, `config["SECRET_KEY"] = "..."`, `self.token = "..."`."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        name = _target_name(unit, target)
        if name and _from_environment(unit, node.value):
            if _NAME.search(name.rpartition(".")[2]):
                unit.report("secret-in-code", node, what=name, safe="it is read from the environment",
                            facts=(("shown", name), ("env", "")))  # fmt: skip
        elif name and _random_key(unit, target, node.value):
            _report(unit, node, name)
        elif name:
            _judge(unit, name, node.value, node)
            _url(unit, node.value, name)


_LONG = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?=(?:.*\d){2})[A-Za-z0-9+/_=-]{24,}")


def _random_key(unit: "Unit", target: ast.expr, value: ast.expr | None) -> bool:
    """`key = "vQF6J15Kuh3Y6..."`: a bare `key` holds a secret when its text is long and drawn at random."""
    text = _text(value)
    named = isinstance(target, ast.Name) and target.id.lower() in {
        "key",
        "apikey",
        "auth",
        "app_key",
        "consumer_key",
        "sid",
    }
    return bool(named and text and not unit.source.is_test and _LONG.fullmatch(text) and entropy(text) >= 4.0)


def _target_name(unit: "Unit", target: ast.expr) -> str:
    if isinstance(target, ast.Subscript):
        return _text(target.slice) or ""
    return unit.source.segment(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _from_environment(unit: "Unit", node: ast.expr | None) -> bool:
    if isinstance(node, ast.Subscript):
        return unit.source.dotted(node.value) == "os.environ"
    if isinstance(node, ast.Call):
        name = unit.source.dotted(node.func)
        return name in {"os.getenv", "os.environ.get", "getpass.getpass", "keyring.get_password"}
    return False


def _url(unit: "Unit", node: ast.expr | None, name: str) -> None:
    text = _text(node)
    found = _URL_PASSWORD.match(text) if text else None
    if found and node is not None and not _PLACEHOLDER.search(found.group(1)) and not unit.source.is_test:
        _report(unit, node, f"{name} (the password in its URL)")


@check("secret-in-code", ast.Call)
def passed(unit: "Unit", node: ast.Call) -> None:
    """`connect(password="...")`, `jwt.encode(payload, "...")`, `create_engine("db://user:pw@host")`."""
    opens = _CONNECTS.search(unit.source.dotted(node.func)) is not None
    for keyword in node.keywords:
        text = _text(keyword.value)
        if (
            opens
            and keyword.arg in {"password", "passwd", "pwd"}
            and text
            and not _TEMPLATE.search(text)
            and not unit.source.is_test
        ):
            _report(unit, keyword.value, keyword.arg)
        elif keyword.arg:
            _judge(unit, keyword.arg, keyword.value, keyword.value)
            if _from_environment(unit, keyword.value) and _NAME.search(keyword.arg):
                unit.report("secret-in-code", keyword.value, what=keyword.arg, safe="it is read from the environment",
                            facts=(("shown", keyword.arg), ("env", "")))  # fmt: skip
        if keyword.arg == "auth" and isinstance(keyword.value, ast.Tuple) and len(keyword.value.elts) == 2:
            _judge(unit, "password", keyword.value.elts[1], keyword.value.elts[1])
    name = unit.source.dotted(node.func)
    keyed = _KEY_POSITION.get(name)
    if keyed is not None and len(node.args) > keyed:
        text = _text(node.args[keyed])
        if text and not unit.source.is_test and looks_secret(text, unit.source.library):
            _report(unit, node.args[keyed], f"the key of {name}")
    if node.args and name.endswith(("create_engine", "connect", "MongoClient", "from_url")):
        _url(unit, node.args[0], name)
    if name in {"os.getenv", "os.environ.get"} and len(node.args) == 2:
        key, default = _text(node.args[0]), _text(node.args[1])
        if key and default and _NAME.search(key) and looks_secret(default, unit.source.library):
            _report(unit, node.args[1], f"the default of {key}")


_CONNECTS = re.compile(
    r"(^|[.~])(connect|create_pool|createPool|Connection|connection|MongoClient|Redis|StrictRedis|SMTP\(\)\.login|FTP)$"
)
"""Calls that open a connection: what they get as a password is one, even the word `password`."""
_KEY_POSITION = {
    "jwt.encode": 1, "jwt.decode": 1, "jose.jwt.encode": 1, "jose.jwt.decode": 1, "hmac.new": 0,
    "requests.auth.HTTPBasicAuth": 1,
    "cryptography.fernet.Fernet": 0, "Crypto.Cipher.AES.new": 0, "Cryptodome.Cipher.AES.new": 0, "Crypto.Cipher.DES.new": 0,
    "cryptography.hazmat.primitives.ciphers.algorithms.AES": 0, "itsdangerous.URLSafeTimedSerializer": 0,
    "itsdangerous.URLSafeSerializer": 0, "itsdangerous.Signer": 0, "pymysql.connect": 2, "MySQLdb.connect": 2,
}  # fmt: skip


@check("secret-in-code", ast.Dict)
def in_mapping(unit: "Unit", node: ast.Dict) -> None:
    """`{"password": "..."}`."""
    for key, value in zip(node.keys, node.values, strict=True):
        name = _text(key)
        if name and re.fullmatch(r"[\w.-]+", name):
            _judge(unit, name, value, value)


@check("secret-in-code", ast.FunctionDef, ast.AsyncFunctionDef)
def default_value(unit: "Unit", node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """`def connect(password="...")`."""
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(reversed(plain), reversed(node.args.defaults), strict=False))
    pairs += [
        (a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None
    ]
    for argument, default in pairs:
        _judge(unit, argument.arg, default, default)


@check("secret-in-code", ast.Compare)
def compared(unit: "Unit", node: ast.Compare) -> None:
    """`if password == "..."`: the right answer stands in the code."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return
    for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        text = _text(other)
        name = _target_name(unit, side) or (_get_key(side) or "")
        if text and name and len(text) > 3 and not re.fullmatch(r"(?i)(\w+\.)?(tok|token|key|secret)", name):
            _judge(unit, name, other, node)


def _get_key(node: ast.expr) -> str | None:
    """`form.get("password")` speaks of `password`."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
    ):
        return _text(node.args[0])
    return None


@check("secret-reaches-log", ast.Call)
def logged(unit: "Unit", node: ast.Call) -> None:
    """A value named like a secret in a log or print call."""
    name = unit.source.dotted(node.func)
    if not _LOG_CALL.search(name.lower().lstrip("~")) or unit.source.is_test:
        return
    text = unit.source.segment(node)
    for part in ast.walk(node):
        label = (
            part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        )
        if isinstance(part, ast.Subscript):
            label = _text(part.slice) or ""
        elif isinstance(part, ast.Call):
            label = _get_key(part) or ""
        if label and _SENSITIVE.search(label) and not _NOT_NAME.search(label) and not label.isupper():
            if _MASK.search(text):
                return
            unit.report("secret-reaches-log", node, what=name.lstrip("~"), facts=(("shown", label),))
            return
    function = unit.source.function_of(node)
    if function is not None and not unit.source.library and "print" not in name:
        known = [
            a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg) and _SENSITIVE.search(a.arg)
        ]
        if known:
            unit.report("secret-reaches-log", node, what=name.lstrip("~"), safe=f"the message leaves `{known[0]}` out",
                        facts=(("shown", known[0]),))  # fmt: skip


_DUMPS = frozenset({"json.dump", "yaml.dump", "yaml.safe_dump", "pickle.dump", "toml.dump", "marshal.dump"})
_SENSITIVE = re.compile(
    r"(?i)(^|_)(pass(word|wd|phrase)|pwd|secret(_key)?|api_?key|(auth|access|refresh|session)_?token|private_?key|ssn|"
    r"social_security(_number)?|credit_?card(_number)?|card_?number|cvv|cc_?num(ber)?|pin_?code|client_secret)$"
)


@check("secret-stored-in-clear", ast.Call)
def stored(unit: "Unit", node: ast.Call) -> None:
    """`stream.write(password)`: a secret goes to a file as it is."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in {
        "write",
        "writelines",
        "writerow",
        "set_cookie",
        "write_text",
        "dump",
    }:
        return
    if node.func.attr == "dump" and unit.source.dotted(node.func) not in _DUMPS:
        return
    text = unit.source.segment(node)
    if unit.source.is_test or _MASK.search(text):
        return
    for part in ast.walk(ast.Tuple(elts=[*node.args, *(k.value for k in node.keywords)], ctx=ast.Load())):
        label = (
            part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        )
        if isinstance(part, ast.Subscript):
            label = _text(part.slice) or ""
        if label and _SENSITIVE.search(label) and not label.isupper():
            unit.report(
                "secret-stored-in-clear", node, what=unit.source.segment(node.func), facts=(("shown", label),)
            )
            return


@check("password-stored-in-clear", ast.Assign, ast.keyword)
def kept(unit: "Unit", node: ast.Assign | ast.keyword) -> None:
    """`user.password = request.form["password"]`, `User(password=form["password"])`."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if not (isinstance(target, ast.Attribute) and target.attr in {"password", "passwd", "pwd"}):
            return
        if isinstance(target.value, ast.Name) and target.value.id == "self":
            return
        value: ast.expr = node.value
    else:
        parent = unit.source.parent(node)
        name = unit.source.dotted(parent.func) if isinstance(parent, ast.Call) else ""
        if node.arg != "password" or not re.search(
            r"(^|\.|~)(User|Account|Member|Customer|Admin)(Model)?$", name
        ):
            return
        value = node.value
    text = unit.source.segment(value)
    if re.search(r"(?i)request\.|form\b|data\[|input\(", text) and not re.search(
        r"(?i)hash|crypt|generate|make_password", text
    ):
        unit.report("password-stored-in-clear", value, what=text[:60], facts=(("shown", text[:60]),))


@check("password-stored-in-clear", ast.Call)
def inserted(unit: "Unit", node: ast.Call) -> None:
    """`execute("INSERT INTO users ...", (name, password))`, where the password is what came in."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in {
        "execute",
        "executemany",
        "insert_one",
        "insert",
    }:
        return
    function = unit.source.function_of(node)
    if function is None or unit.source.is_test or unit.source.library:
        return
    text = unit.source.segment(node)
    if node.func.attr == "execute" and not re.search(r"(?i)insert\s+into|update\s+\w+\s+set", text):
        return
    for part in (p for argument in node.args for p in ast.walk(argument)):
        if isinstance(part, ast.Name) and re.fullmatch(r"(?i)(new_?)?(password|passwd|pwd)", part.id):
            body = unit.source.segment(function)
            made = re.search(rf"\b{part.id}\s*=(?!=).*(hash|crypt|digest|derive|make_password)", body)
            parent = unit.source.parent(part)
            wrapped = isinstance(parent, ast.Call) and parent is not node
            if made or wrapped or re.search(r"(?i)(hash|crypt)\w*\(", text):
                line = function.lineno + body[: made.start()].count("\n") if made else node.lineno
                unit.report("password-stored-in-clear", part, what=part.id, safe="it is hashed first", safe_line=line,
                            facts=(("shown", part.id),))  # fmt: skip
            else:
                unit.report("password-stored-in-clear", part, what=part.id, facts=(("shown", part.id),))
            return
