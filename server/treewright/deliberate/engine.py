"""The one facade of deliberation: every tool by its name in the contract.

    Deliberation
    ├── SessionTools, DigestTools   start, find, resume, stages, next action; summaries, import and export
    ├── SerialTools                 draft, critique, refine, score, commit
    ├── SubagentTools               specialists by hand, by equilibrium (nash), by the third-party core (necort)
    ├── LifecycleTools              finalize, move, keep, clear
    └── AutopilotTools              the same loops driven by a configured provider

Every tool answers a `Reply` and never raises. Tools that call a model block; call them off the event loop.
"""

import difflib
from collections.abc import Mapping

from treewright.deliberate.autopilot import AutopilotTools
from treewright.deliberate.digest_tools import DigestTools
from treewright.deliberate.lifecycle_tools import LifecycleTools
from treewright.deliberate.reply import Refusal, Reply, refusal
from treewright.deliberate.toolcard import tool_cards


class Deliberation(AutopilotTools, DigestTools, LifecycleTools):
    """Deliberation over a store, lenses, settings and (optionally) models; see `Surroundings`."""

    def tool_names(self) -> list[str]:
        """Return the names of the tools that exist; those of autopilot only when it is on."""
        names = list(tool_cards("tools"))
        return names + list(tool_cards("autopilot")) if self._around.settings.autopilot.enabled else names

    def call(self, name: str, arguments: Mapping[str, object] | None = None) -> Reply:
        """Call a tool by name.

        Args:
            name: one of `tool_names()`, in any letter case.
            arguments: parameters by name.

        Returns:
            The tool's reply; `unknown_tool` when there is none of that name.
        """
        names = self.tool_names()
        wanted = str(name).strip().casefold().replace("-", "_")
        if wanted not in names:
            near = difflib.get_close_matches(wanted, names, 1, 0.5)
            return refusal(
                Refusal("unknown_tool", tool=str(name)[:60], near=f"Did you mean {near[0]}?" if near else "")
            )
        given = arguments if isinstance(arguments, Mapping) else {}
        reply: Reply = getattr(self, wanted)(**{str(key): value for key, value in given.items()})
        return reply
