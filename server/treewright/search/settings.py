"""How a search goes about it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.search.task import SearchTask

GeneratorName = Literal["model", "revise", "mutate", "given"]

CANDIDATES_WARNED_ABOVE = 5
"""More model candidates than this warn W051 (contract: search, 2)."""


class SearchSettings(BaseModel):
    """Bounds and choices of one search.

    Attributes:
        generators: who proposes programs.
        max_candidates: most programs that cost money, drafts and revisions together.
        max_mutants: most mutants to screen, over the whole search.
        mutate_seconds: seconds that one mutate task may take.
        admitted_mutants: most passing mutants that become branches.
        revise_depth: most revisions in a row from one draft.
        drafts: model drafts before revising starts; the rest of `max_candidates` goes to revisions.
        frontier: how the branch to revise next is chosen.
        exhaustive: go on after a branch has passed every visible check.
        efficiency: among branches that pass everything, prefer less CPU time, then less memory.
        estimate_usd: worst case of one model call, for the reservation; 0 when it is known to be free.
        varied: ask for further drafts in different ways; else they all ask the same, and go out as one request.
        staged: ask for the greedy draft alone first, and for the others only when it fails.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    generators: tuple[GeneratorName, ...] = ()
    max_candidates: int = Field(default=5, ge=1)
    max_mutants: int = Field(default=100_000, ge=1)
    mutate_seconds: float = Field(default=60.0, gt=0)
    admitted_mutants: int = Field(default=4, ge=1)
    revise_depth: int = Field(default=2, ge=0)
    drafts: int | None = Field(default=None, ge=1)
    frontier: Literal["best_first", "uct"] = "best_first"
    exhaustive: bool = False
    efficiency: bool = False
    estimate_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    varied: bool = True
    staged: bool = True

    @property
    def draft_count(self) -> int:
        """Drafts that a model is asked for."""
        if "model" not in self.generators:
            return 0
        if "revise" not in self.generators:
            return self.max_candidates
        return min(self.max_candidates, self.drafts or max(1, (self.max_candidates + 1) // 2))

    def warnings(self) -> tuple[str, ...]:
        """Codes of what a user should know before it starts."""
        return ("W051",) if self.max_candidates > CANDIDATES_WARNED_ABOVE else ()


def default_generators(task: SearchTask, *, model_configured: bool, given: bool) -> tuple[GeneratorName, ...]:
    """The generators of a search that names none (contract: search, 5).

    Args:
        task: `mutate` needs its starting program.
        model_configured: whether a model can be asked.
        given: whether programs were handed in.
    """
    names: list[GeneratorName] = []
    if given:
        names.append("given")
    if task.start.strip():
        names.append("mutate")
    if model_configured:
        names.append("model")
    return tuple(names)
