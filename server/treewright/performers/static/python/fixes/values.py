"""Recipes that exchange one expression for a safer one."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, assigned, recipe, replace, set_keyword
from treewright.performers.static.python.fixes.wraps import _bound, _literal, _pieces, text_expression
from treewright.performers.static.python.source import Source

_PLAIN = frozenset({"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "jsonpickle"})


@recipe("untrusted-data-deserialised")
def plain_data(source: Source, node: ast.AST) -> Change | None:
    """A format that only holds data: JSON for pickle and its kin, weights for torch, no pickles in numpy."""
    if not isinstance(node, ast.Call):
        return None
    name = source.dotted(node.func)
    module, _, last = name.rpartition(".")
    if name == "torch.load":
        return set_keyword(source, node, "weights_only", "True")
    if name == "numpy.load":
        return set_keyword(source, node, "allow_pickle", "False")
    if module in _PLAIN and last in {"loads", "load", "decode"} and len(node.args) == 1:
        function = "json.load" if last == "load" else "json.loads"
        return replace(source, node, f"{function}({source.segment(node.args[0])})", "import json")
    return None


@recipe("format-text-from-input")
def as_template(source: Source, node: ast.AST) -> Change | None:
    """`text.format(...)` becomes `string.Template(text).safe_substitute(...)`, which reaches no attributes."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return None
    receiver = source.segment(node.func.value)
    place, first = source.place(node), source.place(node.func.value)
    if place.line != place.end:
        return None
    given = source.lines[place.line - 1][first.end_column + len(f".{node.func.attr}") : place.end_column]
    return replace(source, node, f"string.Template({receiver}).safe_substitute{given}", "import string")


@recipe("secret-in-code")
def constant_from_environment(source: Source, node: ast.AST) -> Change | None:
    """A key given to a call as a constant, or as a name of the module that is one, comes from the environment."""
    if not isinstance(node, ast.Call):
        return None
    keys = [*node.args[:2], *(k.value for k in node.keywords if k.arg in {"key", "secret_key", "password"})]
    for argument in reversed(keys):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, (str, bytes)):
            encoded = ".encode()" if isinstance(argument.value, bytes) else ""
            return replace(source, argument, f'os.environ["SECRET_KEY"]{encoded}', "import os")
    for argument in keys:
        if not isinstance(argument, ast.Name):
            continue
        found = assigned(source, argument.id, node) or _of_module(source, argument.id)
        if (
            found is not None
            and isinstance(found.value, ast.Constant)
            and isinstance(found.value.value, (str, bytes))
        ):
            encoded = ".encode()" if isinstance(found.value.value, bytes) else ""
            return replace(source, found.value, f'os.environ["{argument.id.upper()}"]{encoded}', "import os")
    return None


def _of_module(source: Source, name: str) -> ast.Assign | None:
    found = [
        part
        for part in source.tree.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and part.targets[0].id == name
    ]
    return found[0] if len(found) == 1 else None


@recipe("spreadsheet-cell-from-input")
def defused(source: Source, node: ast.AST) -> Change | None:
    """A cell that begins like a formula gets an apostrophe in front."""
    row = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(row, (ast.List, ast.Tuple)):
        return None
    change = Change()
    for part in row.elts:
        if not isinstance(part, (ast.Constant, ast.Starred)):
            text = source.segment(part)
            change.edits += replace(
                source, part, f're.sub(r"^(?=[=+\\-@])", "\'", str({text}))', "import re"
            ).edits
    change.imports = ["import re"]
    return change if change.edits else None


@recipe("result-of-search-unchecked")
def found_or_none(source: Source, node: ast.AST) -> Change | None:
    """`re.search(...).group(1)` becomes `(m.group(1) if (m := re.search(...)) else None)`; a missing key is said at once."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        call = source.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        place, end = source.place(call), source.place(node)
        if place.line != place.end:
            return None
        given = source.lines[place.line - 1][end.end_column : place.end_column]
        new = f"(found.{node.attr}{given} if (found := {source.segment(node.value)}) else None)"
        return replace(source, call, new)
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if isinstance(inner, ast.Call) and len(inner.args) == 1:
        name = source.dotted(inner.func)
        key = source.segment(inner.args[0])
        if name in {"os.getenv", "os.environ.get"}:
            return replace(source, inner, f"os.environ[{key}]", "import os")
        if isinstance(inner.func, ast.Attribute) and inner.func.attr == "get":
            return replace(source, inner, f"{source.segment(inner.func.value)}[{key}]")
    return None


@recipe("temporary-name-guessable")
def made_at_once(source: Source, node: ast.AST) -> Change | None:
    """`open("/tmp/x.csv", "w")` becomes a file that is made at once under a name of its own."""
    if not isinstance(node, ast.Call) or source.dotted(node.func) not in {"open", "io.open"} or not node.args:
        return None
    mode = (
        node.args[1]
        if len(node.args) > 1
        else next((k.value for k in node.keywords if k.arg == "mode"), None)
    )
    if not isinstance(mode, ast.Constant) or "r" in str(mode.value):
        return None
    text = source.segment(node.args[0])
    suffix = re.search(r"(\.\w+)[\"']$", text)
    given = f', suffix="{suffix[1]}"' if suffix else ""
    new = f'tempfile.NamedTemporaryFile("{mode.value!s}"{given}, delete=False)'
    return replace(source, node, new, "import tempfile")


@recipe("weak-random")
def token_instead(source: Source, node: ast.AST) -> Change | None:
    """A digest of the time becomes a token of the system's generator."""
    if not isinstance(node, ast.Call) or not source.dotted(node.func).startswith("hashlib."):
        return None
    outer = source.parent(node)
    call = source.parent(outer) if isinstance(outer, ast.Attribute) else None
    if isinstance(call, ast.Call) and isinstance(outer, ast.Attribute) and outer.attr == "hexdigest":
        return replace(source, call, "secrets.token_hex(32)", "import secrets")
    return None


@recipe("result-ignored")
def checked(source: Source, node: ast.AST) -> Change | None:
    """`subprocess.run(...)` gets `check=True`."""
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Call) and source.dotted(call.func) == "subprocess.run":
        return set_keyword(source, call, "check", "True")
    return None


@recipe("size-from-input")
def bounded_everywhere(source: Source, node: ast.AST) -> Change | None:
    """Every argument that is not constant is bounded, keywords too."""
    if not isinstance(node, ast.Call):
        return None
    change = Change()
    for part in [*node.args, *(k.value for k in node.keywords)]:
        if isinstance(part, (ast.Name, ast.BinOp, ast.Call, ast.Subscript)):
            change.edits += replace(source, part, f"min({source.segment(part)}, 1000)").edits
    return change if change.edits else None


@recipe("zip-bomb-decompressed")
def with_limit(source: Source, node: ast.AST) -> Change | None:
    """`gzip.decompress(data)` becomes a decompressor with an upper bound of ten megabytes."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    bits = {"gzip.decompress": "31", "zlib.decompress": ""}.get(source.dotted(node.func))
    if bits is None:
        return None
    new = f"zlib.decompressobj({bits}).decompress({source.segment(node.args[0])}, 10_000_000)"
    return replace(source, node, new, "import zlib")


@recipe("argument-from-input")
def options_ended(source: Source, node: ast.AST) -> Change | None:
    """`--` goes in front of the first argument from outside."""
    command = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(command, ast.List):
        return None
    program = str(getattr(command.elts[0], "value", ""))
    mark = '"--end-of-options"' if program.endswith("git") else '"--"'
    for part in command.elts[1:]:
        if not isinstance(part, ast.Constant):
            place = source.place(part)
            at = (place.line, place.column)
            return Change([(*at, *at, f"{mark}, ")])
    return None


@recipe("exception-text-in-response")
def fixed_answer(source: Source, node: ast.AST) -> Change | None:
    """What a call or a return gives away of an exception becomes a fixed text."""
    function = source.function_of(node)
    names = {h.name for h in source.nodes(ast.ExceptHandler) if isinstance(h, ast.ExceptHandler) and h.name}
    if function is not None and any(
        "error" in source.segment(d) or "exception" in source.segment(d) for d in function.decorator_list
    ):
        names |= {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    told = re.compile(
        rf"^(str|repr)\(({'|'.join(map(re.escape, names)) or '-'})\)$|^traceback\.format_exc\(\)$"
    )
    change = Change()
    for part in ast.walk(node):
        text = source.segment(part) if isinstance(part, ast.Call) else ""
        if told.match(text):
            change.edits += replace(source, part, '"internal error"').edits
    return change if change.edits else None


@recipe("sql-text-built-from-input")
def bound_in_text(source: Source, node: ast.AST) -> Change | None:
    """`execute(text(f"... '{x}'"))` becomes `execute(text("... :v0"), {"v0": x})`."""
    inner = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(node, ast.Call) and source.dotted(node.func).endswith(
        ("sqlalchemy.text", "sql.text", "expression.text")
    ):
        outer = source.parent(node)
        node, inner = (outer, node) if isinstance(outer, ast.Call) else (node, None)
    if (
        not isinstance(inner, ast.Call)
        or not isinstance(node, ast.Call)
        or len(node.args) != 1
        or len(inner.args) != 1
    ):
        return None
    target = text_expression(source, inner.args[0])
    pieces = _pieces(source, target) if target is not None else None
    if pieces is None or target is None:
        return None
    text, values = _bound(source, pieces, "\0")
    if text is None or not values:
        return None
    for index in range(len(values)):
        text = text.replace("\0", f":v{index}", 1)
    given = ", ".join(f'"v{index}": {value}' for index, value in enumerate(values))
    change = replace(source, target, _literal(text))
    place = source.place(inner)
    at = (place.end, place.end_column)
    change.edits.append((*at, *at, f", {{{given}}}"))
    return change


@recipe("xml-with-external-entities")
def feature_off(source: Source, node: ast.AST) -> Change | None:
    """`parser.setFeature(feature_external_ges, True)` in the same function is switched off."""
    scope: ast.AST = source.function_of(node) or source.tree
    change = Change()
    for part in ast.walk(scope):
        if not isinstance(part, ast.Call) or not source.segment(part.func).endswith(".setFeature"):
            continue
        texts = [source.segment(argument) for argument in part.args]
        if len(texts) == 2 and "external" in texts[0] and texts[1] in {"True", "1"}:
            change.edits += replace(source, part.args[1], "False").edits
    return change if change.edits else None


@recipe("clear-text-protocol")
def encrypted(source: Source, node: ast.AST) -> Change | None:
    """`ldap://` becomes `ldaps://`; a mail connection starts TLS before anything is sent."""
    if not isinstance(node, ast.Call):
        return None
    for part in node.args[:1]:
        if isinstance(part, ast.Constant) and str(part.value).startswith("ldap://"):
            return replace(
                source,
                part,
                '"' + str(part.value).replace("ldap://", "ldaps://").replace(":389", ":636") + '"',
            )
    statement = source.statement_of(node)
    if source.dotted(node.func) == "smtplib.SMTP" and isinstance(statement, ast.Assign):
        indent = source.lines[statement.lineno - 1][: statement.col_offset]
        line = (statement.end_lineno or statement.lineno) + 1
        return Change([(line, 0, line, 0, f"{indent}{source.segment(statement.targets[0])}.starttls()\n")])
    return None
