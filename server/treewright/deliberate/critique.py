"""The form that a lens gives to a critique, for whoever can be held to one.

A lens asks a few short questions. A person or a strong model answers them line by line; a model that decodes under a grammar
is held to them: it can only name sentences that stand in the text, an answer that has an opening begins with it, and
none can run on.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treewright.deliberate.digest import sentences
from treewright.deliberate.ports import Ask, Lens

ANSWER_MOST = 300
"""Characters of one answer under a grammar: two sentences."""

LEAST_WORDS = 3
"""Words of a sentence worth choosing: a bare `Yes.` is nothing to criticise."""

CHOICES_MOST = 40
"""Sentences that a critique may choose among; of a longer text the first ones."""

PLAIN = r"[ !#-\[\]-~]"
"""A character of a critique of an English text: without it a small model slips into its mother tongue."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a critique of one text through one lens is made of.

    Attributes:
        asks: what the lens asks, in order.
        choices: sentences of the text.
        heard: what needs no repetition: the text, and what the lens says.
        plain: whether the text is in plain letters, and so has to be the critique.
    """

    asks: Sequence[Ask]
    choices: tuple[str, ...]
    heard: str
    plain: bool

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a critique."""
        properties = {ask.key: self._answer(ask) for ask in self.asks}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _answer(self, ask: Ask) -> dict[str, Any]:
        if ask.quote:
            return {"enum": list(self.choices)}
        found: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": ANSWER_MOST}
        opening = f"{ask.begins} " if ask.begins and self.plain else ""
        if self.plain:
            literal = re.sub(r"([^A-Za-z0-9 ,:'])", r"\\\1", opening)
            found["pattern"] = f"^{literal}{PLAIN}{{8,{ANSWER_MOST - len(opening)}}}$"
        return found

    def lines(self) -> str:
        """Return the questions, one a line, as a model that answers with JSON is told them."""
        return "\n".join(f'- "{ask.key}": {ask.told}' for ask in self.asks)

    def text(self, answers: Mapping[str, Any]) -> str:
        """Return answers as a critique, one line each; empty when they say nothing.

        An answer that only repeats the text, the lens or an answer before it says nothing and is left out.
        """
        found: list[str] = []
        heard = _flat(" ".join((self.heard, *(ask.told for ask in self.asks))))
        own = False
        for ask in self.asks:
            said = " ".join(str(answers.get(ask.key, "")).split())
            if ask.quote and said:
                found.append(f"{ask.label}: “{said}”")
            elif said and not _repeats(said.removeprefix(ask.begins), heard):
                found.append(f"{ask.label}: {said}")
                heard += f" {_flat(said)}"
                own = True
        return "\n".join(found) if own else ""


def _repeats(said: str, heard: str) -> bool:
    """Tell whether every sentence of an answer was there before."""
    return all(not (flat := _flat(one)) or flat in heard for one in sentences(said))


def _flat(text: str) -> str:
    """Return a text's words alone."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def form_for(lens: Lens, text: str, question: str) -> Form | None:
    """Return the form of a critique of a text; None when the lens has none.

    Args:
        lens: the lens.
        text: what is criticised.
        question: what the session is about.
    """
    if not lens.asks:
        return None
    found = dict.fromkeys(sentences(text))
    whole = [one for one in found if not one.endswith(":")]
    choices = [one for one in whole if len(one.split()) >= LEAST_WORDS or not one.isascii()] or list(found)
    return Form(
        tuple(lens.asks),
        tuple(choices[:CHOICES_MOST] or [text[:ANSWER_MOST]]),
        f"{text} {lens.guidance}",
        (text + question).isascii(),
    )
