"""Sentences with gaps that a small model fills: what it may write for a statement or a field, and the pattern that holds it to them.

The sentences are data (`data/prompts/small.toml`), in English only: a run in another language has none.
"""

import re

from treewright.explore.tasks import Brief
from treewright.performers.model.prompts import small_text

PLAIN = r"[ !#-\[\]-~]"
"""A character of a text that a model with an English root may write: without it a small one slips into its mother tongue."""
PLAIN_CLAUSE = r"[ !#-\-/-9<-\[\]-~]"
"""The same without what ends a clause: full stop, colon, semicolon."""
GAP = "…"
"""Stands in a form for the words that the model brings."""
CLAUSE_MOST = 130
"""Characters of a gap that is not the last one."""


def form_pattern(form: str, most: int) -> str:
    """Return the pattern of a sentence with gaps; a gap before the last one stays inside its clause."""
    *before, last = (re.sub(r"([.?()*+|\[\]])", r"\\\1", part) for part in form.split(GAP))
    first = "".join(f"{part}{PLAIN_CLAUSE}{{3,{CLAUSE_MOST}}}" for part in before[:-1])
    left = max(90, most - len(form) - CLAUSE_MOST * (len(before) - 1))
    return f"{first}{before[-1]}{PLAIN}{{8,{left}}}{last}"


def statement_forms(brief: Brief) -> list[str]:
    """Return the sentences that a statement may be, so that framings do not say the same; empty for any.

    A small model asked for something unusual gives the usual answer; what begins with `Do without` cannot be it. The gap after a
    colon or `so` has it say how, or what follows.
    """
    if brief.framing is None or brief.task.replaces:
        return []
    return _forms(brief, "openings", brief.framing.letter)


def forms_of(brief: Brief, name: str) -> list[str]:
    """Return the sentences that a small model may write for a field; none for any, and for a root that is not English."""
    return _forms(brief, "forms", name)


def _forms(brief: Brief, kind: str, name: str) -> list[str]:
    if brief.language.output != "en":
        return []
    return [form for form in small_text(brief.preset.name, kind, name).split("|") if form]
