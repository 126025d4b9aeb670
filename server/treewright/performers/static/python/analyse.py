"""From the text of a Python file to its facts."""

import ast
import re

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.python.checks.registry import run_checks
from treewright.performers.static.python.source import FUNCTIONS, Fault, Source, parse
from treewright.performers.static.python.unit import Unit

_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_TEST_FOLDER = re.compile(r"(^|/)(tests?|testing)/")
_SUPPRESSION = re.compile(
    r"#\s*(noqa\b|nosec\b|type:\s*ignore|pragma:\s*no cover|pylint:\s*disable|nosemgrep)", re.IGNORECASE
)


def module_name(path: str) -> str:
    """The dotted module of a POSIX path, `src/` and `lib/` at the front left out."""
    parts = path.removesuffix(".py").removesuffix(".pyw").split("/")
    if len(parts) > 1 and parts[0] in {"src", "lib", "python"}:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(part.replace(".", "_") for part in parts)


def analyse(path: str, text: str, digest: str, roots: frozenset[str], library: bool) -> FileFacts:
    """Establish the facts of one file.

    Args:
        path: POSIX path from the workspace. text: decoded. digest: of the file's bytes.
        roots: first names of the project's modules. library: whether it belongs to an importable package.

    Returns:
        Its facts; a file that does not parse has `fault` set and nothing else.
    """
    module = module_name(path)
    facts = FileFacts(path, digest, "python", module, text.count("\n") + 1)
    parsed = parse(path, module, text)
    if isinstance(parsed, Fault):
        facts.fault, facts.fault_line = parsed.reason, parsed.line
        return facts
    if parsed.old:
        facts.decoding = "read as Python 2: print statements and the like were taken in their Python 3 form"
    parsed.roots, parsed.library, parsed.asked = roots | {parsed.own_root}, library, facts.asked
    parsed.is_test = facts.is_test = looks_like_test(parsed)
    facts.imports = [(local, parsed.imports[local], line) for local, line in parsed.import_lines.items()]
    facts.suppressions = [
        (line, comment) for line, comment in parsed.comments if _SUPPRESSION.search(comment)
    ]
    unit = Unit(parsed, facts)
    try:
        unit.run()
    except RecursionError:
        facts.fault, facts.fault_line = "an expression in it is nested too deeply to follow", 1
    run_checks(unit)
    return facts


def looks_like_test(source: Source) -> bool:
    """A test is named like one and holds test functions, or lies among tests and imports a test framework."""
    if any(name.partition(".")[0] in {"pytest", "unittest", "nose"} for name in source.imports.values()):
        return _TEST_FILE.search(source.path) is not None or _TEST_FOLDER.search(source.path) is not None
    if _TEST_FILE.search(source.path) is None:
        return (
            False  # beside tests stand samples and servers that tests start: those are read as what they are
        )
    functions = source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
    return any(node.name.startswith("test") for node in functions if isinstance(node, FUNCTIONS))
