"""Every error code that the package raises is explained in `data/errors/*.toml`, and no other is."""

import ast
import re
from collections.abc import Iterable, Iterator

from tests.unit.repository.source import Module, module_from, modules
from treewright.data.codes import code_meanings

BASE = "TreewrightError"


def error_classes(all_modules: Iterable[Module]) -> set[str]:
    """Return the names of the classes that descend from the base error, however deep."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        | {base.attr for base in node.bases if isinstance(base, ast.Attribute)}
        for module in all_modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    known = {BASE}
    while found := {name for name, of in bases.items() if of & known} - known:
        known |= found
    return known


def literal_codes(module: Module, classes: set[str]) -> Iterator[tuple[str, int]]:
    """Yield each literal code that a module gives to an error, with its line."""
    inits = {
        call
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name in classes
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
    }
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in classes and node not in inits:
            continue
        given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "code")]
        for value in given:
            for code in _strings(value):
                yield code, node.lineno


def _strings(value: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression can be: itself, or either branch of a conditional."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _strings(value.body)
        yield from _strings(value.orelse)


def _patterns(module: Module) -> Iterator[re.Pattern[str]]:
    """Yield what each f-string that could be a code can look like: `f"{kind}_not_found"`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.JoinedStr):
            fixed = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            text = "".join(part for part in fixed if isinstance(part, str))
            if re.fullmatch(r"[a-z_]*_[a-z_]*", text) and len(text) > len("_of"):
                yield re.compile(
                    "".join("[a-z_]+" if part is None else re.escape(str(part)) for part in fixed)
                )


def test_every_literal_code_is_explained() -> None:
    classes, known = error_classes(modules()), code_meanings()
    missing = [
        f"{module.path}:{line}: {code}"
        for module in modules()
        for code, line in literal_codes(module, classes)
        if code not in known
    ]
    assert not missing, "add to data/errors/<area>.toml:\n" + "\n".join(missing)


def test_every_explained_code_is_used() -> None:
    used = {
        node.value
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    built = [pattern for module in modules() for pattern in _patterns(module)]
    unused = [
        f"{meaning.area}.toml: {code}"
        for code, meaning in code_meanings().items()
        if code not in used and not any(pattern.fullmatch(code) for pattern in built)
    ]
    assert not unused, "no module names these codes:\n" + "\n".join(unused)


def test_every_code_is_a_stable_name_and_says_what_it_means() -> None:
    for code, meaning in code_meanings().items():
        assert code.isidentifier(), code
        assert code == code.lower() or (code[0] in "EW" and code[1:].isdigit()), code
        assert meaning.summary.strip(), code


def test_codes_of_subclasses_keywords_and_branches_are_seen() -> None:
    text = (
        "class Busy(StoreError):\n    def __init__(self):\n        super().__init__('a', 'x')\n"
        "class StoreError(TreewrightError): ...\n"
        "raise Busy(code='b')\nraise errors.StoreError('c' if x else 'd', 'e')\nraise ValueError('f')\n"
    )
    module = module_from(text)
    classes = error_classes([module])
    assert classes == {BASE, "StoreError", "Busy"}
    assert sorted(code for code, _ in literal_codes(module, classes)) == ["a", "b", "c", "d"]
