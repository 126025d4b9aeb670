"""A deliberation over a store in memory, with a clock and ids that count, and lenses of one line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from treewright.app.session_memory import MemoryStore
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.ports import Negotiator, SessionStore, TaskAnswers, TaskDriver, TaskPlan
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.stages import stage_table
from treewright.deliberate.toolbox import Surroundings

ALL_SEVEN = (
    "correctness: 0.8, evidence: 0.8, novelty: 0.8, clarity: 0.8, "
    "bias_resistance: 0.8, actionability: 0.8, coverage: 0.8"
)


@dataclass(frozen=True)
class OneLineLens:
    """A lens whose directive is one line."""

    name: str
    attacks: str
    directive: str
    asks: tuple[Any, ...] = ()

    @property
    def guidance(self) -> str:
        """The directive: it asks nothing beside."""
        return self.directive


LENSES = {
    name: OneLineLens(name, f"Signs of {name}.", f"# {name}\nAttack the {name}.")
    for name in stage_table().lens_order
}

Build = Callable[..., Deliberation]


@pytest.fixture
def build() -> Build:
    """Return a maker of deliberations; `settings` is given as tables."""
    seconds, numbers = count(), count(1)

    def make(
        settings: Mapping[str, Any] | None = None,
        store: SessionStore | None = None,
        driver: TaskDriver | None = None,
        negotiator: Negotiator | None = None,
        lenses: Mapping[str, Any] | None = None,
    ) -> Deliberation:
        return Deliberation(
            Surroundings(
                store=store or MemoryStore(),
                lenses=LENSES if lenses is None else lenses,
                settings=DeliberationSettings.model_validate(settings or {}),
                clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds)),
                new_id=lambda: f"{next(numbers):032x}",
                driver=driver,
                negotiator=negotiator,
            )
        )

    return make


@pytest.fixture
def desk(build: Build) -> Deliberation:
    """Return a deliberation with default settings."""
    return build()


class ScriptedDriver:
    """Answers tasks by a function of the task; keeps the plans it was given."""

    def __init__(self, answer: Callable[[Any], str | None]) -> None:
        self.answer = answer
        self.plans: list[TaskPlan] = []

    def perform(self, plan: TaskPlan) -> TaskAnswers:
        """Answer every task; None is a fault."""
        self.plans.append(plan)
        texts: dict[str, str] = {}
        faults: dict[str, str] = {}
        for task in plan.tasks:
            text = self.answer(task)
            if text is None:
                faults[task.id] = "the endpoint is down"
            else:
                texts[task.id] = text
        return TaskAnswers(texts, faults)


@pytest.fixture
def scripted() -> Callable[[Callable[[Any], str | None]], ScriptedDriver]:
    """Return the maker of scripted drivers."""
    return ScriptedDriver


@pytest.fixture
def all_seven() -> str:
    """Return scores for all seven dimensions, 0.8 each."""
    return ALL_SEVEN


@pytest.fixture
def start(desk: Deliberation) -> Callable[..., str]:
    """Return a starter of sessions on `desk` that answers the id."""

    def begin(mode: str = "serial", **more: Any) -> str:
        reply = desk.start_session("Should reads be cached?", mode=mode, **more)
        assert reply["ok"], reply
        return str(reply["session_id"])

    return begin
