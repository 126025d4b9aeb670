"""What the framings H and J ask of a project around its code: untested entries, skipped tests, loose pins, churn.

These are facts for the record of a framing, not findings: none of them is a fault by itself (contract: exploration, 10).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Finding
from treewright.workspace.decode import Unreadable, read_source
from treewright.workspace.git import churn

_MOST = 3
"""Of each kind, how many are named; the rest are counted."""
_PINNED = re.compile(r"^\s*[A-Za-z0-9][\w.\[\],-]*\s*(===?|@)\s*\S")
_REQUIREMENT = re.compile(r"^\s*[A-Za-z0-9][\w.\[\],-]*")


def framing_notes(
    root: Path, files: Mapping[str, FileFacts], texts: Mapping[str, str], findings: Iterable[Finding]
) -> dict[str, tuple[str, ...]]:
    """Sentences by framing letter, each with the places it speaks of.

    Args:
        root: the folder that is audited. texts: the sources by path. findings: what was found, for tests that are skipped.
    """
    skipped = [f.position.where for f in findings if f.rule == "test-not-run"]
    return {
        "H": _told("entry points that no test names: {count} ({named})", _untested(files, texts)),
        "J": (
            *_told("tests that are skipped or expected to fail: {count} ({named})", skipped),
            *_told("requirements not pinned to a version: {count} ({named})", _unpinned(root)),
            *_told("changed most often in the last 400 commits: {named}", _changed(root, files), _MOST),
        ),
    }


def _told(template: str, items: list[str], most: int = 0) -> tuple[str, ...]:
    if not items:
        return ()
    more = "" if most or len(items) <= _MOST else f" and {len(items) - _MOST} more"
    return (template.format(count=len(items), named=", ".join(items[:_MOST]) + more),)


def _untested(files: Mapping[str, FileFacts], texts: Mapping[str, str]) -> list[str]:
    """Entry points whose name and route no test contains; nothing where there are no tests at all."""
    tests = "\n".join(texts.get(file.path, "") for file in files.values() if file.is_test)
    if not tests:
        return []
    words = set(re.findall(r"\w+", tests))
    found = []
    for file in files.values():
        for function in file.functions if not file.is_test else ():
            name = function.name.rpartition(".")[2]
            route = re.search(r"`(/[^`<{:]*)", function.entry)
            routed = route is not None and len(route[1]) > 1 and route[1].rstrip("/") in tests
            if function.entry_strength >= 2 and name not in words and not routed:
                found.append(f"`{name}` ({file.path}:{function.place.line})")
    return found


def _unpinned(root: Path) -> list[str]:
    """Lines of requirement files that name a package and no exact version."""
    found = []
    for path in sorted(root.glob("requirements*.txt"))[:8] if root.is_dir() else ():
        decoded = read_source(path)
        if isinstance(decoded, Unreadable):
            continue
        for number, line in enumerate(decoded.text.splitlines(), 1):
            name = _REQUIREMENT.match(line)
            if name and not line.lstrip().startswith(("-", "#")) and not _PINNED.match(line):
                found.append(f"`{name[0].strip()}` ({path.name}:{number})")
    return found


def _changed(root: Path, files: Mapping[str, FileFacts]) -> list[str]:
    """The files that were read and changed in three commits or more, most often first."""
    counts = churn(root) if root.is_dir() else {}
    ranked = sorted((-count, path) for path, count in counts.items() if path in files and count > 2)
    return [f"`{path}` ({-count} times)" for count, path in ranked]
