"""Drafts and revisions of a code-branch search, through a provider of a language model."""

import asyncio
from dataclasses import dataclass

from treewright.models.provider import Completion, Message, Outcome, Provider, Request
from treewright.search.tasks import DraftTask, Generated, ReviseTask

ModelTask = DraftTask | ReviseTask
_LEAST_TOKENS = 64


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
        request = self._request(task)
        done = await self.provider.complete(request, cancel=cancel)
        spend = done.cost_usd
        if spend is None:
            spend = self.worst_case_usd(task)
        texts = tuple(
            sample.text for sample in done.samples if sample.outcome.has_text and sample.text.strip()
        )
        if done.outcome.has_text and texts:
            return Asked(Generated(task_id=task.id, answers=texts, spend_usd=max(0.0, spend)))
        said = _said(done)
        pauses = said if done.outcome.pauses_run else ""
        failed = Generated(task_id=task.id, spend_usd=max(0.0, spend), failed=True, message=said)
        return Asked(failed, pauses)

    async def close(self) -> None:
        """Release the provider."""
        await self.provider.close()

    def _request(self, task: ModelTask) -> Request:
        return Request(
            messages=tuple(Message.of(one.role, one.content) for one in task.messages),
            max_tokens=self._max_tokens,
            temperature=task.temperature,
            seed=task.seed,
            cache_prefix=True,
        )


def _said(done: Completion) -> str:
    what = done.outcome.value.replace("_", " ")
    if done.outcome is Outcome.CANCELLED:
        return "no longer needed"
    return f"{done.provider}: {done.detail or what}"[:2000]
