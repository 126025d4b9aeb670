"""A whole deliberation driven by a model: every stage, thought by thought, to its end. Whatever stops it leaves a session to go on with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.app.context import Context
from treewright.app.deliberation import DeliberationDesk, Told
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.reply import Reply
from treewright.errors import ModelError, RequestError
from treewright.store.config import Configuration

DEFAULT_MODE = "serial"
_MOST_THOUGHTS = 200
"""More than any number of stages can need; a session that wants more is stopped and told."""


@dataclass(frozen=True, slots=True)
class ToldContext(Context):
    """A context with settings that this one command was told.

    Attributes:
        run: by dotted key, such as `autopilot.enabled`.
    """

    run: Mapping[str, Any] = field(default_factory=dict)

    def configuration(
        self, workspace: Path | None = None, *, trusted: bool = True, run: Mapping[str, Any] | None = None
    ) -> Configuration:
        """Return the settings that hold for a workspace; see `Context.configuration`."""
        told = {**self.run, **(run or {})}
        return Context.configuration(self, workspace, trusted=trusted, run=told)


def driving_context(context: Context, model: str, spend_cap_usd: float | None = None) -> ToldContext:
    """Return a context in which the autopilot is on, for a user who asked for it with a model.

    Args:
        context: the surroundings.
        model: a provider's name or specification; empty for the configured one.
        spend_cap_usd: None takes the configuration's.

    Raises:
        ModelError: `no_model` when none is named and none is configured.
    """
    settings = context.configuration().settings
    named = model or settings.autopilot.model or settings.models.default
    if not named and not settings.autopilot.endpoint:
        raise ModelError(
            "no_model",
            "A deliberation by itself needs a language model, and none is configured.",
            "Name one with --model, or set [models] default; `treewright models` shows what answers here.",
        )
    told: dict[str, Any] = {"autopilot.enabled": True}
    if model or not settings.autopilot.endpoint:
        told |= {"autopilot.model": named, "autopilot.endpoint": ""}
    if spend_cap_usd is not None:
        told["deliberate.spend_cap_usd"] = f"{spend_cap_usd:.9f}"
    return ToldContext(
        context.surface, context.environ, context.ask_editor, context.keys, context.here, context.tell, told
    )


def driving_desk(context: Context, told: Told | None = None) -> DeliberationDesk:
    """Return a desk whose models are the configured ones, behind the spend cap; close it.

    Raises:
        ModelError: the autopilot's model is none that can be called, so that no session is begun for it.
    """
    from treewright.app.deliberating import provider_maker

    desk = DeliberationDesk(context, provider_maker(context), told=told)
    desk.find_model()
    return desk


def begin(
    tools: Deliberation,
    question: str,
    *,
    mode: str = "",
    stages: Sequence[str] = (),
    overrides: str = "",
) -> Reply:
    """Start a session, as a user asks for one; the reply is that of `start_session`."""
    given: dict[str, object] = {}
    if mode:
        given["mode"] = mode
    if stages:
        given["stages"] = list(stages)
    if overrides:
        given["overrides"] = overrides
    reply: Reply = tools.start_session(question, **given)
    return reply


def drive_session(tools: Deliberation, session_id: str, at: Callable[[str], None] = lambda _: None) -> Reply:
    """Think every stage of a session through, from wherever it stands, and finalise it.

    Args:
        tools: with the autopilot on.
        session_id: the session.
        at: is told the stage before each thought.

    Returns:
        The last reply: that of `finalize_session`, or of whatever could not be done. Everything up to there is saved.
    """
    for _ in range(_MOST_THOUGHTS):
        reply = tools.next_action(session_id)
        if not reply["ok"]:
            return reply
        at(str(tools.resume_session(session_id).get("stage", "")) if reply["situation"] != "archived" else "")
        step = _step(tools, session_id, str(reply["situation"]))
        if step is None:
            return reply
        if not step["ok"] or str(reply["situation"]) == "last_stage_done":
            return step
    return tools.next_action(session_id)


def _step(tools: Deliberation, session_id: str, situation: str) -> Reply | None:
    """Take a session one step on; None when it has ended."""
    reply: Reply
    if situation in ("finalized", "finished"):
        return None
    if situation == "awaiting_mode":
        reply = tools.set_session_mode(session_id, DEFAULT_MODE)
    elif situation == "archived":
        reply = tools.resume_session(session_id)
    elif situation == "stage_done":
        reply = tools.advance_stage(session_id)
    elif situation == "last_stage_done":
        reply = tools.finalize_session(session_id)
    elif situation.startswith("serial"):
        reply = tools.run_stage_autopilot(session_id)
    else:
        reply = tools.run_subagent_autopilot(session_id)
    return reply


def seeded(context: Context, source: str, question: str) -> str:
    """Return a question that starts from a node of an exploration (contract: deliberation, 7).

    Args:
        context: the surroundings.
        source: `RUN/NODE`.
        question: what is to be deliberated; empty asks what to make of the node.

    Raises:
        RequestError: `bad_seed`.
        RunError: there is no such run or node.
    """
    from treewright.app.runs import RunView
    from treewright.deliberate.treeview import seeded_question

    run, slash, node = source.rpartition("/")
    if not slash or not run or not node:
        raise RequestError(
            "bad_seed", f"{source!r} names no node.", "Write RUN/NODE, such as 4ea93001fc54/D1."
        )
    text = RunView(context, run).node_markdown(node)
    return seeded_question(question or "What follows from this, and what should be done?", text, source)
