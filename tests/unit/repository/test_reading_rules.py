"""House rule: what somebody else may have put there is read through `treewright.regular` and `treewright.parsing`.

A pipe, a device or a file without end in place of a file, and a text of ten thousand brackets, then fail as any other
unreadable file does. What is packaged with us may be read as it is.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.unit.repository.source import Module, module_from, modules
from tests.unit.repository.test_code_rules import calls, keyword

OURS = {
    "regular": "the rule itself",
    "parsing": "the rule itself",
    "data.codes": "packaged files",
    "models.prices": "packaged files",
    "performers.static.rulebook": "packaged files",
    "performers.static.cache": "the package's own code, to tell its version",
    "kernels.message": "the package's own code, sent into a kernel",
    "kernels.warm": "the package's own code; what its own forked process answers",
    "kernels.session": "the package's own code",
    "kernels.pool": "files of a private folder that only its own processes write",
    "kernels.several": "what its own forked process answers",
    "kernels.wire": "what its own forked process answers, checked for its secret",
    "kernels.host": "what a probe of ours printed",
    "kernels.provisioner": "a pipe of its own",
    "surfaces.lsp.speech": "packaged files",
    "deliberate.encoding": "what it encoded itself a moment before",
    "models.local_server": "what our own process tells it",
    "workspace.commands": "packaged files",
    "store.locks": "what the kernel says of processes",
    "store.config": "`tomllib` with decimals; catches the nesting itself",
    "store.strict_json": "catches the nesting itself",
    "models.download": "the file that it is writing itself",
    "models.loose_json": "a text that was found to be a number",
    "surfaces.mcp.launch": "what the kernel says of processes",
    "app.listing": "a private cache with a sum over it",
    "app.search_store": "appends to a file of its own",
}
"""Module to why it may read or parse directly."""
_READERS = {"read_text", "read_bytes"}
_WATCHED = {*_READERS, "open", "loads"}
_INSIDE = ("kernels.inside",)  # runs in the child, where nothing of ours is


def direct_reads(module: Module) -> Iterator[str]:
    """Yield each call that reads a file or parses a text without the guards."""
    if module.name in OURS or module.name.startswith(_INSIDE):
        return
    guarded: set[ast.AST] = _guarded_calls(module) if "loads" in module.text else set()
    for call, name, owner in calls(module):
        if name not in _WATCHED or _is_packaged(call):
            continue
        if name in _READERS and isinstance(call.func, ast.Attribute):
            yield f"{call.lineno}: {name}; use treewright.regular"
        elif name == "open" and owner not in ("os", "cls", "") and _reads(call):
            yield f"{call.lineno}: open for reading; use treewright.regular"
        elif name == "loads" and owner in ("json", "tomllib") and call not in guarded:
            yield f"{call.lineno}: {owner}.loads; use treewright.parsing"


def _is_packaged(call: ast.Call) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "data_path" for node in ast.walk(call))


def _reads(call: ast.Call) -> bool:
    mode = keyword(call, "mode") or (call.args[0] if call.args else None)
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value in ("r", "rb", "rt")


def _guarded_calls(module: Module) -> set[ast.AST]:
    """Return what stands in a `try` that expects nesting without end."""
    return {
        inner
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Try)
        and any("RecursionError" in ast.unparse(h.type) for h in node.handlers if h.type)
        for part in node.body
        for inner in ast.walk(part)
    }


def test_files_and_texts_of_others_are_read_with_the_guards() -> None:
    told = [f"{module.path}:{fault}" for module in modules() for fault in direct_reads(module)]
    assert not told, "\n" + "\n".join(told)


def test_every_exception_is_still_one() -> None:
    assert set(OURS) <= {module.name for module in modules()}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("path.read_bytes()", 1),
        ("data_path('a').read_text(encoding='utf-8')", 0),
        ("path.open('rb')", 1),
        ("path.open('wb')", 0),
        ("json.loads(text)", 1),
        ("try:\n    json.loads(text)\nexcept (ValueError, RecursionError):\n    pass", 0),
        ("try:\n    json.loads(text)\nexcept ValueError:\n    pass", 1),
    ],
)
def test_the_rule_tells_what_breaks_it(text: str, count: int) -> None:
    assert len(list(direct_reads(module_from(text)))) == count
