"""House rules of the package's code that no linter holds for us."""

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from tests.unit.repository.source import Function, Module, definitions, module_from, modules

_NOQA_WITHOUT_REASON = re.compile(
    r"#\s*(?:noqa|type:\s*ignore)(?::\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*|\[[\w, -]+\])?\s*$"
)
_BARE_SILENCER = re.compile(r"#\s*(?:noqa(?!:)|type:\s*ignore(?!\[))")
_WRITERS = {
    "write_text",
    "write_bytes",
    "mkdir",
    "unlink",
    "rmdir",
    "rename",
    "replace_file",
    "touch",
    "symlink_to",
}
_NOW = {"now", "utcnow", "today"}
_DOCUMENTED_ELSEWHERE = {"overload", "override", "setter", "deleter"}
_NO_TEXT_OPEN = {"os", "tarfile", "zipfile", "gzip", "bz2", "lzma", "webbrowser", "shelve", "dbm"}
PURE = ("tree", "explore", "deliberate", "search")  # fmt: skip


def calls(module: Module) -> Iterator[tuple[ast.Call, str, str]]:
    """Yield each call with the name called and the plain name it is an attribute of (either may be empty)."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node, node.func.id, ""
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value
                yield node, node.func.attr, owner.id if isinstance(owner, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return a keyword argument's value."""
    return next((given.value for given in call.keywords if given.arg == name), None)


# --- the rules: each yields `line: what is wrong` ------------------------------------------------------------


def printing(module: Module) -> Iterator[str]:
    """Only a surface writes to standard output, which for a server is the wire."""
    if not module.name.startswith("surfaces.cli"):
        for call, name, owner in calls(module):
            if name == "print" and not owner:
                yield f"{call.lineno}: print outside surfaces/cli"


def silencers(module: Module) -> Iterator[str]:
    """A silenced check names the rule and says why on the same line."""
    for number, line in enumerate(module.text.splitlines(), 1):
        if _BARE_SILENCER.search(line):
            yield f"{number}: noqa or type: ignore without a rule"
        elif _NOQA_WITHOUT_REASON.search(line):
            yield f"{number}: noqa or type: ignore without its reason"


def broad_handlers(module: Module) -> Iterator[str]:
    """A handler that catches every fault raises again, or gives the reason why it is right to go on."""
    lines = module.text.splitlines()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = (
            {child.id for child in ast.walk(node.type) if isinstance(child, ast.Name)}
            if node.type
            else {"BaseException"}
        )
        raises = any(isinstance(child, ast.Raise) for child in ast.walk(node))
        broad = caught & {"Exception", "BaseException"}
        if broad and not raises and "# noqa: BLE001 " not in lines[node.lineno - 1]:
            yield f"{node.lineno}: except {broad.pop()} without `# noqa: BLE001 reason`"


def docstrings(module: Module) -> Iterator[str]:
    """What is public says what it is for."""
    if not ast.get_docstring(module.tree):
        yield "1: the module has no docstring"
    for name, node in definitions(module.tree):
        if any(part.startswith("_") for part in name.split(".")) or _is_inner(module, name):
            continue
        decorators = {getattr(d, "attr", getattr(d, "id", "")) for d in node.decorator_list}
        if not ast.get_docstring(node) and not decorators & _DOCUMENTED_ELSEWHERE:
            yield f"{node.lineno}: {name} has no docstring"


def _is_inner(module: Module, name: str) -> bool:
    """Say whether a qualified name lies within a function."""
    functions = {outer for outer, node in definitions(module.tree) if isinstance(node, Function)}
    parts = name.split(".")
    return any(".".join(parts[:length]) in functions for length in range(1, len(parts)))


def encodings(module: Module) -> Iterator[str]:
    """Text is never read or written in whatever encoding the machine happens to have."""
    for call, name, owner in calls(module):
        if keyword(call, "encoding") is not None:
            continue
        positional = {"read_text": 1, "write_text": 2}
        if name in positional and not owner.endswith("resources") and len(call.args) < positional[name]:
            yield f"{call.lineno}: {name} without encoding"
        elif (
            name == "open"
            and owner not in _NO_TEXT_OPEN
            and _opens_text(call, is_method=bool(_is_attribute(call)))
        ):
            yield f"{call.lineno}: open without encoding"
        elif any(_is_true(keyword(call, flag)) for flag in ("text", "universal_newlines")):
            yield f"{call.lineno}: {name} with text=True and no encoding"


def _is_attribute(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute)


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _opens_text(call: ast.Call, is_method: bool) -> bool:
    """Say whether `open(path, mode)` or `path.open(mode)` opens text; an unknown mode is not held against it."""
    position = 0 if is_method else 1
    mode = keyword(call, "mode") or (call.args[position] if len(call.args) > position else None)
    if mode is None:
        return not (is_method and call.args)
    return (
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and re.fullmatch("[rwxat+]+", mode.value) is not None
    )


def purity(module: Module) -> Iterator[str]:
    """Engines are handed time and chance and write no file (docs/architecture.md, "Layers")."""
    if not module.name.startswith(PURE):
        return
    for call, name, owner in calls(module):
        if name in _NOW and owner in ("datetime", "date"):
            yield f"{call.lineno}: {owner}.{name}() in an engine, which is handed the time"
        elif owner == "random" and name != "Random":
            yield f"{call.lineno}: random.{name}() in an engine, which is handed its chance"
        elif name in ("uuid1", "uuid4", "urandom"):
            yield f"{call.lineno}: {name}() in an engine, whose ids are deterministic"
        elif (name in _WRITERS and _is_attribute(call)) or (name == "open" and not owner):
            yield f"{call.lineno}: {name} in an engine, which touches no file"


RULES: tuple[Callable[[Module], Iterator[str]], ...] = (
    printing, silencers, broad_handlers, docstrings, encodings, purity,
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Callable[[Module], Iterator[str]]) -> None:
    told = [f"{module.path}:{fault}" for module in modules() for fault in rule(module)]
    assert not told, "\n" + "\n".join(told)


@pytest.mark.parametrize(
    ("rule", "text", "count"),
    [
        (printing, "print(1)", 1),
        (printing, "console.print(1)", 0),
        (silencers, "x = 1  # noqa", 1),
        (silencers, "x = 1  # noqa: E501", 1),
        (silencers, "x = 1  # type: ignore[arg-type]", 1),
        (silencers, "x = 1  # noqa: BLE001 a crash of a plugin must not end us", 0),
        (silencers, "x = 1  # type: ignore[arg-type]  # the stub is wrong", 0),
        (broad_handlers, "try:\n    f()\nexcept Exception:\n    pass", 1),
        (broad_handlers, "try:\n    f()\nexcept (OSError, Exception) as e:\n    log(e)", 1),
        (
            broad_handlers,
            "try:\n    f()\nexcept Exception:  # noqa: BLE001 reported to the caller\n    pass",
            0,
        ),
        (broad_handlers, "try:\n    f()\nexcept BaseException:\n    clean()\n    raise", 0),
        (broad_handlers, "try:\n    f()\nexcept:\n    pass", 1),
        (broad_handlers, "try:\n    f()\nexcept BaseException:\n    pass", 1),
        (
            broad_handlers,
            "try:\n    f()\nexcept BaseException:  # noqa: BLE001 the verdict goes out\n    g()",
            0,
        ),
        (docstrings, "def f(): ...", 2),
        (docstrings, '"""M."""\nclass C:\n    """C."""\n    def m(self): ...\n    def _n(self): ...', 1),
        (docstrings, '"""M."""\ndef f():\n    """F."""\n    def g(): ...', 0),
        (docstrings, '"""M."""\nclass _C:\n    def m(self): ...', 0),
        (encodings, "p.read_text()", 1),
        (encodings, "p.read_text(encoding='utf-8')\np.write_text(t, 'utf-8')", 0),
        (encodings, "open(p)\nopen(p, 'w')\np.open()\np.open('a')", 4),
        (encodings, "open(p, 'rb')\np.open('wb')\nos.open(p, 0)\nopen(p, mode)", 0),
        (encodings, "subprocess.run(c, text=True)", 1),
        (purity, "datetime.now(tz)\nrandom.random()\nuuid4()\np.write_text(t)\nopen(p)", 5),
        (purity, "random.Random(seed)\nclock.now()\ntext.replace(a, b)", 0),
    ],
)
def test_each_rule_tells_what_breaks_it(
    rule: Callable[[Module], Iterator[str]], text: str, count: int
) -> None:
    assert len(list(rule(module_from(text)))) == count
