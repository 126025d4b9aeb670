"""The order of things: used after it was closed, locks in two orders, handlers that do too much, downloads that are run."""

import ast
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_USES = frozenset(
    ["read", "readline", "readlines", "write", "writelines", "seek", "flush", "send", "sendall", "recv", "execute", "cursor",
     "commit", "fetchone", "fetchall", "close", "truncate", "tell", "extractall"]
)  # fmt: skip
_OPENERS = re.compile(
    r"(^|\.)(open|socket|connect|cursor|ZipFile|create_connection|NamedTemporaryFile|fdopen|urlopen)$"
)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for part in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(part, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


@check("used-after-close", ast.Module)
def used_after_close(unit: "Unit", node: ast.Module) -> None:
    """`f.close()` and then `f.read()`; `with open(p) as f:` and then `f.read()`; `f.close()` twice."""
    for block in _blocks(node):
        for index, statement in enumerate(block[:-1]):
            for name in _closed_by(unit, statement):
                _after_close(unit, block[index + 1 :], name, statement)


def _closed_by(unit: "Unit", statement: ast.stmt) -> list[str]:
    """Names that a statement has closed once it is done."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return [
            item.optional_vars.id
            for item in statement.items
            if isinstance(item.optional_vars, ast.Name)
            and isinstance(item.context_expr, ast.Call)
            and unit.source.dotted(item.context_expr.func)
            in {"open", "io.open", "codecs.open", "zipfile.ZipFile"}
        ]
    call = statement.value if isinstance(statement, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == "close" and isinstance(func.value, ast.Name):
        return [func.value.id]
    return []


def _after_close(unit: "Unit", rest: list[ast.stmt], name: str, closer: ast.stmt) -> None:
    function = unit.source.function_of(closer)
    if isinstance(closer, ast.Expr) and not _opened(unit, function or unit.source.tree, name):
        return
    for statement in rest:
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load):
                return
        used = _used(statement, name)
        if used is not None:
            shown = unit.source.segment(used)
            facts = (("shown", shown[:60]), ("line", str(closer.end_lineno)))
            unit.report("used-after-close", used, what=shown[:60], facts=facts)
            return
        if isinstance(statement, (ast.If, ast.Try, ast.While, ast.For, ast.Return)):
            return


def _opened(unit: "Unit", scope: ast.AST, name: str) -> bool:
    """Whether the name is a file, socket or connection opened here (only then a closed one cannot be used)."""
    return any(
        isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and part.targets[0].id == name
        and isinstance(part.value, ast.Call)
        and _OPENERS.search(unit.source.dotted(part.value.func)) is not None
        for part in ast.walk(scope)
    )


def _used(statement: ast.stmt, name: str) -> ast.AST | None:
    for part in ast.walk(statement):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return None
        if (
            isinstance(part, ast.Attribute)
            and part.attr in _USES
            and isinstance(part.value, ast.Name)
            and part.value.id == name
        ):
            return part
    return None


@check("locks-in-two-orders", ast.Module)
def lock_order(unit: "Unit", node: ast.Module) -> None:
    """One function takes a, then b, another b, then a: each waits for the other."""
    if unit.source.is_test or "ock" not in unit.source.text:
        return
    seen: dict[tuple[str, str], ast.AST] = {}
    for part in ast.walk(node):
        for first, second, place in _pairs(unit, part):
            other = seen.get((second, first))
            if other is not None:
                line: int = other.lineno  # type: ignore[attr-defined]  # every entry is a statement
                facts = (("shown", first), ("other", second), ("line", str(line)))
                unit.report("locks-in-two-orders", place, what=f"{first}, {second}", facts=facts)
                return
            seen.setdefault((first, second), place)


def _pairs(unit: "Unit", node: ast.AST) -> Iterator[tuple[str, str, ast.stmt]]:
    """(first, second) locks that a statement takes while the first is held."""
    if not isinstance(node, ast.With):
        return
    outer = [unit.source.segment(item.context_expr) for item in node.items]
    for first, second in itertools.pairwise(outer):
        yield first, second, node
    for part in (p for statement in node.body for p in ast.walk(statement)):
        if isinstance(part, ast.With):
            for item in part.items:
                inner = unit.source.segment(item.context_expr)
                if inner != outer[-1] and _lock_like(unit, inner) and _lock_like(unit, outer[-1]):
                    yield outer[-1], inner, part


def _lock_like(unit: "Unit", text: str) -> bool:
    made = rf"(^|\W){re.escape(text)}\s*(:[^=]+)?=\s*[\w.]*(Lock|Semaphore|Condition)\("
    return bool(re.search(r"(?i)lock|mutex|sem\b", text)) or re.search(made, unit.source.text) is not None


@check("handler-does-too-much", ast.Call)
def signal_handler(unit: "Unit", node: ast.Call) -> None:
    """A signal handler that logs, prints, locks or writes interrupts code that may be doing just that."""
    if unit.source.dotted(node.func) != "signal.signal" or len(node.args) < 2 or unit.source.is_test:
        return
    handler = node.args[1]
    if not isinstance(handler, ast.Name):
        return
    defined = next(
        (
            f
            for f in unit.source.nodes(ast.FunctionDef)
            if isinstance(f, ast.FunctionDef) and f.name == handler.id
        ),
        None,
    )
    for part in ast.walk(defined) if defined is not None else ():
        if isinstance(part, ast.Call):
            name = unit.source.dotted(part.func).lstrip("~")
            if re.search(
                r"^(logging|logger|log)\b|^print$|^open$|\.acquire$|^json\.dump|^subprocess|\.write$|\.commit$",
                name,
            ):
                strength = -1 if unit.source.library or name == "print" else 0
                unit.report(
                    "handler-does-too-much",
                    part,
                    what=name,
                    strength=strength,
                    facts=(("shown", handler.id),),
                )
                return


_DECIDES = re.compile(r"(?i)^_*(is|has|can|may|check|verify|validate|allow|auth|permit|should)_?\w*(allow|auth|valid|perm|access|admin|"
                      r"sign|token|login|owner|trust|safe|verif|cert|user|licen)|^(authenticate|authorize|verify|validate)")  # fmt: skip


@check("failure-taken-for-consent", ast.ExceptHandler)
def fails_open(unit: "Unit", node: ast.ExceptHandler) -> None:
    """A check that answers yes when it could not be made."""
    function = unit.source.function_of(node)
    if function is None or unit.source.is_test or not _DECIDES.search(function.name):
        return
    for statement in node.body:
        if (
            isinstance(statement, ast.Return)
            and isinstance(statement.value, ast.Constant)
            and statement.value.value is True
        ):
            strength = -1 if unit.source.library else 0
            unit.report("failure-taken-for-consent", statement, what=function.name, strength=strength,
                        facts=(("shown", function.name),))  # fmt: skip


_FETCHES = frozenset(
    {
        "urllib.request.urlretrieve",
        "urllib.urlretrieve",
        "wget.download",
        "requests.get",
        "urllib.request.urlopen",
    }
)
_RUNS = re.compile(
    r"^(subprocess\.\w+|os\.(system|exec\w+|popen|startfile|spawn\w+)|runpy\.run_path|importlib\.\w+|exec|execfile|ctypes\.CDLL)$"
)
_VERIFIES = re.compile(r"(?i)sha(256|512|384)|hashlib|checksum|digest|signature|gpg|verify_|cosign|hmac")
_PIPED = re.compile(
    r"\b(curl|wget)\b[^|;&]*\|\s*(sudo\s+)?(ba|z|da)?sh\b|\b(curl|wget)\b[^|;&]*\|\s*(sudo\s+)?python"
)


@check("download-run-unchecked", ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
def runs_download(unit: "Unit", node: ast.FunctionDef | ast.Module) -> None:
    """A file is fetched and executed with nothing between that looks at what came."""
    if unit.source.is_test:
        return
    own = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else [
        s for s in node.body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]  # fmt: skip
    fetched: set[str] = set()
    fetches: bool | None = None
    verified: bool | None = None
    for call in (p for s in own for p in ast.walk(s) if isinstance(p, ast.Call)):
        name = unit.source.dotted(call.func)
        if name in _FETCHES and "retrieve" in name and len(call.args) > 1:
            fetched.add(unit.source.segment(call.args[1]))
        elif name == "open" and len(call.args) > 1:
            fetches = _fetches(unit, own) if fetches is None else fetches
            if fetches:
                fetched.add(unit.source.segment(call.args[0]))
        elif _RUNS.match(name):
            text = unit.source.segment(call)
            if verified is None:  # asked once: a module may run a thousand programs
                verified = any(_VERIFIES.search(unit.source.segment(s)) for s in own)
            if (any(piece in text for piece in fetched) and not verified) or _PIPED.search(text):
                unit.report("download-run-unchecked", call, what=name, facts=(("shown", name),))
                return


def _fetches(unit: "Unit", body: list[ast.stmt]) -> bool:
    return any(
        isinstance(part, ast.Call) and unit.source.dotted(part.func) in _FETCHES
        for statement in body
        for part in ast.walk(statement)
    )
