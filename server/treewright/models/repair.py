"""What a model is told when its answer does not fit: the exact faults and the expected shape.

A repair prompt is built from the first request and the last answer only, both of bounded length: it does not grow
with each try (contract: design, Performers and providers).
"""

from dataclasses import replace

from treewright.models.parse import Parsed
from treewright.models.provider import JsonSchema, Message, Outcome, Request, Section
from treewright.models.shape import ShapeFault, expected_shape

FAULTS_SHOWN_MOST = 8
ANSWER_SHOWN_MOST = 2400
"""Characters of the last answer that are shown again: its start and its end."""


def repair_request(request: Request, answer: str, parsed: Parsed | None, schema: JsonSchema) -> Request:
    """Return the request for another try.

    Args:
        request: the first request, not an earlier repair.
        answer: the answer that did not fit.
        parsed: what was read of it; None when nothing could be.
        schema: what was asked for.
    """
    told = [*_problem(parsed), f"The expected shape:\n{expected_shape(schema)}"]
    told.append("Answer again with the whole corrected JSON object and nothing else.")
    shown = Message("assistant", (Section(text=_excerpt(answer)),))
    messages = (*request.messages, shown) if answer.strip() else request.messages
    return replace(request, messages=(*messages, Message.of("user", "\n".join(told))), samples=1)


def shorter_request(request: Request, outcome: Outcome, max_tokens: int) -> Request:
    """Return the request for one more try after an answer that did not end, with room for it to end."""
    if outcome is Outcome.CUT_OFF_REASONING:
        said = "Answer at once, without thinking aloud first."
        changed = replace(request, reasoning_effort="low", max_tokens=max_tokens)
    elif outcome is Outcome.EMPTY:
        said = "Your last answer was empty. Write the answer itself."
        changed = request
    else:
        said = (
            "Your last answer was too long and was cut off. Answer more briefly, and finish the JSON object."
        )
        changed = replace(request, max_tokens=max_tokens)
    *before, last = changed.messages
    message = Message(last.role, (*last.sections, Section(text=said)))
    return replace(changed, messages=(*before, message))


def varied_request(request: Request, number: int) -> Request:
    """Return the request for another try after an answer that repeated itself: warmer, and from another seed.

    Args:
        request: the first request.
        number: how many tries this makes, from 1.
    """
    warmer = min(1.0, (0.7 if request.temperature is None else request.temperature) + 0.15 * number)
    *before, last = request.messages
    said = Section(
        text="Your last answer repeated itself without end. Say each thing once, in short sentences."
    )
    message = Message(last.role, (*last.sections, said))
    seed = None if request.seed is None else request.seed + number
    return replace(request, messages=(*before, message), temperature=warmer, seed=seed)


def describe_faults(faults: tuple[ShapeFault, ...]) -> list[str]:
    """Return one line a fault, the first few of them."""
    lines = [f"- {fault}" for fault in faults[:FAULTS_SHOWN_MOST]]
    if len(faults) > FAULTS_SHOWN_MOST:
        lines.append(f"- and {len(faults) - FAULTS_SHOWN_MOST} more")
    return lines


def _problem(parsed: Parsed | None) -> list[str]:
    if parsed is None:
        return ["Your answer holds no JSON object that can be read."]
    if parsed.cut_off:
        return ["Your answer ends before its JSON object does.", *describe_faults(parsed.faults)]
    return ["Your answer does not fit what was asked:", *describe_faults(parsed.faults)]


def _excerpt(answer: str) -> str:
    if len(answer) <= ANSWER_SHOWN_MOST:
        return answer
    half = ANSWER_SHOWN_MOST // 2
    return f"{answer[:half]}\n[...]\n{answer[-half:]}"
