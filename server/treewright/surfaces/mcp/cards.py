"""The tools as a client sees them: names, parameters, annotations and shapes of answers, read from `data/mcp/`.

Nothing of an engine is imported for it, so that a list of tools is answered at once.
"""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from treewright.data import data_path

Group = Literal["explore", "deliberate", "search", "kernel"]
GROUPS: tuple[Group, ...] = ("explore", "deliberate", "search", "kernel")
DEFAULT_GROUPS: tuple[Group, ...] = ("explore", "deliberate", "search")
"""Offered when nothing is said (contract: surfaces, 4)."""
MOST_TOOLS = 40
"""Many clients keep only so many tools of a server (contract: surfaces, 4)."""
NAME_MOST = 40
"""Characters of the longest name of a tool (contract: surfaces, 4)."""
HANDLE = "handle"
_JSON_TYPES = {"text": "string", "words": "string", "whole": "integer", "number": "number", "flag": "boolean"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        name: as it is declared.
        type: text, whole, number, flag, list, words or raw.
        about: one clause for the model.
        example: a value that would be read.
        required: must be given.
        aliases: other names that callers use for it.
        options: for `words`.
        least: smallest whole number.
        raw_items: items of a list are kept as they are, never split at commas.
    """

    name: str
    type: str = "text"
    about: str = ""
    example: str = ""
    required: bool = False
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    least: int = 1
    raw_items: bool = False

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema that clients are shown; flat, one type, so that every client takes it."""
        found: dict[str, Any] = {"description": self.about}
        if self.type == "list":
            found |= {"type": "array", "items": {"type": "string"}}
        elif self.type == "raw":
            found |= {"type": "string"}
        else:
            found |= {"type": _JSON_TYPES[self.type]}
        if self.options:
            found["enum"] = list(self.options)
        if self.type == "whole":
            found["minimum"] = self.least
        return found


@dataclass(frozen=True, slots=True)
class Card:
    """One tool.

    Attributes:
        name, title, description: as shown.
        group: which selection offers it; `extra` ones only `all` does.
        effect: `read`, `write` or `destroy`.
        open_world: may reach beyond this machine and the user's folders.
        repeatable: twice is the same as once.
        long: may take over twenty seconds and then answers a handle.
        main: the parameter that plain text is meant for; empty without one.
        parameters: in order.
        answers: what an answer holds beside ok, message and next_tool, with its JSON type.
        last: the first to go when there is no room.
        loose: arguments are read by the engine itself.
    """

    name: str
    title: str
    description: str
    group: Group
    effect: str = "write"
    extra: bool = False
    open_world: bool = False
    repeatable: bool = False
    long: bool = False
    main: str = ""
    parameters: tuple[Parameter, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    last: bool = False
    loose: bool = False

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of an answer; a refusal has the same shape with `error` and `code`."""
        text = {"type": "string"}
        properties: dict[str, Any] = {
            "ok": {"type": "boolean", "description": "whether what was asked was done"},
            "message": {**text, "description": "what happened and what to do, to be followed"},
            "next_tool": {**text, "description": "the tool to call next; empty when there is none"},
            "error": text,
            "code": text,
        }
        if self.long:
            properties[HANDLE] = {**text, "description": "the work goes on: call the tool again with this"}
        properties |= {name: {"type": [kind, "null"]} for name, kind in self.answers.items()}
        return {"type": "object", "properties": properties, "required": ["ok", "message", "next_tool"]}


_HANDLE_PARAMETER = Parameter(
    HANDLE, about="instead of the other arguments: the handle of work that goes on", example="h1"
)


@cache
def all_cards() -> dict[str, Card]:
    """Return every tool there is, by name, the essential ones of each group first."""
    found = {**_own_cards(), **_deliberation_cards()}
    order = {name: place for place, name in enumerate((*GROUPS,))}
    return dict(sorted(found.items(), key=lambda entry: order[entry[1].group]))


def _own_cards() -> dict[str, Card]:
    raw = tomllib.loads(data_path("mcp", "tools.toml").read_text(encoding="utf-8"))
    return {name: _card(name, entry, _parameters(entry.pop("parameters", {}))) for name, entry in raw.items()}


def _parameters(raw: dict[str, dict[str, Any]]) -> list[Parameter]:
    found = []
    for name, entry in raw.items():
        entry = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        found.append(Parameter(name=name, **entry))
    return found


def _card(name: str, entry: dict[str, Any], parameters: list[Parameter]) -> Card:
    if entry.get("long"):
        parameters = [*parameters, _HANDLE_PARAMETER]
    return Card(name=name, parameters=tuple(parameters), **entry)


def _deliberation_cards() -> dict[str, Card]:
    raw = tomllib.loads(data_path("mcp", "deliberation.toml").read_text(encoding="utf-8"))
    told = tomllib.loads(data_path("deliberate", "tools.toml").read_text(encoding="utf-8"))
    descriptions = {**told["tools"], **told["autopilot"]}
    found = {}
    for name, entry in raw.items():
        optional, flags, whole = (set(entry.pop(key, ())) for key in ("optional", "flags", "whole"))
        parameters = [
            Parameter(
                each,
                type="flag" if each in flags else "whole" if each in whole else "text",
                about=about,
                required=each not in optional,
                aliases=("session", "id") if each == "session_id" else (),
            )
            for each, about in descriptions[name].get("parameters", {}).items()
        ]
        shared = {"group": "deliberate", "description": descriptions[name]["description"], "loose": True}
        found[name] = _card(name, {**shared, **entry, "answers": {"session_id": "string"}}, parameters)
    return found


def choose(groups: Collection[str], *, autopilot: bool) -> list[Card]:
    """Return the tools of a selection, the essential ones first.

    Args:
        groups: names of groups, or `all`; empty for the default ones, of which at most `MOST_TOOLS` are offered.
        autopilot: whether the tools of autopilot exist.

    Raises:
        ValueError: a group that there is not, named.
    """
    unknown = [name for name in groups if name not in (*GROUPS, "all")]
    if unknown:
        raise ValueError(unknown[0])
    everything = "all" in groups
    wanted = set(GROUPS if everything else groups or DEFAULT_GROUPS)
    found = [
        card
        for card in all_cards().values()
        if card.group in wanted
        and (everything or not card.extra)
        and (autopilot or not card.name.endswith("_autopilot"))
    ]
    if everything or set(wanted) - set(DEFAULT_GROUPS):
        return found
    surplus = max(0, len(found) - MOST_TOOLS)
    dropped = [card for card in reversed(found) if card.last][:surplus]
    return [card for card in found if card not in dropped]
