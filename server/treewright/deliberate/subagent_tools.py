"""The tools of subagent mode (contract: deliberation, 3).

A round that calls a model is taken in three steps: look at the session, call without holding it, then store
the round if nobody changed the thought meanwhile. No lock is held while a model thinks.
"""

from collections.abc import Sequence
from typing import Any

from treewright.deliberate.digest import compress
from treewright.deliberate.guidance import played_by_hand
from treewright.deliberate.nash import NashRound
from treewright.deliberate.phase import NECORT_STATES, closed_rounds, gate_met, gate_value, open_round, winner
from treewright.deliberate.ports import Negotiation, TaskPlan
from treewright.deliberate.reading import SCORES_SHAPE, Unclear, read_scores, read_text
from treewright.deliberate.reply import Refusal, Reply, answer
from treewright.deliberate.serial_tools import SerialTools, open_thought, refuse_second_thought
from treewright.deliberate.session import Session, SpecialistRound, Thought
from treewright.deliberate.settings import DeliberationSettings, specialist_endpoints
from treewright.deliberate.specialists import (
    FOCUS_TAG,
    Brief,
    add_candidate,
    add_round,
    brief_for,
    role_due,
    roster,
)
from treewright.deliberate.toolbox import Surroundings, tool
from treewright.deliberate.utility import DIMENSIONS, NEUTRAL, Utility
from treewright.errors import TreewrightError

ALL_SCORES = "correctness: 0.8, evidence: 0.7, novelty: 0.5, clarity: 0.8, bias resistance: 0.6, actionability: 0.7, coverage: 0.6"


class SubagentTools(SerialTools):
    """begin, advance, inspect, commit."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._unfinished: dict[tuple[str, int], NashRound] = {}

    @tool("subagent", opens="id")
    def begin_subagent_thought(
        self, session_id: str, content: object = None, prompt_focus: object = None
    ) -> Reply:
        """Begin a thought; an engine with an endpoint runs its first round at once."""
        with self.editing(session_id, "subagent", "begin_subagent_thought") as session:
            refuse_second_thought(session)
            text = read_text("content", content, "Cache reads, with a short lifetime.", required=False)
            focus = read_text("prompt_focus", prompt_focus, "cost", required=False)
            tags = [FOCUS_TAG + focus] if focus else []
            self.add_thought(session, text, tags)
            settings = self.settings_of(session)
            if settings.subagent.engine == "manual":
                return self._prompt(session, settings)
            if played_by_hand(settings):
                return self._no_endpoint(session, settings)
        return self._run_round(session_id)

    @tool("subagent", opens="id")
    def advance_subagent_round(
        self, session_id: str, candidate: object = None, scores: object = None
    ) -> Reply:
        """Take a specialist's candidate, or let the engine run a round."""
        with self.editing(session_id, "subagent", "advance_subagent_round") as session:
            thought = open_thought(session)
            settings = self.settings_of(session)
            by_hand = played_by_hand(settings)
            text = read_text("candidate", candidate, "Cache reads for one minute.", required=False)
            given = read_scores("scores", scores)
            if closed_rounds(thought) >= settings.subagent.max_rounds and not open_round(thought):
                raise Refusal("round_budget_exhausted", rounds=closed_rounds(thought))
            if text:
                return self._take(session, thought, settings, text, given)
            if by_hand or open_round(thought) or given:
                facts = self._prompt_facts(session, thought, settings)
                raise Refusal("need_candidate", facts=facts, role=facts["role"])
            if gate_met(thought, settings.subagent):
                return self._closed(thought, settings)
        return self._run_round(session_id)

    def _take(
        self,
        session: Session,
        thought: Thought,
        settings: DeliberationSettings,
        text: str,
        given: dict[str, float],
    ) -> Reply:
        """Record a candidate that the caller played."""
        missing = [name for name in DIMENSIONS if name not in given]
        if missing:
            raise Unclear(
                "scores",
                f"missing: {', '.join(missing)}; send the candidate again with all seven",
                SCORES_SHAPE,
                ALL_SCORES,
            )
        same = [one.agent_role for one in open_round(thought) if one.candidate_content == text]
        closed = add_candidate(thought, settings, text, Utility(**given))
        reply = self._closed(thought, settings) if closed else self._prompt(session, settings)
        return {**reply, "same_as": same} if same else reply

    def _prompt_facts(
        self, session: Session, thought: Thought, settings: DeliberationSettings
    ) -> dict[str, Any]:
        role = role_due(thought, settings)
        brief = self._brief(session, thought, settings)
        return {
            "role": role,
            "prompt": brief.candidate_prompt(role),
            "specialist": roster(settings).index(role) + 1,
            "specialists": len(roster(settings)),
            "round": closed_rounds(thought) + 1,
            "shape": f"candidate: a text; scores: {SCORES_SHAPE}",
            "example": ALL_SCORES,
        }

    def _prompt(self, session: Session, settings: DeliberationSettings) -> Reply:
        """Hand out the prompt of the specialist that is due."""
        facts = self._prompt_facts(session, open_thought(session), settings)
        return answer("specialist_prompt", facts, role=facts["role"])

    def _brief(self, session: Session, thought: Thought, settings: DeliberationSettings) -> Brief:
        return brief_for(session, thought, settings, self._around.lenses, compress(session)[0])

    def _no_endpoint(self, session: Session, settings: DeliberationSettings) -> Reply:
        """Say that there is no endpoint, and how to go on by hand; the thought stays begun."""
        facts = self._prompt_facts(session, open_thought(session), settings)
        return self.explain(
            Refusal("no_endpoint", facts=facts, engine=settings.subagent.engine, role=facts["role"]), ""
        )

    def _run_round(self, session_id: str) -> Reply:
        """Let the session's engine run one round, without holding the session."""
        with self.reading(session_id) as session:
            settings = self.settings_of(session)
            thought = open_thought(session)
            seen = (thought.id, len(thought.specialist_rounds))
            brief = self._brief(session, thought, settings)
            previous = [one for one in thought.specialist_rounds if one.round_index == brief.round_index - 1]
        try:
            if settings.subagent.engine == "nash":
                fresh = self._nash(brief, previous, settings)
            else:
                fresh = self._necort(brief, settings)
        except TreewrightError as error:
            return self._adapter_error(session_id, settings, error.message)
        with self.editing(session_id, "subagent", "advance_subagent_round") as session:
            open_now = session.current_thought
            if open_now is None or (open_now.id, len(open_now.specialist_rounds)) != seen:
                raise Refusal("state_changed")
            try:
                add_round(open_now, fresh)
                self._faulted.discard(open_now.id)
            except ValueError as error:
                raise self._adapter_refusal(session, settings, str(error)) from error
            return self._closed(open_now, settings)

    def _nash(
        self, brief: Brief, previous: Sequence[SpecialistRound], settings: DeliberationSettings
    ) -> list[SpecialistRound]:
        """Perform a rating game's tasks until the round is closed.

        Raises:
            TreewrightError: `adapter_error`; what was answered so far is kept for the next call.
        """
        driver = self._around.driver
        if driver is None:
            raise TreewrightError("adapter_error", "no provider of language models is connected")
        key = (brief.thought_id, brief.round_index)
        rating_game = self._unfinished.setdefault(key, NashRound(brief, previous))
        rating_game.retry()
        endpoints = specialist_endpoints(self._around.settings, settings)
        while tasks := rating_game.ready():
            answers = driver.perform(TaskPlan(tasks, endpoints, settings.subagent.sequential_fallback))
            for task in tasks:
                if task.id in answers.texts:
                    rating_game.accept(task.id, answers.texts[task.id])
                else:
                    rating_game.reject(task.id, answers.faults.get(task.id, "no answer came back"))
        fresh = rating_game.outcome()
        if fresh is None:
            raise TreewrightError("adapter_error", rating_game.failed)
        self._unfinished.pop(key, None)
        return fresh

    def _necort(self, brief: Brief, settings: DeliberationSettings) -> list[SpecialistRound]:
        """Let the third-party core negotiate one round.

        Raises:
            TreewrightError: it is absent, broken, or its endpoint is.
        """
        negotiator = self._around.negotiator
        if negotiator is None:
            raise TreewrightError("adapter_error", "the necort adapter is not installed")
        endpoints = specialist_endpoints(self._around.settings, settings)
        outcome = negotiator.negotiate(
            brief.group_prompt(), len(brief.roles), endpoints, settings.subagent.necort_path
        )
        return _from_negotiation(brief, outcome)

    def _adapter_error(self, session_id: str, settings: DeliberationSettings, fault: str) -> Reply:
        with self.reading(session_id) as session:
            return self.explain(self._adapter_refusal(session, settings, fault), "")

    def _adapter_refusal(self, session: Session, settings: DeliberationSettings, fault: str) -> Refusal:
        thought = open_thought(session)
        self._faulted.add(thought.id)
        facts = self._prompt_facts(session, thought, settings)
        return Refusal(
            "adapter_error",
            facts=facts,
            engine=settings.subagent.engine,
            fault=fault.rstrip("."),
            role=facts["role"],
        )

    def _closed(self, thought: Thought, settings: DeliberationSettings) -> Reply:
        """Tell how the last closed round ended."""
        best = winner(thought)
        if best is None:
            raise Refusal("no_rounds")
        met = gate_met(thought, settings.subagent)
        spent = closed_rounds(thought) >= settings.subagent.max_rounds
        value = gate_value(best)
        facts = {
            "winner": best.agent_role,
            "candidate": best.candidate_content,
            "equilibrium_state": best.equilibrium_state,
            "gate_value": round(value, 4),
            "threshold": settings.subagent.equilibrium_threshold,
            "converged": met,
            "converged_reason": _reason(met=met, spent=spent, best=best),
            "rounds_left": max(0, settings.subagent.max_rounds - closed_rounds(thought)),
        }
        return answer(
            "round_settled" if met or spent else "round_again",
            facts,
            round=best.round_index + 1,
            role=best.agent_role,
            value=f"{value:.2f}",
            threshold=settings.subagent.equilibrium_threshold,
            metric="correctness" if best.equilibrium_state in NECORT_STATES else "mean",
            verdict="Settled." if met else "No round is left.",
        )

    @tool("subagent", opens="read")
    def inspect_utility_matrix(self, session: Session) -> Reply:
        """Show how every candidate of the open thought scores."""
        thought = open_thought(session)
        matrix = [
            {
                "round": one.round_index + 1,
                "role": one.agent_role,
                "mean": round(one.utility_vector.mean, 4),
                "state": one.equilibrium_state,
                "selected": one.was_selected,
                **one.utility_vector.as_dict(),
            }
            for one in thought.specialist_rounds
        ]
        facts = {**self.guided(session), "dimensions": list(DIMENSIONS), "matrix": matrix}
        return answer("inspect", facts, candidates=len(matrix), rounds=closed_rounds(thought))

    @tool("subagent")
    def commit_subagent_thought(self, session: Session) -> Reply:
        """Commit the selected candidate; a thought begun with a text may be committed without rounds."""
        thought = open_thought(session)
        settings = self.settings_of(session)
        answered = open_round(thought)
        best = winner(thought)
        if answered:
            facts = self._prompt_facts(session, thought, settings)
            raise Refusal("round_open", facts=facts, missing=len(roster(settings)) - len(answered))
        if best is None and not thought.content:
            raise Refusal("no_rounds", facts=self._prompt_facts(session, thought, settings))
        reason = "unrated" if best is None else self._commit_reason(thought, settings, best)
        if best is not None and best.candidate_content != thought.content:
            thought.draft, thought.content = thought.content, best.candidate_content
        thought.committed = True
        session.current_thought_id = None
        facts = {"thought_id": thought.id, "converged_reason": reason, **self.guided(session)}
        line = self.line(session)
        return answer(
            "commit_subagent", facts, position=thought.position, stage=thought.stage, reason=reason, line=line
        )

    def _commit_reason(self, thought: Thought, settings: DeliberationSettings, best: SpecialistRound) -> str:
        spent = closed_rounds(thought) >= settings.subagent.max_rounds
        return _reason(met=gate_met(thought, settings.subagent), spent=spent, best=best) or "early"


def _reason(*, met: bool, spent: bool, best: SpecialistRound) -> str | None:
    if met:
        return "equilibrium" if best.equilibrium_state == "in_equilibrium" else "threshold"
    return "max_rounds" if spent else None


def _from_negotiation(brief: Brief, outcome: Negotiation) -> list[SpecialistRound]:
    """Turn the core's one blended rating into our dimensions: three are filled, four stay neutral.

    Raises:
        TreewrightError: the numbers of candidates, ratings and specialists do not agree.
    """
    count = len(brief.roles)
    if len(outcome.candidates) != count or len(outcome.ratings) != count or not 0 <= outcome.selected < count:
        raise TreewrightError("adapter_error", "the core answered with another number of candidates")
    inside, preferred, outside = NECORT_STATES
    return [
        SpecialistRound(
            round_index=brief.round_index,
            agent_role=role,
            candidate_content=outcome.candidates[number],
            utility_vector=blended(outcome.ratings[number]),
            equilibrium_state=inside
            if number in outcome.in_equilibrium
            else preferred
            if number == outcome.selected
            else outside,
            was_selected=number == outcome.selected,
        )
        for number, role in enumerate(brief.roles)
    ]


def blended(rating: float) -> Utility:
    """Return the utility that one blended rating (0 to 1) can honestly fill (contract: deliberation, 3)."""
    value = min(1.0, max(0.0, rating))
    known = {"correctness": value, "clarity": value, "coverage": value}
    return Utility(**{name: known.get(name, NEUTRAL) for name in DIMENSIONS})
