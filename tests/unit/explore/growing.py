"""Grows explorations in memory: the engine with its journal as a list."""

import asyncio
import random
from collections.abc import Callable

from treewright.explore.engine import Explorer
from treewright.explore.materials import Materials
from treewright.explore.tasks import Brief, Result, Task, TaskKind, VerifyResult
from treewright.performers.scripted import ScriptedPerformer, SeededRule
from treewright.presets.framings import all_framings, framing
from treewright.presets.loader import load_preset
from treewright.tree.citation import CheckedCitation, Citation, CitationState
from treewright.tree.event import AnyEvent, Event, RunStarted, event_from_json, event_to_json
from treewright.tree.fold import Tree
from treewright.tree.run import Caps, Language, RootSpec
from treewright.tree.soundness import fits

CITATION = Citation(path="a.py", start=1, end=1, quote="x = 1")
FRAMINGS = {each.letter: each for each in all_framings()} | {"X": framing("X")}


def materials(preset: str = "brainstorm") -> Materials:
    """Return a shipped preset with the framings."""
    return Materials(load_preset(preset), FRAMINGS)


class MemoryRun:
    """A run whose journal is a list; events are numbered from 1 and go through JSON as on disk."""

    def __init__(
        self, preset: str = "brainstorm", *, caps: Caps | None = None, language: str = "en", **options: object
    ):
        self.lines: list[bytes] = []
        self.tree = Tree()
        self.materials = materials(preset)
        self.explorer = Explorer(self.tree, self.materials, self)
        self.done: list[str] = []
        own = self.materials.preset
        self.stage(
            self.explorer.begin(
                RunStarted(
                    run="r1",
                    preset=own.name,
                    preset_digest=own.digest,
                    root=RootSpec(kind=own.root_kind, text="a topic", path="."),
                    mode=own.root_schemas[0].mode,
                    caps=caps or Caps(),
                    language=Language(output=language),
                    options=options,
                )
            )
        )

    def read(self, at: int) -> AnyEvent:
        """Return an event by its number."""
        return event_from_json(self.lines[at - 1])

    def stage(self, events: list[Event]) -> None:
        """Fold and keep events."""
        for event in events:
            self.lines.append(event_to_json(event))
            self.tree.apply(event_from_json(self.lines[-1]), len(self.lines))

    def settle(self) -> None:
        """Fold what follows by itself."""
        while following := self.explorer.settle():
            self.stage(following)

    def submit(self, task: Task, result: Result) -> None:
        """Accept a result and what follows."""
        self.done.append(task.id)
        self.stage(self.explorer.accept(task.id, result))
        self.settle()

    def fail(self, task: Task, message: str = "no") -> None:
        """Fail a task."""
        self.stage(self.explorer.fail(task.id, "broken", message))
        self.settle()

    def grow(
        self,
        answer: Callable[[Brief], Result],
        *,
        verify: Callable[[Brief], VerifyResult] | None = None,
        order: random.Random | None = None,
        limit: int = 5000,
        until: Callable[[Task], bool] | None = None,
    ) -> "MemoryRun":
        """Perform tasks until the run ends, `limit` tasks were performed, or `until` says so."""
        self.settle()
        for _ in range(limit):
            tasks = self.explorer.ready(64)
            if not tasks:
                break
            task = order.choice(tasks) if order else tasks[0]
            if until and until(task):
                break
            brief = self.explorer.brief(task)
            result = (verify or all_verified)(brief) if task.kind is TaskKind.VERIFY else answer(brief)
            self.submit(task, result)
        return self

    def reopened(self) -> "MemoryRun":
        """Return the run folded again from its journal."""
        other = MemoryRun.__new__(MemoryRun)
        other.lines = list(self.lines)
        other.tree = Tree()
        other.materials = self.materials
        other.explorer = Explorer(other.tree, other.materials, other)
        other.done = []
        for number, line in enumerate(other.lines, 1):
            event = event_from_json(line)
            if fits(other.tree, event):
                other.tree.apply(event, number)
        return other

    def outline(self) -> list[tuple[object, ...]]:
        """Return what matters of each node, for comparing trees."""
        return sorted(
            (n.id, n.statement, n.role, n.scores, n.tag, n.phase, n.revision)
            for n in self.tree.nodes.values()
        )


def all_verified(brief: Brief) -> VerifyResult:
    """Say that every citation holds."""
    return checked(brief, CitationState.VERIFIED)


def none_verified(brief: Brief) -> VerifyResult:
    """Say that no citation holds."""
    return checked(brief, CitationState.UNVERIFIED)


def checked(brief: Brief, state: CitationState) -> VerifyResult:
    """Give every citation one state."""
    return VerifyResult(
        citations=[[CheckedCitation(citation=c, state=state) for c in group] for group in brief.checks]
    )


def seeded(seed: str = "s", **given: object) -> SeededRule:
    """Return a rule whose nodes cite `CITATION`."""
    return SeededRule(seed, citation=CITATION, **given)  # type: ignore[arg-type]


def perform(performer: ScriptedPerformer, brief: Brief) -> Result:
    """Perform a task at once."""
    return asyncio.run(performer.perform(brief)).result
