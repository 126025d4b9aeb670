"""Asking until the answer fits: repair with the exact fault, bounded prompts, one adjusted retry, shrinking."""

from dataclasses import replace

import pytest

from treewright.errors import ModelError
from treewright.models.provider import Completion, Message, Outcome, Request, Sample, Section, Usage
from treewright.models.repetition import ends_in_loop
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.models.structured import ask

pytestmark = pytest.mark.asyncio

SCHEMA = {
    "type": "object",
    "properties": {
        "level": {"enum": ["HIGH", "LOW"]},
        "steps": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    },
    "required": ["level", "steps"],
    "additionalProperties": False,
}
GOOD = {"level": "HIGH", "steps": ["a", "b"]}
REQUEST = Request(
    messages=(Message.of("system", "Rules."), Message.of("user", "Judge it.")), schema=SCHEMA, max_tokens=200
)


def cut(text: str, outcome: Outcome = Outcome.CUT_OFF) -> ScriptedAnswer:
    return ScriptedAnswer(text=text, outcome=outcome)


@pytest.mark.requirement("models:repair:exact-fault")
async def test_what_does_not_fit_goes_back_with_its_path_and_the_expected_shape():
    provider = ScriptedProvider(['{"level": "GREAT", "steps": ["a"]}', GOOD])
    answer = await ask(provider, REQUEST)
    assert answer.value == GOOD and (answer.attempts, answer.repairs) == (2, 1)
    told = provider.requests[1].messages[-1].text
    assert '$.level: "GREAT" is not allowed; expected one of "HIGH", "LOW"' in told
    assert "$.steps: has 1 items; expected array (minItems 2)" in told
    assert '{"level": "HIGH | LOW", "steps": ["string"]}' in told
    assert provider.requests[1].messages[-2].text == '{"level": "GREAT", "steps": ["a"]}'


@pytest.mark.requirement("models:repair:bounded")
async def test_after_the_last_repair_the_error_keeps_the_raw_text_the_faults_and_the_spending():
    provider = ScriptedProvider(
        [
            ScriptedAnswer(
                text='{"level": "GREAT"}', times=None, usage=Usage(prompt_tokens=10, completion_tokens=5)
            )
        ]
    )
    with pytest.raises(ModelError) as caught:
        await ask(provider, REQUEST, max_repairs=3)
    error = caught.value
    assert error.code == "model_unfit" and len(provider.requests) == 4
    assert error.details["raw"] == '{"level": "GREAT"}'
    assert any("$.level" in fault for fault in error.details["faults"])
    assert error.details["usage"] == {"prompt": 40, "completion": 20}


@pytest.mark.requirement("models:repair:no-growth")
async def test_a_repair_prompt_does_not_grow_with_each_try():
    long = '{"level": "GREAT", "steps": ["' + "x" * 50_000 + '"]}'
    provider = ScriptedProvider([ScriptedAnswer(text=long, times=None)])
    with pytest.raises(ModelError):
        await ask(provider, REQUEST, max_repairs=5)
    sizes = [len(request.prompt) for request in provider.requests[1:]]
    assert len(set(sizes)) == 1 and sizes[0] < 6000
    assert all(len(request.messages) == 4 for request in provider.requests[1:])


async def test_text_without_any_json_is_told_so():
    provider = ScriptedProvider(["I think it is high.", GOOD])
    answer = await ask(provider, REQUEST)
    assert answer.value == GOOD and "no JSON object" in provider.requests[1].messages[-1].text


@pytest.mark.requirement("models:outcome:cut-off")
async def test_an_answer_cut_off_is_never_taken_though_it_would_read_as_whole():
    provider = ScriptedProvider([cut('{"level": "HIGH", "steps": ["a", "b"]}'), GOOD])
    answer = await ask(provider, REQUEST)
    assert answer.attempts == 2
    assert provider.requests[1].max_tokens == 400 and "cut off" in provider.requests[1].messages[-1].text


async def test_an_answer_that_keeps_being_cut_off_is_a_bounded_failure():
    provider = ScriptedProvider(
        [ScriptedAnswer(text='{"level": "HIGH", "st', outcome=Outcome.CUT_OFF, times=None)]
    )
    with pytest.raises(ModelError) as caught:
        await ask(provider, REQUEST, max_repairs=2, max_tokens_ceiling=300)
    assert caught.value.code == "model_unfit"
    assert len(provider.requests) == 3
    assert max(request.max_tokens for request in provider.requests) == 300


@pytest.mark.requirement("models:outcome:cut-off-reasoning")
async def test_reasoning_that_uses_every_token_gets_one_adjusted_retry_and_no_loop():
    rule = ScriptedAnswer(outcome=Outcome.CUT_OFF_REASONING, times=None)
    provider = ScriptedProvider([rule])
    with pytest.raises(ModelError) as caught:
        await ask(provider, REQUEST, max_repairs=9)
    assert caught.value.code == "model_cut_off_reasoning" and len(provider.requests) == 2
    second = provider.requests[1]
    assert (
        second.reasoning_effort == "low" and second.max_tokens == 400 and "without thinking" in second.prompt
    )


@pytest.mark.requirement("models:outcome:empty")
async def test_an_empty_answer_is_asked_for_once_more():
    provider = ScriptedProvider([cut("", Outcome.EMPTY), GOOD])
    assert (await ask(provider, REQUEST)).attempts == 2
    provider = ScriptedProvider([ScriptedAnswer(outcome=Outcome.EMPTY, times=None)])
    with pytest.raises(ModelError) as caught:
        await ask(provider, REQUEST)
    assert caught.value.code == "model_empty" and len(provider.requests) == 2


@pytest.mark.requirement("models:outcome:refused")
@pytest.mark.parametrize(
    "outcome",
    [
        outcome
        for outcome in Outcome
        if not outcome.has_text
        and outcome not in {Outcome.EMPTY, Outcome.CUT_OFF_REASONING, Outcome.CONTEXT_OVERFLOW}
    ],
)
async def test_every_other_outcome_is_told_at_once_with_a_code_of_its_own(outcome):
    provider = ScriptedProvider(
        [ScriptedAnswer(outcome=outcome, detail="said so", times=None, retry_after_s=9)]
    )
    with pytest.raises(ModelError) as caught:
        await ask(provider, REQUEST)
    assert caught.value.code == f"model_{outcome.value}" and len(provider.requests) == 1
    assert "said so" in caught.value.message
    assert caught.value.details["pauses_run"] is outcome.pauses_run


async def test_an_answer_that_breaks_off_is_asked_for_again_as_it_was():
    provider = ScriptedProvider([cut('{"level": "HI', Outcome.INTERRUPTED), GOOD])
    answer = await ask(provider, REQUEST)
    assert answer.value == GOOD and provider.requests[0] == provider.requests[1]


async def test_rules_of_the_caller_go_back_to_the_model_in_words():
    provider = ScriptedProvider([{"level": "LOW", "steps": ["a", "b"]}, GOOD])
    answer = await ask(
        provider, REQUEST, check=lambda value: ["the level is hedged"] if value["level"] == "LOW" else []
    )
    assert answer.value == GOOD and "the level is hedged" in provider.requests[1].messages[-1].text


SECTIONS = (
    Section(text="Question that must be asked.", name="question"),
    Section(text="gloss " * 300, name="glossary", priority=2),
    Section(text="context " * 300, name="siblings", priority=3),
    Section(text="near " * 300, name="parent", priority=1),
)
LONG = Request(
    messages=(Message.of("system", "Rules."), Message("user", SECTIONS)), schema=SCHEMA, max_tokens=200
)


@pytest.mark.requirement("models:context:shrinks-optional-first")
async def test_a_known_context_is_fitted_beforehand_by_leaving_out_what_matters_least():
    provider = ScriptedProvider([GOOD], context_tokens=1100)
    answer = await ask(provider, LONG)
    assert answer.left_out == ("siblings", "glossary") and answer.attempts == 1
    sent = provider.requests[0].prompt
    assert "near near" in sent and "Question that must" in sent and "gloss" not in sent


@pytest.mark.requirement("models:context:shrinks-optional-first")
async def test_an_overflow_shrinks_step_by_step_and_ends_when_nothing_is_optional():
    overflow = ScriptedAnswer(outcome=Outcome.CONTEXT_OVERFLOW, times=2)
    provider = ScriptedProvider([overflow, GOOD])
    answer = await ask(provider, LONG)
    assert answer.left_out == ("siblings", "glossary")
    provider = ScriptedProvider([ScriptedAnswer(outcome=Outcome.CONTEXT_OVERFLOW, times=None)])
    with pytest.raises(ModelError) as caught:
        await ask(provider, LONG)
    assert caught.value.code == "model_context_overflow" and len(provider.requests) == 4


async def test_an_overflow_that_names_its_limit_is_fitted_at_once():
    overflow = ScriptedAnswer(outcome=Outcome.CONTEXT_OVERFLOW, context_tokens=1050)
    provider = ScriptedProvider([overflow, GOOD])
    answer = await ask(provider, LONG)
    assert answer.attempts == 2 and set(answer.left_out) == {"siblings", "glossary"}


async def test_a_schema_that_would_not_be_held_is_refused_before_anything_is_asked():
    provider = ScriptedProvider([GOOD])
    with pytest.raises(ModelError) as caught:
        await ask(
            provider, Request(messages=REQUEST.messages, schema={"type": "object", "patternProperties": {}})
        )
    assert caught.value.code == "schema_unsupported" and provider.requests == []


@pytest.mark.requirement("models:outcome:prompt-truncated")
async def test_a_prompt_that_the_server_cut_is_asked_again_as_small_as_what_it_read():
    read = Usage(prompt_tokens=850, completion_tokens=10)
    cut_prompt = ScriptedAnswer(text="{}", outcome=Outcome.PROMPT_TRUNCATED, usage=read)
    provider = ScriptedProvider([cut_prompt, GOOD])
    answer = await ask(provider, LONG)
    assert answer.value == GOOD and set(answer.left_out) == {"siblings", "glossary"}
    short = ScriptedProvider([ScriptedAnswer(text="{}", outcome=Outcome.PROMPT_TRUNCATED, usage=read)])
    with pytest.raises(ModelError) as caught:
        await ask(short, REQUEST)
    assert caught.value.code == "model_prompt_truncated" and "num_ctx" in caught.value.hint


class Looping:
    """A provider that writes the same sentence for ever, as the smallest models do, then answers well."""

    def __init__(self, good: str) -> None:
        self.good = good
        self.requests: list[Request] = []
        self.info = ScriptedProvider([]).info

    async def complete(self, request, *, on_text=None, cancel=None):
        self.requests.append(request)
        text = self.good
        if len(self.requests) == 1:
            text = '{"level": "HIGH", "steps": ["'
            while not cancel.is_set() and len(text) < 1_000_000:
                text += "This approach also allows for easy changes. "
                on_text("This approach also allows for easy changes. ")
        outcome = Outcome.CANCELLED if len(self.requests) == 1 else Outcome.COMPLETE
        sample = Sample(text=text, outcome=outcome)
        return Completion(provider="loop", model="m", outcome=outcome, samples=(sample,))

    async def close(self):
        pass


@pytest.mark.requirement("models:repair:no-loops")
async def test_an_answer_that_repeats_itself_is_ended_early_and_asked_for_in_another_way():
    provider = Looping('{"level": "HIGH", "steps": ["a", "b"]}')
    answer = await ask(provider, replace(REQUEST, seed=4, temperature=0.2))
    assert answer.value == GOOD and len(provider.requests) == 2
    second = provider.requests[1]
    assert (second.seed, second.max_tokens) == (5, 200) and second.temperature > 0.2
    assert "repeated itself" in second.prompt


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("x" * 400, True),
        (" \n" * 300, True),
        ("An answer. " + "Each claim is checked by code, twice. " * 9, True),
        ("Word " * 40, False),
        ("| a | b |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(60)), False),
        ('["alpha", "beta", "gamma"]', False),
        ("", False),
    ],
)
async def test_a_loop_is_told_from_text_that_is_only_regular(text, loops):
    assert ends_in_loop(text) is loops
