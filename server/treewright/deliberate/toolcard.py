"""What a surface tells a caller about the tools: names, descriptions, parameters (data, not code)."""

import tomllib
from dataclasses import dataclass
from functools import cache

from treewright.data import data_path


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool, or one mode, as described to a caller."""

    name: str
    description: str
    parameters: dict[str, str]
    """Parameter to description, `session_id` included where it is taken, in order."""


@cache
def tool_cards(group: str = "tools") -> dict[str, ToolCard]:
    """Return the cards of a group: `tools`, `autopilot` (exist only when it is on) or `modes`."""
    raw = tomllib.loads(data_path("deliberate", "tools.toml").read_text(encoding="utf-8"))
    return {
        name: ToolCard(name, entry["description"], dict(entry.get("parameters", {})))
        for name, entry in raw[group].items()
    }
