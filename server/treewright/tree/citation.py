"""Citations: pointers to evidence, and what the engine found when it checked them (contract: exploration, 5)."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

NEEDS_VERIFICATION = "[NEEDS_VERIFICATION]"


class Frozen(BaseModel):
    """A value that crosses a boundary: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Citation(Frozen):
    """A pointer to evidence, as a performer gave it.

    Attributes:
        kind: what is pointed to.
        field: the node's field that the evidence supports; empty for the node as a whole.
        path: for `file`, the path relative to the workspace, with forward slashes.
        start: for `file`, the first line, from 1; 0 when no line was given.
        end: for `file`, the last line, at least `start`.
        quote: the text that stands there, verbatim.
        url: for `url`, the address.
        command: for `command`, the command line whose output is quoted.
    """

    kind: Literal["file", "url", "command"] = "file"
    field: str = ""
    path: str = ""
    start: int = Field(default=0, ge=0)
    end: int = Field(default=0, ge=0)
    quote: str = ""
    url: str = ""
    command: str = ""

    def label(self) -> str:
        """Return the short form shown to people: `path:start-end`, the URL or the command."""
        if self.kind == "url":
            return self.url
        if self.kind == "command":
            return f"$ {self.command}"
        if not self.start:
            return self.path
        return f"{self.path}:{self.start}" + (f"-{self.end}" if self.end > self.start else "")


class CitationState(StrEnum):
    """What checking a citation showed."""

    VERIFIED = "verified"
    CORRECTED = "corrected"
    WEAK = "weak"
    UNVERIFIED = "unverified"

    @property
    def holds(self) -> bool:
        """Whether the quote was found: only these may support a claim."""
        return self in (CitationState.VERIFIED, CitationState.CORRECTED)


class CheckedCitation(Frozen):
    """A citation with its state.

    Attributes:
        citation: the pointer; for a corrected one, already with the right lines.
        state: what the check showed.
        reason: one clause that says why; empty when verified.
        output: for `command`, the output that was observed; for `url`, nothing.
    """

    citation: Citation
    state: CitationState
    reason: str = ""
    output: str = ""


class NumericCheck(Frozen):
    """A numeric claim with the expression that must give it (rule F3).

    Attributes:
        claim: the words of the claim, as they stand in the field.
        field: the field that makes the claim.
        expression: a Python expression over numpy as np, sympy and math.
        expected: the value that the text states, as text.
    """

    claim: str
    field: str = ""
    expression: str
    expected: str


class NumericOutcome(Frozen):
    """What a kernel answered for a numeric check.

    Attributes:
        check: the claim and its expression.
        state: `passed`, `failed` or `not_executed` (no kernel was to be had).
        observed: the value the kernel gave, or the error, as text.
    """

    check: NumericCheck
    state: Literal["passed", "failed", "not_executed"]
    observed: str = ""


class Edit(Frozen):
    """A concrete change to a file.

    Attributes:
        path: relative to the workspace, with forward slashes.
        start: first line replaced, from 1.
        end: last line replaced; `start - 1` for a pure insertion before `start`.
        old: the text of those lines, verbatim with newlines; it must still match when the edit is applied.
        new: what stands there afterwards.
    """

    path: str
    start: int = Field(ge=1)
    end: int = Field(ge=0)
    old: str
    new: str


class Violation(Frozen):
    """A broken rule.

    Attributes:
        rule: `F1` to `F8`, or a structural rule id such as `field-missing`.
        field: the field it is in; empty for the node as a whole.
        quote: the offending words; empty where something is absent.
        message: one sentence that says what is wrong and what would be right.
    """

    rule: str
    field: str = ""
    quote: str = ""
    message: str
