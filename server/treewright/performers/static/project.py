"""Look-ups over the facts of all files: which function a name means, who calls it, who writes a field.

Every answer has a short text beside it (`answer`), so that what was concluded from some answers can be kept and taken again as long
as the same questions get the same answers.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from treewright.performers.static.facts import CallOut, FileFacts, Flow, FunctionFacts

Query = tuple[str, str]
"""What was asked: `file`, `name` (what a dotted callee means), `callers` or `writes`, and of what."""
_MAX_DEPTH = 5
"""Re-exports, base classes and constructors followed one after another."""


class Caller(NamedTuple):
    """A call to a function of the project."""

    facts: FileFacts
    function: FunctionFacts
    call: CallOut


class Writer(NamedTuple):
    """A value that is stored in a field, and the function that does it, when it is known."""

    facts: FileFacts
    name: str
    function: FunctionFacts | None
    flow: Flow


class Project:
    """The facts of a workspace, indexed by qualified name.

    Args:
        files: facts by path. identity: text that changes with what a file's facts depend on; None takes the digest of its bytes.
    """

    def __init__(
        self, files: dict[str, FileFacts], identity: Callable[[FileFacts], str] | None = None
    ) -> None:
        self.files = files
        self.identity = identity or (lambda facts: facts.digest)
        self._functions: dict[str, tuple[FileFacts, FunctionFacts]] = {}
        self._callers: dict[str, list[Caller]] = {}
        self._aliases: dict[str, str] = {}
        self._classes: set[str] = set()
        self._bases: dict[str, list[str]] = {}
        self._writes: dict[str, list[tuple[FileFacts, str, Flow]]] = {}
        self._resolved: dict[str, str] = {}
        for facts in files.values():
            self._index(facts)
        for facts in files.values():
            self._index_calls(facts)

    def _index(self, facts: FileFacts) -> None:
        for local, name, _ in facts.imports:
            self._aliases[f"{facts.module}.{local}"] = name
        self._classes.update(entry.qualified for entry in facts.definitions if entry.kind == "class")
        self._bases |= facts.bases
        for function in facts.functions:
            self._functions[qualified(facts, function)] = (facts, function)
        for name, flows in facts.field_writes.items():
            self._writes.setdefault(name, []).extend((facts, writer, flow) for writer, flow in flows)

    def _index_calls(self, facts: FileFacts) -> None:
        for function in facts.functions:
            for call in function.calls:
                target = self.find(call.callee)
                if target:
                    self._callers.setdefault(target, []).append(Caller(facts, function, call))

    def function(self, name: str) -> tuple[FileFacts, FunctionFacts] | None:
        """A function by its qualified name."""
        return self._functions.get(name)

    def is_class(self, name: str) -> bool:
        """Whether a qualified name is a class of the project."""
        return name in self._classes

    def alias(self, name: str) -> str | None:
        """What a module's imported name stands for."""
        return self._aliases.get(name)

    def bases(self, name: str) -> Iterable[str]:
        """The base classes of a class, as they are written there."""
        return self._bases.get(name, ())

    def callers(self, name: str) -> list[Caller]:
        """Every call of a function."""
        return self._callers.get(name, [])

    def writes(self, field: str) -> list[Writer]:
        """Everything that is stored in `Class.attribute`."""
        found = []
        for facts, name, flow in self.stored(field):
            function = self.function(name)
            found.append(Writer(facts, name, function[1] if function else None, flow))
        return found

    def stored(self, field: str) -> list[tuple[FileFacts, str, Flow]]:
        """The same with the functions' names alone."""
        return self._writes.get(field, [])

    def find(self, callee: str) -> str:
        """The function a dotted callee means: through re-exports, base classes, constructors; else empty."""
        known = self._resolved.get(callee)
        if known is None:
            known = self._resolved[callee] = self._find(callee, 0)
        return known

    def _find(self, callee: str, depth: int) -> str:
        if depth > _MAX_DEPTH:
            return ""
        if self.function(callee) is not None:
            return callee
        if self.is_class(callee):
            return self._find(f"{callee}.__init__", depth + 1) or self._find(
                f"{callee}.constructor", depth + 1
            )
        head, _, last = callee.rpartition(".")
        whole, part = self.alias(callee), self.alias(head)
        if whole is not None:
            return self._find(whole, depth + 1)
        if part is not None:
            return self._find(f"{part}.{last}", depth + 1)
        for base in self.bases(head):
            found = self._find(f"{base}.{last}", depth + 1)
            if found:
                return found
        return ""

    def takes_self(self, name: str, function: FunctionFacts) -> bool:
        """Whether a function's first parameter is bound by the call's receiver."""
        return function.params[:1] in (("self",), ("cls",)) and self.is_class(name.rpartition(".")[0])

    def answer(self, query: Query) -> str:
        """The answer to a question as a short text that differs when the answer does."""
        kind, of = query
        if kind == "file":
            facts = self.files.get(of)
            return self.identity(facts) if facts is not None else ""
        if kind == "name":
            name = self.find(of)
            found = self.function(name) if name else None
            return f"{name} {found[0].path} {self.takes_self(name, found[1])}" if found else ""
        if kind == "callers":
            rows = [f"{c.facts.path} {c.function.name} {c.call.number}" for c in self.callers(of)]
            bound = self.is_class(of.rpartition(".")[0])
            return _short("\n".join([str(bound), *rows]))
        found_writes = self.writes(of)
        return _short("\n".join(f"{w.facts.path} {w.name} {w.function is not None}" for w in found_writes))


def qualified(facts: FileFacts, function: FunctionFacts) -> str:
    """A function's name within the project; a module's body is one of its own."""
    return function.name if function.name != "<module>" else f"{facts.module}.<module>"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class Replaced(Project):
    """A project with one file's facts replaced, at the cost of that file alone.

    Args:
        project: it stays as it is. facts: of the file as it would be; its path is one of the project's.
    """

    def __init__(self, project: Project, facts: FileFacts) -> None:
        self._under, self._path = project, facts.path
        self._own = Project({facts.path: facts})
        self._callers: dict[str, list[Caller]] = {}
        self.files = {**project.files, facts.path: facts}
        self.identity = project.identity
        self._resolved = {}
        self._index_calls(facts)

    def function(self, name: str) -> tuple[FileFacts, FunctionFacts] | None:
        """A function by its qualified name."""
        found = self._own.function(name) or self._under.function(name)
        return None if found and found[0].path == self._path and found[0] is not self._new else found

    @property
    def _new(self) -> FileFacts:
        return self.files[self._path]

    def is_class(self, name: str) -> bool:
        """Whether a qualified name is a class of the project."""
        return self._own.is_class(name) or self._under.is_class(name)

    def alias(self, name: str) -> str | None:
        """What a module's imported name stands for."""
        return self._own.alias(name) or self._under.alias(name)

    def bases(self, name: str) -> Iterable[str]:
        """The base classes of a class, as they are written there."""
        return self._own.bases(name) or self._under.bases(name)

    def callers(self, name: str) -> list[Caller]:
        """Every call of a function."""
        others = [caller for caller in self._under.callers(name) if caller.facts.path != self._path]
        return sorted([*others, *self._callers.get(name, ())], key=lambda caller: caller.facts.path)

    def stored(self, field: str) -> list[tuple[FileFacts, str, Flow]]:
        """What is stored in `Class.attribute`, with the functions' names."""
        rows = [row for row in self._under.stored(field) if row[0].path != self._path]
        return sorted([*rows, *self._own.stored(field)], key=lambda row: row[0].path)
