"""Files: rights, checks and acts that can be parted, archives, uploads, handles left open."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit

_EXISTS = frozenset(
    [
        "os.path.exists",
        "os.path.isfile",
        "os.path.isdir",
        "os.access",
        "os.path.islink",
        "os.stat",
        "os.path.getsize",
        "os.lstat",
        "os.path.lexists",
    ]
)
_ACTS = frozenset(
    [
        "open",
        "io.open",
        "os.remove",
        "os.unlink",
        "os.rename",
        "os.mkdir",
        "os.makedirs",
        "os.rmdir",
        "shutil.rmtree",
        "shutil.copy",
        "shutil.move",
        "os.chmod",
        "os.open",
        "os.chown",
        "shutil.copyfile",
        "os.replace",
        "codecs.open",
        "os.symlink",
        "os.listdir",
    ]
)


@check("file-open-to-everyone", ast.Call)
def chmod(unit: "Unit", node: ast.Call) -> None:
    """`os.chmod(path, 0o777)`, `path.chmod(0o666)`, `os.open(path, flags, 0o777)`."""
    name = unit.source.dotted(node.func)
    last = name.rpartition(".")[2]
    position = {"chmod": 1, "fchmod": 1, "lchmod": 1, "mkdir": 1, "makedirs": 1, "open": 2, "mkfifo": 1}.get(
        last
    )
    if position is None or (last in {"open", "mkdir", "makedirs", "mkfifo"} and not name.startswith("os.")):
        return
    if last == "chmod" and not name.startswith(("os.", "shutil.")):
        position = 0
    argument = next((k.value for k in node.keywords if k.arg == "mode"), None)
    if argument is None and len(node.args) > position:
        argument = node.args[position]
    mode = file_mode(unit, argument)
    if mode is None:
        return
    shown = unit.source.segment(argument) if argument is not None else ""
    if (
        mode & 0o002
        or (last in {"chmod", "fchmod"} and mode & 0o020 and mode & 0o004)
        or (last == "open" and mode & 0o001)
    ):
        masked = (
            -1 if last not in {"chmod", "fchmod", "lchmod"} and unit.source.library else 0
        )  # the umask applies
        unit.report(
            "file-open-to-everyone", node, what=name.lstrip("~"), strength=masked, facts=(("shown", shown),)
        )
    elif mode and not mode & 0o077:
        unit.report("file-open-to-everyone", node, what=name.lstrip("~"), safe="only the owner has rights")


def file_mode(unit: "Unit", node: ast.expr | None) -> int | None:
    """A mode given as a number or as `stat` constants."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = file_mode(unit, node.left), file_mode(unit, node.right)
        return (left or 0) | (right or 0) if left is not None or right is not None else None
    if isinstance(node, (ast.Attribute, ast.Name)):
        return _STAT.get(unit.source.dotted(node).rpartition(".")[2].lstrip("~"))
    return None


_STAT = {
    "S_IRWXO": 0o007, "S_IWOTH": 0o002, "S_IROTH": 0o004, "S_IXOTH": 0o001, "S_IRWXG": 0o070, "S_IWGRP": 0o020,
    "S_IRGRP": 0o040, "S_IRWXU": 0o700, "S_IRUSR": 0o400, "S_IWUSR": 0o200, "S_IXUSR": 0o100, "S_IXGRP": 0o010,
}  # fmt: skip


@check("check-and-act-parted", ast.If)
def check_then_act(unit: "Unit", node: ast.If) -> None:
    """`if os.path.exists(path): open(path)`: the file can change in between."""
    for call in (part for part in ast.walk(node.test) if isinstance(part, ast.Call)):
        name = unit.source.dotted(call.func)
        last = name.rpartition(".")[2]
        method = last if last in {"exists", "is_file", "is_dir"} and name not in _EXISTS else ""
        if name not in _EXISTS and not method:
            continue
        subject = (
            call.func.value
            if method and isinstance(call.func, ast.Attribute)
            else (call.args[0] if call.args else None)
        )
        if subject is None:
            continue
        key = ast.dump(subject)
        negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        scope = node.body if not _leaves(node.body) else _after(unit, node)
        act = _act(unit, scope, key)
        if act is not None:
            shown = unit.source.segment(act.func)
            opens = not re.search(r"mkdir|makedirs|listdir|rmdir", shown)
            looks = last in {"exists", "isfile", "access", "islink", "lexists", "stat", "is_file", "getsize"}
            strength = 0 if opens and looks and (not negated or shown == "open") else -1
            unit.report("check-and-act-parted", node.test, what=name.lstrip("~"), strength=strength,
                        facts=(("shown", shown), ("line", str(act.lineno))))  # fmt: skip
            return


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _after(unit: "Unit", node: ast.stmt) -> list[ast.stmt]:
    parent = unit.source.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return []


def _act(unit: "Unit", body: list[ast.stmt], key: str) -> ast.Call | None:
    for statement in body:
        for part in ast.walk(statement):
            if not isinstance(part, ast.Call):
                continue
            name = unit.source.dotted(part.func)
            method = isinstance(part.func, ast.Attribute) and part.func.attr in {
                "open", "unlink", "read_text", "write_text", "mkdir", "rmdir", "rename", "read_bytes", "write_bytes",
            }  # fmt: skip
            if name in _ACTS and part.args and ast.dump(part.args[0]) == key:
                return part
            if method and isinstance(part.func, ast.Attribute) and ast.dump(part.func.value) == key:
                return part
    return None


@check("archive-extracted-unchecked", ast.Call)
def extracted(unit: "Unit", node: ast.Call) -> None:
    """`tar.extractall(path)`, `archive.extract(member)` and members opened by their own names."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in {
        "extractall",
        "extract",
        "_extract_member",
    }:
        return
    if any(keyword.arg == "filter" for keyword in node.keywords) or unit.source.is_test:
        return
    receiver = node.func.value
    kind = _archive_kind(unit, node, receiver)
    if not kind:
        return
    function = unit.source.function_of(node)
    scope: ast.AST = function or unit.source.tree
    guard = _member_guard(unit, scope)
    if kind == "zip" and node.func.attr in {"extractall", "extract"}:
        # zipfile itself strips leading slashes and `..`; what stays is unbounded growth.
        if guard is None and not unit.source.library:
            unit.report("archive-grows-unbounded", node, what=unit.source.segment(node.func))
        return
    if guard is not None:
        unit.report("archive-extracted-unchecked", node, what=unit.source.segment(node.func),
                    safe="each member's path is checked before it is written", safe_line=guard)  # fmt: skip
        return
    column = unit.source.place(node).end_column - 1
    end = unit.source.place(node).end
    comma = ", " if node.args or node.keywords else ""
    unit.report("archive-extracted-unchecked", node, what=unit.source.segment(node.func),
                edits=((end, column, end, column, f'{comma}filter="data"'),))  # fmt: skip


def _archive_kind(unit: "Unit", node: ast.AST, receiver: ast.expr) -> str:
    text = unit.source.segment(receiver)
    scope: ast.AST = unit.source.function_of(node) or unit.source.tree
    for part in ast.walk(scope):
        bound: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(part, (ast.With, ast.AsyncWith)):
            bound = [(item.optional_vars, item.context_expr) for item in part.items]
        elif isinstance(part, ast.Assign):
            bound = [(part.targets[0], part.value)]
        for target, value in bound:
            if target is not None and unit.source.segment(target) == text and isinstance(value, ast.Call):
                name = unit.source.dotted(value.func)
                if name.startswith("tarfile."):
                    return "tar"
                if name.startswith("zipfile."):
                    return "zip"
    name = unit.source.dotted(receiver)
    if name.startswith("tarfile.") or re.search(r"(^|_)tar", text):
        return "tar"
    return "zip" if name.startswith("zipfile.") or re.search(r"zip", text) else ""


def _member_guard(unit: "Unit", scope: ast.AST) -> int | None:
    """The line that checks member names, if one does."""
    for part in ast.walk(scope):
        if isinstance(part, ast.If):
            text = unit.source.segment(part.test)
            if re.search(
                r"startswith\(|is_relative_to|commonpath|commonprefix|\.\.|isabs|is_safe|file_size|getinfo|issym|islnk",
                text,
            ):
                return part.lineno
    return None


@check("file-stored-under-its-own-name", ast.Call)
def upload_saved(unit: "Unit", node: ast.Call) -> None:
    """`file.save(os.path.join(folder, file.filename))`: the client's suffix decides what the file is."""
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in {"save", "write", "write_bytes"}
        or unit.source.is_test
    ):
        return
    function = unit.source.function_of(node)
    if function is None or node.func.attr != "save" or not node.args:
        return
    text = unit.source.segment(function)
    if not re.search(r"\.files\b|FILES|UploadFile|\.filename\b", text):
        return
    if not (re.search(r"filename|\.name\b", text)):
        return
    checked = re.search(
        r"(?i)allowed|ext(ension)?s?\b.*\bin\b|endswith\(|splitext|\.suffix|rsplit\(['\"]\.['\"]|mimetype|content_type|imghdr|magic\.",
        text,
    )
    if checked:
        line = function.lineno + text[: checked.start()].count("\n")
        unit.report("file-stored-under-its-own-name", node, what=unit.source.segment(node.func),
                    safe="the suffix or type is compared with what is allowed", safe_line=line,
                    facts=(("source", "The uploaded file"),))  # fmt: skip
        return
    unit.report("file-stored-under-its-own-name", node, what=unit.source.segment(node.func),
                strength=1, facts=(("source", "The uploaded file"),))  # fmt: skip


@check("handle-left-open", ast.Assign)
def left_open(unit: "Unit", node: ast.Assign) -> None:
    """`stream = open(path)` with no close on every way."""
    if (
        not isinstance(node.value, ast.Call)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], ast.Name)
    ):
        return
    name = unit.source.dotted(node.value.func)
    if name not in {
        "open",
        "io.open",
        "socket.socket",
        "sqlite3.connect",
        "codecs.open",
        "tempfile.NamedTemporaryFile",
        "zipfile.ZipFile",
        "tarfile.open",
    }:
        return
    function = unit.source.function_of(node)
    if function is None or unit.source.is_test:
        return
    variable = node.targets[0].id
    text = unit.source.segment(function)
    if re.search(rf"\bwith\b[^\n]*\b{variable}\b|closing\({variable}\b|return\s+{variable}\b|yield\s+{variable}\b|=\s*{variable}\s*$|"
                 rf"[(,]\s*{variable}\s*[,)]|\bdel {variable}\b", text):  # fmt: skip
        return
    closed = re.search(rf"\b{variable}\.(close|detach|shutdown)\(", text)
    in_finally = any(
        f"{variable}.close" in unit.source.segment(statement)
        for part in ast.walk(function) if isinstance(part, ast.Try) for statement in part.finalbody
    )  # fmt: skip
    if not closed:
        weak = -1 if name in {"sqlite3.connect", "socket.socket", "tempfile.NamedTemporaryFile"} else 0
        unit.report("handle-left-open", node, what=name, strength=weak, facts=(("shown", variable),))
    elif not in_finally:
        unit.report("handle-left-open", node, what=name, strength=-1, facts=(("shown", variable),))


@check("handle-left-open", ast.Attribute)
def read_and_dropped(unit: "Unit", node: ast.Attribute) -> None:
    """`open(path).read()`: nobody closes the handle."""
    if node.attr in {"read", "readlines", "write", "readline"} and isinstance(node.value, ast.Call):
        name = unit.source.dotted(node.value.func)
        if name in {"open", "io.open", "codecs.open"} and not unit.source.is_test:
            unit.report("handle-left-open", node, what=name, strength=-1, facts=(("shown", "open(...)"),))


@check("text-without-encoding", ast.Call)
def no_encoding(unit: "Unit", node: ast.Call) -> None:
    """`open(path)` in text mode uses the platform's encoding."""
    name = unit.source.dotted(node.func)
    if (
        name not in {"open", "io.open"}
        or any(k.arg in {"encoding", None} for k in node.keywords)
        or len(node.args) > 3
    ):
        return
    mode = (
        node.args[1]
        if len(node.args) > 1
        else next((k.value for k in node.keywords if k.arg == "mode"), None)
    )
    if mode is not None and not (isinstance(mode, ast.Constant) and isinstance(mode.value, str)):
        return
    if mode is None or "b" not in str(mode.value):
        place = unit.source.place(node)
        at = (place.end, place.end_column - 1)
        unit.report(
            "text-without-encoding", node, what=name, strength=-1, edits=((*at, *at, ', encoding="utf-8"'),)
        )


@check("file-open-to-everyone", ast.Expr)
def umask(unit: "Unit", node: ast.Expr) -> None:
    """`os.umask(0)` that is not put back."""
    call = node.value
    if isinstance(call, ast.Call) and unit.source.dotted(call.func) == "os.umask" and call.args:
        value = call.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            shown = unit.source.segment(value)
            if value.value & 0o022 != 0o022:
                unit.report("file-open-to-everyone", call, what="os.umask", facts=(("shown", shown),))
            else:
                unit.report(
                    "file-open-to-everyone",
                    call,
                    what="os.umask",
                    safe="new files are not writable by others",
                )


@check("handle-left-open", ast.With)
def closed_by_with(unit: "Unit", node: ast.With) -> None:
    """`with open(path) as stream:` closes it on every way."""
    if unit.source.library or unit.source.is_test:
        return
    for item in node.items:
        if isinstance(item.context_expr, ast.Call) and unit.source.dotted(item.context_expr.func) in {
            "open",
            "io.open",
        }:
            name = unit.source.segment(item.optional_vars) if item.optional_vars is not None else "open(...)"
            unit.report("handle-left-open", item.context_expr, what="open", safe="`with` closes it on every way",
                        facts=(("shown", name),))  # fmt: skip
            return


@check("check-and-act-parted", ast.Try)
def tried(unit: "Unit", node: ast.Try) -> None:
    """`try: open(path) ... except FileNotFoundError`: the act itself is the check."""
    if unit.source.library or unit.source.is_test:
        return
    caught = " ".join(
        unit.source.segment(handler.type) for handler in node.handlers if handler.type is not None
    )
    if not re.search(r"FileNotFoundError|PermissionError|FileExistsError|OSError|IOError", caught):
        return
    for part in (p for statement in node.body for p in ast.walk(statement)):
        if isinstance(part, ast.Call) and unit.source.dotted(part.func) in _ACTS:
            unit.report("check-and-act-parted", part, what=unit.source.segment(part.func), safe="the act is tried, and its failure is handled",
                        safe_line=node.handlers[0].lineno, facts=(("shown", unit.source.segment(part.func)), ("line", "")))  # fmt: skip
            return
