"""Performs the model tasks of deliberation: several endpoints at once, one in sequence, the same result.

Which endpoint a task goes to depends on its place in the plan alone, and what it is asked on the task alone,
so the answers do not depend on timing.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Protocol

from treewright.deliberate.ports import Endpoint, Form, ModelTask, TaskAnswers, TaskPlan
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import ModelError, TreewrightError
from treewright.models.parse import parse_answer
from treewright.models.provider import Message, Outcome, Provider, Request
from treewright.models.registry import ModelsSettings, Surroundings, build, with_version
from treewright.models.repetition import complete_without_loops
from treewright.performers.model.shapes import loosened
from treewright.performers.model.small import trimmed


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


ANSWER_TOKENS = 1024
"""Most tokens of one answer: drafts and candidates are asked to stay within 200 words, critiques within 150."""

_SECOND_TRY_TEMPERATURE = 0.7
"""A model that repeated itself at a low temperature does so again at it."""

_SCORES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "number", "minimum": 0, "maximum": 1} for name in DIMENSIONS},
    "required": list(DIMENSIONS),
    "additionalProperties": False,
}

_RATING_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "minimum": 0, "maximum": 10}},
    "required": ["rating"],
    "additionalProperties": False,
}

ProviderFor = Callable[[Endpoint | None], Provider]
"""Returns the provider for an endpoint, the same one each time; None stands for the configured one."""


class ProviderCompleter:
    """`Completer` over the configured providers.

    Args:
        provider_for: finds the provider of an endpoint.
    """

    def __init__(self, provider_for: ProviderFor) -> None:
        self._provider_for = provider_for

    async def __call__(self, task: ModelTask, endpoint: Endpoint | None) -> str:
        """Return the text of a complete answer.

        Raises:
            ModelError: `model_` and the outcome of the call, when it is anything but complete.
        """
        provider = self._provider_for(endpoint)
        schema = task.form.schema() if task.form else _SCORES_SCHEMA if task.scores_wanted else None
        if schema is not None and task.form and provider.info.kind != "local":
            schema = loosened(schema)
        request = Request(
            messages=(Message.of("user", task.prompt),),
            schema=schema,
            schema_name="critique" if task.form else "scores",
            max_tokens=ANSWER_TOKENS,
            temperature=task.temperature,
            seed=seed_of(task.id),
        )
        text = await _complete(provider, request, endpoint)
        if task.form is None:
            return text
        formed = _formed(text, task.form)
        if not formed:
            formed = _formed(await _complete(provider, _warmer(request), endpoint), task.form)
        if not formed:
            raise ModelError("model_empty", "The model only repeated the text that it was to criticise.")
        return formed


class ProviderChat:
    """The necort adapter's `Chat` over the configured providers; blocking.

    Args:
        provider_for: finds the provider of an endpoint.
        wait: runs a coroutine to its end from a thread without an event loop.
    """

    def __init__(self, provider_for: ProviderFor, wait: Callable[[Coroutine[Any, Any, str]], str]) -> None:
        self._provider_for = provider_for
        self._wait = wait

    def __call__(
        self, messages: Sequence[dict[str, str]], temperature: float, endpoint: Endpoint, *, rating: bool
    ) -> str:
        """Return the text of a complete answer.

        Raises:
            ModelError: as `ProviderCompleter`.
        """
        asked = tuple(
            Message.of("assistant" if message["role"] == "assistant" else "user", message["content"])
            for message in messages
        )
        request = Request(
            messages=asked,
            schema=_RATING_SCHEMA if rating else None,
            schema_name="rating",
            max_tokens=ANSWER_TOKENS,
            temperature=min(2.0, temperature),
        )
        return self._wait(_complete(self._provider_for(endpoint), request, endpoint))


def seed_of(task_id: str) -> int:
    """Return a seed that depends on the task alone, so that spreading tasks differently changes nothing."""
    return int.from_bytes(hashlib.sha256(task_id.encode("utf-8")).digest()[:4], "big") >> 1


def _formed(text: str, form: Form) -> str:
    """Return an answer of a form as text, empty when it says nothing.

    One in prose, from an endpoint that cannot be held to a form, is taken as it is.
    """
    schema = form.schema()
    try:
        value = parse_answer(text, loosened(schema)).value
    except ValueError:
        return text
    return form.text(trimmed(value, schema)) if isinstance(value, dict) else text


def _warmer(request: Request) -> Request:
    """Return the same request at a higher temperature and another seed."""
    warmer = max(request.temperature or 0.0, _SECOND_TRY_TEMPERATURE)
    return replace(request, temperature=warmer, seed=(request.seed or 0) + 1)


async def _complete(provider: Provider, request: Request, endpoint: Endpoint | None) -> str:
    """Ask, and once more at another temperature and seed when the answer ran on or is empty."""
    try:
        async with asyncio.timeout(endpoint.timeout if endpoint else None):
            completion, _ = await complete_without_loops(provider, request, None, None)
            if completion.outcome in (Outcome.CUT_OFF, Outcome.EMPTY):
                completion, _ = await complete_without_loops(provider, _warmer(request), None, None)
    except TimeoutError as error:
        raise ModelError("model_timed_out", "The model did not answer within the configured time.") from error
    if completion.outcome is not Outcome.COMPLETE:
        said = completion.detail or f"The answer is {completion.outcome.value.replace('_', ' ')}."
        raise ModelError(f"model_{completion.outcome.value}", said)
    return completion.text


def endpoint_provider(endpoint: Endpoint | None, settings: ModelsSettings, around: Surroundings) -> Provider:
    """Return the provider of an endpoint.

    An endpoint that the operator chose may be an address or any name of a provider, and has the key of the
    configured endpoint at that address. One that a session chose is an address and has no key at all.

    Args:
        endpoint: where to call; None takes the configured default.
        settings: the `[models]` table.
        around: keys, memory, spend gate.

    Raises:
        ModelError: as `treewright.models.registry.build`.
    """
    if endpoint is None:
        return build(None, settings, around)
    model = f"#{endpoint.model}" if endpoint.model else ""
    if not endpoint.use_operator_key:
        if not endpoint.url.startswith(("http://", "https://")):
            raise ModelError("endpoint_invalid", "An endpoint that a session chose must be an http address.")
        bare = replace(around, environment={}, handed_keys={})
        return build(endpoint.url + model, ModelsSettings(folder=settings.folder), bare)
    if not endpoint.url.startswith(("http://", "https://")):
        return build(endpoint.url, settings, around)
    wanted = with_version(endpoint.url).rstrip("/")
    for name, table in settings.endpoints.items():
        if table.url is not None and with_version(table.url).rstrip("/") == wanted:
            return build(name + model, settings, around)
    return build(endpoint.url + model, settings, around)
