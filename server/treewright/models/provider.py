"""What a provider of a language model is asked, and what it answers.

A provider never raises for what a model or its server did: every outcome of a call is a value of `Outcome`,
found from what the server said and never guessed (contract: design, Performers and providers). It raises only
`asyncio.CancelledError` when its task is cancelled, and `ModelError` when it was set up wrongly.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from treewright.models.prices import Price

JsonSchema: TypeAlias = Mapping[str, Any]
Role: TypeAlias = Literal["system", "user", "assistant"]


class Outcome(StrEnum):
    """How one call ended. Only `COMPLETE` may be stored as an answer."""

    COMPLETE = "complete"
    CUT_OFF = "cut_off"
    CUT_OFF_REASONING = "cut_off_reasoning"
    EMPTY = "empty"
    REFUSED = "refused"
    OVERLOADED = "overloaded"
    OVER_QUOTA = "over_quota"
    PROMPT_TRUNCATED = "prompt_truncated"
    CONTEXT_OVERFLOW = "context_overflow"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    UNAUTHORISED = "unauthorised"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    BAD_RESPONSE = "bad_response"
    CANCELLED = "cancelled"

    @property
    def has_text(self) -> bool:
        """Whether text of this outcome is worth parsing (it may still be incomplete)."""
        return self in {Outcome.COMPLETE, Outcome.CUT_OFF, Outcome.INTERRUPTED, Outcome.TIMED_OUT}

    @property
    def pauses_run(self) -> bool:
        """Whether a run should pause rather than go on with other tasks (contract: exploration, 7)."""
        return self in {Outcome.OVERLOADED, Outcome.OVER_QUOTA, Outcome.UNREACHABLE, Outcome.UNAUTHORISED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a message that may be left out when the context is too small.

    Attributes:
        text: the text itself.
        name: what it is, named in the note that it was left out.
        priority: 0 is never left out; of the others the highest number goes first.
    """

    text: str
    name: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, made of sections in reading order."""

    role: Role
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, role: Role, text: str) -> "Message":
        """Return a message of one section that is never left out."""
        return cls(role, (Section(text=text),))

    @property
    def text(self) -> str:
        """The whole text: sections joined by blank lines."""
        return "\n\n".join(section.text for section in self.sections if section.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call.

    Attributes:
        messages: at least one; a system message, when there is one, comes first.
        schema: JSON schema of the answer, or None for free text.
        schema_name: identifier that some endpoints want beside a schema.
        max_tokens: most tokens of one sample, reasoning included; at least 1.
        temperature: 0 to 2, None for the endpoint's default.
        top_p: over 0 to 1, None for the endpoint's default.
        seed: for endpoints that honour one.
        stop: strings at which the answer ends.
        samples: answers wanted, asked for in one request where the endpoint can.
        reasoning_effort: `low`, `medium` or `high` where the endpoint knows the word, else ignored.
        cache_prefix: mark the system message as worth caching, where an endpoint needs that said.
    """

    messages: tuple[Message, ...]
    schema: JsonSchema | None = None
    schema_name: str = "answer"
    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    samples: int = 1
    reasoning_effort: Literal["low", "medium", "high"] | None = None
    cache_prefix: bool = False

    def __post_init__(self) -> None:
        """Refuse what no endpoint could answer."""
        if not self.messages:
            raise ValueError("a request needs at least one message")
        if self.max_tokens < 1 or self.samples < 1:
            raise ValueError("max_tokens and samples are at least 1")

    @property
    def prompt(self) -> str:
        """Every message's text, as sent, for estimates."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of a call; `estimated` when the server did not report them all."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum of two usages."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            estimated=self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of a call, classified on its own."""

    text: str
    outcome: Outcome
    finish_reason: str | None = None
    reasoning: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came of a call.

    Attributes:
        outcome: the outcome of the first sample, or of the call when there is none.
        samples: answers; empty when the call failed before any text.
        usage: tokens, over every sample.
        cost_usd: what it cost; 0 when free or not metered in money; None when the price is unknown.
        detail: one sentence on anything but a complete answer, with every key redacted.
        retry_after_s: seconds that the server asked to wait, clamped; None when it did not say.
        context_tokens: the context size that an overflow error named.
        prompt_tokens_seen: the prompt's size that an overflow error named.
        tries: HTTP requests made, retries included.
        elapsed_s: seconds from start to end, waiting between tries included.
        first_token_s: seconds of the last try until its first text.
        structured: how the schema was imposed: `json_schema`, `json_object`, `prompt` or `none`.
    """

    provider: str
    model: str
    outcome: Outcome
    samples: tuple[Sample, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    detail: str = ""
    retry_after_s: float | None = None
    context_tokens: int | None = None
    prompt_tokens_seen: int | None = None
    tries: int = 1
    elapsed_s: float = 0.0
    first_token_s: float | None = None
    structured: str = "none"

    @property
    def text(self) -> str:
        """The first sample's text, empty when there is none."""
        return self.samples[0].text if self.samples else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of every sample."""
        return tuple(sample.text for sample in self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """What is known of a provider without asking it.

    Attributes:
        name: as the user names it, such as `openai:gpt-4.1-mini`.
        kind: `openai`, `anthropic`, `editor`, `local` or `scripted`.
        model: the model's name at its endpoint; may be empty when the endpoint has one only.
        endpoint: scheme, host and port to show, without any secret; empty without a network.
        price: what it costs.
        context_tokens: the model's context size when known.
        concurrency: calls that it can usefully work on at once.
        call_limit_s: seconds after which a call has certainly ended, retries included.
    """

    name: str
    kind: str
    model: str
    endpoint: str
    price: Price
    context_tokens: int | None = None
    concurrency: int = 4
    call_limit_s: float = 1200.0


TextSink: TypeAlias = Callable[[str], None]
"""Receives visible text of the first sample as it arrives (never reasoning)."""


@runtime_checkable
class Provider(Protocol):
    """Where a language model is reached."""

    @property
    def info(self) -> ProviderInfo:
        """What is known without asking."""

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request.

        Args:
            request: what to ask.
            on_text: receives text as it arrives.
            cancel: when set, the call ends at once as `CANCELLED` and keeps the text that had arrived.
        """

    async def close(self) -> None:
        """Release connections and child processes; harmless when repeated."""


EditorCall: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
