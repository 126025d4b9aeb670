"""Waiting, threads, clocks, old modules, suppressions, tests that do not run."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check
from treewright.performers.static.rulebook import table

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_WAITS = frozenset(
    [f"requests.{verb}" for verb in ["get", "post", "put", "delete", "head", "patch", "options", "request"]]
    + [
        "urllib.request.urlopen",
        "urllib2.urlopen",
        "smtplib.SMTP",
        "ftplib.FTP",
        "http.client.HTTPConnection",
        "socket.create_connection",
    ]
    + [
        "requests.Session().get",
        "requests.Session().post",
        "requests.session().get",
        "requests.session().post",
    ]
)
_TIMEOUT_POSITION = {
    "urllib.request.urlopen": 2,
    "urllib2.urlopen": 2,
    "socket.create_connection": 1,
    "smtplib.SMTP": 3,
    "ftplib.FTP": 4,
    "http.client.HTTPConnection": 3,
}


@check("wait-without-limit", ast.Call)
def no_timeout(unit: "Unit", node: ast.Call) -> None:
    """`requests.get(url)` waits for ever when the server says nothing."""
    name = unit.source.dotted(node.func)
    if name not in _WAITS or unit.source.is_test or any(k.arg is None for k in node.keywords):
        return
    timeout = next((k.value for k in node.keywords if k.arg == "timeout"), None)
    position = _TIMEOUT_POSITION.get(name)
    if timeout is None and position is not None and len(node.args) > position:
        return
    if timeout is not None and not (isinstance(timeout, ast.Constant) and timeout.value is None):
        if not unit.source.library:
            unit.report("wait-without-limit", node, what=name, safe="a timeout is given")
        return
    place = unit.source.place(node)
    at = (place.end, place.end_column - 1)
    edits: tuple[tuple[int, int, int, int, str], ...] = ()
    if timeout is None:
        comma = "" if not node.args and not node.keywords else ", "
        text = unit.source.lines[place.end - 1][: place.end_column - 1].rstrip()
        if not text.endswith(","):
            edits = ((*at, *at, f"{comma}timeout=10"),)
    unit.report("wait-without-limit", node, what=name, edits=edits)


@check("lock-left-held", ast.Expr)
def lock_held(unit: "Unit", node: ast.Expr) -> None:
    """`lock.acquire()` whose release an exception skips, or that is never released."""
    call = node.value
    if not (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "acquire"
    ):
        return
    owner = unit.source.segment(call.func.value)
    if not re.search(r"(?i)lock|mutex|sem(aphore)?|cond", owner):
        return
    function = unit.source.function_of(node)
    scope: ast.AST = function or unit.source.tree
    if function is not None and function.name in {"__enter__", "acquire", "__aenter__", "lock"}:
        return
    text = unit.source.text if function is None else unit.source.segment(function)
    if f"{owner}.release" not in text:
        elsewhere = -2 if f"{owner}.release" in unit.source.text else 0
        unit.report("lock-left-held", node, what=owner, strength=elsewhere, facts=(("shown", owner),))
        return
    for part in ast.walk(scope):
        if isinstance(part, ast.Try) and any(
            f"{owner}.release" in unit.source.segment(s) for s in part.finalbody
        ):
            unit.report(
                "lock-left-held",
                node,
                what=owner,
                safe="it is released in a finally part",
                safe_line=part.finalbody[0].lineno,
                facts=(("shown", owner),),
            )
            return
    unit.report("lock-left-held", node, what=owner, strength=0, facts=(("shown", owner),))


@check("lock-taken-twice", ast.FunctionDef)
def taken_twice(unit: "Unit", node: ast.FunctionDef) -> None:
    """`lock.acquire()` twice in a row on a plain Lock."""
    last = ""
    for statement in node.body:
        text = unit.source.segment(statement)
        found = re.fullmatch(r"(\w+(?:\.\w+)*)\.acquire\(\)", text)
        if found and found.group(1) == last and "RLock" not in unit.source.text:
            unit.report("lock-taken-twice", statement, what=last, facts=(("shown", last),))
        if found:
            last = found.group(1)
        elif "release" in text:
            last = ""


@check("shared-value-without-lock", ast.FunctionDef)
def shared(unit: "Unit", node: ast.FunctionDef) -> None:
    """A thread's function changes a global by reading it first, without a lock."""
    imports = set(unit.source.imports.values())
    if not any(
        name.partition(".")[0] in {"threading", "concurrent", "_thread", "thread"} for name in imports
    ):
        return
    text = unit.source.text
    if not re.search(rf"(target\s*=\s*|submit\(|map\(|start_new_thread\(\s*)(self\.)?{node.name}\b", text):
        return
    shared_names = {name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names}
    for part in ast.walk(node):
        if not isinstance(part, (ast.AugAssign, ast.Assign)):
            continue
        target = part.target if isinstance(part, ast.AugAssign) else part.targets[0]
        shared_target = (isinstance(target, ast.Name) and target.id in shared_names) or (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
            and isinstance(part, ast.AugAssign)
        )
        if not shared_target:
            continue
        name = unit.source.segment(target)
        if (
            isinstance(part, ast.Assign)
            and not re.search(rf"\b{re.escape(name)}\b", unit.source.segment(part.value))
            and name not in unit.source.segment(node).split("=")[0]
        ):
            continue
        holder = _lock_around(unit, part)
        safe = "a lock is held here" if holder else ""
        unit.report(
            "shared-value-without-lock",
            part,
            what=name,
            safe=safe,
            safe_line=holder,
            facts=(("shown", name),),
        )
        return


def _lock_around(unit: "Unit", node: ast.AST) -> int:
    current = unit.source.parent(node)
    while current is not None and not isinstance(current, ast.FunctionDef):
        if isinstance(current, ast.With) and re.search(
            r"(?i)lock|mutex|sem", " ".join(unit.source.segment(i.context_expr) for i in current.items)
        ):
            return current.lineno
        current = unit.source.parent(current)
    function = unit.source.function_of(node)
    if function is not None:
        for part in ast.walk(function):
            if (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Attribute)
                and part.func.attr == "acquire"
            ):
                return part.lineno
    return 0


@check("time-without-zone", ast.Call)
def naive(unit: "Unit", node: ast.Call) -> None:
    """`datetime.utcnow()`, `datetime.now()`."""
    name = unit.source.dotted(node.func)
    if name in {"datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp"} or (
        name == "datetime.datetime.now" and not node.args and not node.keywords
    ):
        unit.report("time-without-zone", node, what=name, strength=-1)


@check("module-is-gone", ast.Import, ast.ImportFrom)
def old_module(unit: "Unit", node: ast.Import | ast.ImportFrom) -> None:
    """Modules that newer Pythons do not have, or that nobody mends."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if isinstance(node, ast.ImportFrom) and node.level:
        return
    parent = unit.source.parent(node)
    if isinstance(parent, (ast.Try, ast.ExceptHandler, ast.If)):
        return  # a fallback for old Pythons
    gone = table("python", "deprecated")["modules"]
    for name in names:
        if name in gone or name.partition(".")[0] in gone:
            key = name if name in gone else name.partition(".")[0]
            unit.report("module-is-gone", node, what=name, facts=(("shown", name), ("why", gone[key])))


@check("function-is-gone", ast.Call)
def old_function(unit: "Unit", node: ast.Call) -> None:
    """Functions that newer versions removed or advise against."""
    name = unit.source.dotted(node.func)
    gone = table("python", "deprecated")["functions"]
    why = gone.get(name) or gone.get("*." + name.rpartition(".")[2] if "." in name else "")
    if why:
        unit.report(
            "function-is-gone", node, what=name.lstrip("~"), facts=(("shown", name.lstrip("~")), ("why", why))
        )


@check("warning-suppressed", ast.Module)
def suppressed(unit: "Unit", node: ast.Module) -> None:
    """`# nosec`, `# noqa: S...`: somebody told a scanner to be quiet."""
    del node
    for line, comment in unit.facts.suppressions:
        if re.search(r"#\s*(nosec|nosemgrep)|noqa:?\s*[^#]*\bS\d", comment):
            anchor = ast.Name("x", ast.Load(), lineno=line, col_offset=0, end_lineno=line, end_col_offset=1)
            unit.report("warning-suppressed", anchor, what=comment[:60], strength=-1)


@check("test-not-run", ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
def skipped(unit: "Unit", node: ast.FunctionDef) -> None:
    """`@pytest.mark.skip`, `@unittest.skip`, `xfail`."""
    for decorator in node.decorator_list:
        text = unit.source.segment(decorator)
        if re.match(r"(pytest\.)?mark\.(skip|xfail)\b|unittest\.(skip|expectedFailure)\b|skip\(", text):
            unit.report("test-not-run", decorator, what=text.split("\n")[0][:60], strength=-1)


@check("answer-read-without-limit", ast.Call)
def unlimited_read(unit: "Unit", node: ast.Call) -> None:
    """`request.stream.read()`, `sock.makefile().read()`: as much as the peer sends."""
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr != "read"
        or node.args
        or unit.source.is_test
    ):
        return
    text = unit.source.segment(node.func.value)
    if re.search(r"request\.(stream|content)$|rfile$|urlopen\(", text):
        unit.report("answer-read-without-limit", node, what=text[:60], strength=-1)


@check("zip-bomb-decompressed", ast.Call)
def bomb(unit: "Unit", node: ast.Call) -> None:
    """`gzip.decompress(request.data)`."""
    name = unit.source.dotted(node.func)
    if (
        name in {"gzip.decompress", "zlib.decompress", "bz2.decompress", "lzma.decompress"}
        and node.args
        and not unit.source.library
    ):
        unit.report("zip-bomb-decompressed", node, what=name, strength=-1)


@check("rights-dropped-unchecked", ast.Call)
def root(unit: "Unit", node: ast.Call) -> None:
    """`subprocess.run(["sudo", ...])`, `os.setuid` without a look at the groups."""
    name = unit.source.dotted(node.func)
    if name.startswith("subprocess.") or name == "os.system":
        text = unit.source.segment(node)
        if re.search(r"[\[(]\s*f?[\"']sudo\b", text) and not unit.source.is_test:
            unit.report("runs-as-root", node, what=name)
    elif name in {"os.setuid", "os.seteuid"} and node.args and not unit.source.is_test:
        function = unit.source.function_of(node)
        scope = unit.source.segment(function) if function else unit.source.text
        if (
            "setgroups" not in scope
            and "setgid" not in scope
            and "initgroups" not in scope
            and unit.source.segment(node.args[0]) != "0"
            and not (function is not None and "setuid" in function.name)  # a wrapper under the same name
        ):
            unit.report("rights-dropped-unchecked", node, what=name)


@check("path-searched-first", ast.Call)
def search_path(unit: "Unit", node: ast.Call) -> None:
    """`sys.path.insert(0, "/tmp/plugins")`, `os.environ["PATH"] = ".:" + ...`."""
    name = unit.source.dotted(node.func)
    if name in {"sys.path.insert", "sys.path.append"} and node.args:
        text = unit.source.segment(node.args[-1])
        if re.search(r"[\"'](/tmp|/var/tmp|\.)?[\"']$|^[\"'](/tmp|/var/tmp)|getcwd|environ|gettempdir", text):
            strength = -1 if unit.source.library else 0
            unit.report(
                "path-searched-first", node, what=name, strength=strength, facts=(("shown", text[:60]),)
            )
    elif name in {"ctypes.CDLL", "ctypes.cdll.LoadLibrary"} and node.args:
        text = unit.source.segment(node.args[0])
        if re.match(r"[\"']\.?/?(tmp/)?[\w.]+\.(so|dll)[\"']$|[\"']/tmp", text) and not text.startswith(
            ("'/lib", '"/lib', '"/usr', "'/usr")
        ):
            unit.report("path-searched-first", node, what=name, facts=(("shown", text[:60]),))


@check("path-searched-first", ast.Assign)
def path_variable(unit: "Unit", node: ast.Assign) -> None:
    """`os.environ["PATH"] = "." + ...`."""
    target = node.targets[0]
    if isinstance(target, ast.Subscript) and unit.source.dotted(target.value) == "os.environ":
        key = unit.source.segment(target.slice).strip("\"'")
        text = unit.source.segment(node.value)
        if key in {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "LD_PRELOAD"} and re.search(
            r"[\"'](\.|/tmp|:)|getcwd|input\(|argv|request", text
        ):
            unit.report(
                "path-searched-first", node, what=f"os.environ[{key!r}]", facts=(("shown", text[:60]),)
            )


@check("clear-text-protocol", ast.Call)
def mail_in_clear(unit: "Unit", node: ast.Call) -> None:
    """`smtplib.SMTP(...)` followed by `login` without `starttls`."""
    if unit.source.dotted(node.func) != "smtplib.SMTP" or unit.source.is_test:
        return
    function = unit.source.function_of(node)
    text = unit.source.segment(function) if function else unit.source.text
    if ".login(" in text and "starttls" not in text:
        unit.report("clear-text-protocol", node, what="smtplib.SMTP")
