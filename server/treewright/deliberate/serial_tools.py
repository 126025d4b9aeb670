"""The tools of serial mode (contract: deliberation, 2)."""

from treewright.deliberate import serial
from treewright.deliberate.phase import convergence
from treewright.deliberate.reading import (
    SCORES_EXAMPLE,
    SCORES_SHAPE,
    Unclear,
    read_list,
    read_scores,
    read_text,
)
from treewright.deliberate.reply import Refusal, Reply, answer
from treewright.deliberate.session import Session, Thought
from treewright.deliberate.toolbox import Toolbox, tool


def open_thought(session: Session) -> Thought:
    """Return the open thought.

    Raises:
        Refusal: `begin_first`.
    """
    thought = session.current_thought
    if thought is None:
        begin = "begin_thought" if session.mode == "serial" else "begin_subagent_thought"
        raise Refusal("begin_first", next_tool=begin)
    return thought


def refuse_second_thought(session: Session) -> None:
    """Refuse when a thought is open.

    Raises:
        Refusal: `uncommitted_exists`.
    """
    thought = session.current_thought
    if thought is not None:
        raise Refusal("uncommitted_exists", stage=thought.stage)


class SerialTools(Toolbox):
    """begin, critique, submit, refine, score, commit."""

    @tool("serial")
    def begin_thought(
        self, session: Session, content: object, tags: object = None, axioms: object = None
    ) -> Reply:
        """Save the first draft of a thought in the current stage."""
        refuse_second_thought(session)
        text = read_text("content", content, "Caching helps only if reads outnumber writes.")
        labels = read_list("tags", tags, "cache, latency")
        taken = read_list("axioms", axioms, "reads outnumber writes")
        thought = self.add_thought(session, text, labels)
        thought.axioms = taken
        return answer("begin_thought", position=thought.position, stage=thought.stage)

    def add_thought(self, session: Session, text: str, tags: list[str]) -> Thought:
        """Add an open thought to the current stage and make it the current one."""
        thought = Thought(
            id=self._around.new_id(),
            stage=session.current_stage,
            position=len(session.committed_in(session.current_stage)) + 1,
            timestamp=self._around.clock(),
            content=text,
            tags=tags,
        )
        session.thoughts.append(thought)
        session.current_thought_id = thought.id
        return thought

    @tool("serial")
    def critique_current_thought(self, session: Session, lens: object = None) -> Reply:
        """Hand out the next lens, or the open one again."""
        thought = open_thought(session)
        settings = self.settings_of(session).serial
        lenses = self._around.lenses
        chosen = serial.open_critique(thought, settings, self._known_lens(lens), list(lenses))
        facts = {"lens": chosen, "directive": _directive(self, chosen), "text": thought.latest_text}
        return answer("critique", facts, lens=chosen)

    def _known_lens(self, lens: object) -> str | None:
        wanted = read_text("lens", lens, "weak_evidence", required=False)
        if not wanted:
            return None
        flat = {name.replace("_", "").casefold(): name for name in self._around.lenses}
        key = wanted.strip("\"'`").replace("_", "").replace("-", "").replace(" ", "").casefold()
        if key not in flat:
            raise Refusal("unknown_lens", lens=wanted[:60], lenses=", ".join(self._around.lenses))
        return flat[key]

    @tool("serial")
    def submit_critique(self, session: Session, text: object) -> Reply:
        """Record the critique of the open round."""
        thought = open_thought(session)
        settings = self.settings_of(session).serial
        serial.submit(
            thought, settings, read_text("text", text, "The claim rests on one test.", required=False)
        )
        return answer("submit_critique")

    @tool("serial")
    def refine_current_thought(
        self, session: Session, new_content: object, challenged_assumptions: object = None
    ) -> Reply:
        """Record the refined text of the open round."""
        thought = open_thought(session)
        settings = self.settings_of(session).serial
        challenged = read_list("challenged_assumptions", challenged_assumptions, "reads outnumber writes")
        text = read_text(
            "new_content", new_content, "Caching helps here: 9 of 10 calls read.", required=False
        )
        serial.refine(thought, settings, text, challenged)
        return answer("refine", {"shape": SCORES_SHAPE, "example": SCORES_EXAMPLE})

    @tool("serial")
    def score_current_thought(self, session: Session, scores: object = None) -> Reply:
        """Score the refined text and say whether the thought has converged."""
        thought = open_thought(session)
        settings = self.settings_of(session).serial
        given = read_scores("scores", scores)
        assumed = serial.score(thought, settings, given)
        if thought.final_utility_scores is None:
            raise Unclear("scores", "no scores", SCORES_SHAPE, SCORES_EXAMPLE)
        last = thought.critique_rounds[-1]
        reason = convergence(thought, settings)
        facts = {
            "score": round(thought.final_utility_scores.mean, 4),
            "delta": None if last.delta_score is None else round(last.delta_score, 4),
            "scores": thought.final_utility_scores.as_dict(),
            "assumed": assumed,
            "converged": reason is not None,
            "converged_reason": reason,
            "flagged": reason == "max_rounds",
        }
        name = "score_converged" if reason else "score_continue"
        shown = f"{thought.final_utility_scores.mean:.2f}"
        return answer(name, facts, score=shown, round=last.round_index + 1, reason=reason)

    @tool("serial")
    def commit_thought(self, session: Session) -> Reply:
        """Lock the open thought."""
        thought = open_thought(session)
        reason = serial.commit(thought, self.settings_of(session).serial)
        session.current_thought_id = None
        facts = {
            "thought_id": thought.id,
            "converged_reason": reason,
            "flagged": reason == "max_rounds",
            **self.guided(session),
        }
        line = self.line(session)
        return answer(
            "commit_thought", facts, position=thought.position, stage=thought.stage, reason=reason, line=line
        )


def _directive(box: Toolbox, name: str) -> str:
    return box._around.lenses[name].directive
