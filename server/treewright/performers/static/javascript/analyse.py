"""From the text of a JavaScript or TypeScript file to its facts."""

import re

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.javascript.checks.registry import run_checks
from treewright.performers.static.javascript.source import parse
from treewright.performers.static.javascript.unit import Unit
from treewright.workspace.walk import looks_minified

_SUPPRESSION = re.compile(r"(//|/\*)\s*(eslint-disable|@ts-ignore|@ts-nocheck|@ts-expect-error|nosemgrep|istanbul ignore)[^\n]*")  # fmt: skip


def analyse(path: str, text: str, digest: str, library: bool) -> FileFacts:
    """Establish the facts of one file.

    Args:
        path: POSIX path from the workspace. text: decoded. digest: of the file's bytes.
        library: whether it belongs to a package that others import.

    Returns:
        Its facts; `fault` names a part that did not parse, the rest is still there. A bundled file has nothing else.
    """
    source = None
    facts = FileFacts(path, digest, "javascript", "", text.count("\n") + 1)
    if looks_minified(text):
        facts.fault, facts.fault_line = "minified or bundled", 1
        return facts
    source = parse(path, text)
    facts.module, facts.language = source.module, source.language
    source.library, facts.is_test = library, source.is_test
    if source.broken:
        facts.fault, facts.fault_line = "a part does not parse; the rest was read", source.broken
    for number, line in enumerate(source.lines, 1):
        found = _SUPPRESSION.search(line) if "//" in line or "/*" in line else None
        if found:
            facts.suppressions.append((number, found.group(0)))
    unit = Unit(source, facts)
    try:
        unit.run()
        run_checks(unit)
    except RecursionError:
        facts.fault, facts.fault_line = "an expression in it is nested too deeply to follow", 1
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as fault:
        # Syntax that the interpreter was not made for must not end the audit of the other files; it is reported.
        facts.fault, facts.fault_line = (
            f"the analysis of it broke off ({type(fault).__name__}: {fault})"[:200],
            1,
        )
    return facts
