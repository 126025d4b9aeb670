"""A provider that answers from a script: for tests, demonstrations and dry runs. It ships with the product.

Rules are tried in order; each may match on the prompt, may be used a limited number of times, and may fail in any
way that a real endpoint can.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.errors import ModelError
from treewright.models.prices import FREE, Price
from treewright.models.provider import Completion, Outcome, ProviderInfo, Request, Sample, TextSink, Usage
from treewright.models.tokens import tokens_about
from treewright.models.wire import unless_cancelled
from treewright.parsing import load_json
from treewright.regular import read_regular_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One rule of a script.

    Attributes:
        text: the answer; a callable gets the request and returns it.
        when: regular expression searched in the prompt, or a callable; None matches everything.
        times: how often the rule may be used; None for ever.
        outcome: what the call ends with.
        delay_s: seconds before the first text.
        usage: tokens to report; None estimates them.
        detail: what a failing endpoint says.
        retry_after_s: as a failing endpoint asks.
        context_tokens: what an overflow names.
    """

    text: str | Callable[[Request], str] = ""
    when: str | Callable[[Request], bool] | None = None
    times: int | None = 1
    outcome: Outcome = Outcome.COMPLETE
    delay_s: float = 0.0
    usage: Usage | None = None
    detail: str = ""
    retry_after_s: float | None = None
    context_tokens: int | None = None

    def matches(self, request: Request) -> bool:
        """Whether this rule is for a request."""
        if self.when is None:
            return True
        if callable(self.when):
            return self.when(request)
        return re.search(self.when, request.prompt) is not None


@dataclass(slots=True)
class _Rule:
    answer: ScriptedAnswer
    left: int | None


@dataclass(slots=True)
class ScriptedProvider:
    """Answers by rules and keeps every request it was asked.

    Attributes:
        answers: rules in order; a plain string answers once.
        name: as shown.
        price: what to pretend that it costs.
        context_tokens: what to pretend that the model can read.
        requests: everything asked so far.
        in_flight_most: the most calls that were under way together.
    """

    answers: Sequence[ScriptedAnswer | str | Mapping[str, Any]]
    name: str = "scripted"
    model: str = "script"
    price: Price = FREE
    context_tokens: int | None = None
    concurrency: int = 16
    requests: list[Request] = field(default_factory=list)
    in_flight_most: int = 0
    _rules: list[_Rule] = field(default_factory=list)
    _in_flight: int = 0

    def __post_init__(self) -> None:
        """Turn every answer into a rule; a mapping answers once with its JSON."""
        for answer in self.answers:
            if isinstance(answer, Mapping):
                answer = json.dumps(answer, ensure_ascii=False)
            rule = ScriptedAnswer(text=answer) if isinstance(answer, str) else answer
            self._rules.append(_Rule(rule, rule.times))

    @classmethod
    def from_file(cls, path: Path, **settings: Any) -> "ScriptedProvider":
        """Read a script: a JSON list of strings, or of objects with the fields of `ScriptedAnswer`.

        Raises:
            ModelError: `script_invalid`; the file cannot be read or is no such list.
        """
        try:
            entries = load_json(read_regular_text(path))
            if not isinstance(entries, list):
                raise TypeError("not a list")
            answers = [_answer_of(entry) for entry in entries]
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(
                "script_invalid",
                f"The script {path.name} is not a JSON list of answers: {error}.",
                'Write a list such as ["first answer", {"when": "regex", "text": "answer", "times": null}].',
            ) from error
        return cls(answers, **settings)

    @property
    def info(self) -> ProviderInfo:
        """What is known without asking."""
        return ProviderInfo(
            name=self.name,
            kind="scripted",
            model=self.model,
            endpoint="",
            price=self.price,
            context_tokens=self.context_tokens,
            concurrency=self.concurrency,
        )

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request, see `Provider.complete`.

        Raises:
            ModelError: `script_exhausted`; no rule is left for it.
        """
        self.requests.append(request)
        chosen = [self._next(request) for _ in range(request.samples)]
        first = chosen[0]
        self._in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self._in_flight)
        try:
            waited = await unless_cancelled(_wait(first.delay_s), cancel)
        finally:
            self._in_flight -= 1
        if waited is None:
            return self._done(request, first, (), Outcome.CANCELLED)
        samples = tuple(_sample(answer, request) for answer in chosen)
        if on_text is not None and samples[0].text:
            on_text(samples[0].text)
        return self._done(
            request, first, samples if samples[0].text or not _failed(first) else (), first.outcome
        )

    async def close(self) -> None:
        """Nothing to release."""

    def _next(self, request: Request) -> ScriptedAnswer:
        for rule in self._rules:
            if rule.left != 0 and rule.answer.matches(request):
                if rule.left is not None:
                    rule.left -= 1
                return rule.answer
        raise ModelError(
            "script_exhausted",
            f"The script of {self.name} has no answer left for request {len(self.requests)}.",
            "Add an answer, or let one be used more often (times).",
        )

    def _done(
        self, request: Request, answer: ScriptedAnswer, samples: tuple[Sample, ...], outcome: Outcome
    ) -> Completion:
        usage = answer.usage
        if usage is None:
            written = sum(tokens_about(sample.text) for sample in samples)
            read = tokens_about(request.prompt) if samples else 0
            usage = Usage(prompt_tokens=read, completion_tokens=written, estimated=True)
        return Completion(
            provider=self.name,
            model=self.model,
            outcome=outcome,
            samples=samples,
            usage=usage,
            cost_usd=self.price.cost_of(usage),
            detail=answer.detail or ("" if outcome is Outcome.COMPLETE else outcome.value),
            retry_after_s=answer.retry_after_s,
            context_tokens=answer.context_tokens,
            structured="none" if request.schema is None else "prompt",
        )


async def _wait(seconds: float) -> bool:
    if seconds:
        await asyncio.sleep(seconds)
    return True


def _failed(answer: ScriptedAnswer) -> bool:
    return answer.outcome is not Outcome.COMPLETE


def _sample(answer: ScriptedAnswer, request: Request) -> Sample:
    text = answer.text(request) if callable(answer.text) else answer.text
    finish = "stop" if answer.outcome is Outcome.COMPLETE else None
    refusal = answer.detail if answer.outcome is Outcome.REFUSED else ""
    return Sample(text=text, outcome=answer.outcome, finish_reason=finish, refusal=refusal)


def _answer_of(entry: object) -> ScriptedAnswer | str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict):
        raise TypeError("an answer is neither a string nor an object")
    fields = dict(entry)
    if "outcome" in fields:
        fields["outcome"] = Outcome(fields["outcome"])
    if isinstance(fields.get("text"), dict | list):
        fields["text"] = json.dumps(fields["text"], ensure_ascii=False)
    return ScriptedAnswer(**fields)
