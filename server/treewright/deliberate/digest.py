"""Summaries and digests of a session: taken from the thoughts' own sentences, never invented
(contract: deliberation, 4).

A token is counted as `estimate_tokens` says: one for each four characters of ASCII, one for each other
character, rounded up. That is at or above what common tokenizers take for running text.
"""

import re

from treewright.deliberate.session import Session, Thought

LEAST_TOKENS, MOST_TOKENS, DEFAULT_TOKENS = 200, 400, 300
"""Bounds and default of a digest (contract: deliberation, 4)."""

LEAST_SHARE = 24
"""Tokens below which a stage's line says nothing; a small budget leaves the oldest stages out instead."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def estimate_tokens(text: str) -> int:
    """Return the stated estimate of how many tokens a text takes."""
    ascii_count = sum(1 for character in text if character < "\x80")
    return -(-ascii_count // 4) + len(text) - ascii_count


def sentences(text: str) -> list[str]:
    """Split a text into its sentences or lines, without blank ones."""
    return [piece.strip() for piece in _SENTENCE.split(text) if piece.strip()]


def summary(session: Session, scope: str) -> tuple[str, int]:
    """Summarise committed thoughts by their first two sentences.

    Args:
        session: the session.
        scope: `stage` for the current stage, `all` for every stage.

    Returns:
        The text, one line a thought under its stage, and the number of thoughts.
    """
    stages = session.expected_stages if scope == "all" else [session.current_stage]
    lines, count = [], 0
    for stage in stages:
        thoughts = session.committed_in(stage)
        if thoughts:
            lines.append(f"{stage}:")
        for thought in thoughts:
            lines.append(f"- {' '.join(sentences(thought.content)[:2])}{_score(thought)}")
            count += 1
    return "\n".join(lines), count


def _score(thought: Thought) -> str:
    scores = thought.final_utility_scores
    return f" (score {scores.mean:.2f})" if scores else ""


def compress(session: Session, target_tokens: int = DEFAULT_TOKENS) -> tuple[str, int]:
    """Digest the stages before the current one.

    Each stage gives its best thought's first sentences; latest stages are filled first, since they build on
    the others. The lines stand in the order of the stages.

    Args:
        session: the session.
        target_tokens: the budget; above 400 it counts as 400, below 200 it is still never exceeded.

    Returns:
        The digest (empty when there is nothing before the current stage) and the number of thoughts in it.
    """
    budget = min(target_tokens, MOST_TOKENS)
    earlier = [
        (stage, session.committed_in(stage)) for stage in session.expected_stages[: session.stage_index]
    ]
    filled = [(stage, thoughts) for stage, thoughts in earlier if thoughts]
    if not filled:
        return "", 0
    filled = filled[-max(1, budget // LEAST_SHARE) :]
    lines: dict[int, list[str]] = {}
    used = 0
    share = budget // len(filled)
    for number in reversed(range(len(filled))):
        stage, thoughts = filled[number]
        fresh = _stage_lines(stage, thoughts, share)
        if fresh:
            lines[number] = fresh
            used += len(fresh)
    text = "\n".join(line for number in sorted(lines) for line in lines[number])
    return _within(text, budget), used


def _stage_lines(stage: str, thoughts: list[Thought], share: int) -> list[str]:
    """Return lines for a stage that fit its share of the budget, best thoughts first in line."""
    ranked = sorted(
        thoughts,
        key=lambda thought: -(thought.final_utility_scores.mean if thought.final_utility_scores else 0),
    )
    lines: list[str] = []
    left = share
    for thought in ranked:
        line = f"{stage}: " if not lines else "- "
        room = left - estimate_tokens(line) - 2
        text = _within(_fitting(sentences(thought.content), room), room)
        if not text:
            break
        lines.append(line + text)
        left -= estimate_tokens(line + text) + 1
    return lines


def _fitting(pieces: list[str], room: int) -> str:
    """Join as many leading sentences as fit, at least the first."""
    text = pieces[0] if pieces else ""
    for piece in pieces[1:]:
        if estimate_tokens(f"{text} {piece}") > room:
            break
        text = f"{text} {piece}"
    return text


def _within(text: str, budget: int) -> str:
    """Cut a text at a character so that it is within a budget of tokens."""
    if estimate_tokens(text) <= budget:
        return text
    if budget < 2:
        return ""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle].rstrip() + "…") <= budget:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""
