"""Calls to the provider: bounded answers, every outcome typed, what was paid for kept until its task is done."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from treewright.errors import TreewrightError
from treewright.models.provider import Message, Provider, Request
from treewright.models.structured import Answer, ask
from treewright.performers.model.shapes import Schema, loosened
from treewright.tree.event import SpendRecorded


class KeptAnswers(Protocol):
    """Keeps answers of tasks that are not done yet, so that none is paid for twice."""

    def get(self, key: str) -> tuple[Any, SpendRecorded | None] | None:
        """Return an answer, and what it cost when no journal tells that yet."""
        ...

    def put(self, key: str, value: Any, spent: SpendRecorded) -> None:
        """Keep an answer; a disk that refuses costs nothing but asking again."""
        ...

    def accounted(self, keys: list[str]) -> None:
        """Remember that the cost of answers stands in the journal."""
        ...


@dataclass(slots=True)
class Course:
    """The calls of one task.

    Attributes:
        task: its id.
        spent: what they used.
        keys: the answers that the spend is of.
        repairs: answers that had to be sent back.
    """

    task: str
    spent: list[SpendRecorded] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    repairs: int = 0


class Caller:
    """Asks a provider for the parts of tasks."""

    def __init__(self, provider: Provider, *, max_repairs: int, kept: KeptAnswers | None = None) -> None:
        """Ask a provider.

        Args:
            provider: with the spend cap around it, when it costs.
            max_repairs: how often an answer is sent back.
            kept: remembers answers; None forgets them.
        """
        self.provider = provider
        self._max_repairs = max_repairs
        self._kept = kept

    async def ask(
        self,
        course: Course,
        part: str,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
        temperature: float,
    ) -> dict[str, Any]:
        """Return an answer that fits the schema.

        Raises:
            TreewrightError: as `structured.ask`; `details["spent"]` tells what the task has used so far.
        """
        key = f"{course.task}#{part}"
        known = self._known(course, key)
        if known is not None:
            return known
        request = Request(
            messages=messages,
            schema=schema,
            schema_name=part.partition(":")[0],
            max_tokens=max_tokens,
            temperature=temperature,
            cache_prefix=True,
        )
        try:
            answer = await ask(
                self.provider, request, judged_by=loosened(schema), max_repairs=self._max_repairs
            )
        except TreewrightError as fault:
            self._charge_fault(course, fault)
            raise
        self._keep(course, key, answer)
        return dict(answer.value)

    def _known(self, course: Course, key: str) -> dict[str, Any] | None:
        """Return an answer that was given before, and count what it cost when no journal tells that yet."""
        known = self._kept.get(key) if self._kept else None
        if known is None:
            return None
        value, spent = known
        if spent is not None:
            course.spent.append(spent)
            course.keys.append(key)
        return dict(value)

    def _keep(self, course: Course, key: str, answer: Answer) -> None:
        spent = SpendRecorded(
            task=course.task,
            provider=self.provider.info.name,
            model=self.provider.info.model,
            prompt_tokens=answer.usage.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens,
            usd=answer.cost_usd or 0.0,
            seconds=round(answer.completion.elapsed_s, 3),
        )
        course.spent.append(spent)
        course.keys.append(key)
        course.repairs += answer.repairs
        if self._kept:
            self._kept.put(key, answer.value, spent)

    def _charge_fault(self, course: Course, fault: TreewrightError) -> None:
        usage = fault.details.get("usage") or {}
        if usage.get("prompt") or usage.get("completion"):
            course.spent.append(
                SpendRecorded(
                    task=course.task,
                    provider=self.provider.info.name,
                    model=self.provider.info.model,
                    prompt_tokens=int(usage.get("prompt", 0)),
                    completion_tokens=int(usage.get("completion", 0)),
                    usd=float(fault.details.get("cost_usd") or 0.0),
                )
            )
        fault.details["spent"] = list(course.spent)
        self.account(course)

    def account(self, course: Course) -> None:
        """Remember that what a task used goes to the journal now."""
        if self._kept and course.keys:
            self._kept.accounted(course.keys)
            course.keys.clear()
