"""One suite that every provider passes, against the recorded behaviour of each kind of server."""

import asyncio

import pytest

from tests.unit.models.flavours import ANSWER, ANTHROPIC, FLAVOURS, TEXT, message, refusal, whole
from tests.unit.models.loopback import FakeClock, Loopback, Reply, provider_at
from treewright.models.anthropic import AnthropicProvider
from treewright.models.editor import EditorProvider
from treewright.models.openai import OpenAIProvider
from treewright.models.provider import Message, Outcome, Provider, Request
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.models.structured import ask

pytestmark = pytest.mark.asyncio

ASK = Request(
    messages=(Message.of("system", "Be brief."), Message.of("user", "Name three colours.")), max_tokens=60
)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0}},
    "required": ["a"],
    "additionalProperties": False,
}

OUTCOMES = {
    "complete": Outcome.COMPLETE,
    "cut_off": Outcome.CUT_OFF,
    "empty": Outcome.EMPTY,
    "reasoning": Outcome.CUT_OFF_REASONING,
    "broken": Outcome.INTERRUPTED,
    "overloaded": Outcome.OVERLOADED,
    "over_quota": Outcome.OVER_QUOTA,
    "context_overflow": Outcome.CONTEXT_OVERFLOW,
    "unauthorised": Outcome.UNAUTHORISED,
    "model_not_found": Outcome.MODEL_NOT_FOUND,
    "bad_request": Outcome.BAD_REQUEST,
}


def provider_of(flavour, url, **settings):
    kind = AnthropicProvider if flavour.anthropic else OpenAIProvider
    return provider_at(url, kind=kind, key="conformance-key-1", **settings)


async def once(name, scenario, request=ASK):
    flavour = FLAVOURS[name]
    reply = scenario if isinstance(scenario, Reply) else flavour.replies[scenario]
    async with Loopback([reply]) as server:
        provider = provider_of(flavour, server.url, clock=FakeClock())
        assert isinstance(provider, Provider)
        done = await provider.complete(request)
        await provider.close()
        await provider.close()
    return done, server


@pytest.mark.requirement("models:conformance:outcomes")
@pytest.mark.parametrize("scenario", OUTCOMES)
@pytest.mark.parametrize("name", FLAVOURS)
async def test_every_outcome_is_recognised_from_every_server(name, scenario):
    done, _ = await once(name, scenario)
    assert done.outcome is OUTCOMES[scenario], done
    assert (done.detail == "") is (scenario == "complete")
    assert "sk-ab" not in done.detail
    if scenario == "complete":
        assert (done.text, done.usage.prompt_tokens, done.usage.completion_tokens) == (TEXT, 21, 7)
    if scenario in {"cut_off", "broken"}:
        assert done.text == "Blue, re"


@pytest.mark.requirement("models:conformance:overflow-figures")
@pytest.mark.parametrize("name", ["hosted", "vllm", "llamacpp", "anthropic"])
async def test_an_overflow_names_what_the_server_named(name):
    done, _ = await once(name, "context_overflow")
    assert done.context_tokens == 4096 and done.prompt_tokens_seen in {5200, 5100}


@pytest.mark.parametrize("name", FLAVOURS)
async def test_an_answer_without_streaming_is_the_same(name):
    done, _ = await once(name, whole(FLAVOURS[name]))
    assert (done.outcome, done.text, done.usage.prompt_tokens) == (Outcome.COMPLETE, TEXT, 21)


@pytest.mark.requirement("models:stream:split-anywhere")
@pytest.mark.parametrize("name", FLAVOURS)
async def test_a_stream_split_at_every_byte_is_the_same(name):
    chunks = FLAVOURS[name].replies["complete"].chunks
    done, _ = await once(name, Reply([bytes([byte]) for byte in b"".join(chunks)]))
    assert (done.outcome, done.text) == (Outcome.COMPLETE, TEXT)


@pytest.mark.parametrize("name", FLAVOURS)
async def test_data_is_asked_for_and_read(name):
    async with Loopback([FLAVOURS[name].replies["data"]]) as server:
        provider = provider_of(FLAVOURS[name], server.url)
        answer = await ask(provider, Request(messages=ASK.messages, schema=SCHEMA))
        await provider.close()
    assert (
        answer.value == {"a": 1} and answer.text == ANSWER and answer.completion.structured == "json_schema"
    )


@pytest.mark.parametrize("name", FLAVOURS)
async def test_cancelling_keeps_the_text_that_had_arrived(name):
    flavour = FLAVOURS[name]
    chunks = flavour.replies["complete"].chunks
    cancel = asyncio.Event()
    held = Reply(chunks, hold=asyncio.Event(), hold_after=4 if flavour.anthropic else 2)
    async with Loopback([held]) as server:
        provider = provider_of(flavour, server.url)
        done = await asyncio.wait_for(
            provider.complete(ASK, on_text=lambda _: cancel.set(), cancel=cancel), 5
        )
        await provider.close()
    assert done.outcome is Outcome.CANCELLED and TEXT.startswith(done.text) and done.text
    assert done.usage.prompt_tokens > 0


@pytest.mark.parametrize("name", FLAVOURS)
async def test_three_samples_are_three_answers(name):
    done, server = await once(name, "complete", Request(messages=ASK.messages, samples=3))
    assert done.texts == (TEXT,) * 3 and done.usage.completion_tokens == 21
    assert len(server.asked) == 3


# --- Anthropic's own ways -------------------------------------------------------------------------------


async def test_anthropic_gets_its_own_shape_of_request_and_counts_cached_tokens():
    request = Request(
        messages=ASK.messages, temperature=1.7, stop=("END", " "), cache_prefix=True, seed=3, max_tokens=60
    )
    done, server = await once("anthropic", "complete", request)
    sent = server.payloads[0]
    assert sent["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert [entry["role"] for entry in sent["messages"]] == ["user"]
    assert (sent["temperature"], sent["stop_sequences"], sent["max_tokens"]) == (1.0, ["END"], 60)
    assert "seed" not in sent and server.asked[0].path == "/v1/messages"
    assert server.asked[0].headers["x-api-key"] == "conformance-key-1"
    assert (done.usage.prompt_tokens, done.usage.cached_tokens) == (21, 6)


async def test_anthropic_refusals_and_filled_contexts_have_words_of_their_own():
    done, _ = await once("anthropic", "refused")
    assert done.outcome is Outcome.REFUSED
    done, _ = await once("anthropic", message("Blue", "model_context_window_exceeded"))
    assert done.outcome is Outcome.CUT_OFF


@pytest.mark.requirement("models:structured:found-out-once")
async def test_anthropic_falls_back_from_formats_to_a_tool_to_words_and_remembers():
    def script(asked):
        if "output_config" in asked.body:
            assert "minimum" not in str(asked.body["output_config"]), "limits that it refuses are left out"
            return refusal(
                400,
                "invalid_request_error",
                "output_config.format: this model does not support structured outputs",
            )
        if "tool_choice" in asked.body:
            return refusal(
                400, "invalid_request_error", "tool_choice: forced tool use is not supported by this model"
            )
        return ANTHROPIC.replies["data"]

    request = Request(messages=ASK.messages, schema=SCHEMA)
    async with Loopback(script) as server:
        provider = provider_of(ANTHROPIC, server.url)
        first = await ask(provider, request)
        second = await ask(provider, request)
        await provider.close()
    assert first.value == second.value == {"a": 1} and len(server.asked) == 4
    assert '"minimum":0' in server.payloads[-1]["messages"][-1]["content"]


async def test_anthropic_s_forced_tool_gives_its_input_as_the_answer():
    tool = {"type": "tool_use", "id": "t", "name": "answer", "input": {}}
    done, _ = await once("anthropic", message(ANSWER, "tool_use", block=tool, delta="partial_json"))
    assert (done.outcome, done.text) == (Outcome.COMPLETE, ANSWER)


async def test_anthropic_without_sampling_settings_is_found_out():
    def script(asked):
        if "temperature" in asked.body:
            return refusal(
                400, "invalid_request_error", "temperature: this parameter is not supported for this model"
            )
        return ANTHROPIC.replies["complete"]

    async with Loopback(script) as server:
        provider = provider_of(ANTHROPIC, server.url)
        done = await provider.complete(Request(messages=ASK.messages, temperature=0.3))
        await provider.close()
    assert done.outcome is Outcome.COMPLETE and len(server.asked) == 2


# --- the editor and the script --------------------------------------------------------------------------


def editor(reply, **settings):
    async def call(asked):
        calls.append(asked)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, asyncio.Event):
            await reply.wait()
        return reply

    calls: list = []
    provider = EditorProvider(call, model="gpt", **settings)
    return provider, calls


@pytest.mark.requirement("models:editor:outcomes")
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ({"text": TEXT}, Outcome.COMPLETE),
        ({"text": ""}, Outcome.EMPTY),
        ({"text": "half", "finishReason": "length"}, Outcome.CUT_OFF),
        ({"text": "x", "completionTokens": 60}, Outcome.CUT_OFF),
        ({"error": {"code": "NoPermissions", "message": "User has not consented"}}, Outcome.UNAUTHORISED),
        ({"error": {"code": "Blocked", "message": "quota"}}, Outcome.OVER_QUOTA),
        ({"error": {"code": "NotFound", "message": "gone"}}, Outcome.MODEL_NOT_FOUND),
        (
            {"error": {"code": "Unknown", "message": "Request was rate limited: too many requests"}},
            Outcome.OVERLOADED,
        ),
        (
            {"error": {"code": "Unknown", "message": "Message exceeds token limit: prompt is too long"}},
            Outcome.CONTEXT_OVERFLOW,
        ),
        (ConnectionResetError("closed"), Outcome.UNREACHABLE),
    ],
)
async def test_the_editor_s_answers_are_told_apart(reply, outcome):
    provider, calls = editor(reply)
    done = await provider.complete(ASK)
    assert isinstance(provider, Provider)
    assert done.outcome is outcome and done.cost_usd == 0.0
    assert calls[0]["messages"][1] == {"role": "user", "text": "Name three colours."}
    if outcome is Outcome.UNAUTHORISED:
        assert "allow the model" in done.detail


async def test_the_editor_is_not_asked_until_a_call_and_can_be_cancelled_or_time_out():
    provider, calls = editor(asyncio.Event(), timeout_s=0.05)
    assert calls == []
    assert (await provider.complete(ASK)).outcome is Outcome.TIMED_OUT
    cancel = asyncio.Event()
    cancel.set()
    assert (await provider.complete(ASK, cancel=cancel)).outcome is Outcome.CANCELLED


async def test_the_editor_gets_the_schema_in_words_and_its_answer_is_parsed():
    provider, calls = editor({"text": f"Sure:\n```json\n{ANSWER}\n```"})
    answer = await ask(provider, Request(messages=ASK.messages, schema=SCHEMA))
    assert answer.value == {"a": 1} and '"required":["a"]' in calls[0]["messages"][1]["text"]


async def test_the_script_counts_calls_in_flight_matches_and_cancels():
    rules = [
        ScriptedAnswer(
            text=lambda request: request.messages[-1].text.upper(), when="colours", times=None, delay_s=0.01
        ),
        ScriptedAnswer(text="late", delay_s=60),
    ]
    provider = ScriptedProvider(rules)
    assert isinstance(provider, Provider)
    done = await asyncio.gather(*(provider.complete(ASK) for _ in range(5)))
    assert provider.in_flight_most == 5 and done[0].text == "NAME THREE COLOURS."
    cancel = asyncio.Event()
    asyncio.get_running_loop().call_soon(cancel.set)
    late = await asyncio.wait_for(
        provider.complete(Request(messages=(Message.of("user", "x"),)), cancel=cancel), 3
    )
    assert late.outcome is Outcome.CANCELLED
