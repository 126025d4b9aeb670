"""Joins the facts of single files: where a value at a sink came from, across calls, returns and fields.

A call is resolved in its own context (what goes in at this call is what can come out of it), callers are
followed upwards from a parameter. Depth is bounded, cycles are cut; both lose origins, never invent them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from treewright.performers.static.facts import ALL, CallOut, FileFacts, Flow, FunctionFacts, Mark

_MAX_DEPTH = 7
_MAX_ORIGINS = 6
_EXPLICIT = frozenset({"size", "index", "divisor", "scheme", "signal"})
"""Kinds that a conversion to a number does not make harmless."""


class Stop(NamedTuple):
    """One station of the way, with its file."""

    path: str
    line: int
    what: str


class Held(NamedTuple):
    """A mark with its file."""

    path: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    Attributes:
        what: wording for a reader. strength: 3 remote, 2 local, 1 by convention or stored, 0 unknown.
        kind: `source` or `param`. key: the source's id or the parameter.
        entry: how the outermost function is entered. stops: the way, first to last. held: marks on it.
    """

    what: str
    strength: int
    kind: str
    key: str
    entry: str
    stops: tuple[Stop, ...]
    held: tuple[Held, ...]

    def mitigations(self, kind: str) -> list[Held]:
        """The marks that make it harmless for a sink kind."""
        return covering(self.held, kind)


@dataclass(slots=True)
class Project:
    """Look-ups over all files' facts."""

    files: dict[str, FileFacts]
    functions: dict[str, tuple[FileFacts, FunctionFacts]] = field(default_factory=dict)
    callers: dict[str, list[tuple[FileFacts, FunctionFacts, CallOut]]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    bases: dict[str, list[str]] = field(default_factory=dict)
    writes: dict[str, list[tuple[FileFacts, str, Flow]]] = field(default_factory=dict)
    resolved: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: dict[str, FileFacts]) -> "Project":
        """Index the facts of a workspace by qualified name."""
        project = cls(files)
        for facts in files.values():
            for local, name, _ in facts.imports:
                project.aliases[f"{facts.module}.{local}"] = name
            project.classes |= {entry.qualified for entry in facts.definitions if entry.kind == "class"}
            project.bases |= facts.bases
            for function in facts.functions:
                key = function.name if function.name != "<module>" else f"{facts.module}.<module>"
                project.functions[key] = (facts, function)
            for name, flows in facts.field_writes.items():
                project.writes.setdefault(name, []).extend((facts, writer, flow) for writer, flow in flows)
        for facts in files.values():
            for function in facts.functions:
                for call in function.calls:
                    target = project.find(call.callee)
                    if target:
                        project.callers.setdefault(target, []).append((facts, function, call))
        return project

    def find(self, callee: str) -> str:
        """The function a dotted callee means: through re-exports, base classes, constructors; else empty."""
        known = self.resolved.get(callee)
        if known is None:
            known = self.resolved[callee] = self._find(callee, 0)
        return known

    def _find(self, callee: str, depth: int) -> str:
        if depth > 5:
            return ""
        if callee in self.functions:
            return callee
        if callee in self.classes:
            return self._find(f"{callee}.__init__", depth + 1) or self._find(
                f"{callee}.constructor", depth + 1
            )
        head, _, last = callee.rpartition(".")
        if callee in self.aliases:
            return self._find(self.aliases[callee], depth + 1)
        if head in self.aliases:
            return self._find(f"{self.aliases[head]}.{last}", depth + 1)
        for base in self.bases.get(head, ()):
            found = self._find(f"{base}.{last}", depth + 1)
            if found:
                return found
        return ""

    def takes_self(self, name: str, function: FunctionFacts) -> bool:
        """Whether a function's first parameter is bound by the call's receiver."""
        return name.rpartition(".")[0] in self.classes and function.params[:1] in (("self",), ("cls",))


def covering(held: tuple[Held, ...], kind: str) -> list[Held]:
    """The marks that together make a value harmless for a sink kind, or none."""
    direct = [h for h in held if kind in h.mark.kinds or (ALL in h.mark.kinds and kind not in _EXPLICIT)]
    if direct:
        return direct
    pairs = {
        "path": ("path:dotdot", "path:absolute"),
        "redirect": ("redirect:host",),
        "header": ("header:n", "header:r"),
    }
    needed = pairs.get(kind)
    if needed and all(any(part in h.mark.kinds for h in held) for part in needed):
        return [h for h in held if any(part in h.mark.kinds for part in needed)]
    return []


class Linker:
    """Resolves flows to origins over a project."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def origins(self, facts: FileFacts, function: FunctionFacts, flow: Flow) -> list[Origin]:
        """Every origin of one flow, the strongest first, at most six."""
        found = self._resolve(facts, function, flow, (), 0, climb=True)
        found.sort(key=lambda origin: (-origin.strength, len(origin.stops)))
        return found[:_MAX_ORIGINS]

    def _resolve(
        self, facts: FileFacts, function: FunctionFacts, flow: Flow, seen: tuple[tuple[str, str], ...], depth: int,
        climb: bool,
    ) -> list[Origin]:  # fmt: skip
        if depth > _MAX_DEPTH:
            return []
        steps = tuple(Stop(facts.path, step.line, step.what) for step in flow.steps)
        held = self._held(facts, flow.marks)
        kind, key = flow.label
        found: list[Origin] = []
        if kind == "source":
            found = self._source(facts, function, key)
        elif kind == "param":
            found = self._parameter(facts, function, key, seen, depth, climb)
        elif kind == "ret":
            found = self._returned(facts, function, key, seen, depth, climb)
        elif kind == "field":
            found = self._field(key, seen, depth)
        return [
            Origin(o.what, o.strength, o.kind, o.key, o.entry, (*o.stops, *steps), (*o.held, *held))
            for o in found
        ]

    def _held(self, facts: FileFacts, marks: tuple[Mark, ...]) -> tuple[Held, ...]:
        held: list[Held] = []
        for mark in marks:
            if mark.token:
                held.extend(self._deferred(mark))
            else:
                held.append(Held(facts.path, mark))
        return tuple(held)

    def _deferred(self, mark: Mark) -> list[Held]:
        """What a project predicate or validator that was called really established."""
        verb, _, rest = mark.token.partition(":")
        callee, _, argument = rest.rpartition("#")
        name = self.project.find(callee)
        if not name:
            return []
        target_facts, target = self.project.functions[name]
        parameter = self._parameter_name(name, target, argument)
        established = target.predicate if verb == "call" else target.validates
        return [
            Held(target_facts.path, Mark(kinds, line, why))
            for known, kinds, line, why in established
            if known == parameter
        ]

    def _parameter_name(self, name: str, function: FunctionFacts, argument: str) -> str:
        if not argument.isdigit():
            return argument
        index = int(argument) + (1 if self.project.takes_self(name, function) else 0)
        return function.params[index] if index < len(function.params) else ""

    def _source(self, facts: FileFacts, function: FunctionFacts, key: str) -> list[Origin]:
        for source in function.sources:
            if source.key == key:
                stop = Stop(facts.path, source.line, f"{source.what} comes in")
                return [Origin(source.what, source.strength, "source", key, function.entry, (stop,), ())]
        return []

    def _parameter(
        self, facts: FileFacts, function: FunctionFacts, key: str, seen: tuple[tuple[str, str], ...], depth: int,
        climb: bool,
    ) -> list[Origin]:  # fmt: skip
        found: list[Origin] = []
        if function.entry_strength:
            stop = Stop(facts.path, function.place.line, f"`{key}` comes in by the {function.entry}")
            what = f"parameter `{key}` of the {function.entry}"
            found.append(Origin(what, function.entry_strength, "param", key, function.entry, (stop,), ()))
        if not climb or (function.name, key) in seen:
            return found
        for caller_facts, caller, call in self.project.callers.get(function.name, ())[:12]:
            for argument, flows in call.arguments:
                if self._parameter_name(function.name, function, argument) != key:
                    continue
                for flow in flows:
                    inner = self._resolve(
                        caller_facts, caller, flow, (*seen, (function.name, key)), depth + 1, True
                    )
                    stop = Stop(
                        caller_facts.path, call.line, f"it is passed to `{function.name.rpartition('.')[2]}`"
                    )
                    found.extend(
                        Origin(o.what, o.strength, o.kind, o.key, o.entry, (*o.stops, stop), o.held)
                        for o in inner
                    )
            if len(found) > _MAX_ORIGINS * 2:
                break
        return found

    def _returned(
        self, facts: FileFacts, function: FunctionFacts, key: str, seen: tuple[tuple[str, str], ...], depth: int,
        climb: bool,
    ) -> list[Origin]:  # fmt: skip
        call = next((known for known in function.calls if str(known.number) == key), None)
        if call is None or (function.name, f"ret{key}") in seen:
            return []
        seen = (*seen, (function.name, f"ret{key}"))
        name = self.project.find(call.callee)
        if not name or name.endswith((".__init__", ".constructor")):
            flows = [flow for _, group in call.arguments for flow in group]
            return [o for flow in flows for o in self._resolve(facts, function, flow, seen, depth + 1, climb)]
        target_facts, target = self.project.functions[name]
        found: list[Origin] = []
        for flow in target.returns:
            if flow.label.kind != "param":
                found.extend(self._resolve(target_facts, target, flow, seen, depth + 1, False))
                continue
            held = self._held(target_facts, flow.marks)
            stops = tuple(Stop(target_facts.path, step.line, step.what) for step in flow.steps)
            for argument, group in call.arguments:
                if self._parameter_name(name, target, argument) == flow.label.key:
                    for passed in group:
                        inner = self._resolve(facts, function, passed, seen, depth + 1, climb)
                        found.extend(
                            Origin(
                                o.what,
                                o.strength,
                                o.kind,
                                o.key,
                                o.entry,
                                (*o.stops, *stops),
                                (*o.held, *held),
                            )
                            for o in inner
                        )
        return found[: _MAX_ORIGINS * 2]

    def _field(self, key: str, seen: tuple[tuple[str, str], ...], depth: int) -> list[Origin]:
        if ("field", key) in seen:
            return []
        found: list[Origin] = []
        for facts, writer, flow in self.project.writes.get(key, ())[:6]:
            pair = self.project.functions.get(writer)
            if pair is not None:
                found.extend(self._resolve(facts, pair[1], flow, (*seen, ("field", key)), depth + 1, True))
        return found
