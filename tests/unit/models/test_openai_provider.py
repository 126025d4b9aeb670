"""A compatible endpoint over a real connection: streaming, outcomes, retries, cancelling, schemas, samples."""

import asyncio
import json

import pytest

from tests.unit.models.loopback import (
    DONE,
    FakeClock,
    Loopback,
    Reply,
    chat,
    data,
    delta,
    error,
    provider_at,
    usage,
)
from treewright.models.memory import EndpointMemory
from treewright.models.provider import Message, Outcome, Request
from treewright.models.wire import Timeouts

pytestmark = pytest.mark.asyncio

ASK = Request(messages=(Message.of("system", "Be brief."), Message.of("user", "Say hi.")), max_tokens=50)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


async def complete(replies, request=ASK, **settings):
    async with Loopback(replies) as server:
        provider = provider_at(server.url, **settings)
        try:
            done = await provider.complete(request)
        finally:
            await provider.close()
    return done, server


@pytest.mark.requirement("models:outcome:complete")
async def test_a_whole_stream_is_complete_with_its_text_and_usage():
    done, server = await complete([chat("Hi", " there")])
    assert (done.outcome, done.text) == (Outcome.COMPLETE, "Hi there")
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.estimated) == (12, 5, False)
    assert server.payloads[0]["messages"][1] == {"role": "user", "content": "Say hi."}
    assert server.payloads[0]["model"] == "test-model"


@pytest.mark.requirement("models:stream:text-sink")
async def test_text_reaches_the_sink_piece_by_piece_before_the_answer_ends():
    hold = asyncio.Event()
    reply = Reply([delta("first"), delta(" second"), delta(finish="stop"), DONE], hold=hold, hold_after=1)
    seen: list[str] = []
    arrived = asyncio.Event()

    def sink(text: str) -> None:
        seen.append(text)
        arrived.set()

    async with Loopback([reply]) as server:
        provider = provider_at(server.url)
        task = asyncio.ensure_future(provider.complete(ASK, on_text=sink))
        await asyncio.wait_for(arrived.wait(), 3)
        assert seen == ["first"]
        hold.set()
        done = await asyncio.wait_for(task, 3)
        await provider.close()
    assert seen == ["first", " second"] and done.text == "first second"


@pytest.mark.requirement("models:stream:split-anywhere")
async def test_no_character_is_damaged_wherever_the_network_splits_the_bytes():
    text = "日本語 🌳 é\u2028x \U0001f469\u200d\U0001f52c"
    whole = b"".join([delta(text), delta(finish="stop"), DONE])
    for at in range(1, len(whole), 3):
        done, _ = await complete([Reply([whole[:at], whole[at:]])])
        assert done.text == text
    done, _ = await complete([Reply([bytes([byte]) for byte in whole])])
    assert done.text == text


@pytest.mark.requirement("models:stream:split-anywhere")
async def test_an_emoji_escaped_as_two_surrogates_in_two_events_comes_out_whole():
    first = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83c"}}]}\n\n'
    second = b'data: {"choices":[{"index":0,"delta":{"content":"\\udf33b"}}]}\n\n'
    done, _ = await complete([Reply([first, second, delta(finish="stop"), DONE])])
    assert done.text == "a🌳b"


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b"\r\r", b"\n\n"])
async def test_every_line_ending_of_server_sent_events_is_read(ending):
    stream = b"".join([b": ping\n\n", delta("x"), delta(finish="stop"), DONE]).replace(b"\n\n", ending)
    done, _ = await complete([Reply([stream])])
    assert (done.outcome, done.text) == (Outcome.COMPLETE, "x")


async def test_a_stream_that_ends_without_a_blank_line_is_still_read():
    done, _ = await complete([Reply([delta("x"), delta(finish="stop").rstrip(b"\n")])])
    assert (done.outcome, done.text) == (Outcome.COMPLETE, "x")


async def test_an_endpoint_that_answers_without_streaming_is_read_too():
    body = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    }
    reply = Reply([json.dumps(body).encode()], headers={"content-type": "application/json; charset=utf-8"})
    done, _ = await complete([reply])
    assert (done.outcome, done.text, done.usage.prompt_tokens) == (Outcome.COMPLETE, "hi", 9)


OUTCOMES = {
    "length": (Outcome.CUT_OFF, [delta("half"), delta(finish="length"), DONE]),
    "reasoning-field": (
        Outcome.CUT_OFF_REASONING,
        [delta(None, reasoning_content="hm"), delta(finish="length"), DONE],
    ),
    "open-think-tag": (Outcome.CUT_OFF_REASONING, [delta("<think>hm, hm"), delta(finish="length"), DONE]),
    "blank": (Outcome.EMPTY, [delta("  \n"), delta(finish="stop"), DONE]),
    "null-content": (
        Outcome.EMPTY,
        [data({"choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "stop"}]}), DONE],
    ),
    "tool-calls-only": (
        Outcome.EMPTY,
        [delta(None, tool_calls=[{"id": "1"}]), delta(finish="tool_calls"), DONE],
    ),
    "reasoning-only": (Outcome.EMPTY, [delta(None, reasoning="hm"), delta(finish="stop"), DONE]),
    "no-choices": (Outcome.EMPTY, [DONE]),
    "refusal-field": (Outcome.REFUSED, [delta(None, refusal="I cannot."), delta(finish="stop"), DONE]),
    "filtered": (Outcome.REFUSED, [delta("some"), delta(finish="content_filter"), DONE]),
    "unknown-word": (Outcome.INTERRUPTED, [delta("some"), delta(finish="banana"), DONE]),
    "no-ending": (Outcome.INTERRUPTED, [delta("some")]),
    "not-json": (Outcome.BAD_RESPONSE, [b"data: {oops\n\n"]),
    "quota-in-stream": (
        Outcome.OVER_QUOTA,
        [data({"error": {"code": "insufficient_quota", "message": "x"}})],
    ),
}


@pytest.mark.requirement(
    "models:outcome:cut-off",
    "models:outcome:cut-off-reasoning",
    "models:outcome:empty",
    "models:outcome:refused",
    "models:outcome:interrupted",
)
@pytest.mark.parametrize("name", OUTCOMES)
async def test_what_a_stream_ends_with_is_told_apart(name):
    expected, chunks = OUTCOMES[name]
    done, server = await complete([Reply(chunks)])
    assert done.outcome is expected, done
    assert done.detail
    assert len(server.asked) == 1


async def test_a_stream_that_gives_no_finish_reason_is_cut_off_when_it_used_every_token():
    done, _ = await complete([Reply([delta("abc"), usage(12, 50), DONE])])
    assert done.outcome is Outcome.CUT_OFF
    done, _ = await complete([Reply([delta("abc"), usage(12, 4), DONE])])
    assert done.outcome is Outcome.COMPLETE


@pytest.mark.requirement("models:outcome:prompt-truncated")
async def test_a_prompt_that_the_server_cut_silently_is_found_by_its_reported_size():
    prompt = "Each line of this document matters to the answer.\n" * 1700
    request = Request(messages=(Message.of("user", prompt),))
    done, _ = await complete([chat("fine", prompt=2051)], request)
    assert done.outcome is Outcome.PROMPT_TRUNCATED and "2051" in done.detail
    done, _ = await complete([chat("fine", prompt=17000)], request)
    assert done.outcome is Outcome.COMPLETE
    done, _ = await complete([chat("fine", prompt=0)], request)
    assert done.outcome is Outcome.COMPLETE, "a server that reports nothing says nothing"


ERRORS = {
    "401": (
        Outcome.UNAUTHORISED,
        401,
        {"error": {"message": "Invalid API Key", "type": "authentication_error"}},
    ),
    "402": (Outcome.OVER_QUOTA, 402, {"error": {"message": "Insufficient credits"}}),
    "429-quota": (
        Outcome.OVER_QUOTA,
        429,
        {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}},
    ),
    "404-model": (
        Outcome.MODEL_NOT_FOUND,
        404,
        {"error": {"message": 'model "x" not found, try pulling it first'}},
    ),
    "404-path": (Outcome.BAD_REQUEST, 404, "404 page not found"),
    "llama-overflow": (
        Outcome.CONTEXT_OVERFLOW,
        400,
        {
            "error": {
                "code": 400,
                "message": "request (3030 tokens) exceeds the available context size (1024 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 3030,
                "n_ctx": 1024,
            }
        },
    ),
    "openai-overflow": (
        Outcome.CONTEXT_OVERFLOW,
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
    ),
    "vllm-validation": (
        Outcome.BAD_REQUEST,
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]},
    ),
    "redirect": (Outcome.BAD_REQUEST, 307, ""),
    "strange": (Outcome.BAD_RESPONSE, 418, "teapot"),
}


@pytest.mark.requirement("models:outcome:errors")
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_response_is_told_apart_and_not_tried_again(name):
    expected, status, body = ERRORS[name]
    clock = FakeClock()
    done, server = await complete([error(status, body, location="https://evil.example/v1")], clock=clock)
    assert done.outcome is expected, done
    assert done.samples == () and done.usage.total_tokens == 0
    assert len(server.asked) == 1 and clock.waits == []


async def test_an_overflow_names_its_figures_and_the_context_size_is_remembered():
    memory = EndpointMemory()
    _, status, body = ERRORS["openai-overflow"]
    async with Loopback([error(status, body)]) as server:
        provider = provider_at(server.url, memory=memory)
        done = await provider.complete(ASK)
        await provider.close()
    assert (done.context_tokens, done.prompt_tokens_seen) == (8192, 9001)
    assert provider.info.context_tokens == 8192


@pytest.mark.requirement("models:retry:rate-and-server-errors")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_rate_limits_and_server_errors_are_tried_again_with_growing_waits(status):
    clock = FakeClock()
    busy = error(status, {"error": {"message": "busy"}})
    done, server = await complete([busy, busy, chat("ok")], clock=clock)
    assert (done.outcome, done.text, done.tries) == (Outcome.COMPLETE, "ok", 3)
    assert len(server.asked) == 3 and clock.waits == [1.0, 2.0]


@pytest.mark.requirement("models:retry:rate-and-server-errors")
async def test_an_endpoint_that_stays_overloaded_ends_as_overloaded():
    clock = FakeClock()
    done, server = await complete(
        [error(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})],
        clock=clock,
    )
    assert done.outcome is Outcome.OVERLOADED and done.outcome.pauses_run
    assert len(server.asked) == 4 and len(clock.waits) == 3


@pytest.mark.requirement("models:retry:overloaded-in-stream")
async def test_an_overload_inside_a_200_stream_is_tried_again_until_text_has_arrived():
    fault = data({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    done, server = await complete([Reply([fault]), chat("ok")])
    assert done.text == "ok" and len(server.asked) == 2
    done, server = await complete([Reply([delta("half an"), fault]), chat("ok")])
    assert done.outcome is Outcome.OVERLOADED and done.text == "half an"
    assert len(server.asked) == 1, "what was billed already is not asked for twice"
    assert done.usage.estimated and done.usage.prompt_tokens > 0


@pytest.mark.requirement("models:retry:retry-after")
async def test_retry_after_is_waited_for_but_not_for_longer_than_allowed():
    clock = FakeClock()
    busy = {"error": {"message": "busy"}}
    await complete([error(429, busy, **{"retry-after": "7"}), chat("ok")], clock=clock)
    assert clock.waits == [7.0]
    clock = FakeClock()
    done, server = await complete([error(429, busy, **{"retry-after": "999999999"}), chat("ok")], clock=clock)
    assert done.outcome is Outcome.OVERLOADED and done.retry_after_s == 3600.0
    assert clock.waits == [] and len(server.asked) == 1


@pytest.mark.requirement("models:outcome:unreachable")
async def test_an_endpoint_where_nothing_listens_is_unreachable_after_a_few_tries():
    async with Loopback([chat("x")]) as server:
        url = server.url
    provider = provider_at(url)
    done = await provider.complete(ASK)
    await provider.close()
    assert done.outcome is Outcome.UNREACHABLE and done.tries == 3 and done.usage.total_tokens == 0


async def test_a_connection_that_breaks_in_the_middle_keeps_the_text_that_arrived():
    done, server = await complete(
        [
            Reply(
                [delta("half")],
                headers={"content-type": "text/event-stream", "content-length": "9999"},
                drop=True,
            )
        ]
    )
    assert (done.outcome, done.text) == (Outcome.INTERRUPTED, "half")
    assert len(server.asked) == 1


@pytest.mark.requirement("models:timeout:each-phase")
async def test_an_endpoint_that_is_silent_before_or_amid_its_answer_times_out():
    hold = asyncio.Event()
    short = Timeouts(connect_s=1, first_token_s=0.2, idle_s=0.2, total_s=1)
    done, server = await complete([Reply([delta("x")], hold=hold)], timeouts=short)
    assert done.outcome is Outcome.TIMED_OUT and len(server.asked) == 1
    assert done.usage.completion_tokens == ASK.max_tokens, "it may have been writing: the worst is counted"
    done, _ = await complete([Reply([delta("x")], hold=hold, hold_after=1)], timeouts=short)
    assert (done.outcome, done.text) == (Outcome.TIMED_OUT, "x")


@pytest.mark.requirement("models:cancel:keeps-text")
async def test_cancelling_by_event_ends_at_once_keeps_the_text_and_hangs_up():
    hold = asyncio.Event()
    cancel = asyncio.Event()
    async with Loopback(
        [Reply([delta("half")] + [delta("x" * 1000)] * 500, hold=hold, hold_after=1)]
    ) as server:
        provider = provider_at(server.url)
        done = await asyncio.wait_for(
            provider.complete(ASK, on_text=lambda _: cancel.set(), cancel=cancel), 3
        )
        hold.set()
        await asyncio.wait_for(server.hung_up.wait(), 3)
        await provider.close()
    assert (done.outcome, done.text) == (Outcome.CANCELLED, "half")


@pytest.mark.requirement("models:cancel:task")
async def test_cancelling_the_task_is_not_swallowed():
    hold = asyncio.Event()
    async with Loopback([Reply([delta("x")], hold=hold)]) as server:
        provider = provider_at(server.url)
        task = asyncio.ensure_future(provider.complete(ASK))
        await asyncio.wait_for(server.was_asked.wait(), 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.close()


async def test_a_wait_between_tries_can_be_cancelled():
    class Endless(FakeClock):
        async def sleep(self, seconds: float) -> None:
            cancel.set()
            await asyncio.Event().wait()

    cancel = asyncio.Event()
    async with Loopback([error(429, {})]) as server:
        provider = provider_at(server.url, clock=Endless())
        done = await asyncio.wait_for(provider.complete(ASK, cancel=cancel), 3)
        await provider.close()
    assert done.outcome is Outcome.CANCELLED


@pytest.mark.requirement("models:structured:found-out-once")
async def test_an_endpoint_that_refuses_one_way_of_schemas_is_asked_another_way_and_that_is_remembered(
    tmp_path,
):
    def script(asked):
        kind = asked.body.get("response_format", {}).get("type")
        if kind == "json_schema":
            return error(
                400,
                {
                    "error": {
                        "message": "response_format.type json_schema is not supported",
                        "type": "invalid_request_error",
                    }
                },
            )
        if kind == "json_object":
            return error(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
        return chat('{"a": 1}')

    request = Request(messages=ASK.messages, schema=SCHEMA)
    path = tmp_path / "cache" / "endpoints.json"
    async with Loopback(script) as server:
        provider = provider_at(server.url, memory=EndpointMemory(path))
        done = await provider.complete(request)
        assert (done.outcome, done.structured) == (Outcome.COMPLETE, "prompt")
        assert len(server.asked) == 3
        assert '"required":["a"]' in server.payloads[-1]["messages"][-1]["content"]
        await provider.complete(request)
        assert len(server.asked) == 4
        later = provider_at(server.url, memory=EndpointMemory(path))
        await later.complete(request)
        assert len(server.asked) == 5, "another process knows it too"
        await provider.close()
        await later.close()


@pytest.mark.requirement("models:structured:parameters")
async def test_parameters_that_an_endpoint_turns_down_are_left_out_and_remembered():
    def script(asked):
        body = asked.body
        if "max_tokens" in body:
            return error(
                400,
                {
                    "error": {
                        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                        "param": "max_tokens",
                        "code": "unsupported_parameter",
                    }
                },
            )
        if "temperature" in body:
            return error(
                400,
                {
                    "error": {
                        "message": "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
                        "param": "temperature",
                        "code": "unsupported_value",
                    }
                },
            )
        if "seed" in body:
            return error(
                422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
            )
        return chat("ok")

    request = Request(messages=ASK.messages, temperature=0.2, seed=7)
    async with Loopback(script) as server:
        provider = provider_at(server.url)
        done = await provider.complete(request)
        again = await provider.complete(request)
        await provider.close()
    assert done.text == again.text == "ok"
    assert len(server.asked) == 5
    assert server.payloads[-1]["max_completion_tokens"] == 1024


async def test_a_refusal_about_something_else_is_not_taken_for_a_dialect():
    bad = {
        "error": {
            "message": "messages: roles must alternate between user and assistant",
            "type": "invalid_request_error",
        }
    }
    done, server = await complete(
        [error(400, bad)], Request(messages=ASK.messages, schema=SCHEMA, temperature=0.1, seed=1)
    )
    assert done.outcome is Outcome.BAD_REQUEST and len(server.asked) == 1


@pytest.mark.requirement("models:samples:one-request")
async def test_several_samples_come_from_one_request_where_the_endpoint_can():
    reply = Reply(
        [
            delta("one", index=0),
            delta("two", index=1),
            delta(finish="stop", index=1),
            usage(12, 3),
            delta(finish="stop", index=0),
            usage(12, 4),
            DONE,
        ]
    )
    done, server = await complete([reply], Request(messages=ASK.messages, samples=2))
    assert done.texts == ("one", "two") and len(server.asked) == 1
    assert done.usage.completion_tokens == 7, "llama.cpp closes each sample with its own usage"


@pytest.mark.requirement("models:samples:one-request")
async def test_samples_that_an_endpoint_does_not_give_are_asked_for_one_by_one():
    request = Request(messages=ASK.messages, samples=3, seed=5)
    async with Loopback([chat("same")]) as server:
        provider = provider_at(server.url)
        done = await provider.complete(request)
        assert done.texts == ("same",) * 3 and len(server.asked) == 3
        await provider.complete(request)
        await provider.close()
    assert len(server.asked) == 6 and all("n" not in payload for payload in server.payloads[3:])
    assert {payload["seed"] for payload in server.payloads[3:]} == {5, 6, 7}
    assert done.usage.prompt_tokens == 36


async def test_an_ended_answer_is_complete_even_when_its_connection_stays_open_or_breaks():
    ended = [delta("x"), delta(finish="stop"), DONE]
    hold = asyncio.Event()
    done, _ = await complete([Reply(ended, hold=hold, hold_after=9)])
    assert (done.outcome, done.text) == (Outcome.COMPLETE, "x")
    headers = {"content-type": "text/event-stream", "content-length": "9999"}
    done, _ = await complete([Reply(ended, headers=headers, drop=True)])
    assert (done.outcome, done.text) == (Outcome.COMPLETE, "x")


@pytest.mark.requirement("models:structured:found-out-once")
async def test_calls_in_flight_together_learn_together():
    def script(asked):
        if "seed" in asked.body:
            return error(400, {"error": {"message": "unknown parameter", "param": "seed"}})
        if "top_p" in asked.body:
            return error(400, {"error": {"message": "unknown parameter", "param": "top_p"}})
        return chat("ok")

    request = Request(messages=ASK.messages, seed=1, top_p=0.9)
    async with Loopback(script) as server:
        provider = provider_at(server.url)
        done = await asyncio.gather(*(provider.complete(request) for _ in range(12)))
        before = len(server.asked)
        await provider.complete(request)
        await provider.close()
    assert {each.outcome for each in done} == {Outcome.COMPLETE}
    assert before <= 36 and len(server.asked) == before + 1


async def test_lines_of_json_are_no_event_stream():
    reply = Reply([b'{"message": {"content": "hi"}}\n'], headers={"content-type": "application/x-ndjson"})
    done, _ = await complete([reply])
    assert done.outcome is Outcome.BAD_RESPONSE


async def test_a_web_page_or_an_endless_answer_is_no_model():
    done, _ = await complete([Reply([b"<html>login</html>"], headers={"content-type": "text/html"})])
    assert done.outcome is Outcome.BAD_RESPONSE and "web page" in done.detail
    done, _ = await complete([Reply([b"data: " + b"x" * (1 << 20)] * 34)])
    assert done.outcome is Outcome.BAD_RESPONSE
