"""What one answer is: complete, cut off, cut off while reasoning, empty or refused. Never guessed.

An answer is complete only when the server said so with a word that is known to mean it.
"""

import re
import tomllib
from functools import cache

from treewright.data import data_path
from treewright.models.provider import Message, Outcome, Sample
from treewright.models.tokens import tokens_at_least

_TAG = "think|thinking|thought|reasoning|reflection"
_OPEN = re.compile(rf"\s*<({_TAG})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({_TAG})>", re.IGNORECASE)

_MAY_OPEN = re.compile(r"\s*(?:<[a-z]{0,10})?", re.IGNORECASE)
_TAG_LONGEST = len("</reflection>")

TRUNCATION_SHARE = 0.75
"""A server that counts fewer prompt tokens than this share of the least possible has cut the prompt."""

TRUNCATION_FLOOR = 200
"""Prompts below this many tokens are not checked: counting errors weigh too much."""


@cache
def _finish_words() -> dict[str, Outcome]:
    table = tomllib.loads(data_path("models", "finish.toml").read_text(encoding="utf-8"))
    return {word: Outcome(outcome) for outcome, words in table.items() for word in words}


def split_reasoning(text: str) -> tuple[str, str, bool]:
    """Separate a leading think block from the answer.

    Only a block at the very start counts, or a closing tag whose opening stood in the prompt: the same tag inside
    an answer is part of it.

    Returns:
        The answer, the reasoning, and whether the reasoning was still open at the end.
    """
    opened = _OPEN.match(text)
    start = opened.end() if opened else 0
    closed = _CLOSE.search(text, start)
    if opened and not closed:
        return "", text[start:], True
    if closed and (opened or not _looks_like_answer(text[: closed.start()])):
        rest = text[closed.end() :]
        again = _OPEN.match(rest)
        if again:
            answer, more, is_open = split_reasoning(rest)
            return answer, text[start : closed.start()] + more, is_open
        return rest.lstrip("\n"), text[start : closed.start()], False
    return text, "", False


class ThinkFilter:
    """Lets through, piece by piece, what of an answer is not its leading think block."""

    def __init__(self) -> None:
        self._held = ""
        self._open = False
        self._through = False
        self._trims = False
        self._searched = 0

    def feed(self, piece: str) -> str:
        """Return what may be shown now."""
        if self._through:
            return self._trimmed(piece)
        self._held += piece
        if not self._open:
            opened = _OPEN.match(self._held)
            if opened is None:
                return "" if _MAY_OPEN.fullmatch(self._held) else self._let_through(0)
            self._open, self._searched = True, opened.end()
        closed = _CLOSE.search(self._held, self._searched)
        if closed is None:
            self._searched = max(self._searched, len(self._held) - _TAG_LONGEST)
            return ""
        return self._let_through(closed.end())

    def _let_through(self, start: int) -> str:
        self._through = True
        self._trims = start > 0
        shown, self._held = self._held[start:], ""
        return self._trimmed(shown)

    def _trimmed(self, piece: str) -> str:
        """Drop the empty lines between a think block and the answer."""
        if self._trims:
            piece = piece.lstrip("\n")
            self._trims = not piece
        return piece


def _looks_like_answer(before: str) -> bool:
    """Whether text before a stray closing tag is JSON or code that only mentions the tag."""
    return before.lstrip().startswith(("{", "[", "`")) or bool(re.search(rf"<(?:{_TAG})>", before))


def classify_sample(
    text: str,
    *,
    finish_reason: str | None,
    ended: bool,
    reasoning: str = "",
    refusal: str = "",
    completion_tokens: int | None = None,
    max_tokens: int | None = None,
) -> Sample:
    """Return one answer with its outcome.

    Args:
        text: what the server called the answer, think tags included.
        finish_reason: the server's word, None when it gave none.
        ended: whether the server ended the answer by itself (a final event, not a broken connection).
        reasoning: what the server separated as reasoning.
        refusal: the text of a refusal field.
        completion_tokens: as reported, for servers that give no finish reason.
        max_tokens: as asked.
    """
    answer, thought, still_open = split_reasoning(text)
    reasoning += thought
    outcome = _finish_outcome(finish_reason, ended, completion_tokens, max_tokens)
    if refusal.strip():
        outcome = Outcome.REFUSED
    elif outcome is Outcome.CUT_OFF and not answer.strip():
        outcome = Outcome.CUT_OFF_REASONING if reasoning.strip() or still_open else Outcome.EMPTY
    elif outcome is Outcome.COMPLETE and not answer.strip():
        outcome = Outcome.EMPTY
    return Sample(
        text=answer, outcome=outcome, finish_reason=finish_reason, reasoning=reasoning, refusal=refusal
    )


def _finish_outcome(reason: str | None, ended: bool, used: int | None, most: int | None) -> Outcome:
    if reason:
        return _finish_words().get(reason.lower(), Outcome.INTERRUPTED)
    if not ended:
        return Outcome.INTERRUPTED
    return Outcome.CUT_OFF if used is not None and most is not None and used >= most else Outcome.COMPLETE


def prompt_was_truncated(messages: tuple[Message, ...], reported: int | None) -> bool:
    """Return whether a server counted far fewer prompt tokens than the prompt can have.

    Args:
        messages: what was sent.
        reported: prompt tokens as reported; None or 0 says nothing.
    """
    if not reported:
        return False
    least = sum(tokens_at_least(message.text) for message in messages)
    return least >= TRUNCATION_FLOOR and reported < TRUNCATION_SHARE * least
