"""Checks whose answers are known, put around the real ones to notice a candidate that tampers.

They have no name that gives them away: every check of a branch travels under a random id, and a canary's
expression is made anew each time, some of them around the text of a real check (which they do not evaluate).
Some are known to pass, some are known to fail, one is known to raise.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Canary:
    """One known answer.

    Attributes:
        evaluate: an expression of builtins and constants.
        value: its encoded value; None with `error`.
        error: name of the exception it raises, or empty.
    """

    evaluate: str
    value: Any
    error: str = ""

    def reads_right(self, record: dict[str, Any] | None) -> bool:
        """Whether a check's record is what this canary must give."""
        if record is None:
            return False
        if self.error:
            return record.get("status") == "raised" and record.get("error") == self.error
        answer = record.get("value")
        return record.get("status") == "value" and type(answer) is type(self.value) and answer == self.value


def _number(low: int = 2, high: int = 90) -> int:
    return low + secrets.randbelow(high - low)


def _known_pass() -> Canary:
    first, second = _number(), _number()
    return secrets.choice(
        [
            Canary(f"sum([{first}, {second}]) == {first + second}", True),
            Canary(f"len({'a' * first!r})", first),
            Canary(f"sorted([{first + second}, {first}])", ["l", first, first + second]),
            Canary(f"max({first}, {first + second}) > {first}", True),
            Canary(f"str({first}) + {'b'!r}", f"{first}b"),
        ]
    )


def _known_fail() -> Canary:
    first, second = _number(), _number()
    return secrets.choice(
        [
            Canary(f"sum([{first}, {second}]) == {first + second + 1}", False),
            Canary(f"isinstance({first}, str)", False),
            Canary(f"all([{first} < {first + second}, {second} == {second + 1}])", False),
            Canary(f"[{first}] == [{first}, {second}]", False),
            Canary(f"{'c' * 3!r} in {'d' * 4!r}", False),
        ]
    )


def _known_error() -> Canary:
    first = _number()
    return secrets.choice(
        [
            Canary(f"[{first}][{first}]", None, "IndexError"),
            Canary(f"int({'x' * 3!r})", None, "ValueError"),
            Canary(f"{first} // ({first} - {first})", None, "ZeroDivisionError"),
        ]
    )


def _disguised(text: str) -> list[Canary]:
    """Known answers that mention what a real check mentions, without evaluating it."""
    first = _number()
    return [
        Canary(f"callable(lambda: ({text}))", True),
        Canary(f"callable(lambda: ({text})) and {first} > {first + 1}", False),
    ]


def _expressions(texts: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        try:
            ast.parse(f"callable(lambda: ({text}))", mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if text.strip():
            found.append(text.strip())
    return found


def bracket(texts: Sequence[str] = ()) -> tuple[list[Canary], list[Canary]]:
    """Canaries to put before and after the checks of one branch.

    Args:
        texts: what the real checks evaluate.
    """
    before = [_known_pass(), _known_fail()]
    after = [_known_fail(), _known_error(), _known_pass()]
    # A few at random are enough to choose from; a plan may hold thousands.
    some = [secrets.choice(texts) for _ in range(min(3, len(texts)))] if texts else []
    if usable := _expressions(some):
        before += _disguised(secrets.choice(usable))
        after += _disguised(secrets.choice(usable))
    for group in (before, after):
        group.sort(key=lambda _: secrets.randbelow(1 << 30))
    return before, after
