"""The tools of deliberation: all of them are the engine's own; here only paths are confined and the user is asked for the mode."""

import asyncio
from typing import Any

from treewright.deliberate.toolcard import tool_cards
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Reply


async def deliberate(call: Call) -> Reply:
    """Call a tool of the engine by its name."""
    desk = await call.office.desk()
    name, arguments = call.card.name, dict(call.arguments)
    if name == "move_session" and isinstance(arguments.get("new_path"), str):
        confinement = await call.confinement()
        confinement.admit(
            arguments["new_path"].strip(), confinement.folders[0] if confinement.folders else None
        )
    if name == "start_session" and not arguments.get("mode"):
        mode = await _chosen_mode(call, arguments)
        if mode:
            arguments["mode"] = mode

    async def work() -> Reply:
        return await asyncio.to_thread(desk.tools.call, name, arguments)

    return await (call.long(work()) if call.card.long else work())


async def _chosen_mode(call: Call, arguments: dict[str, Any]) -> str:
    """Ask the user which mode to use, where the client offers to; empty when nobody chose."""
    app = await call.office.app()
    modes = app.context.configuration().settings.modes
    if not call.asking.elicits or not str(arguments.get("question") or "").strip():
        return ""
    if modes.default and not modes.default_prompt_user:
        return ""
    cards = tool_cards("modes")
    lines = "\n".join(f"{card.name}: {card.description}" for card in cards.values())
    choices = {"mode": ("Mode", list(cards))}
    given = await call.asking.elicit("mode", f"How shall this question be thought through?\n{lines}", choices)
    return (given or {}).get("mode", "")
