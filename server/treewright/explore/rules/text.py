"""Fields as text: a field is prose, or a list of items or steps."""

import re

from treewright.tree.body import FieldValue

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")
_STEP = re.compile(r"^\s*(?:\d+[.)、]|[-*•]|→|->|step\s+\d+)", re.IGNORECASE)
_NOTHING = re.compile(
    r"^[\s\W]*(?:none|nothing|n/?a|not applicable|not available|unknown|tbd|null|nil|no (?:fix|change|edit)s?"
    r"|无|沒有|没有|なし|없음|ninguno|ninguna|aucun|aucune|keine?|nenhum|нет)[\s\W]*$",
    re.IGNORECASE,
)


def as_text(value: FieldValue) -> str:
    """Return a field as one text, items on lines of their own."""
    return value if isinstance(value, str) else "\n".join(value)


def items(value: FieldValue) -> list[str]:
    """Return the non-empty items of a field; prose is split at its lines."""
    parts = value.splitlines() if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


def sentences(value: FieldValue) -> int:
    """Count the sentences of a field, in Latin and CJK punctuation."""
    return sum(1 for match in _SENTENCE.finditer(as_text(value)) if re.search(r"\w", match[0]))


def steps(value: FieldValue) -> int:
    """Count the steps of a field: list items, or lines that begin with a number, bullet or arrow, or arrow-separated parts."""
    if not isinstance(value, str):
        return len(items(value))
    marked = sum(1 for line in value.splitlines() if _STEP.match(line))
    arrows = max((len(re.split(r"\s(?:→|->|=>)\s", line)) for line in value.splitlines()), default=0)
    return max(marked, arrows if arrows > 1 else 0)


def says_nothing(value: FieldValue) -> bool:
    """Tell whether a field is empty or only says that there is nothing."""
    text = as_text(value).strip()
    return not text or bool(_NOTHING.match(text))
