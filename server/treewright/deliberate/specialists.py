"""Specialists: their prompts, and the selection when the caller plays them (contract: deliberation, 3)."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from treewright.data import data_path
from treewright.deliberate.phase import MANUAL_STATES, PENDING, closed_rounds, open_round, winner
from treewright.deliberate.ports import Lenses
from treewright.deliberate.session import Session, SpecialistRound, Thought
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.stages import lens_rotation, specialist_weight
from treewright.deliberate.utility import DIMENSIONS, Utility

FOCUS_TAG = "focus: "
"""Prefix of the tag that keeps a thought's prompt focus for all of its specialists."""

SCAFFOLD_LENSES = 2
"""How many lenses scaffold a specialist's prompt: as many as a stage names for itself."""


@cache
def _texts() -> dict[str, dict[str, str]]:
    raw = tomllib.loads(data_path("deliberate", "specialists.toml").read_text(encoding="utf-8"))
    return {group: {name: text.strip("\n") for name, text in raw[group].items()} for group in raw}


def framing(role: str) -> str:
    """Return who a specialist is, as the opening line of its prompts."""
    framings = _texts()["framing"]
    for name, text in framings.items():
        if name.casefold() == role.casefold() and name != "other":
            return text
    return framings["other"].format(role=role)


@dataclass(frozen=True, slots=True)
class Brief:
    """Everything a specialist of one round is told."""

    thought_id: str
    question: str
    stage: str
    digest: str
    focus: str
    seed: str
    lenses: str
    round_index: int
    roles: tuple[str, ...]
    weights: tuple[float, ...]

    def candidate_prompt(self, role: str) -> str:
        """Return the prompt for a fresh candidate."""
        parts = _texts()["prompt"]
        return parts["candidate"].format(
            framing=framing(role),
            question=self.question,
            stage=self.stage,
            context=parts["context"].format(digest=self.digest) + "\n" if self.digest else "",
            focus=parts["focus"].format(focus=self.focus) + "\n" if self.focus else "",
            seed=parts["seed"].format(text=self.seed) + "\n" if self.seed else "",
            weight=f"{self.weights[self.roles.index(role)]:.1f}",
            lenses=self.lenses,
        )

    def improve_prompt(self, own: SpecialistRound, best: SpecialistRound) -> str:
        """Return the prompt with which a specialist improves its candidate of the round before."""
        ratings = ", ".join(f"{name} {value:.2f}" for name, value in own.utility_vector.as_dict().items())
        return _texts()["prompt"]["improve"].format(
            framing=framing(own.agent_role),
            question=self.question,
            stage=self.stage,
            own=own.candidate_content,
            best=best.candidate_content,
            ratings=ratings,
        )

    def rating_prompt(self, role: str, candidate: str) -> str:
        """Return the prompt with which a specialist rates a candidate."""
        return _texts()["prompt"]["rate"].format(
            framing=framing(role),
            question=self.question,
            stage=self.stage,
            candidate=candidate,
            dimensions=", ".join(DIMENSIONS),
        )

    def group_prompt(self) -> str:
        """Return the prompt for an engine that brings its own voices."""
        parts = _texts()["prompt"]
        return "\n\n".join(
            part
            for part in (
                "\n".join(
                    f"{framing(role)} (weight {weight:.1f})"
                    for role, weight in zip(self.roles, self.weights, strict=True)
                ),
                parts["context"].format(digest=self.digest).strip() if self.digest else "",
                parts["focus"].format(focus=self.focus).strip() if self.focus else "",
                parts["seed"].format(text=self.seed).strip() if self.seed else "",
                f"The answer will be attacked from these sides; do not name them:\n{self.lenses}",
                f"Stage: {self.stage}\nQuestion: {self.question}",
                "Write one complete answer for this stage in plain text, at most 200 words.",
            )
            if part
        )


def brief_for(
    session: Session, thought: Thought, settings: DeliberationSettings, lenses: Lenses, digest: str
) -> Brief:
    """Gather what the specialists of a thought's next (or open) round are told.

    Args:
        session: the session.
        thought: its open thought.
        settings: the session's settings.
        lenses: the lenses that exist.
        digest: what earlier stages settled; may be empty.
    """
    best = winner(thought)
    names = lens_rotation(thought.stage, settings.serial.default_lenses, lenses)[:SCAFFOLD_LENSES]
    roles = roster(settings)
    return Brief(
        thought_id=thought.id,
        question=session.question,
        stage=thought.stage,
        digest=digest,
        focus=next((tag.removeprefix(FOCUS_TAG) for tag in thought.tags if tag.startswith(FOCUS_TAG)), ""),
        seed=best.candidate_content if best else thought.content,
        lenses="\n".join(f"- {name}: {lenses[name].attacks}" for name in names) or "- none",
        round_index=closed_rounds(thought),
        roles=roles,
        weights=tuple(specialist_weight(thought.stage, role) for role in roles),
    )


def roster(settings: DeliberationSettings) -> tuple[str, ...]:
    """Return the configured specialists, each once, in order."""
    return tuple(dict.fromkeys(settings.subagent.agents))


def role_due(thought: Thought, settings: DeliberationSettings) -> str:
    """Return the specialist whose candidate is due next when the caller plays them."""
    roles = roster(settings)
    answered = {one.agent_role for one in open_round(thought)}
    return next((role for role in roles if role not in answered), roles[-1])


def add_candidate(thought: Thought, settings: DeliberationSettings, text: str, scores: Utility) -> bool:
    """Record the candidate of the specialist that is due; close the round after the last one.

    Returns:
        Whether the round is closed.
    """
    role = role_due(thought, settings)
    thought.specialist_rounds.append(
        SpecialistRound(
            round_index=closed_rounds(thought), agent_role=role, candidate_content=text, utility_vector=scores
        )
    )
    answered = {one.agent_role for one in open_round(thought)}
    if any(role not in answered for role in roster(settings)):
        return False
    _select_best_mean(thought, open_round(thought))
    return True


def _select_best_mean(thought: Thought, candidates: Sequence[SpecialistRound]) -> None:
    """Mark the candidate with the highest mean as selected; of equals the earliest."""
    best = max(candidates, key=lambda one: one.utility_vector.mean)
    for one in candidates:
        one.was_selected = one is best
        one.equilibrium_state = MANUAL_STATES[0] if one is best else MANUAL_STATES[1]
    thought.final_utility_scores = best.utility_vector


def add_round(thought: Thought, candidates: Sequence[SpecialistRound]) -> None:
    """Add a round that an engine closed by itself.

    Raises:
        ValueError: it does not have exactly one winner, or is not closed.
    """
    winners = [one for one in candidates if one.was_selected]
    if len(winners) != 1 or any(one.equilibrium_state == PENDING for one in candidates):
        raise ValueError(f"a closed round has exactly one winner, this one has {len(winners)}")
    thought.specialist_rounds.extend(candidates)
    thought.final_utility_scores = winners[0].utility_vector
