"""The page of what agents and editors can call: tools, resources and prompts over MCP, requests over LSP."""

import inspect

from tools.reference.markdown import code, page, table
from treewright.surfaces.lsp.features import COMMANDS
from treewright.surfaces.lsp.messages.message import Message
from treewright.surfaces.lsp.messages.methods import CLIENT_REQUESTS, NOTIFICATIONS, REQUESTS
from treewright.surfaces.lsp.settings import EditorSettings
from treewright.surfaces.mcp.cards import DEFAULT_GROUPS, GROUPS, Card, all_cards
from treewright.surfaces.mcp.resources import list_templates

_EFFECTS = {"read": "reads only", "write": "writes", "destroy": "may replace or remove"}
_MCP = """\
`treewright mcp` offers the groups {default} unless `--groups` says otherwise; `all` has every tool. Arguments may be spelt
`run_id` or `runId`; numbers and booleans may be strings. Each answer holds `ok`, `message` and `next_tool`, a refusal `error` and
`code` too ([errors](errors.md)). [Agents](../agents.md) tells how to wire a client and who thinks.
"""
_LSP = """\
`treewright lsp` speaks the standard protocol and these requests and notifications of its own. The fields of each message are in
`extension/src/protocol.ts`, which is generated from the same models. [Editors](../editors.md) tells how to wire an editor.
"""
_SETTINGS = "Given as `initializationOptions`, or under `treewright` in a change of configuration."


def tools_page() -> str:
    """Return the page."""
    cards = list(all_cards().values())
    parts = [_MCP.format(default=", ".join(code(group) for group in DEFAULT_GROUPS))]
    for group in GROUPS:
        parts.append(f"### Group {group}")
        for card in (each for each in cards if each.group == group):
            parts += _tool(card)
    templates = [
        (code(each.uri_template), each.description or each.title or each.name) for each in list_templates()
    ]
    resources = [(code("treewright://runs"), "The known runs."), *templates]
    return page(
        "Tools",
        "## Over MCP",
        *parts,
        "### Resources",
        table(("address", "what it is"), resources),
        "### Prompts",
        "One for each preset and one for each critique lens, by their names.",
        "## Over the Language Server Protocol",
        _LSP,
        "### Requests to the server",
        table(
            ("method", "what it does"),
            [(code(name), _about(asked, answer)) for name, (asked, answer) in REQUESTS.items()],
        ),
        "### Notifications and requests to the editor",
        table(
            ("method", "what it tells or asks"),
            [(code(name), _about(message)) for name, message in NOTIFICATIONS.items()]
            + [(code(name), _about(asked, answer)) for name, (asked, answer) in CLIENT_REQUESTS.items()],
        ),
        "### Commands for editors without an extension",
        "\n".join(f"- {code(name)}" for name in COMMANDS),
        "### Settings of a client",
        _SETTINGS,
        _settings(),
    )


def _tool(card: Card) -> list[str]:
    notes = [_EFFECTS[card.effect]]
    notes += ["may reach beyond this machine"] if card.open_world else []
    notes += ["answers a handle when it takes long"] if card.long else []
    notes += ["in the group `all` only"] if card.extra else []
    rows = [
        (code(each.name) + (", required" if each.required else ""), each.about, code(str(each.example)))
        for each in card.parameters
    ]
    return [
        f"#### {card.name}",
        f"{' '.join(card.description.split())} ({'; '.join(notes)}.)",
        table(("parameter", "meaning", "example"), rows),
    ]


def _about(*messages: type[Message]) -> str:
    """Return what the first line of a message's description says behind its method."""
    for message in messages:
        first = inspect.cleandoc(message.__doc__ or "").partition("\n\n")[0]
        told = first.rpartition("`: ")[2] if first.startswith("`treewright/") else ""
        if told:
            return told[0].upper() + told[1:]
    return " ".join(inspect.cleandoc(messages[0].__doc__ or "").partition("\n\n")[0].split())


def _settings() -> str:
    lines = inspect.cleandoc(EditorSettings.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    told = dict(line.strip().split(": ", 1) for line in lines)
    rows = [
        (
            code(field.alias or name),
            code(str(field.default).lower() if isinstance(field.default, bool) else str(field.default)),
            told[name],
        )
        for name, field in EditorSettings.model_fields.items()
    ]
    return table(("key", "default", "meaning"), rows)
