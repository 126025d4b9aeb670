"""The seven dimensions on which both modes score a text (contract: deliberation, 1)."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

DIMENSIONS: Final = (
    "correctness",
    "evidence",
    "novelty",
    "clarity",
    "bias_resistance",
    "actionability",
    "coverage",
)
"""Names of the dimensions, in the order in which they are always shown."""

NEUTRAL: Final = 0.5
"""What a dimension counts as while nothing is known about it (contract: deliberation, 2)."""


class Utility(BaseModel):
    """How good a text is, on seven dimensions from 0 to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    correctness: float = Field(ge=0, le=1)
    evidence: float = Field(ge=0, le=1)
    novelty: float = Field(ge=0, le=1)
    clarity: float = Field(ge=0, le=1)
    bias_resistance: float = Field(ge=0, le=1)
    actionability: float = Field(ge=0, le=1)
    coverage: float = Field(ge=0, le=1)

    @property
    def mean(self) -> float:
        """The score: the plain mean of the seven dimensions."""
        return sum(self.as_dict().values()) / len(DIMENSIONS)

    def as_dict(self) -> dict[str, float]:
        """Return the dimensions by name, in their fixed order."""
        return {name: getattr(self, name) for name in DIMENSIONS}


def merge_scores(given: Mapping[str, float], previous: Utility | None) -> tuple[Utility, list[str]]:
    """Complete given scores to all seven dimensions.

    Args:
        given: scores by dimension, each 0 to 1; may be partial.
        previous: the scores of the round before; None on the first round.

    Returns:
        The full scores, and the dimensions that were assumed at `NEUTRAL` (only on a first round;
        later a missing dimension carries forward and is not an assumption).
    """
    missing = [name for name in DIMENSIONS if name not in given]
    base = previous.as_dict() if previous else dict.fromkeys(DIMENSIONS, NEUTRAL)
    return Utility(**{**base, **given}), ([] if previous else missing)


def weighted_mean(vectors: list[Utility], weights: list[float]) -> Utility:
    """Average several ratings of one text, dimension by dimension.

    Args:
        vectors: ratings, at least one.
        weights: as many positive weights.
    """
    total = sum(weights)
    averaged = {
        name: sum(getattr(vector, name) * weight for vector, weight in zip(vectors, weights, strict=True))
        / total
        for name in DIMENSIONS
    }
    return Utility(**{name: min(1.0, max(0.0, value)) for name, value in averaged.items()})
