"""How each kind of server says the same things, as recorded from them: one table a server.

A flavour turns a scenario's name into a reply on the wire. What differs is real: chunk shapes, usage, the wording and
place of errors.
"""

import json
from dataclasses import dataclass
from typing import Any

from tests.unit.models.loopback import DONE, Reply, data, error

TEXT = "Blue, red, green."
ANSWER = '{"a": 1}'


@dataclass(frozen=True)
class Flavour:
    """One server: its provider class and its replies by scenario."""

    name: str
    anthropic: bool
    replies: dict[str, Reply]


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    return data(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **more,
        }
    )


def stream(
    text: str,
    finish: str | None,
    usage: dict[str, Any] | None,
    *,
    done: bool = True,
    usage_in_last: bool = False,
    **last: Any,
) -> Reply:
    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": text[at : at + 4]}) for at in range(0, len(text), 4)]
    closing = {"usage": usage} if usage and usage_in_last else {}
    if finish:
        chunks.append(chunk(last.pop("delta", {}), finish, **closing))
    if usage and not usage_in_last:
        chunks.append(data({"choices": [], "usage": usage}))
    return Reply([*chunks, DONE] if done else chunks)


def openai_like(
    name: str,
    *,
    overload: Reply,
    quota: Reply,
    overflow: Reply,
    locked: Reply,
    missing: Reply,
    bad: Reply,
    usage_in_last: bool = False,
    counts: dict[str, Any] | None = None,
) -> Flavour:
    usage = counts or {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28}

    def say(text: str, finish: str, **more: Any) -> Reply:
        return stream(text, finish, usage, usage_in_last=usage_in_last, **more)

    replies = {
        "complete": say(TEXT, "stop"),
        "cut_off": say("Blue, re", "length"),
        "empty": say("", "stop"),
        "reasoning": Reply(
            [
                chunk({"reasoning_content": "Let me think"}),
                chunk({}, "length"),
                data({"choices": [], "usage": usage}),
                DONE,
            ]
        ),
        "broken": stream("Blue, re", None, None, done=False),
        "data": say(ANSWER, "stop"),
        "overloaded": overload,
        "over_quota": quota,
        "context_overflow": overflow,
        "unauthorised": locked,
        "model_not_found": missing,
        "bad_request": bad,
    }
    return Flavour(name, False, replies)


def openai_error(
    status: int, message: str, kind: str, code: str | None = None, param: str | None = None
) -> Reply:
    return error(status, {"error": {"message": message, "type": kind, "param": param, "code": code}})


HOSTED = openai_like(
    "hosted",
    counts={
        "prompt_tokens": 21,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    },
    overload=openai_error(
        429,
        "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000.",
        "tokens",
        "rate_limit_exceeded",
    ),
    quota=openai_error(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    overflow=openai_error(
        400,
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5200 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
        "messages",
    ),
    locked=openai_error(
        401,
        "Incorrect API key provided: sk-ab***xyz. You can find your API key in your account.",
        "invalid_request_error",
        "invalid_api_key",
    ),
    missing=openai_error(
        404,
        "The model `gpt-x` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    ),
    bad=openai_error(
        400,
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user'.",
        "invalid_request_error",
        "invalid_value",
        "messages[0].role",
    ),
)
VLLM = openai_like(
    "vllm",
    overload=error(
        503,
        {
            "object": "error",
            "message": "The server is overloaded.",
            "type": "ServiceUnavailableError",
            "code": 503,
        },
    ),
    quota=error(402, {"error": {"message": "Insufficient balance", "code": 402}}),
    overflow=error(
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5200 tokens (5100 in the messages, 100 in the completion).",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    locked=error(401, {"error": "Unauthorized"}),
    missing=error(
        404,
        {
            "object": "error",
            "message": "The model `x` does not exist.",
            "type": "NotFoundError",
            "param": "model",
            "code": 404,
        },
    ),
    bad=error(
        400,
        {
            "object": "error",
            "message": "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
)
LM_STUDIO = openai_like(
    "lmstudio",
    overload=error(500, {"error": "The model has crashed without additional information."}),
    quota=error(402, {"error": "usage limit reached"}),
    overflow=Reply(
        [
            b'event: error\ndata: {"error":{"message":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length."},"message":"x"}\n\n'
        ]
    ),
    locked=error(403, {"error": "forbidden"}),
    missing=error(
        404,
        {
            "error": {
                "message": "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
                "type": "invalid_request_error",
                "param": "model",
                "code": "model_not_found",
            }
        },
    ),
    bad=error(400, {"error": "'messages' field is required"}),
)
OLLAMA = openai_like(
    "ollama",
    overload=error(
        503,
        {
            "error": {
                "message": "server busy, please try again. maximum pending requests exceeded",
                "type": "api_error",
                "param": None,
                "code": None,
            }
        },
    ),
    quota=error(
        429,
        {
            "error": {
                "message": "you have reached your weekly usage limit, upgrade for higher limits",
                "type": "api_error",
            }
        },
    ),
    overflow=error(
        400,
        {
            "error": {
                "message": "the input length exceeds the context length",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
    ),
    locked=error(401, {"error": {"message": "unauthorized", "type": "api_error"}}),
    missing=error(
        404,
        {
            "error": {
                "message": 'model "x" not found, try pulling it first',
                "type": "not_found_error",
                "param": None,
                "code": None,
            }
        },
    ),
    bad=error(
        400, {"error": {"message": "invalid message content type: <nil>", "type": "invalid_request_error"}}
    ),
)
LLAMA_CPP = openai_like(
    "llamacpp",
    overload=error(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
    quota=error(402, {"error": {"code": 402, "message": "payment required"}}),
    overflow=error(
        400,
        {
            "error": {
                "code": 400,
                "message": "request (5200 tokens) exceeds the available context size (4096 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 5200,
                "n_ctx": 4096,
            }
        },
    ),
    locked=error(401, {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}),
    missing=error(404, {"error": {"code": 404, "message": "model not found", "type": "not_found_error"}}),
    bad=error(
        400, {"error": {"code": 400, "message": "Missing 'role' in message", "type": "invalid_request_error"}}
    ),
)
DEEP_SEEK_LIKE = openai_like(
    "usage-in-last-chunk",
    usage_in_last=True,
    overload=Reply(
        [data({"error": {"message": "The server is overloaded, try again later", "type": "server_error"}})]
    ),
    quota=error(
        402,
        {
            "error": {
                "message": "Insufficient Balance",
                "type": "unknown_error",
                "code": "invalid_request_error",
            }
        },
    ),
    overflow=openai_error(400, "Input is too long: maximum context length is 4096", "invalid_request_error"),
    locked=openai_error(401, "Authentication Fails", "authentication_error", "invalid_request_error"),
    missing=openai_error(400, "Model does not exist", "invalid_request_error", "invalid_request_error"),
    bad=openai_error(400, "Invalid max_tokens value, the valid range is [1, 8192]", "invalid_request_error"),
)


def event(kind: str, **body: Any) -> bytes:
    return f"event: {kind}\n".encode() + data({"type": kind, **body})


def message(
    text: str, stop: str | None, *, block: dict[str, Any] | None = None, delta: str = "text", end: bool = True
) -> Reply:
    start = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "usage": {
            "input_tokens": 15,
            "cache_read_input_tokens": 6,
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        },
    }
    kinds = {"text": "text_delta", "partial_json": "input_json_delta", "thinking": "thinking_delta"}
    chunks = [
        event("message_start", message=start),
        event("content_block_start", index=0, content_block=block or {"type": "text", "text": ""}),
        event("ping"),
    ]
    chunks += [
        event("content_block_delta", index=0, delta={"type": kinds[delta], delta: text[at : at + 4]})
        for at in range(0, len(text), 4)
    ]
    chunks.append(event("content_block_stop", index=0))
    if stop:
        chunks.append(
            event(
                "message_delta",
                delta={"stop_reason": stop, "stop_sequence": None},
                usage={"output_tokens": 7},
            )
        )
    return Reply([*chunks, event("message_stop")] if end else chunks)


def refusal(status: int, kind: str, words: str) -> Reply:
    return error(status, {"type": "error", "error": {"type": kind, "message": words}, "request_id": "r"})


ANTHROPIC = Flavour(
    "anthropic",
    True,
    {
        "complete": message(TEXT, "end_turn"),
        "cut_off": message("Blue, re", "max_tokens"),
        "empty": message("", "end_turn"),
        "reasoning": message(
            "Let me think", "max_tokens", block={"type": "thinking", "thinking": ""}, delta="thinking"
        ),
        "broken": message("Blue, re", None, end=False),
        "data": message(ANSWER, "end_turn"),
        "refused": message("", "refusal"),
        "overloaded": Reply([event("error", error={"type": "overloaded_error", "message": "Overloaded"})]),
        "over_quota": refusal(
            400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."
        ),
        "context_overflow": refusal(
            400, "invalid_request_error", "prompt is too long: 5200 tokens > 4096 maximum"
        ),
        "unauthorised": refusal(401, "authentication_error", "invalid x-api-key"),
        "model_not_found": refusal(404, "not_found_error", "models: claude-x"),
        "bad_request": refusal(400, "invalid_request_error", "messages: at least one message is required"),
    },
)
FLAVOURS = {
    flavour.name: flavour
    for flavour in (HOSTED, VLLM, LM_STUDIO, OLLAMA, LLAMA_CPP, DEEP_SEEK_LIKE, ANTHROPIC)
}


def whole(flavour: Flavour) -> Reply:
    """The complete answer without streaming."""
    if flavour.anthropic:
        body: dict[str, Any] = {
            "type": "message",
            "content": [{"type": "text", "text": TEXT}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 21, "output_tokens": 7},
        }
    else:
        body = {
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 21, "completion_tokens": 7},
        }
    return Reply([json.dumps(body).encode()], headers={"content-type": "application/json"})
