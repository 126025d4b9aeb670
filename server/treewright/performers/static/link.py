"""Joins the facts of single files: where a value at a sink came from, across calls, returns and fields.

A call is resolved in its own context (what goes in at this call is what can come out of it), callers are followed upwards from a
parameter. Depth is bounded, which loses origins and never invents them. Each value of each function is resolved once for every depth
that is left, however many ways lead to it; of two ways from the same place the shorter one with fewer marks stands for both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from treewright.performers.static.facts import ALL, CallOut, FileFacts, Flow, FunctionFacts, Label, Mark
from treewright.performers.static.project import Project, Query

_MAX_DEPTH = 7
_MAX_ORIGINS = 6
_MAX_CALLERS = 12
_MAX_WRITES = 6
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

    def further(self, stops: tuple[Stop, ...], held: tuple[Held, ...] = ()) -> "Origin":
        """The same origin after more of the way."""
        if not stops and not held:
            return self
        way, marks = (*self.stops, *stops), (*self.held, *held)
        return Origin(self.what, self.strength, self.kind, self.key, self.entry, way, marks)


def covering(held: tuple[Held, ...], kind: str) -> list[Held]:
    """The marks that together make a value harmless for a sink kind, or none."""
    direct = [h for h in held if kind in h.mark.kinds or (ALL in h.mark.kinds and kind not in _EXPLICIT)]
    if direct:
        return direct
    pairs = {
        "path": ("path:dotdot", "path:absolute"),
        "redirect": ("redirect:host",),
        "header": ("header:n", "header:r"),
        "code": ("code:begins", "code:ends", "code:inside"),
    }
    needed = pairs.get(kind)
    if needed and all(any(part in h.mark.kinds for h in held) for part in needed):
        return [h for h in held if any(part in h.mark.kinds for part in needed)]
    return []


@dataclass(slots=True)
class _Found:
    """What one value was resolved to.

    Attributes:
        asked: questions to the project, its own. parts: what it was put together from.
        needs: levels of depth used. cut: whether more depth might find more.
    """

    origins: list[Origin] = field(default_factory=list)
    asked: list[Query] = field(default_factory=list)
    parts: "list[_Found]" = field(default_factory=list)
    needs: int = 0
    cut: bool = False


_CUT = _Found(cut=True)


class Linker:
    """Resolves flows to origins over a project.

    The project is asked here and nowhere else, so that each question is noted: an outcome is taken again for as long as what was
    asked for it has the same answers.

    Attributes:
        asked: every question to the project since `forget` that an answer rests on.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self.asked: set[Query] = set()
        self._collected: set[int] = set()
        self._whole: dict[tuple[int, Label, bool], _Found] = {}
        self._bounded: dict[tuple[int, Label, bool, int], _Found] = {}
        self._calls: dict[int, dict[str, CallOut]] = {}
        self._tokens: dict[str, tuple[list[Held], list[Query]]] = {}

    def forget(self) -> None:
        """Begin to collect questions anew."""
        self.asked, self._collected = set(), set()

    def origins(self, facts: FileFacts, function: FunctionFacts, flow: Flow) -> list[Origin]:
        """Every origin of one flow, the strongest first, at most six."""
        found = _Found()
        found.origins = _best(self._flow(facts, function, flow, _MAX_DEPTH, True, found))[:_MAX_ORIGINS]
        self._collect(found)
        return sorted(found.origins, key=_rank)

    def is_written(self, field: str) -> bool:
        """Whether something in the project is stored in `Class.attribute`."""
        self.asked.add(("writes", field))
        return bool(self._project.writes(field))

    def is_defined(self, callee: str) -> bool:
        """Whether a dotted callee is a function of the project."""
        self.asked.add(("name", callee))
        return bool(self._project.find(callee))

    def is_called(self, name: str) -> bool:
        """Whether the project calls a function."""
        self.asked.add(("callers", name))
        return bool(self._project.callers(name))

    def _collect(self, found: _Found) -> None:
        waiting = [found]
        while waiting:
            one = waiting.pop()
            if id(one) not in self._collected:
                if one is not found:  # kept alive by the memo, so its id stays its own
                    self._collected.add(id(one))
                self.asked.update(one.asked)
                waiting.extend(one.parts)

    def _flow(
        self, facts: FileFacts, function: FunctionFacts, flow: Flow, left: int, climb: bool, into: _Found
    ) -> list[Origin]:
        """The origins of a flow, as a part of what is being resolved."""
        found = self._value(facts, function, flow.label, left, climb)
        into.parts.append(found)
        into.needs, into.cut = max(into.needs, found.needs + 1), into.cut or found.cut
        if not found.origins:
            return []
        stops = tuple(Stop(facts.path, step.line, step.what) for step in flow.steps)
        held = self._held(facts, flow.marks, into)
        return [origin.further(stops, held) for origin in found.origins]

    def _value(
        self, facts: FileFacts, function: FunctionFacts, label: Label, left: int, climb: bool
    ) -> _Found:
        """What a label of a function stands for, with so many levels of depth left."""
        if left < 0:
            return _CUT
        key = (id(function), label, climb)
        found = self._whole.get(key)
        if found is not None and found.needs <= left:
            return found
        found = self._bounded.get((*key, left))
        if found is None:
            found = _Found(asked=[("file", facts.path)])
            found.origins = _best(self._resolve(facts, function, label, left, climb, found))
            if found.cut:
                self._bounded[*key, left] = found
            else:
                self._whole[key] = found
        return found

    def _resolve(
        self, facts: FileFacts, function: FunctionFacts, label: Label, left: int, climb: bool, into: _Found
    ) -> list[Origin]:
        if label.kind == "source":
            return self._source(facts, function, label.key)
        if label.kind == "param":
            return self._parameter(facts, function, label.key, left, climb, into)
        if label.kind == "ret":
            return self._returned(facts, function, label.key, left, climb, into)
        if label.kind == "field":
            return self._field(label.key, left, into)
        return []

    def _held(self, facts: FileFacts, marks: tuple[Mark, ...], into: _Found) -> tuple[Held, ...]:
        held: list[Held] = []
        for mark in marks:
            if mark.token:
                given, asked = self._deferred(mark.token)
                held.extend(given)
                into.asked.extend(asked)
            else:
                held.append(Held(facts.path, mark))
        return tuple(held)

    def _deferred(self, token: str) -> tuple[list[Held], list[Query]]:
        """What a project predicate or validator that was called really established, and what was asked for that."""
        known = self._tokens.get(token)
        if known is not None:
            return known
        verb, _, rest = token.partition(":")
        callee, _, argument = rest.rpartition("#")
        held: list[Held] = []
        asked: list[Query] = [("name", callee)]
        name = self._project.find(callee)
        target = self._project.function(name) if name else None
        if target is not None:
            asked.append(("file", target[0].path))
            parameter = self._parameter_name(name, target[1], argument)
            established = target[1].predicate if verb == "call" else target[1].validates
            held = [
                Held(target[0].path, Mark(kinds, line, why))
                for known_as, kinds, line, why in established
                if known_as == parameter
            ]
        self._tokens[token] = held, asked
        return held, asked

    def _parameter_name(self, name: str, function: FunctionFacts, argument: str) -> str:
        if not argument.isdigit():
            return argument
        index = int(argument) + (1 if self._project.takes_self(name, function) else 0)
        return function.params[index] if index < len(function.params) else ""

    def _source(self, facts: FileFacts, function: FunctionFacts, key: str) -> list[Origin]:
        for source in function.sources:
            if source.key == key:
                stop = Stop(facts.path, source.line, f"{source.what} comes in")
                return [Origin(source.what, source.strength, "source", key, function.entry, (stop,), ())]
        return []

    def _parameter(
        self, facts: FileFacts, function: FunctionFacts, key: str, left: int, climb: bool, into: _Found
    ) -> list[Origin]:
        found: list[Origin] = []
        if function.entry_strength:
            stop = Stop(facts.path, function.place.line, f"`{key}` comes in by the {function.entry}")
            what = f"parameter `{key}` of the {function.entry}"
            found.append(Origin(what, function.entry_strength, "param", key, function.entry, (stop,), ()))
        if not climb:
            return found
        into.asked.append(("callers", function.name))
        what = f"it is passed to `{function.name.rpartition('.')[2]}`"
        for caller in self._project.callers(function.name)[:_MAX_CALLERS]:
            into.asked.append(("file", caller.facts.path))
            stops = (Stop(caller.facts.path, caller.call.line, what),)
            for argument, flows in caller.call.arguments:
                if self._parameter_name(function.name, function, argument) == key:
                    for flow in flows:
                        inner = self._flow(caller.facts, caller.function, flow, left - 1, True, into)
                        found += [origin.further(stops) for origin in inner]
        return found

    def _returned(
        self, facts: FileFacts, function: FunctionFacts, key: str, left: int, climb: bool, into: _Found
    ) -> list[Origin]:
        call = self._call(function, key)
        if call is None:
            return []
        name = self._project.find(call.callee)
        into.asked.append(("name", call.callee))
        target = self._project.function(name) if name else None
        if target is None or name.endswith((".__init__", ".constructor")):
            passed = (flow for _, group in call.arguments for flow in group)
            return self._all(facts, function, passed, left - 1, climb, into)
        into.asked.append(("file", target[0].path))
        found: list[Origin] = []
        for flow in target[1].returns:
            if flow.label.kind != "param":
                found += self._flow(target[0], target[1], flow, left - 1, False, into)
                continue
            stops = tuple(Stop(target[0].path, step.line, step.what) for step in flow.steps)
            held = self._held(target[0], flow.marks, into)
            for argument, group in call.arguments:
                if self._parameter_name(name, target[1], argument) == flow.label.key:
                    inner = self._all(facts, function, group, left - 1, climb, into)
                    found += [origin.further(stops, held) for origin in inner]
        return found

    def _all(
        self, facts: FileFacts, function: FunctionFacts, flows: Iterable[Flow], left: int, climb: bool,
        into: _Found,
    ) -> list[Origin]:  # fmt: skip
        return [o for flow in flows for o in self._flow(facts, function, flow, left, climb, into)]

    def _call(self, function: FunctionFacts, key: str) -> CallOut | None:
        """The call of a function by its number."""
        known = self._calls.get(id(function))
        if known is None:
            known = self._calls[id(function)] = {str(call.number): call for call in reversed(function.calls)}
        return known.get(key)

    def _field(self, key: str, left: int, into: _Found) -> list[Origin]:
        into.asked.append(("writes", key))
        found: list[Origin] = []
        for writer in self._project.writes(key)[:_MAX_WRITES]:
            into.asked.append(("file", writer.facts.path))
            if writer.function is not None:
                found += self._flow(writer.facts, writer.function, writer.flow, left - 1, True, into)
        return found


def _rank(origin: Origin) -> tuple[int, int]:
    return -origin.strength, len(origin.stops)


def _best(found: list[Origin]) -> list[Origin]:
    """The strongest origins, at most twice as many as a finding names.

    Of ways from the same place those go that are no shorter than another and have all its marks. The less a way is marked the
    sooner it is kept: a harmless way must not hide an open one.
    """
    if len(found) < 2:
        return found
    groups: dict[tuple[object, ...], list[tuple[frozenset[str], Origin]]] = {}
    for origin in sorted(found, key=_rank):
        kinds = frozenset[str]().union(*(held.mark.kinds for held in origin.held))
        same = groups.setdefault((origin.what, origin.kind, origin.key, origin.entry, origin.stops[0]), [])
        if not any(known <= kinds for known, _ in same):
            same.append((kinds, origin))
    rows = [
        (-origin.strength, number, len(origin.stops), origin)
        for same in groups.values()
        for number, (_, origin) in enumerate(sorted(same, key=lambda pair: len(pair[0])))
    ]
    rows.sort(key=lambda row: row[:3])
    return [row[3] for row in rows[: _MAX_ORIGINS * 2]]
