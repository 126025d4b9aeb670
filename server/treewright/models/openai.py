"""Any endpoint that speaks OpenAI's chat completions: hosted, vLLM, Ollama, LM Studio, llama.cpp and others."""

from collections.abc import Mapping
from typing import Any

from treewright.models.faults import ServerFault, read_fault
from treewright.models.http_provider import (
    Choice,
    HttpProvider,
    count_of,
    is_strict,
    with_schema_in_prompt,
)
from treewright.models.memory import Dialect
from treewright.models.provider import Outcome, Request, Usage
from treewright.models.sse import ServerEvent
from treewright.parsing import load_json


class ChatReader:
    """Gathers the choices, usage and errors of one chat completion."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self.reset()

    def reset(self) -> None:
        """Forget everything, before another try."""
        self.choices: dict[int, Choice] = {}
        self.ended = False
        self.fault: ServerFault | None = None
        self.fresh = ""
        self._usages: list[Mapping[str, Any]] = []

    @property
    def started(self) -> bool:
        """Whether any text or reasoning arrived."""
        return any(choice.text.text or choice.reasoning.text for choice in self.choices.values())

    def event(self, event: ServerEvent) -> None:
        """Take one event of a stream."""
        data = event.data.strip()
        if data == "[DONE]":
            self.ended = True
            return
        if not data:
            return
        try:
            body = load_json(data)
        except ValueError:
            self.fault = ServerFault(Outcome.BAD_RESPONSE, "an event of the stream is not JSON", status=200)
            return
        if not isinstance(body, dict):
            return
        if event.name == "error" or body.get("error") or body.get("object") == "error":
            self.fault = read_fault(200, body)
            return
        self._take(body)

    def whole(self, body: Mapping[str, Any]) -> None:
        """Take a whole answer, from an endpoint that does not stream."""
        if body.get("error") or not isinstance(body.get("choices"), list):
            self.fault = read_fault(200, body)
            return
        self._take(body)
        self.ended = True

    def _take(self, body: Mapping[str, Any]) -> None:
        choices = body.get("choices") or []
        for position, choice in enumerate(choices):
            if isinstance(choice, Mapping):
                self._take_choice(choice, position)
        usage = body.get("usage") or (body.get("x_groq") or {}).get("usage")
        if isinstance(usage, Mapping):
            self._usages.append({**usage, "_alone": not choices})

    def _take_choice(self, choice: Mapping[str, Any], position: int) -> None:
        index = choice.get("index", position)
        into = self.choices.setdefault(index if isinstance(index, int) else position, Choice())
        delta = choice.get("delta") or choice.get("message") or {}
        shown = into.text.add(_text_of(delta.get("content", choice.get("text"))))
        for name in ("reasoning_content", "reasoning", "thinking"):
            if isinstance(delta.get(name), str):
                into.reasoning.add(delta[name])
                break
        into.refusal.add(_text_of(delta.get("refusal")))
        if choice.get("finish_reason"):
            into.finish_reason = str(choice["finish_reason"])
        if index == 0:
            self.fresh += shown

    def usage(self) -> Usage | None:
        """Return what the server reported, None when it reported nothing."""
        if not self._usages:
            return None
        last = self._usages[-1]
        alone = [usage for usage in self._usages if usage["_alone"]]
        completion = count_of(last, "completion_tokens")
        if self._samples > 1 and len(alone) == self._samples:
            # llama.cpp closes every sample with its own usage
            completion = sum(count_of(usage, "completion_tokens") for usage in alone)
        return Usage(
            prompt_tokens=count_of(last, "prompt_tokens"),
            completion_tokens=completion,
            reasoning_tokens=count_of(last.get("completion_tokens_details"), "reasoning_tokens"),
            cached_tokens=count_of(last.get("prompt_tokens_details"), "cached_tokens"),
        )


class OpenAIProvider(HttpProvider):
    """A compatible endpoint; `wire.base_url` ends with its version, such as `/v1`."""

    path = "/chat/completions"
    asks_for_several = True

    def reader(self, samples: int) -> ChatReader:
        """Return a fresh reader."""
        return ChatReader(samples)

    def payload(self, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Return the request as this endpoint wants it."""
        imposed = request.schema is not None and dialect.structured != "prompt"
        shown = request if dialect.structured == "json_schema" else with_schema_in_prompt(request)
        payload: dict[str, Any] = {
            "messages": [{"role": message.role, "content": message.text} for message in shown.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            ("max_completion_tokens" if dialect.renamed_max else "max_tokens"): request.max_tokens,
        }
        if self.info.model:
            payload["model"] = self.info.model
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "stop": list(request.stop) or None,
            "reasoning_effort": request.reasoning_effort,
            "n": request.samples if request.samples > 1 and not dialect.one_sample else None,
        }
        payload.update({name: value for name, value in optional.items() if value is not None})
        if imposed:
            payload["response_format"] = _response_format(request, dialect)
        return {name: value for name, value in payload.items() if name not in dialect.dropped}


def _response_format(request: Request, dialect: Dialect) -> dict[str, Any]:
    if dialect.structured == "json_object" or request.schema is None:
        return {"type": "json_object"}
    schema = dict(request.schema)
    named = {
        "name": request.schema_name,
        "schema": schema,
        "strict": is_strict(schema) and "strict" not in dialect.dropped,
    }
    return {"type": "json_schema", "json_schema": named}


def _text_of(content: object) -> str:
    """Return text that came as a string or as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""
