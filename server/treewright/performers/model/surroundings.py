"""What the static index knows of the functions in an excerpt: how each is reached, whom it calls, who calls it, its sinks, its tests."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treewright.performers.model.evidence import Span
from treewright.performers.static.facts import FileFacts, FunctionFacts
from treewright.performers.static.languages import SUFFIXES
from treewright.workspace.decode import Unreadable, read_source
from treewright.workspace.walk import list_sources

FUNCTIONS_SHOWN = 4
_NAMED_MOST = 3
"""Callers, calls, sinks or inputs that are named of a function."""
_TEST_FILES_MOST = 60
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/.*|test_[^/]*|[^/]*[_.]test|[^/]*[_.]spec)\.\w+$")


@dataclass(frozen=True, slots=True)
class Note:
    """One function in a few words.

    Attributes:
        span: where it stands.
        text: what the index knows of it.
    """

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class _Call:
    callee: str
    place: str


def function_notes(
    facts: Mapping[str, FileFacts], rename: Mapping[str, str], tests: Mapping[str, str]
) -> list[Note]:
    """Return a note for each function of the audited files.

    Args:
        facts: by path as the static analysis names it.
        rename: those paths as the workspace names them; files that are not in it are left out.
        tests: text of test files by path in the workspace.
    """
    callers: dict[str, list[_Call]] = defaultdict(list)
    for path, file in facts.items():
        for function in file.functions:
            for call in function.calls:
                where = f"`{_short(function.name)}` at {rename.get(path, path)}:{call.line}"
                callers[call.callee].append(_Call(call.callee, where))
    found: list[Note] = []
    for path, file in facts.items():
        if path not in rename or file.is_test:
            continue
        for function in file.functions:
            if function.name != "<module>":
                span = Span(rename[path], function.place.line, function.place.end)
                near = {name: text for name, text in tests.items() if _names(text, Path(path).stem)}
                found.append(Note(span, _told(function, callers.get(function.name, []), near)))
    return sorted(found, key=lambda note: (note.span.path, note.span.start, note.span.end))


def _told(function: FunctionFacts, callers: Sequence[_Call], tests: Mapping[str, str]) -> str:
    name = _short(function.name)
    parts = [f"`{name}`"]
    if function.entry and function.entry_strength >= 2:
        parts.append(f"is a {function.entry}")
    own = [each.what for each in function.sources if "environment" not in each.what]
    parts += _listed("reads", own)
    parts += _listed("reaches", [f"`{sink.what}` in line {sink.place.line}" for sink in function.sinks])
    parts += _listed("calls", [f"`{_short(callee)}`" for callee in dict.fromkeys(function.called)])
    parts += _listed("is called by", [call.place for call in callers]) or ["has no caller here"]
    parts.append(_tested(name, tests))
    return "; ".join(parts) + "."


def _listed(verb: str, things: Sequence[str]) -> list[str]:
    named = list(dict.fromkeys(things))
    if not named:
        return []
    more = f" and {len(named) - _NAMED_MOST} more" if len(named) > _NAMED_MOST else ""
    return [f"{verb} {', '.join(named[:_NAMED_MOST])}{more}"]


def _tested(name: str, tests: Mapping[str, str]) -> str:
    for path, text in tests.items():
        if match := _names(text, name.rpartition(".")[2]):
            return f"a test names it at {path}:{text.count(chr(10), 0, match.start()) + 1}"
    return "no test names it"


def _names(text: str, word: str) -> re.Match[str] | None:
    return re.search(rf"\b{re.escape(word)}\b", text)


def _short(qualified: str) -> str:
    """Return a function's name without its module: `Class.method` or `function`."""
    parts = qualified.split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 and parts[-2][:1].isupper() else parts[-1]


def notes_in(notes: Sequence[Note], spans: Sequence[Span]) -> list[Note]:
    """Return the notes of functions that overlap what is shown, the ones shown whole first."""

    def shown(note: Note) -> int:
        held = [
            min(span.end, note.span.end) - max(span.start, note.span.start) + 1
            for span in spans
            if span.path == note.span.path
        ]
        return max([0, *held])

    inside = [note for note in notes if shown(note) > 0]
    whole = sorted(inside, key=lambda note: shown(note) < note.span.end - note.span.start + 1)
    return whole[:FUNCTIONS_SHOWN]


def test_texts(workspace: Path) -> dict[str, str]:
    """Return the text of a workspace's test files, by path; of a large one the first ones."""
    found: dict[str, str] = {}
    for file in list_sources(workspace, SUFFIXES).files:
        if not _TEST_FILE.search(file.relative):
            continue
        read = read_source(file.path)
        if not isinstance(read, Unreadable):
            found[file.relative] = read.text
        if len(found) >= _TEST_FILES_MOST:
            break
    return found
