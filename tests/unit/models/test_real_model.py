"""A real 0.5B model, embedded: what recorded answers cannot prove.

Run with `make bench`, after `python tests/bench/fetch_models.py q05`.
"""

import asyncio
import random
import string
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.bench.fetch_models import models_folder
from treewright.models.local import LocalProvider, LocalSettings
from treewright.models.prices import prompt_tokens_at_most
from treewright.models.provider import Message, Outcome, Request, Section
from treewright.models.structured import ask
from treewright.models.tokens import tokens_at_least

MODEL = models_folder() / "q05.gguf"  # found at import, while the real home is still in place

pytestmark = [
    pytest.mark.bench,
    pytest.mark.slow,
    pytest.mark.may_skip_in_ci("the model file of 491 MB is not fetched there"),
    pytest.mark.leaves_children,  # one model for the whole module
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not MODEL.exists(), reason=f"no real model at {MODEL}: run python tests/bench/fetch_models.py q05"
    ),
]

SCHEMA = {
    "type": "object",
    "properties": {
        "colours": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        "warm": {"enum": ["YES", "NO"]},
    },
    "required": ["colours", "warm"],
    "additionalProperties": False,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalProvider]:
    provider = LocalProvider(LocalSettings(path=MODEL, context_tokens=2048, slots=2))
    yield provider
    await provider.close()


def request(text: str, **settings: object) -> Request:
    return Request(messages=(Message.of("user", text),), temperature=0.2, **settings)


@pytest.mark.requirement("models:real:streaming")
async def test_text_streams_and_the_usage_is_the_server_s(model):
    pieces: list[str] = []
    done = await model.complete(request("Name three colours.", max_tokens=24), on_text=pieces.append)
    assert done.outcome in {Outcome.COMPLETE, Outcome.CUT_OFF}
    assert len(pieces) > 3 and "".join(pieces) == done.text
    assert not done.usage.estimated and done.usage.completion_tokens >= len(pieces) - 1


@pytest.mark.requirement("models:real:json-schema")
async def test_a_schema_is_imposed_by_the_grammar(model):
    answer = await ask(model, request("Name three warm colours.", schema=SCHEMA, max_tokens=80))
    assert len(answer.value["colours"]) == 3 and answer.value["warm"] in {"YES", "NO"}
    assert answer.completion.structured == "json_schema"


@pytest.mark.requirement("models:real:cancel")
async def test_cancelling_stops_the_model_so_that_the_next_call_does_not_wait_for_it(model):
    cancel = asyncio.Event()
    begun = time.monotonic()
    done = await model.complete(
        request("Write a very long story about the sea.", max_tokens=1500),
        on_text=lambda _: cancel.set(),
        cancel=cancel,
    )
    assert done.outcome is Outcome.CANCELLED and done.text
    first = done.first_token_s or 0
    again = await model.complete(request("Say hi.", max_tokens=4))
    assert again.outcome in {Outcome.COMPLETE, Outcome.CUT_OFF}
    assert time.monotonic() - begun < first + 60


@pytest.mark.requirement("models:real:samples")
async def test_several_samples_of_one_request_differ(model):
    asked = Request(
        messages=(Message.of("user", "Invent a name for a cat."),), samples=2, temperature=1.5, max_tokens=16
    )
    done = await model.complete(asked)
    assert len(done.samples) == 2 and all(done.texts)
    assert done.usage.completion_tokens > 4


@pytest.mark.requirement("models:real:overflow")
async def test_a_prompt_that_does_not_fit_is_told_and_shrunk(model):
    filler = Section(text="The sea is wide. " * 600, name="background", priority=2)
    messages = (Message("user", (Section(text="Name three cold colours."), filler)),)
    done = await model.complete(Request(messages=messages, max_tokens=16))
    assert done.outcome is Outcome.CONTEXT_OVERFLOW
    assert done.context_tokens == 2048 and (done.prompt_tokens_seen or 0) > 2048
    answer = await ask(model, Request(messages=messages, schema=SCHEMA, max_tokens=80, temperature=0.2))
    assert answer.left_out == ("background",)


@pytest.mark.requirement("models:real:prompt-cache")
async def test_a_common_beginning_is_read_once(model):
    marker = "".join(random.choices(string.ascii_lowercase, k=8))
    prefix = f"Rules {marker}. " + "Every claim carries its source. " * 60
    first = await model.complete(request(prefix + "Say one.", max_tokens=4))
    second = await model.complete(request(prefix + "Say two.", max_tokens=4))
    assert second.usage.prompt_tokens > 300
    assert second.usage.cached_tokens > 0.8 * second.usage.prompt_tokens
    assert first.usage.cached_tokens < second.usage.cached_tokens


@pytest.mark.requirement("models:price:worst-case")
async def test_token_estimates_bracket_a_real_tokenizer(model):
    texts = [
        "The quick brown fox jumps over the lazy dog, and nobody minds at all. " * 5,
        "def total(items):\n    return sum(item.price_in_cents * 2 for item in items if item is not None)\n"
        * 4,
        "树在春天生长，每一个节点都有它的分数和判断。" * 8,
        "Дерево растёт весной, и каждая ветвь имеет свою оценку. " * 5,
        '{"a": [1, 2, 3], "b": {"c": null, "d": "3.14159"}}' * 6,
    ]
    for text in texts:
        done = await model.complete(request(text, max_tokens=1))
        real = done.usage.prompt_tokens
        assert tokens_at_least(text) <= real, (text[:20], real)
        assert prompt_tokens_at_most(request(text)) + 24 >= real, (text[:20], real)
