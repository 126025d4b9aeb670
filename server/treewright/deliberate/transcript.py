"""A session as a Markdown transcript (contract: deliberation, 4)."""

from treewright.deliberate.session import Session, Thought
from treewright.deliberate.utility import Utility


def transcript(session: Session) -> str:
    """Return the whole session as Markdown: question, stages, thoughts, rounds, decisions."""
    lines = [f"# {' '.join(session.question.split())}", ""]
    lines += [
        f"- Session: `{session.id}`",
        f"- Mode: {session.mode or 'not chosen yet'}",
        f"- Status: {session.status}",
        f"- Created: {session.created_at.isoformat()}",
        f"- Stages: {', '.join(session.expected_stages)}",
        "",
    ]
    for stage in session.expected_stages:
        thoughts = [thought for thought in session.thoughts if thought.stage == stage]
        if thoughts:
            lines += [f"## {stage}", ""]
        for thought in thoughts:
            lines += _thought(thought)
    for move in session.move_history:
        lines.append(f"- Moved from `{move.from_path}` to `{move.to_path}` ({move.timestamp.isoformat()})")
    for decision in session.decisions:
        lines.append(f"- {decision.action} ({decision.timestamp.isoformat()})")
    return "\n".join(lines).rstrip() + "\n"


def _thought(thought: Thought) -> list[str]:
    state = "" if thought.committed else " (open)"
    lines = [f"### Thought {thought.position}{state}", "", _quoted(thought.latest_text), ""]
    if thought.tags:
        lines.append(f"- Tags: {', '.join(thought.tags)}")
    if thought.axioms:
        lines.append(f"- Taken as given: {'; '.join(thought.axioms)}")
    if thought.challenged_assumptions:
        lines.append(f"- Challenged: {'; '.join(thought.challenged_assumptions)}")
    if thought.final_utility_scores:
        lines.append(f"- Score: {_scores(thought.final_utility_scores)}")
    if lines[-1]:
        lines.append("")
    if thought.first_text and thought.first_text != thought.latest_text:
        lines += ["#### Draft", "", _quoted(thought.first_text), ""]
    for critique in thought.critique_rounds:
        delta = "" if critique.delta_score is None else f" ({critique.delta_score:+.2f})"
        lines += [f"#### Round {critique.round_index + 1}: {critique.lens}{delta}", ""]
        if critique.critique_text:
            lines += ["Critique:", "", _quoted(critique.critique_text), ""]
        if critique.refined_content:
            lines += ["Refined:", "", _quoted(critique.refined_content), ""]
    for candidate in thought.specialist_rounds:
        mark = ", selected" if candidate.was_selected else ""
        lines += [f"#### Round {candidate.round_index + 1}: {candidate.agent_role}{mark}", ""]
        lines += [
            _quoted(candidate.candidate_content),
            "",
            f"- Score: {_scores(candidate.utility_vector)}",
            "",
        ]
    return lines


def _quoted(text: str) -> str:
    """Quote a text so that headings and lists in it do not become the transcript's own."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _scores(scores: Utility) -> str:
    each = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in scores.as_dict().items())
    return f"{scores.mean:.2f} ({each})"
