"""Anthropic's messages API, streamed.

A schema is imposed by `output_config.format`; where a model does not know that, by a tool that it must call; where
that is turned down too, by words. In `Dialect` these are `json_schema`, `json_object` and `prompt`.
"""

import json
from collections.abc import Mapping
from typing import Any

from treewright.models.faults import ServerFault, read_fault
from treewright.models.http_provider import Choice, HttpProvider, count_of, with_schema_in_prompt
from treewright.models.memory import Dialect
from treewright.models.provider import Outcome, Request, Usage
from treewright.models.sse import ServerEvent
from treewright.parsing import load_json

API_VERSION = "2023-06-01"

_UNSUPPORTED = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
    }
)
"""Limits that `output_config` refuses; our own validation holds them anyway."""


class MessageReader:
    """Gathers the blocks, usage and errors of one message."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, before another try."""
        self.choices: dict[int, Choice] = {}
        self.ended = False
        self.fault: ServerFault | None = None
        self.fresh = ""
        self._usage: dict[str, Any] = {}

    @property
    def started(self) -> bool:
        """Whether any text or reasoning arrived."""
        return any(choice.text.text or choice.reasoning.text for choice in self.choices.values())

    def event(self, event: ServerEvent) -> None:
        """Take one event of a stream."""
        try:
            body = load_json(event.data)
        except ValueError:
            self.fault = ServerFault(Outcome.BAD_RESPONSE, "an event of the stream is not JSON", status=200)
            return
        if not isinstance(body, dict):
            return
        kind = body.get("type", event.name)
        if kind == "error" or body.get("error"):
            self.fault = read_fault(200, body)
        elif kind == "message_start":
            self.choices.setdefault(0, Choice())
            self._usage.update(body.get("message", {}).get("usage") or {})
        elif kind == "content_block_start":
            self._block(body.get("content_block") or {})
        elif kind == "content_block_delta":
            self._delta(body.get("delta") or {})
        elif kind == "message_delta":
            self._usage.update({key: value for key, value in (body.get("usage") or {}).items() if value})
            self._choice.finish_reason = (body.get("delta") or {}).get(
                "stop_reason"
            ) or self._choice.finish_reason
        elif kind == "message_stop":
            self.ended = True

    def whole(self, body: Mapping[str, Any]) -> None:
        """Take a whole answer, from an endpoint that does not stream."""
        if body.get("type") == "error" or not isinstance(body.get("content"), list):
            self.fault = read_fault(200, body)
            return
        for block in body["content"]:
            if isinstance(block, Mapping):
                self._block(block)
                if block.get("type") == "tool_use":
                    self._add(json.dumps(block.get("input"), ensure_ascii=False))
        self._choice.finish_reason = body.get("stop_reason")
        self._usage.update(body.get("usage") or {})
        self.ended = True

    def usage(self) -> Usage | None:
        """Return what the server reported; its input count leaves cached tokens out, ours does not."""
        if not self._usage:
            return None
        read = count_of(self._usage, "cache_read_input_tokens")
        written = count_of(self._usage, "cache_creation_input_tokens")
        return Usage(
            prompt_tokens=count_of(self._usage, "input_tokens") + read + written,
            completion_tokens=count_of(self._usage, "output_tokens"),
            cached_tokens=read,
            cache_write_tokens=written,
        )

    @property
    def _choice(self) -> Choice:
        return self.choices.setdefault(0, Choice())

    def _block(self, block: Mapping[str, Any]) -> None:
        self._add(block.get("text"))
        if isinstance(block.get("thinking"), str):
            self._choice.reasoning.add(block["thinking"])

    def _delta(self, delta: Mapping[str, Any]) -> None:
        self._add(delta.get("text"))
        self._add(delta.get("partial_json"))
        if isinstance(delta.get("thinking"), str):
            self._choice.reasoning.add(delta["thinking"])

    def _add(self, piece: object) -> None:
        if isinstance(piece, str):
            self.fresh += self._choice.text.add(piece)


class AnthropicProvider(HttpProvider):
    """A messages endpoint; `wire.base_url` ends with its version, such as `/v1`."""

    path = "/messages"
    asks_for_several = False

    def reader(self, samples: int) -> MessageReader:  # noqa: ARG002  one message has one sample
        """Return a fresh reader."""
        return MessageReader()

    def payload(self, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Return the request as this endpoint wants it."""
        by_words = request.schema is not None and dialect.structured == "prompt"
        shown = with_schema_in_prompt(request) if by_words else request
        system = "\n\n".join(message.text for message in shown.messages if message.role == "system")
        payload: dict[str, Any] = {
            "model": self.info.model,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": message.role, "content": message.text}
                for message in shown.messages
                if message.role != "system"
            ],
            "stream": True,
        }
        optional = {
            "temperature": None if request.temperature is None else min(request.temperature, 1.0),
            "top_p": None if request.temperature is not None else request.top_p,
            "stop_sequences": [stop for stop in request.stop if stop.strip()] or None,
        }
        payload.update({name: value for name, value in optional.items() if value is not None})
        if system:
            block: dict[str, Any] = {"type": "text", "text": system}
            if request.cache_prefix:
                block["cache_control"] = {"type": "ephemeral"}
            payload["system"] = [block]
        if request.schema is not None:
            payload.update(_imposed(request, request.schema, dialect))
        return {name: value for name, value in payload.items() if name not in dialect.dropped}


def _imposed(request: Request, schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    if dialect.structured == "json_schema":
        return {"output_config": {"format": {"type": "json_schema", "schema": _accepted(schema)}}}
    if dialect.structured == "json_object":
        tool = {"name": request.schema_name, "description": "Gives the answer.", "input_schema": dict(schema)}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": request.schema_name}}
    return {}


def _accepted(schema: Any) -> Any:
    """Return a schema without the limits that the endpoint refuses, its objects closed."""
    if isinstance(schema, list):
        return [_accepted(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        if name in {"properties", "$defs"}:
            kept[name] = {key: _accepted(part) for key, part in value.items()}
        elif name == "minItems":
            kept[name] = min(value, 1)
        elif name in {"enum", "const", "default", "required"}:
            kept[name] = value
        elif name not in _UNSUPPORTED:
            kept[name] = _accepted(value)
    if kept.get("type") == "object":
        kept.setdefault("additionalProperties", False)
    return kept
