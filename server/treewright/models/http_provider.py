"""What every provider over HTTP has in common: asking, adapting to the endpoint, and classifying what came."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

from treewright.models.classify import ThinkFilter, classify_sample, prompt_was_truncated
from treewright.models.dialect import adapt
from treewright.models.memory import Dialect, EndpointMemory
from treewright.models.provider import (
    Completion,
    Message,
    Outcome,
    ProviderInfo,
    Request,
    Sample,
    Section,
    TextSink,
    Usage,
)
from treewright.models.sse import ServerEvent, TextJoiner
from treewright.models.tokens import tokens_about
from treewright.models.wire import AnswerReader, Reply, Wire

_ADAPTATIONS_MOST = 8

NOT_BILLED = frozenset(
    {
        Outcome.OVERLOADED,
        Outcome.OVER_QUOTA,
        Outcome.CONTEXT_OVERFLOW,
        Outcome.UNREACHABLE,
        Outcome.UNAUTHORISED,
        Outcome.MODEL_NOT_FOUND,
        Outcome.BAD_REQUEST,
    }
)
"""Outcomes without any text that no endpoint charges for."""


@dataclass(slots=True)
class Choice:
    """One sample while it arrives."""

    text: TextJoiner = field(default_factory=TextJoiner)
    reasoning: TextJoiner = field(default_factory=TextJoiner)
    refusal: TextJoiner = field(default_factory=TextJoiner)
    finish_reason: str | None = None


class ChoiceReader(AnswerReader, Protocol):
    """A reader that can tell what it gathered."""

    fresh: str
    """Visible text of the first sample that nobody was shown yet."""
    choices: dict[int, Choice]

    def usage(self) -> Usage | None:
        """Return what the server reported, None when it reported nothing."""


class HttpProvider(ABC):
    """A provider whose model answers streamed POST requests."""

    path: ClassVar[str]
    asks_for_several: ClassVar[bool]

    def __init__(self, info: ProviderInfo, wire: Wire, memory: EndpointMemory | None = None) -> None:
        """Set up a provider; nothing is sent yet.

        Args:
            info: name, model, price and what else is known.
            wire: the connection.
            memory: what was found out before; None starts anew.
        """
        self._info = info
        self.wire = wire
        self.memory = memory or EndpointMemory()

    @property
    def info(self) -> ProviderInfo:
        """What is known without asking."""
        learned = self.memory.facts(self._info.endpoint, self._info.model).context_tokens
        if self._info.context_tokens is None and learned is not None:
            return replace(self._info, context_tokens=learned)
        return self._info

    @abstractmethod
    def reader(self, samples: int) -> ChoiceReader:
        """Return a fresh reader."""

    @abstractmethod
    def payload(self, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Return the request as this endpoint wants it."""

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request; see `Provider.complete`."""
        if request.samples == 1 or (self.asks_for_several and not self._dialect.one_sample):
            first = await self._ask(request, on_text, cancel)
            missing = request.samples - len(first.samples)
            if missing <= 0 or first.outcome not in {Outcome.COMPLETE, Outcome.CUT_OFF} or not first.samples:
                return first
            self._learn(dialect=replace(self._dialect, one_sample=True))
            rest = await self._ask_each(request, missing, None, cancel)
            return merge((first, *rest))
        return merge(await self._ask_each(request, request.samples, on_text, cancel))

    async def close(self) -> None:
        """Close the connections."""
        await self.wire.close()

    @property
    def _dialect(self) -> Dialect:
        return self.memory.facts(self._info.endpoint, self._info.model).dialect

    def _learn(self, **changes: Any) -> None:
        self.memory.learn(self._info.endpoint, self._info.model, **changes)

    async def _ask_each(
        self, request: Request, count: int, on_text: TextSink | None, cancel: asyncio.Event | None
    ) -> tuple[Completion, ...]:
        """Ask for samples one by one, concurrently, each with a seed of its own."""
        singles = [
            replace(request, samples=1, seed=None if request.seed is None else request.seed + number)
            for number in range(count)
        ]
        sinks = [on_text, *[None] * (count - 1)]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._ask(single, sink, cancel))
                for single, sink in zip(singles, sinks, strict=True)
            ]
        return tuple(task.result() for task in tasks)

    async def _ask(
        self, request: Request, on_text: TextSink | None, cancel: asyncio.Event | None
    ) -> Completion:
        reader = _Watched(self.reader(request.samples), on_text)
        tries = 0
        for _ in range(_ADAPTATIONS_MOST):
            dialect = self._dialect
            payload = self.payload(request, dialect)
            reply = await self.wire.post(self.path, payload, reader, cancel)
            tries += reply.tries
            changed = adapt(dialect, payload, reply.fault) if _may_adapt(reply) and reply.fault else None
            if changed is None or changed == dialect:
                break
            self._learn(dialect=self._dialect.joined(changed))
        if (
            reply.fault is not None
            and reply.fault.context_tokens
            and reply.outcome is Outcome.CONTEXT_OVERFLOW
        ):
            self._learn(context_tokens=reply.fault.context_tokens)
        structured = "none" if request.schema is None else dialect.structured
        return self._completion(request, reader.inner, replace(reply, tries=tries), structured)

    def _completion(
        self, request: Request, reader: ChoiceReader, reply: Reply, structured: str
    ) -> Completion:
        usage = self._usage(request, reader, reply)
        samples = self._samples(request, reader, reply, usage)
        outcome = samples[0].outcome if samples and reply.outcome is Outcome.COMPLETE else reply.outcome
        detail = reply.detail
        if reply.outcome is Outcome.COMPLETE and not samples:
            outcome, detail = Outcome.EMPTY, "the endpoint sent no answer at all"
        reported = None if usage.estimated else usage.prompt_tokens
        if outcome in {Outcome.COMPLETE, Outcome.CUT_OFF} and prompt_was_truncated(
            request.messages, reported
        ):
            outcome = Outcome.PROMPT_TRUNCATED
            samples = tuple(replace(sample, outcome=outcome) for sample in samples)
            detail = f"the server read only {reported} tokens of the prompt; its context is too small"
        self._measure(usage, reply, outcome)
        fault = reply.fault
        return Completion(
            provider=self.info.name,
            model=self.info.model,
            outcome=outcome,
            samples=samples,
            usage=usage,
            cost_usd=self.info.price.cost_of(usage),
            detail=detail or self.wire.hide(_sample_detail(samples)),
            retry_after_s=reply.retry_after_s,
            context_tokens=fault.context_tokens if fault else None,
            prompt_tokens_seen=fault.prompt_tokens if fault else None,
            tries=reply.tries,
            elapsed_s=reply.elapsed_s,
            first_token_s=reply.first_token_s,
            structured=structured,
        )

    def _samples(
        self, request: Request, reader: ChoiceReader, reply: Reply, usage: Usage
    ) -> tuple[Sample, ...]:
        broken = None if reply.outcome is Outcome.COMPLETE else reply.outcome
        found = []
        for _, choice in sorted(reader.choices.items()):
            sample = classify_sample(
                choice.text.text,
                finish_reason=choice.finish_reason,
                ended=reader.ended,
                reasoning=choice.reasoning.text,
                refusal=choice.refusal.text,
                completion_tokens=None if usage.estimated else usage.completion_tokens,
                max_tokens=request.max_tokens,
            )
            if broken and sample.finish_reason is None:
                sample = replace(sample, outcome=broken)
            if sample.text or sample.refusal or sample.reasoning or not broken:
                found.append(sample)
        return tuple(found)

    def _usage(self, request: Request, reader: ChoiceReader, reply: Reply) -> Usage:
        """Return the usage as reported; else what can be charged at most for what arrived."""
        reported = reader.usage()
        if reported is not None and (reported.prompt_tokens or reported.completion_tokens):
            received = sum(tokens_about(choice.text.text) for choice in reader.choices.values())
            if reply.outcome is Outcome.COMPLETE or reported.completion_tokens >= received // 2:
                return reported
            return replace(reported, completion_tokens=received, estimated=True)
        turned_down = reply.fault is not None and reply.fault.status not in {0, 200}
        if not reader.started and (turned_down or reply.outcome in NOT_BILLED):
            return Usage()
        if not reader.started and reply.outcome is Outcome.CANCELLED and reply.elapsed_s == 0:
            return Usage()
        received = sum(
            tokens_about(choice.text.text) + tokens_about(choice.reasoning.text)
            for choice in reader.choices.values()
        )
        if not reader.started and reply.outcome is Outcome.TIMED_OUT:
            received = request.max_tokens * request.samples  # it may have been writing all the while
        return Usage(prompt_tokens=tokens_about(request.prompt), completion_tokens=received, estimated=True)

    def _measure(self, usage: Usage, reply: Reply, outcome: Outcome) -> None:
        if (
            outcome not in {Outcome.COMPLETE, Outcome.CUT_OFF}
            or reply.first_token_s is None
            or reply.tries > 1
        ):
            return
        rest = reply.elapsed_s - reply.first_token_s
        speed = self.memory.facts(self._info.endpoint, self._info.model).speed
        self._learn(speed=speed.after(usage.completion_tokens, reply.first_token_s, rest))


class _Watched:
    """A reader that shows new text as it comes."""

    def __init__(self, inner: ChoiceReader, on_text: TextSink | None) -> None:
        self.inner = inner
        self._on_text = on_text
        self._filter = ThinkFilter()

    @property
    def started(self) -> bool:
        return self.inner.started

    @property
    def fault(self) -> Any:
        return self.inner.fault

    @property
    def ended(self) -> bool:
        return self.inner.ended

    def reset(self) -> None:
        self.inner.reset()
        self._filter = ThinkFilter()

    def event(self, event: ServerEvent) -> None:
        self.inner.event(event)
        self._show()

    def whole(self, body: Mapping[str, Any]) -> None:
        self.inner.whole(body)
        self._show()

    def _show(self) -> None:
        fresh, self.inner.fresh = self.inner.fresh, ""
        if fresh and self._on_text is not None:
            shown = self._filter.feed(fresh)
            if shown:
                self._on_text(shown)


def merge(parts: tuple[Completion, ...]) -> Completion:
    """Return several single-sample completions as one; the failed ones add no samples."""
    best = next((part for part in parts if part.outcome is Outcome.COMPLETE), parts[0])
    cost = None if any(part.cost_usd is None for part in parts) else sum(part.cost_usd or 0 for part in parts)
    failed = [part for part in parts if not part.samples]
    detail = best.detail
    if failed and not detail:
        detail = f"{len(failed)} of {len(parts)} samples failed: {failed[0].detail}"
    usage = Usage()
    for part in parts:
        usage += part.usage
    return replace(
        best,
        samples=tuple(sample for part in parts for sample in part.samples),
        usage=usage,
        cost_usd=cost,
        detail=detail,
        tries=sum(part.tries for part in parts),
        elapsed_s=max(part.elapsed_s for part in parts),
    )


def with_schema_in_prompt(request: Request) -> Request:
    """Return the request with its schema spelled out, for endpoints that cannot impose it."""
    if request.schema is None:
        return request
    shape = json.dumps(dict(request.schema), ensure_ascii=False, separators=(",", ":"))
    said = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shape}"
    *before, last = request.messages
    return replace(request, messages=(*before, Message(last.role, (*last.sections, Section(text=said)))))


def is_strict(schema: object) -> bool:
    """Whether every object of a schema is closed and requires all it has, as OpenAI's strict mode demands."""
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties", {})
    is_object = schema.get("type") == "object" or bool(properties)
    closed = schema.get("additionalProperties") is False and set(schema.get("required", [])) == set(
        properties
    )
    if is_object and not closed:
        return False
    nested = [*properties.values(), *schema.get("$defs", {}).values(), schema.get("items")]
    return all(is_strict(part) for part in (*nested, *schema.get("anyOf", [])))


def count_of(table: object, name: str) -> int:
    """Return a token count of a usage table, 0 when it is missing or nonsense."""
    value = table.get(name) if isinstance(table, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


def _may_adapt(reply: Reply) -> bool:
    return reply.outcome in {
        Outcome.BAD_REQUEST,
        Outcome.OVERLOADED,
        Outcome.BAD_RESPONSE,
        Outcome.MODEL_NOT_FOUND,
    }


def _sample_detail(samples: tuple[Sample, ...]) -> str:
    if not samples or samples[0].outcome is Outcome.COMPLETE:
        return ""
    first = samples[0]
    if first.refusal:
        return f"the model refused: {' '.join(first.refusal.split())[:200]}"
    reasons = {
        Outcome.CUT_OFF: "the answer was cut off at the token limit",
        Outcome.CUT_OFF_REASONING: "all tokens went into reasoning; there is no answer",
        Outcome.EMPTY: "the answer is empty",
        Outcome.REFUSED: "the answer was withheld by a content filter",
        Outcome.INTERRUPTED: "the answer ended without saying why",
    }
    finish = f" (finish reason {first.finish_reason})" if first.finish_reason else ""
    return reasons.get(first.outcome, first.outcome.value) + finish
