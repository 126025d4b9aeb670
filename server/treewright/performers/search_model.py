"""Drafts and revisions of a code-branch search, through a provider of a language model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treewright.models.provider import Completion, Message, Outcome, Provider, Request, Sample
from treewright.search.tasks import DraftTask, Generated, ReviseTask

ModelTask = DraftTask | ReviseTask
_LEAST_TOKENS = 64

_CONTINUES = frozenset({"local"})
"""Kinds of providers that go on from an answer that has begun. Others may refuse it, or begin anew."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one call.

    Attributes:
        result: for the search engine.
        pauses: why the whole search should pause (overload, quota, no connection, a key that is refused); empty
            when only this call failed, or none did.
    """

    result: Generated
    pauses: str = ""


class SearchModel:
    """Asks a provider for programs; a failure is a result.

    Args:
        provider: without a spend gate around it: the search reserves each call itself, and one that costs nothing too.
        max_tokens: most tokens of an answer.
    """

    def __init__(self, provider: Provider, max_tokens: int = 1500) -> None:
        self.provider = provider
        context = provider.info.context_tokens
        self._max_tokens = min(max_tokens, max(_LEAST_TOKENS, context // 2)) if context else max_tokens

    def worst_case_usd(self, task: ModelTask) -> float:
        """Return the most that a task can cost: its prompt and an answer at full length (contract: search, 5)."""
        return self.provider.info.price.worst_case(self._request(task)) or 0.0

    async def complete(self, task: ModelTask, cancel: asyncio.Event | None = None) -> Asked:
        """Ask for a program.

        Args:
            task: with its prompt, temperature and seed.
            cancel: when set, the call ends at once.
        """
        return (await self.complete_alike((task,), cancel))[0]

    async def complete_alike(
        self, tasks: Sequence[ModelTask], cancel: asyncio.Event | None = None
    ) -> list[Asked]:
        """Ask for a program each, in one request that is read once.

        Args:
            tasks: one or more that differ in nothing but their seed, see `search.tasks.asked_alike`.
            cancel: when set, the call ends at once.

        Returns:
            What came of each task, in order; each bears its share of the cost.
        """
        request = replace(self._request(tasks[0]), samples=len(tasks))
        done = await self.provider.complete(request, cancel=cancel)
        spend = done.cost_usd
        if spend is None:
            spend = sum(self.worst_case_usd(task) for task in tasks)
        share = max(0.0, spend) / len(tasks)
        said = _said(done)
        pauses = said if done.outcome.pauses_run else ""
        found = []
        for number, task in enumerate(tasks):
            text = self._text(task, done.samples[number]) if number < len(done.samples) else ""
            if text:
                found.append(Asked(Generated(task_id=task.id, answers=(text,), spend_usd=share)))
            else:
                lost = said if not done.samples else f"{done.provider}: no answer that can be read"
                failed = Generated(task_id=task.id, spend_usd=share, failed=True, message=lost)
                found.append(Asked(failed, pauses))
        return found

    def _text(self, task: ModelTask, sample: Sample) -> str:
        """A sample's answer, what it was made to begin with included; empty for none."""
        if not sample.outcome.has_text or not sample.text.strip():
            return ""
        begun = self._begun(task)
        return sample.text if sample.text.startswith(begun) else begun + sample.text  # some servers repeat it

    def _begun(self, task: ModelTask) -> str:
        return task.begin if self.provider.info.kind in _CONTINUES else ""

    async def close(self) -> None:
        """Release the provider."""
        await self.provider.close()

    def _request(self, task: ModelTask) -> Request:
        messages = tuple(Message.of(one.role, one.content) for one in task.messages)
        begun = self._begun(task)
        if begun:
            messages = (*messages, Message.of("assistant", begun))
        return Request(
            messages=messages,
            max_tokens=self._max_tokens,
            temperature=task.temperature,
            seed=task.seed,
            stop=task.stop if begun else (),
            cache_prefix=True,
        )


def _said(done: Completion) -> str:
    what = done.outcome.value.replace("_", " ")
    if done.outcome is Outcome.CANCELLED:
        return "no longer needed"
    return f"{done.provider}: {done.detail or what}"[:2000]
