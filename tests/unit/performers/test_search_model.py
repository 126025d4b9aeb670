"""Programs from a provider: several in one request, going on from an answer that has begun where the model can."""

import asyncio
from dataclasses import replace

import pytest

from treewright.models.prices import FREE, Price, PriceKind
from treewright.models.provider import Completion, Outcome, ProviderInfo, Request, Sample, TextSink, Usage
from treewright.performers.search_model import SearchModel
from treewright.search.framings import Message
from treewright.search.tasks import DraftTask

BEGIN = "```python\ndef f(n):\n"


class Answers:
    """Answers each sample of a request from a list; keeps what it was asked."""

    def __init__(self, *texts: str, kind: str = "local", repeats: bool = False, price: Price = FREE) -> None:
        self.texts, self.repeats = list(texts), repeats
        self.asked: list[Request] = []
        self.info = ProviderInfo(name="a", kind=kind, model="m", endpoint="", price=price)

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer as many samples as there are texts left."""
        self.asked.append(request)
        begun = request.messages[-1].text if self.repeats else ""
        texts = [begun + self.texts.pop(0) for _ in range(min(request.samples, len(self.texts)))]
        samples = tuple(Sample(text=text, outcome=Outcome.COMPLETE) for text in texts)
        outcome = Outcome.COMPLETE if samples else Outcome.OVERLOADED
        usage = Usage(prompt_tokens=1, completion_tokens=1)
        done = Completion(provider="a", model="m", outcome=outcome, samples=samples, usage=usage)
        return replace(done, cost_usd=0.4 if self.info.price.kind is PriceKind.KNOWN else 0.0)

    async def close(self) -> None:
        """Nothing to release."""


def tasks(count: int = 1) -> list[DraftTask]:
    return [
        DraftTask(
            id=f"draft:{number}",
            framing="plain",
            temperature=0.8,
            seed=number,
            messages=(Message(role="user", content="Write f."),),
            estimate_usd=0.0,
            begin=BEGIN,
            stop=("\n```",),
        )
        for number in range(count)
    ]


def asked(provider: Answers, count: int = 1) -> list[object]:
    found = asyncio.run(SearchModel(provider).complete_alike(tasks(count)))
    return [one.result.answers[0] if one.result.answers else one.result.message for one in found]


@pytest.mark.requirement("search:generate:alike")
def test_tasks_that_ask_the_same_are_one_request_and_share_its_cost() -> None:
    provider = Answers("a", "b", kind="openai", price=Price(kind=PriceKind.KNOWN, input=1.0, output=1.0))
    found = asyncio.run(SearchModel(provider).complete_alike(tasks(2)))
    assert [(one.result.task_id, one.result.answers, one.result.spend_usd) for one in found] == [
        ("draft:0", ("a",), 0.2),
        ("draft:1", ("b",), 0.2),
    ]
    assert [request.samples for request in provider.asked] == [2]


@pytest.mark.requirement("search:generate:alike")
def test_a_sample_that_did_not_come_fails_its_own_task_only() -> None:
    first, second = asyncio.run(SearchModel(Answers("a")).complete_alike(tasks(2)))
    assert first.result.answers
    assert (second.result.failed, second.pauses) == (True, "")
    (lost,) = asyncio.run(SearchModel(Answers()).complete_alike(tasks(1)))
    assert lost.result.failed
    assert lost.pauses, "an endpoint that is overloaded pauses the search"


@pytest.mark.requirement("search:generate:begun")
@pytest.mark.parametrize("repeats", [False, True])
def test_a_local_model_goes_on_from_what_is_given(repeats: bool) -> None:
    provider = Answers("    return n", repeats=repeats)
    assert asked(provider) == [BEGIN + "    return n"]
    (request,) = provider.asked
    assert (request.messages[-1].role, request.messages[-1].text) == ("assistant", BEGIN)
    assert request.stop == ("\n```",)


@pytest.mark.requirement("search:generate:begun")
def test_any_other_provider_is_asked_for_the_whole_program() -> None:
    provider = Answers("whole", kind="openai")
    assert asked(provider) == ["whole"]
    (request,) = provider.asked
    assert [message.role for message in request.messages] == ["user"]
    assert request.stop == ()
