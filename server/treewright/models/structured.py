"""Asking until the answer is data that fits: parsing, repair, and fitting the context, with every token counted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from treewright.errors import ModelError
from treewright.models.fit import drop_least, fit
from treewright.models.parse import Parsed, parse_answer
from treewright.models.prices import prompt_tokens_at_most
from treewright.models.provider import Completion, JsonSchema, Outcome, Provider, Request, TextSink, Usage
from treewright.models.repair import describe_faults, repair_request, shorter_request, varied_request
from treewright.models.repetition import complete_without_loops
from treewright.models.shape import ShapeFault, check_schema

MAX_REPAIRS = 2
_RAW_KEPT_MOST = 20_000
_GROWTH = 2

Check = Callable[[Any], list[str]]
"""Further rules of the caller: returns what is wrong, in words that go back to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that fits.

    Attributes:
        value: the data.
        text: the model's words that it was read from.
        completion: the last call.
        usage, cost_usd: of every call made for it; the cost is None when a price is unknown.
        attempts: calls made.
        repairs: how many of them sent faults back.
        tidied: what was put right in reading it.
        left_out: sections that did not fit the context.
    """

    value: Any
    text: str
    completion: Completion
    usage: Usage
    cost_usd: float | None
    attempts: int
    repairs: int
    tidied: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Course:
    """What happened so far while one answer was sought."""

    first: Request
    schema: JsonSchema
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    attempts: int = 0
    repairs: int = 0
    left_out: list[str] = field(default_factory=list)
    adjusted: set[Outcome] = field(default_factory=set)
    looped: bool = False

    def count(self, done: Completion) -> None:
        self.attempts += 1
        self.usage += done.usage
        unknown = self.cost_usd is None or done.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (done.cost_usd or 0.0)


async def ask(
    provider: Provider,
    request: Request,
    *,
    judged_by: JsonSchema | None = None,
    check: Check | None = None,
    max_repairs: int = MAX_REPAIRS,
    max_tokens_ceiling: int | None = None,
    on_text: TextSink | None = None,
    cancel: asyncio.Event | None = None,
) -> Answer:
    """Ask for data that fits the request's schema.

    An answer that does not fit goes back with its exact faults, at most `max_repairs` times. One that was cut off
    or is empty is asked for again once with more room. A prompt that is too long, or that the server cut, loses what is optional.

    Args:
        provider: whom to ask; put `spend.Metered` around one that costs.
        request: with a schema; one sample.
        judged_by: what the answer must fit, when that is less than the schema that the endpoint is to impose: bounds
            that only keep a small model from running on are no reason to send an answer back.
        check: further rules of the caller.
        max_repairs: 0 or more.
        max_tokens_ceiling: most that `max_tokens` is raised to; twice the request's when None.
        on_text: receives text as it arrives, of every call.
        cancel: ends the call.

    Raises:
        ModelError: `model_<outcome>` for a call that gave no answer, `model_unfit` for one that never fitted,
            `model_context_overflow` when even what must be said does not fit. `details` keeps the raw text, the
            faults, usage and cost of every attempt.
        CapError: the spend gate refused.
    """
    if request.schema is None:
        raise ValueError("ask() needs a schema; use complete() for free text")
    check_schema(request.schema)
    if judged_by is not None:
        check_schema(judged_by)
    ceiling = max_tokens_ceiling or request.max_tokens * _GROWTH
    first, left_out = _fitted_beforehand(provider, request)
    course = _Course(first, judged_by or request.schema, left_out=left_out)
    current = first
    while True:
        done, course.looped = await complete_without_loops(provider, current, on_text, cancel)
        course.count(done)
        if done.outcome in {Outcome.CONTEXT_OVERFLOW, Outcome.PROMPT_TRUNCATED}:
            current = course.first = _smaller(course, done)
            continue
        parsed, problem = _read(done, course.schema, check)
        if parsed is not None and problem is None:
            return _answer(course, done, parsed)
        if not done.outcome.has_text or not done.text.strip():
            current = _another_try(course, done, ceiling)
            continue
        if course.repairs >= max_repairs:
            raise _unfit(course, done, parsed)
        course.repairs += 1
        current = _repair(course, done, parsed, ceiling)


def _fitted_beforehand(provider: Provider, request: Request) -> tuple[Request, list[str]]:
    context = provider.info.context_tokens
    fitted = None if context is None else fit(request, context)
    if fitted is None:
        return request, []  # our estimate errs on the long side: the server may still take it
    return fitted.request, list(fitted.left_out)


def _smaller(course: _Course, done: Completion) -> Request:
    """Return the first request, smaller, after the server said, or showed by what it read, that it does not fit."""
    request = course.first
    context, seen = done.context_tokens, done.prompt_tokens_seen
    if done.outcome is Outcome.PROMPT_TRUNCATED and not done.usage.estimated:
        context = done.usage.prompt_tokens + request.max_tokens
    if context is not None:
        stretch = seen / max(1, prompt_tokens_at_most(request)) if seen else 1.0
        fitted = fit(request, context, stretch)
        if fitted is not None and fitted.left_out:
            course.left_out.extend(fitted.left_out)
            return fitted.request
        if fitted is not None and fitted.request != request and done.outcome is Outcome.CONTEXT_OVERFLOW:
            return fitted.request
    dropped = drop_least(request)
    if dropped is None:
        hint = _HINTS.get(done.outcome, _CONTEXT_HINT)
        raise _failure(course, done, f"model_{done.outcome.value}", hint)
    course.left_out.extend(dropped.left_out)
    return dropped.request


def _read(done: Completion, schema: JsonSchema, check: Check | None) -> tuple[Parsed | None, str | None]:
    """Return what was read, and whether it may be taken: only a complete answer that fits may."""
    if not done.outcome.has_text or not done.text.strip():
        return None, done.outcome.value
    try:
        parsed = parse_answer(done.text, schema)
    except ValueError:
        return None, "unreadable"
    if done.outcome is not Outcome.COMPLETE:
        return replace(parsed, cut_off=True), "cut off"
    if parsed.good and check is not None:
        wrong = tuple(ShapeFault("$", problem, "an answer without it") for problem in check(parsed.value))
        parsed = replace(parsed, faults=wrong)
    return parsed, None if parsed.good else "unfit"


def _another_try(course: _Course, done: Completion, ceiling: int) -> Request:
    """Return the request for the one more try that an empty or endless answer gets; anything else is an error."""
    again = {Outcome.EMPTY, Outcome.CUT_OFF_REASONING, Outcome.CUT_OFF}
    if done.outcome not in again or done.outcome in course.adjusted:
        raise _failure(course, done, f"model_{done.outcome.value}", _HINTS.get(done.outcome, ""))
    course.adjusted.add(done.outcome)
    return shorter_request(course.first, done.outcome, min(ceiling, course.first.max_tokens * _GROWTH))


def _repair(course: _Course, done: Completion, parsed: Parsed | None, ceiling: int) -> Request:
    if course.looped:
        return varied_request(course.first, course.repairs)
    if done.outcome is Outcome.CUT_OFF and Outcome.CUT_OFF not in course.adjusted:
        course.adjusted.add(Outcome.CUT_OFF)
        return shorter_request(course.first, Outcome.CUT_OFF, min(ceiling, course.first.max_tokens * _GROWTH))
    if done.outcome is Outcome.INTERRUPTED and Outcome.INTERRUPTED not in course.adjusted:
        course.adjusted.add(Outcome.INTERRUPTED)
        return course.first  # a broken connection is no fault of the answer
    room = course.first.max_tokens
    if done.outcome is Outcome.CUT_OFF:
        room = min(ceiling, room * _GROWTH)
    return replace(repair_request(course.first, done.text, parsed, course.schema), max_tokens=room)


def _answer(course: _Course, done: Completion, parsed: Parsed) -> Answer:
    return Answer(
        value=parsed.value,
        text=done.text,
        completion=done,
        usage=course.usage,
        cost_usd=course.cost_usd,
        attempts=course.attempts,
        repairs=course.repairs,
        tidied=parsed.tidied,
        left_out=tuple(course.left_out),
    )


def _unfit(course: _Course, done: Completion, parsed: Parsed | None) -> ModelError:
    faults = describe_faults(parsed.faults) if parsed is not None else ["- no JSON can be read in it"]
    if parsed is not None and parsed.cut_off:
        faults.insert(0, "- it ends before its JSON object does")
    error = _failure(course, done, "model_unfit", "Try a larger model, or raise max_tokens or max_repairs.")
    error.message = f"The answer of {done.provider} still does not fit after {course.attempts} attempts."
    error.details["faults"] = [fault.removeprefix("- ") for fault in faults]
    return error


def _failure(course: _Course, done: Completion, code: str, hint: str) -> ModelError:
    said = done.detail or done.outcome.value.replace("_", " ")
    return ModelError(
        code,
        f"{done.provider} gave no usable answer: {said}",
        hint,
        {
            "outcome": done.outcome.value,
            "pauses_run": done.outcome.pauses_run,
            "raw": done.text[:_RAW_KEPT_MOST],
            "retry_after_s": done.retry_after_s,
            "attempts": course.attempts,
            "repairs": course.repairs,
            "usage": {"prompt": course.usage.prompt_tokens, "completion": course.usage.completion_tokens},
            "cost_usd": course.cost_usd,
        },
    )


_CONTEXT_HINT = "Use a model with a larger context, or start the server with a larger one."

_HINTS = {
    Outcome.OVERLOADED: "The run is paused; continue it when the service has room again.",
    Outcome.OVER_QUOTA: "The account's quota or credit is used up; top it up or use another model.",
    Outcome.UNREACHABLE: "Check that the server runs and that its address is right (treewright models).",
    Outcome.UNAUTHORISED: "Check the key that is configured for this endpoint.",
    Outcome.MODEL_NOT_FOUND: "List the endpoint's models with treewright models.",
    Outcome.PROMPT_TRUNCATED: "Start the server with a larger context (for Ollama: num_ctx).",
    Outcome.CUT_OFF_REASONING: "Raise max_tokens, or use a model that reasons less.",
    Outcome.TIMED_OUT: "Raise the endpoint's timeouts, or use a faster model.",
}
