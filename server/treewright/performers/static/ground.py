"""The root of a code audit, filled in from the facts of its files."""

import re
from collections import Counter
from pathlib import Path

from treewright.counted import counted
from treewright.explore.tasks import GroundResult
from treewright.parsing import load_json, load_toml
from treewright.performers.static.audit import Sources
from treewright.performers.static.body import Located
from treewright.performers.static.facts import FileFacts, FunctionFacts
from treewright.performers.static.finding import Audit, Quote
from treewright.performers.static.languages import NAMES
from treewright.tree.body import FieldValue
from treewright.tree.citation import Citation
from treewright.workspace.decode import Unreadable, read_source

MOST = 12
"""Entry points, inputs and packages that are named one by one."""
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(.*?)\s*(?:#.*)?$")


def ground(sources: Sources, facts: dict[str, FileFacts], audit: Audit, at: Located) -> GroundResult:
    """Return the root fields of code-audit, every sentence from a fact and every place cited."""
    entries = _entries(facts)
    inputs = _inputs(facts)
    packages, package_citations = _packages(sources.root, at)
    tests = sum(1 for file in facts.values() if file.is_test)
    packaged = any(sources.libraries.values())
    kind = "a package that other code imports" if packaged else "a program or a set of scripts"
    name = sources.root.name
    spoken = languages(facts)
    fields: dict[str, FieldValue] = {
        "target_summary": (
            f"`{name}` is {kind} in {spoken}: `{audit.files}` files, `{audit.lines}` lines, `{tests}` of the files are tests."
        ),
        "entry_points": [text for text, _ in entries]
        or ["No entry point is declared; its public functions are called by other code."],
        "inputs_from_caller": [text for text, _ in inputs]
        or ["No line reads a request, an argument, a file or the environment."],
        "external_dependencies": packages or ["none"],
        "threat_surface": _surface(entries, inputs),
        "deployment_context": "not stated in the code; the audit takes it to run with its user's rights, reachable as its entry points say.",
    }
    citations = [at.citation(quote(sources, path, line), "entry_points") for _, (path, line) in entries]
    citations += [at.citation(quote(sources, path, line), "inputs_from_caller") for _, (path, line) in inputs]
    unread = [{"path": at.path(path), "reason": reason} for path, reason in audit.not_read]
    decoded = [f"{at.path(file.path)} ({file.decoding})" for file in facts.values() if file.decoding]
    return GroundResult(
        statement=f"{spoken} code of {name}: {counted(audit.files, 'file')}, {counted(audit.lines, 'line')}.",
        fields=fields,
        citations=[*citations, *package_citations],
        read=[at.path(path) for path in sources.texts],
        unread=unread,
        facts={"files": audit.files, "lines": audit.lines, "decoded": decoded},
    )


def languages(facts: dict[str, FileFacts]) -> str:
    """Return the languages that were read, the one with most files first: `Python and JavaScript`."""
    counts = Counter(NAMES.get(file.language, file.language) for file in facts.values())
    names = [name for name, _ in counts.most_common()]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "source"


def quote(sources: Sources, path: str, line: int) -> Quote:
    """Return one line of a file, verbatim."""
    lines = sources.lines(path)
    return Quote(path, line, line, lines[line - 1] if 0 < line <= len(lines) else "")


def _entries(facts: dict[str, FileFacts]) -> list[tuple[str, tuple[str, int]]]:
    found: list[tuple[int, str, tuple[str, int]]] = []
    for file in facts.values():
        if file.is_test:
            continue
        found.extend(
            (function.entry_strength, _entry(function), (file.path, function.place.line))
            for function in file.functions
            if function.entry and function.entry_strength >= 2
        )
    found.sort(key=lambda item: (-item[0], item[2]))
    return [(text, place) for _, text, place in found[:MOST]]


def _entry(function: FunctionFacts) -> str:
    reach = {3: "over the network", 2: "from the local machine"}[min(function.entry_strength, 3)]
    return f"`{function.name}` is a {function.entry}, reached {reach}."


def _inputs(facts: dict[str, FileFacts]) -> list[tuple[str, tuple[str, int]]]:
    found: list[tuple[int, str, tuple[str, int]]] = []
    seen: Counter[str] = Counter()
    for file in facts.values():
        if file.is_test:
            continue
        for function in file.functions:
            for source in function.sources:
                seen[source.what] += 1
                if seen[source.what] == 1:
                    text = f"`{function.name}` reads {source.what}."
                    found.append((source.strength, text, (file.path, source.line)))
    found.sort(key=lambda item: (-item[0], item[2]))
    return [(text, place) for _, text, place in found[:MOST]]


def _surface(
    entries: list[tuple[str, tuple[str, int]]], inputs: list[tuple[str, tuple[str, int]]]
) -> list[str]:
    remote = [text for text, _ in entries if "over the network" in text]
    if remote:
        return [
            f"Whoever reaches the network entry points ({len(remote)} named above) controls what they read.",
            "What the process may read, write and run is lost when one of them is taken over.",
        ]
    if inputs:
        return [
            "Whoever controls the inputs named above controls what the code computes with its user's rights."
        ]
    return ["Only code that imports it reaches it; its callers decide what it is given."]


def _packages(root: Path, at: Located) -> tuple[list[str], list[Citation]]:
    """Return declared dependencies with the line that declares each."""
    texts: list[str] = []
    citations: list[Citation] = []
    for path in sorted(root.glob("requirements*.txt")):
        for number, line in _lines(path):
            match = _REQUIREMENT.match(line)
            if match and not line.lstrip().startswith(("-", "#")) and len(texts) < MOST:
                texts.append(f"`{match[1]}` {match[2] or 'without a version'}".strip())
                citations.append(at.citation(Quote(path.name, number, number, line), "external_dependencies"))
    if not texts:
        texts, citations = _declared(root, at)
    for text, citation in _installed(root, at)[: max(MOST - len(texts), 0)]:
        texts.append(text)
        citations.append(citation)
    return texts, citations


def _installed(root: Path, at: Located) -> list[tuple[str, Citation]]:
    """Return what package.json declares, with the line that declares each."""
    path = root / "package.json"
    rows = _lines(path)
    try:
        table = load_json("\n".join(line for _, line in rows))
    except ValueError:
        return []
    wanted = table.get("dependencies") if isinstance(table, dict) else None
    found = []
    for name, version in wanted.items() if isinstance(wanted, dict) else ():
        place = next(((n, line) for n, line in rows if f'"{name}"' in line), None)
        if place is not None:
            cited = Quote(path.name, place[0], place[0], place[1])
            found.append((f"`{name}` {version}", at.citation(cited, "external_dependencies")))
    return found


def _declared(root: Path, at: Located) -> tuple[list[str], list[Citation]]:
    path = root / "pyproject.toml"
    lines = dict(_lines(path))
    try:
        table = load_toml("\n".join(lines[n] for n in sorted(lines)))
    except ValueError:
        return [], []
    project = table.get("project")
    names = project.get("dependencies", []) if isinstance(project, dict) else []
    texts: list[str] = []
    citations: list[Citation] = []
    for name in [str(n) for n in names][:MOST] if isinstance(names, list) else []:
        texts.append(f"`{name}`")
        line = next((n for n, text in lines.items() if name in text), 0)
        if line:
            citations.append(at.citation(Quote(path.name, line, line, lines[line]), "external_dependencies"))
    return texts, citations


def _lines(path: Path) -> list[tuple[int, str]]:
    read = read_source(path)
    return [] if isinstance(read, Unreadable) else list(enumerate(read.lines(), 1))
