"""Making a request fit a context: what is optional is left out first, by priority."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from treewright.models.prices import prompt_tokens_at_most
from treewright.models.provider import Message, Request, Section

MARGIN_TOKENS = 32
ANSWER_FLOOR_TOKENS = 256
"""`max_tokens` is lowered to fit, but not below this: a shorter answer is of no use."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that should fit, and the names of the sections that were left out of it."""

    request: Request
    left_out: tuple[str, ...]


def fit(request: Request, context_tokens: int, stretch: float = 1.0) -> Fitted | None:
    """Return the request with as much of what is optional as the context holds, None when it cannot fit.

    Args:
        request: what is to be asked.
        context_tokens: prompt and answer together.
        stretch: tokens that the server counted over what we estimated, from an earlier refusal.
    """
    left_out: list[str] = []
    while True:
        room = context_tokens - MARGIN_TOKENS - int(prompt_tokens_at_most(request) * stretch)
        if room >= request.max_tokens:
            return Fitted(request, tuple(left_out))
        smaller = drop_least(request)
        if smaller is None:
            break
        request = smaller.request
        left_out.extend(smaller.left_out)
    if room >= min(ANSWER_FLOOR_TOKENS, request.max_tokens):
        return Fitted(replace(request, max_tokens=room), tuple(left_out))
    return None


def drop_least(request: Request) -> Fitted | None:
    """Return the request without its least important optional section, None when nothing is optional.

    Of equal priority the last goes first.
    """
    sections = [section for message in request.messages for section in message.sections]
    least = max((section.priority for section in sections), default=0)
    if least == 0:
        return None
    victim = [section for section in sections if section.priority == least][-1]
    messages = tuple(_without(message, victim) for message in request.messages)
    kept = tuple(message for message in messages if message.sections)
    return Fitted(replace(request, messages=kept), (victim.name or f"priority {least}",))


def _without(message: Message, victim: Section) -> Message:
    """Identity decides: two sections may have the same text."""
    kept: Iterable[Section] = (section for section in message.sections if section is not victim)
    return Message(message.role, tuple(kept))
