"""What events carry: proposals, derivations and the other bodies."""

from typing import Any

from pydantic import Field

from treewright.tree.citation import Citation, Edit, Frozen, NumericCheck

FieldValue = str | list[str]
"""A field is prose, or a list of items or steps."""


class Proposal(Frozen):
    """A child as a framing proposed it, before it is derived.

    Attributes:
        statement: the subject statement: one idea, critique, option or finding.
        position: where it applies; empty when the preset has no positions.
        evidence, defense: draft prose.
        assumptions, predictions: draft items.
        citations: pointers that the engine checks before the child counts.
        facts: what the performer needs to derive it later; opaque to the engine.
    """

    statement: str
    position: str = ""
    evidence: str = ""
    assumptions: list[str] = Field(default_factory=list)
    predictions: list[str] = Field(default_factory=list)
    defense: str = ""
    citations: list[Citation] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)


class Examined(Frozen):
    """What a framing looked at when its questions found nothing (contract: exploration, 10).

    Attributes:
        questions: the questions asked.
        sites: how many places were examined for them.
        guards: what stands in the way, each with its place.
        note: one sentence for the report.
    """

    questions: list[str] = Field(default_factory=list)
    sites: int = 0
    guards: list[str] = Field(default_factory=list)
    note: str = ""


class Derivation(Frozen):
    """A node's body as a performer derived it.

    Attributes:
        fields: the preset's fields by name.
        scores: the preset's dimensions by key, integers 0 to 3.
        citations: the evidence, each naming the field it supports.
        numeric_checks: the expressions behind numeric claims.
        defense_shown: a defense or mitigation was found; counts only with a citation in the defense field that holds.
        edits: the proposed fix as concrete changes.
        cwe: the weakness id such as `CWE-89`.
        facts: opaque to the engine, shown to later tasks and surfaces.
    """

    fields: dict[str, FieldValue]
    scores: dict[str, int]
    citations: list[Citation] = Field(default_factory=list)
    numeric_checks: list[NumericCheck] = Field(default_factory=list)
    defense_shown: bool = False
    edits: list[Edit] = Field(default_factory=list)
    cwe: str = ""
    facts: dict[str, Any] = Field(default_factory=dict)


class Draft(Frozen):
    """A child that a framing's answer brings: which proposal it is, and its id."""

    node: str
    index: int
    statement: str
    position: str = ""


class ConditionState(Frozen):
    """One of the six conditions at the close of a round, with the figures behind it."""

    number: int
    name: str
    met: bool
    figures: dict[str, Any] = Field(default_factory=dict)
