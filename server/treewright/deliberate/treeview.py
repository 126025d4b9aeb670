"""A session as a tree, and what passes between sessions and explorations (contract: deliberation, 7)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from treewright.deliberate.session import Session, Thought
from treewright.deliberate.utility import Utility

NodeKind = Literal["session", "stage", "thought", "round"]


@dataclass(frozen=True, slots=True)
class SessionNode:
    """One point of a session's tree.

    Attributes:
        id: unique in the session and stable: it does not change when nodes are added.
        kind: session, stage, thought or round.
        label: one line for a list.
        text: the node's document, plain text.
        state: the session's status; `current`, `done` or `ahead` for a stage; `committed` or `open` for a thought;
            a round's lens, or a candidate's equilibrium state.
        scores: the seven dimensions, where there are any.
        score: their mean.
        children: the nodes below, in order.
    """

    id: str
    kind: NodeKind
    label: str
    text: str
    state: str
    scores: dict[str, float] | None = None
    score: float | None = None
    children: list["SessionNode"] = field(default_factory=list)

    def walk(self) -> Iterator["SessionNode"]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def session_as_tree(session: Session) -> SessionNode:
    """Return a session as a tree: session, stages, thoughts, rounds."""
    stages = [
        SessionNode(
            id=f"{session.id}/stage/{number}",
            kind="stage",
            label=stage,
            text=stage,
            state=_stage_state(session, number),
            children=[_thought(thought) for thought in session.thoughts if thought.stage == stage],
        )
        for number, stage in enumerate(session.expected_stages)
    ]
    return SessionNode(
        session.id, "session", _line(session.question), session.question, session.status, children=stages
    )


def _stage_state(session: Session, number: int) -> str:
    if session.status == "finalized" or number < session.stage_index:
        return "done"
    return "current" if number == session.stage_index else "ahead"


def _thought(thought: Thought) -> SessionNode:
    rounds = [
        SessionNode(
            f"{thought.id}/round/{one.round_index}",
            "round",
            f"{one.round_index + 1}. {one.lens}",
            f"{one.critique_text}\n\n{one.refined_content}".strip(),
            one.lens,
        )
        for one in thought.critique_rounds
    ]
    rounds += [
        SessionNode(
            f"{thought.id}/round/{one.round_index}/{number}",
            "round",
            f"{one.round_index + 1}. {one.agent_role}",
            one.candidate_content,
            one.equilibrium_state,
            *_scores(one.utility_vector),
        )
        for number, one in enumerate(thought.specialist_rounds)
    ]
    return SessionNode(
        thought.id,
        "thought",
        _line(thought.latest_text) or f"Thought {thought.position}",
        thought.latest_text,
        "committed" if thought.committed else "open",
        *_scores(thought.final_utility_scores),
        children=rounds,
    )


def _scores(scores: Utility | None) -> tuple[dict[str, float] | None, float | None]:
    return (None, None) if scores is None else (scores.as_dict(), scores.mean)


def _line(text: str) -> str:
    """Return a text's first line, at most 80 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else line[:79].rstrip() + "…"


def seeded_question(question: str, context: str, source: str = "") -> str:
    """Return the question of a session that starts from an exploration node.

    Args:
        question: what is to be deliberated.
        context: the node's text; may be empty.
        source: where the node is, such as a run id and node id; may be empty.
    """
    if not context.strip():
        return question.strip()
    origin = f" (from {source})" if source else ""
    return f"{question.strip()}\n\nWhat is known{origin}:\n{context.strip()}"


def conclusion_root(session: Session) -> str:
    """Return a session's conclusion as the root text of an exploration.

    Returns:
        The question, and the committed thoughts of the last stage that has any; "" when nothing is committed.
    """
    for stage in reversed(session.expected_stages):
        thoughts = session.committed_in(stage)
        if thoughts:
            texts = "\n\n".join(thought.content for thought in thoughts)
            return f"{session.question.strip()}\n\n{stage}:\n{texts}"
    return ""
