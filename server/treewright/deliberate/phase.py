"""At which step a thought is, derived from its rounds and from nothing else (contract: deliberation, 1)."""

from typing import Literal

from treewright.deliberate.distance import normalized_distance
from treewright.deliberate.session import CritiqueRound, SpecialistRound, Thought
from treewright.deliberate.settings import SerialSettings, SubagentSettings

SerialStep = Literal["critique", "submit", "refine", "score", "next_lens", "converged"]
SubagentStep = Literal["candidate", "round", "again", "settled"]
Convergence = Literal["fixed_point", "diminishing_returns", "max_rounds"]

MANUAL_STATES = ("best_mean", "outranked")
NASH_STATES = ("in_equilibrium", "preferred", "off_equilibrium")
NECORT_STATES = ("necort_equilibrium", "necort_preferred", "necort_off")
PENDING = "pending"


def is_scored(thought: Thought, one: CritiqueRound) -> bool:
    """Return whether a critique round has been scored.

    The first round's delta is null even when scored (it is the baseline); that it was scored shows in the
    thought's own scores.
    """
    if one.round_index == 0:
        return thought.final_utility_scores is not None
    return one.delta_score is not None


def serial_step(thought: Thought, settings: SerialSettings) -> SerialStep:
    """Return what an open thought of a serial session needs next."""
    if not thought.critique_rounds:
        return "critique"
    last = thought.critique_rounds[-1]
    if not last.critique_text:
        return "submit"
    if not last.refined_content:
        return "refine"
    if not is_scored(thought, last):
        return "score"
    return "converged" if convergence(thought, settings) else "next_lens"


def convergence(thought: Thought, settings: SerialSettings) -> Convergence | None:
    """Return why a scored thought needs no further round, or None (contract: deliberation, 2; in this order)."""
    rounds = [one for one in thought.critique_rounds if one.refined_content and is_scored(thought, one)]
    if not rounds:
        return None
    before = rounds[-2].refined_content if len(rounds) > 1 else thought.first_text
    epsilon = settings.edit_distance_epsilon
    if normalized_distance(rounds[-1].refined_content, before, epsilon) <= epsilon:
        return "fixed_point"
    deltas = [one.delta_score for one in rounds[-2:]]
    if len(deltas) == 2 and all(delta is not None and delta < settings.score_threshold for delta in deltas):
        return "diminishing_returns"
    return "max_rounds" if len(rounds) >= settings.round_cap else None


def open_round(thought: Thought) -> list[SpecialistRound]:
    """Return the candidates of the specialist round that is not closed yet (may be empty)."""
    return [one for one in thought.specialist_rounds if one.equilibrium_state == PENDING]


def closed_rounds(thought: Thought) -> int:
    """Return how many specialist rounds have a winner."""
    return sum(one.was_selected for one in thought.specialist_rounds)


def winner(thought: Thought) -> SpecialistRound | None:
    """Return the winner of the last closed specialist round."""
    return next((one for one in reversed(thought.specialist_rounds) if one.was_selected), None)


def gate_value(selected: SpecialistRound) -> float:
    """Return the number that the gate compares: the mean of the seven, but correctness for necort.

    necort fills three dimensions from one blended rating and leaves four neutral, so its mean could not
    reach the threshold (contract: deliberation, 3).
    """
    if selected.equilibrium_state in NECORT_STATES:
        return selected.utility_vector.correctness
    return selected.utility_vector.mean


def gate_met(thought: Thought, settings: SubagentSettings) -> bool:
    """Return whether the last closed round ends the thought by its engine's own rule.

    nash: no specialist would gain by switching; manual and necort: the gate value reaches
    `equilibrium_threshold`.
    """
    selected = winner(thought)
    if selected is None:
        return False
    if selected.equilibrium_state in NASH_STATES:
        return selected.equilibrium_state == "in_equilibrium"
    return gate_value(selected) >= settings.equilibrium_threshold - 1e-9


def subagent_step(thought: Thought, settings: SubagentSettings, *, played_by_hand: bool) -> SubagentStep:
    """Return what an open thought of a subagent session needs next.

    Args:
        thought: the open thought.
        settings: the session's.
        played_by_hand: whether the caller plays the specialists (engine manual, or no endpoint).
    """
    if open_round(thought):
        return "candidate"
    closed = closed_rounds(thought)
    if closed == 0:
        return "candidate" if played_by_hand else "round"
    if gate_met(thought, settings) or closed >= settings.max_rounds:
        return "settled"
    return "candidate" if played_by_hand else "again"
