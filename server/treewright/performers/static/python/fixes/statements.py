"""Recipes that change statements: settings, secrets, handlers, comparisons, defaults."""

import ast
import re

from treewright.performers.static.python.fixes.change import Change, insert_before, recipe, replace
from treewright.performers.static.python.source import FUNCTIONS, Source


@recipe("secret-in-code")
def from_environment(source: Source, node: ast.AST) -> Change | None:
    """The constant becomes a look-up in the environment."""
    value: ast.AST = node
    name = "SECRET"
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name, value = source.segment(target), node.value
        if isinstance(target, ast.Subscript):
            name = source.segment(target.slice)
    elif isinstance(node, ast.Compare):
        value = node.comparators[0] if isinstance(node.comparators[0], ast.Constant) else node.left
        other = node.left if value is not node.left else node.comparators[0]
        name = source.segment(other) if isinstance(other, (ast.Name, ast.Attribute)) else "PASSWORD"
    else:
        parent = source.parent(node)
        if isinstance(parent, ast.keyword) and parent.arg:
            name = parent.arg
        elif isinstance(parent, ast.Dict):
            key = parent.keys[parent.values.index(node)]  # type: ignore[arg-type]  # its parent is this dict
            name = source.segment(key) if key is not None else name
        elif isinstance(parent, ast.arguments):
            return None
    if not isinstance(value, ast.Constant):
        return None
    variable = re.sub(r"\W+", "_", name.rpartition(".")[2]).strip("_").upper() or "SECRET"
    look_up = f'os.environ["{variable}"]' + (".encode()" if isinstance(value.value, bytes) else "")
    return replace(source, value, look_up, "import os")


@recipe("error-swallowed")
def logged(source: Source, node: ast.AST) -> Change | None:
    """`pass` becomes a log call with the traceback."""
    if not isinstance(node, ast.ExceptHandler) or len(node.body) != 1:
        return None
    change = replace(source, node.body[0], 'logging.exception("unexpected error")', "import logging")
    if isinstance(node.body[0], ast.Continue):
        indent = source.lines[node.body[0].lineno - 1][: node.body[0].col_offset]
        change.edits[0] = (*change.edits[0][:4], f'logging.exception("unexpected error")\n{indent}continue')
    if node.type is None:
        line = source.lines[node.lineno - 1]
        column = line.index("except") + len("except")
        change.edits.append((node.lineno, column, node.lineno, column, " Exception"))
    return change


@recipe("handler-too-broad")
def named(source: Source, node: ast.AST) -> Change | None:
    """`except:` becomes `except Exception:`."""
    if not isinstance(node, ast.ExceptHandler):
        return None
    column = source.lines[node.lineno - 1].index("except") + len("except")
    return Change([(node.lineno, column, node.lineno, column, " Exception")])


@recipe("assert-guards-access")
def raised(source: Source, node: ast.AST) -> Change | None:
    """`assert x` becomes `if not x: raise PermissionError`."""
    if not isinstance(node, ast.Assert):
        return None
    indent = source.lines[node.lineno - 1][: node.col_offset]
    message = f"({source.segment(node.msg)})" if node.msg is not None else ""
    test = source.segment(node.test)
    held = test if isinstance(node.test, (ast.Name, ast.Attribute, ast.Call)) else f"({test})"
    return replace(source, node, f"if not {held}:\n{indent}    raise PermissionError{message}")


@recipe("result-of-search-unchecked")
def looked_at(source: Source, node: ast.AST) -> Change | None:
    """A check in front of the first use."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or not isinstance(node.value, ast.Name):
        return None
    statement = source.statement_of(node)
    name = node.value.id
    return insert_before(
        source, statement, [f"if {name} is None:", f'    raise ValueError("{name} was not found")']
    )


@recipe("default-shared-between-calls")
def made_in_body(source: Source, node: ast.AST) -> Change | None:
    """The default becomes None, the object is made in the body."""
    parent: ast.AST | None = source.parent(node)
    function = source.parent(parent) if isinstance(parent, ast.arguments) else None
    if not isinstance(function, FUNCTIONS) or not function.body:
        return None
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(plain), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    name = next((a.arg for a, d in pairs if d is node), None)
    if name is None:
        return None
    first = function.body[0]
    docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1
    )
    change = insert_before(
        source,
        function.body[1] if docstring else first,
        [f"if {name} is None:", f"    {name} = {source.segment(node)}"],
    )
    change.edits += replace(source, node, "None").edits
    return change


@recipe("index-past-the-end")
def in_bounds(source: Source, node: ast.AST) -> Change | None:
    """`range(len(x) + 1)` loses the one."""
    if not isinstance(node, ast.Subscript):
        return None
    if isinstance(node.slice, ast.Call):
        return replace(source, node.slice, f"{source.segment(node.slice)} - 1")
    current = source.parent(node)
    while current is not None and not isinstance(current, ast.For):
        current = source.parent(current)
    if isinstance(current, ast.For):
        text = source.segment(current.iter)
        shorter = re.sub(r"(len\([^()]*\))\s*\+\s*1", r"\1", text)
        return replace(source, current.iter, shorter) if shorter != text else None
    return None


@recipe("forgery-protection-off", "test-not-run")
def without_decorator(source: Source, node: ast.AST) -> Change | None:
    """The decorator's line goes; a setting is switched on."""
    if isinstance(node, ast.Assign):
        return replace(source, node.value, "True")
    line = node.lineno  # type: ignore[attr-defined]  # the node stands in this tree
    if source.lines[line - 1].strip().startswith("@") and node.end_lineno == line:  # type: ignore[attr-defined]  # the node stands in this tree
        return Change([(line, 0, line + 1, 0, "")])
    return None


@recipe("weak-password-rule")
def longer(source: Source, node: ast.AST) -> Change | None:
    """The bound becomes twelve."""
    if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
        return replace(source, node.comparators[0], "12")
    return None


@recipe("host-pattern-too-wide")
def escaped_dots(source: Source, node: ast.AST) -> Change | None:
    """Dots before the last part of a host are escaped."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return None
    text = source.segment(node.args[0])
    new = re.sub(r"(?<=[\w)])(?<!\\)\.(?=[\w(])", r"\\.", text)
    if not re.match(r"[rR]", text):
        new = "r" + new
    return replace(source, node.args[0], new)


@recipe("pattern-range-too-wide")
def two_ranges(source: Source, node: ast.AST) -> Change | None:
    """`[A-z]` becomes `[A-Za-z]`."""
    if isinstance(node, ast.Call) and node.args:
        text = source.segment(node.args[0])
        return replace(source, node.args[0], text.replace("A-z", "A-Za-z").replace("a-Z", "a-zA-Z"))
    return None


@recipe("markup-filtered-by-pattern")
def escaped_markup(source: Source, node: ast.AST) -> Change | None:
    """`re.sub("<script...", "", text)` becomes `html.escape(text)`."""
    if isinstance(node, ast.Call) and source.dotted(node.func) == "re.sub" and len(node.args) >= 3:
        return replace(source, node, f"html.escape({source.segment(node.args[2])})", "import html")
    return None


@recipe("host-checked-by-substring")
def parsed_host(source: Source, node: ast.AST) -> Change | None:
    """`"example.com" in url` compares the parsed host."""
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant):
        host = re.sub(r"^https?://|/$", "", str(node.left.value))
        operator = "==" if isinstance(node.ops[0], ast.In) else "!="
        return replace(source, node, f'urlsplit({source.segment(node.comparators[0])}).hostname {operator} "{host}"',
                       "from urllib.parse import urlsplit")  # fmt: skip
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        text = str(node.args[0].value)
        if node.func.attr == "startswith":
            return replace(source, node.args[0], f'"{text}/"')
        return replace(source, node.args[0], f'".{text.lstrip(".")}"')
    return None


@recipe("code-never-reached", "key-given-twice")
def taken_out(source: Source, node: ast.AST) -> Change | None:
    """The statement, or the entry on a line of its own, goes."""
    if isinstance(node, ast.stmt):
        place = source.place(node)
        return Change([(place.line, 0, place.end + 1, 0, "")]) if place.end < len(source.lines) else None
    line = node.lineno  # type: ignore[attr-defined]  # the node stands in this tree
    text = source.lines[line - 1].strip()
    if text.endswith(",") and text.count(":") == 1:
        return Change([(line, 0, line + 1, 0, "")])
    return None


@recipe("lock-left-held")
def held_in_with(source: Source, node: ast.AST) -> Change | None:
    """`lock.acquire()` ... `lock.release()` in one block become `with lock:`."""
    if (
        not isinstance(node, ast.Expr)
        or not isinstance(node.value, ast.Call)
        or not isinstance(node.value.func, ast.Attribute)
    ):
        return None
    owner = source.segment(node.value.func.value)
    parent = source.parent(node)
    block = next(
        (
            b
            for name in ("body", "orelse")
            if isinstance(b := getattr(parent, name, None), list) and node in b
        ),
        None,
    )
    if block is None or node.value.args or node.value.keywords:
        return None
    start = block.index(node)
    end = next(
        (i for i in range(start + 1, len(block)) if source.segment(block[i]) == f"{owner}.release()"), None
    )
    if end is None or end == start + 1:
        return None
    change = replace(source, node, f"with {owner}:")
    first, last = block[start + 1].lineno, block[end - 1].end_lineno or block[end - 1].lineno
    change.edits += [
        (line, 0, line, 0, "    ") for line in range(first, last + 1) if source.lines[line - 1].strip()
    ]
    release = source.place(block[end])
    change.edits.append((release.line, 0, release.end + 1, 0, "") if release.end < len(source.lines) else
                        (release.line, 0, release.end, release.end_column, ""))  # fmt: skip
    return change
