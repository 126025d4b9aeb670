"""Questions of the glossary step at a terminal: asked once each, before anything is written, and skippable."""

import sys

from treewright.explore.glossary import Ask, Question
from treewright.surfaces.cli.saying import say

MOST_ASKED = 8
"""Questions of one run; further terms take the recommendation, which the anchors file says."""


def terminal_ask(form: str, *, quiet: bool, no_questions: bool) -> Ask | None:
    """Return what asks the person at the terminal; None when there is none, or when they want no questions.

    Args:
        form: what stdout gets; only `text` is for a person.
        quiet: show no progress.
        no_questions: take every recommendation.
    """
    if no_questions or quiet or form != "text" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return _Asking()


class _Asking:
    """Asks until the person has had enough."""

    def __init__(self) -> None:
        self._left = MOST_ASKED

    def __call__(self, question: Question) -> int | None:
        if self._left <= 0 or len(question.options) < 2:
            return None
        self._left -= 1
        why = (
            "is not in the glossary" if question.why == "missing" else "fits several entries of the glossary"
        )
        say(f"“{question.term}” {why}. What does it mean here?", err=True)
        for number, option in enumerate(question.options, 1):
            say(f"  {number}. {option}" + ("  (recommended)" if number == 1 else ""), err=True)
        return self._answer(len(question.options))

    def _answer(self, most: int) -> int | None:
        while True:
            say(f"1 to {most}, Enter for 1, s to ask nothing more: ", err=True, nl=False)
            said = sys.stdin.readline()
            answer = said.strip().casefold()
            if not said or answer == "s":
                self._left = 0
                return None
            if not answer:
                return None
            if answer.isdecimal() and 1 <= int(answer) <= most:
                return int(answer) - 1
