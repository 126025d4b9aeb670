"""Edits of a program's text: what one is, and how it is applied."""

from __future__ import annotations

from dataclasses import dataclass

Splice = tuple[int, int, str]
"""Start and end offset (characters) in the text, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change.

    Attributes:
        operator: the operator's id in `data/search/priors.toml`, such as `compare.boundary`.
        splices: replacements in the text; they do not overlap.
        line: the line (1-based) that the change is about.
        extra: cost in bits added to the operator's prior, for a less likely variant.
    """

    operator: str
    splices: tuple[Splice, ...]
    line: int
    extra: float = 0.0


def apply_splices(source: str, splices: tuple[Splice, ...]) -> str | None:
    """Return the text with every splice applied, or None when two of them overlap."""
    parts: list[str] = []
    at = 0
    for start, end, text in sorted(splices):
        if start < at:
            return None
        parts.append(source[at:start])
        parts.append(text)
        at = end
    parts.append(source[at:])
    return "".join(parts)
