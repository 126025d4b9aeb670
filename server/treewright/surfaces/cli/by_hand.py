"""A deliberation at the terminal: each step is shown, the answer is read until a line with a single dot."""

from typing import Any

import click

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.reply import Reply
from treewright.surfaces.cli.saying import say

_TEXT_OF = {
    "begin_thought": ("content", "Your draft"),
    "submit_critique": ("text", "Your critique"),
    "refine_current_thought": ("new_content", "The whole new text"),
}
_TO_A_PERSON = {
    "awaiting_mode": "Choose how to think; it cannot be changed later.",
    "finalized": "The session is finished. Its file stays where it is, or moves.",
}
"""What the table of next steps words for an agent that speaks with a user."""

_SCORES = "Scores, 0 to 1, such as: correctness: 0.8, clarity 0.7"


def by_hand(tools: Deliberation, session: str) -> int:
    """Take a person through a session; every step is saved as it is made, and the end of input leaves it for later."""
    say(f"Session {session}. Every step is saved; leave with Ctrl-D.")
    try:
        while True:
            step = tools.next_action(session)
            say(f"\n{_TO_A_PERSON.get(str(step.get('situation')), step['message'])}")
            if not step["ok"] or not step["next_tool"]:
                return 0
            reply = _take(tools, session, step)
            if reply.get("converged_reason"):
                say(f"Converged: {reply['converged_reason']}")
            if not reply["ok"]:
                say(_refused(reply), err=True)
    except (EOFError, click.Abort):
        say(f"\nGo on with: treewright deliberate --session {session}")
        return 0
    except KeyboardInterrupt:
        say(f"\nWhat was sent is kept. Go on with: treewright deliberate --session {session}", err=True)
        raise


def _refused(reply: Reply) -> str:
    """Say to a person why a step was not taken: what to send, without the names of tools."""
    if reply["code"] != "retry_with_clarification":
        return str(reply["message"])
    example = f", such as: {reply['example']}" if reply.get("example") else ""
    return f"That could not be read: {reply['shape']} is wanted{example}"


def _take(tools: Deliberation, session: str, step: Reply) -> Reply:
    name = str(step["next_tool"])
    arguments: dict[str, object] = {}
    situation = str(step["situation"])
    if name == "set_session_mode":
        for mode in step["modes"]:
            say(f"  {mode['mode']}: {mode['line']}")
        arguments["mode"] = click.prompt("Mode", type=click.Choice(["serial", "subagent"]), default="serial")
    elif name in _TEXT_OF:
        if step.get("directive"):
            say(f"\n[{step['lens']}]\n{step['directive']}\n\nThe text:\n{step['text']}")
        parameter, label = _TEXT_OF[name]
        arguments[parameter] = _read(label)
    elif name == "score_current_thought":
        arguments["scores"] = click.prompt(_SCORES, default="", show_default=False)
    elif situation == "subagent_candidate":
        say(f"\n[{step['role']}]\n{step['prompt']}")
        arguments["candidate"] = _read(f"As {step['role']}")
        arguments["scores"] = click.prompt(f"{_SCORES} (all seven)")
    elif situation == "stage_done" and click.confirm("Another thought in this stage?", default=False):
        return _another(tools, session)
    elif name == "keep_here":
        place = click.prompt("Move the file to (empty: it stays)", default="", show_default=False)
        if place.strip():
            moved: Reply = tools.move_session(session, place.strip())
            return moved
    return _call(tools, name, session, arguments)


def _another(tools: Deliberation, session: str) -> Reply:
    mode = tools.resume_session(session).get("mode")
    if mode == "serial":
        return _call(tools, "begin_thought", session, {"content": _read("Your draft")})
    return _call(tools, "begin_subagent_thought", session, {})


def _call(tools: Any, name: str, session: str, arguments: dict[str, object]) -> Reply:
    reply: Reply = tools.call(name, {"session_id": session, **arguments})
    return reply


def _read(label: str) -> str:
    """Read lines until one that is a single dot."""
    say(f"{label} (end with a line that is a single dot):")
    lines: list[str] = []
    while (line := input()) != ".":
        lines.append(line)
    return "\n".join(lines)
