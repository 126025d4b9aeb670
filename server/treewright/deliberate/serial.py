"""The serial loop: one lens, one critique, one refinement, one score at a time (contract: deliberation, 2).

Every function takes an open thought, changes it in place and refuses before it changes anything.
"""

from collections.abc import Mapping

from treewright.deliberate.phase import convergence, is_scored, serial_step
from treewright.deliberate.reply import Refusal
from treewright.deliberate.session import CritiqueRound, Thought
from treewright.deliberate.settings import SerialSettings
from treewright.deliberate.stages import lens_rotation
from treewright.deliberate.utility import merge_scores


def choose_lens(thought: Thought, settings: SerialSettings, known: list[str]) -> str:
    """Return the next lens of a thought: the first of its stage's rotation used least so far.

    Raises:
        Refusal: `unknown_lens` when there is no lens at all.
    """
    rotation = lens_rotation(thought.stage, settings.default_lenses, known)
    if not rotation:
        raise Refusal("unknown_lens", lens="", lenses="none: the lenses folder is empty")
    used = [one.lens for one in thought.critique_rounds]
    return min(rotation, key=lambda name: (used.count(name), rotation.index(name)))


def open_critique(thought: Thought, settings: SerialSettings, lens: str | None, known: list[str]) -> str:
    """Start a round, or hand out the open round's lens again.

    Args:
        thought: the open thought.
        settings: the session's serial settings.
        lens: a known lens; None to let the stage choose.
        known: names of the lenses that exist.

    Returns:
        The lens of the open round.
    """
    step = serial_step(thought, settings)
    if step in ("refine", "score"):
        raise Refusal(f"need_{step}")
    if step == "submit":
        last = thought.critique_rounds[-1]
        last.lens = lens or last.lens
        return last.lens
    if len(thought.critique_rounds) >= settings.round_cap:
        raise Refusal("serial_budget", rounds=len(thought.critique_rounds))
    chosen = lens or choose_lens(thought, settings, known)
    thought.critique_rounds.append(CritiqueRound(round_index=len(thought.critique_rounds), lens=chosen))
    return chosen


def submit(thought: Thought, settings: SerialSettings, text: str) -> None:
    """Record the critique of the open round; a second one is refused, so that the first is not lost."""
    _expect(thought, settings, "submit")
    if not text:
        raise Refusal("empty_critique")
    thought.critique_rounds[-1].critique_text = text


def refine(thought: Thought, settings: SerialSettings, text: str, challenged: list[str]) -> None:
    """Record the refined text of the open round and the assumptions that the critique challenged."""
    _expect(thought, settings, "refine")
    if not text:
        raise Refusal("empty_refinement")
    thought.critique_rounds[-1].refined_content = text
    thought.challenged_assumptions = list(dict.fromkeys([*thought.challenged_assumptions, *challenged]))


def score(thought: Thought, settings: SerialSettings, given: Mapping[str, float]) -> list[str]:
    """Score the open round.

    Args:
        thought: the open thought.
        settings: the session's serial settings.
        given: scores by dimension; missing ones carry forward, on the first round they count as 0.5.

    Returns:
        The dimensions that were assumed.
    """
    _expect(thought, settings, "score")
    last = thought.critique_rounds[-1]
    before = thought.final_utility_scores if last.round_index else None
    scores, assumed = merge_scores(given, before)
    if before is not None:
        last.delta_score = round(scores.mean - before.mean, 9)  # 0.55 - 0.50 is a gain of 0.05
    thought.final_utility_scores = scores
    return assumed


def commit(thought: Thought, settings: SerialSettings) -> str:
    """Lock a thought whose last round is scored; its last refinement becomes its content.

    Returns:
        Why it ended: a convergence reason, or `early` when the caller stopped before any.
    """
    if not thought.critique_rounds or not is_scored(thought, thought.critique_rounds[0]):
        _expect_rounds(thought, settings)
    step = serial_step(thought, settings)
    if step in ("submit", "refine", "score"):
        raise Refusal(f"need_{step}")
    reason = convergence(thought, settings) or "early"
    if thought.draft is None and thought.latest_text != thought.content:
        thought.draft = thought.content
    thought.content = thought.latest_text
    thought.committed = True
    return reason


def _expect_rounds(thought: Thought, settings: SerialSettings) -> None:
    step = serial_step(thought, settings)
    raise Refusal("zero_rounds") if step == "critique" else Refusal(f"need_{step}")


def _expect(thought: Thought, settings: SerialSettings, wanted: str) -> None:
    """Refuse a step that is not the one the rounds call for, naming what comes first."""
    step = serial_step(thought, settings)
    if step == wanted:
        return
    if step in ("critique", "next_lens"):
        raise Refusal("need_critique")
    if step == "converged":
        raise Refusal("already_converged")
    raise Refusal(f"need_{step}")
