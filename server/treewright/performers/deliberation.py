"""Performs the model tasks of deliberation: several endpoints at once, one in sequence, the same result.

Which endpoint a task goes to depends on its place in the plan alone, and what it is asked on the task alone,
so the answers do not depend on timing.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from treewright.deliberate.ports import Endpoint, ModelTask, TaskAnswers, TaskPlan
from treewright.errors import TreewrightError


class Completer(Protocol):
    """Calls a language model for a task. Raises `TreewrightError` (never with a secret) when it cannot."""

    async def __call__(self, task: ModelTask, endpoint: Endpoint | None) -> str:
        """Return the answer's text.

        Args:
            task: what is asked; a seed, where one is used, is derived from its id.
            endpoint: where to call; None for the provider that the operator configured.
        """
        ...


Waiter = Callable[[Coroutine[Any, Any, TaskAnswers]], TaskAnswers]
"""Runs a coroutine to its end from a thread without an event loop."""


class EndpointDriver:
    """`TaskDriver` over a completer.

    Args:
        completer: calls the model.
        wait: how the blocking `perform` reaches an event loop; by default a loop of its own.
    """

    def __init__(self, completer: Completer, wait: Waiter = asyncio.run) -> None:
        self._completer = completer
        self._wait = wait

    def perform(self, plan: TaskPlan) -> TaskAnswers:
        """Perform every task of a plan; blocking, so not for a thread that runs an event loop."""
        return self._wait(self.perform_async(plan))

    async def perform_async(self, plan: TaskPlan) -> TaskAnswers:
        """Perform every task of a plan, one at a time on each endpoint; faults are values."""
        endpoints: Sequence[Endpoint | None] = list(plan.endpoints) or [None]
        lanes = [list(plan.tasks)[number :: len(endpoints)] for number in range(len(endpoints))]
        done = await asyncio.gather(
            *(self._lane(lane, endpoint) for lane, endpoint in zip(lanes, endpoints, strict=True))
        )
        texts = {task_id: text for lane in done for task_id, text in lane.texts.items()}
        faults = {task_id: fault for lane in done for task_id, fault in lane.faults.items()}
        if plan.fallback and len(endpoints) > 1:
            await self._fall_back(plan, endpoints, texts, faults)
        return TaskAnswers(texts, faults)

    async def _lane(self, tasks: Sequence[ModelTask], endpoint: Endpoint | None) -> TaskAnswers:
        texts: dict[str, str] = {}
        faults: dict[str, str] = {}
        for task in tasks:
            try:
                texts[task.id] = await self._completer(task, endpoint)
            except TreewrightError as error:
                faults[task.id] = error.message
        return TaskAnswers(texts, faults)

    async def _fall_back(
        self,
        plan: TaskPlan,
        endpoints: Sequence[Endpoint | None],
        texts: dict[str, str],
        faults: dict[str, str],
    ) -> None:
        """Try what failed on the endpoints that have not tried it, in order."""
        tasks = list(plan.tasks)
        for place, task in enumerate(tasks):
            if task.id not in faults:
                continue
            tried = place % len(endpoints)
            for endpoint in [one for number, one in enumerate(endpoints) if number != tried]:
                answers = await self._lane([task], endpoint)
                if task.id in answers.texts:
                    texts[task.id] = answers.texts[task.id]
                    del faults[task.id]
                    break
