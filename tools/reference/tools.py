"""The page of what agents and editors can call: tools, resources and prompts over MCP, requests over LSP."""

import inspect

from tools.reference.markdown import code, page, table
from tools.reference.words import Words
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


def tools_page(words: Words) -> str:
    """Return the page."""
    cards = list(all_cards().values())
    parts = [words(_MCP).format(default=", ".join(code(group) for group in DEFAULT_GROUPS))]
    for group in GROUPS:
        parts.append(f"### {words('Group')} {group}")
        for card in (each for each in cards if each.group == group):
            parts += _tool(card, words)
    templates = [
        (code(each.uri_template), words(each.description or each.title or each.name))
        for each in list_templates()
    ]
    resources = [(code("treewright://runs"), words("The known runs.")), *templates]
    return page(
        "Tools",
        "tools.md",
        words,
        f"## {words('Over MCP')}",
        *parts,
        f"### {words('Resources')}",
        table((words("address"), words("what it is")), resources),
        f"### {words('Prompts')}",
        words("One for each preset and one for each critique lens, by their names."),
        f"## {words('Over the Language Server Protocol')}",
        words(_LSP),
        f"### {words('Requests to the server')}",
        table(
            (words("method"), words("what it does")),
            [(code(name), words(_about(asked, answer))) for name, (asked, answer) in REQUESTS.items()],
        ),
        f"### {words('Notifications and requests to the editor')}",
        table(
            (words("method"), words("what it tells or asks")),
            [(code(name), words(_about(message))) for name, message in NOTIFICATIONS.items()]
            + [
                (code(name), words(_about(asked, answer)))
                for name, (asked, answer) in CLIENT_REQUESTS.items()
            ],
        ),
        f"### {words('Commands for editors without an extension')}",
        "\n".join(f"- {code(name)}" for name in COMMANDS),
        f"### {words('Settings of a client')}",
        words(_SETTINGS),
        _settings(words),
    )


def _tool(card: Card, words: Words) -> list[str]:
    notes = [words(_EFFECTS[card.effect])]
    notes += [words("may reach beyond this machine")] if card.open_world else []
    notes += [words("answers a handle when it takes long")] if card.long else []
    notes += [words("in the group `all` only")] if card.extra else []
    rows = [
        (
            code(each.name) + (words(", required") if each.required else ""),
            words(each.about),
            code(str(each.example)),
        )
        for each in card.parameters
    ]
    return [
        f"#### {card.name}",
        f"{' '.join(words(card.description).split())} ({words('; ').join(notes)}{words('.)')}",
        table([words(head) for head in ("parameter", "meaning", "example")], rows),
    ]


def _about(*messages: type[Message]) -> str:
    """Return what the first line of a message's description says behind its method."""
    for message in messages:
        first = inspect.cleandoc(message.__doc__ or "").partition("\n\n")[0]
        told = first.rpartition("`: ")[2] if first.startswith("`treewright/") else ""
        if told:
            return told[0].upper() + told[1:]
    return " ".join(inspect.cleandoc(messages[0].__doc__ or "").partition("\n\n")[0].split())


def _settings(words: Words) -> str:
    lines = inspect.cleandoc(EditorSettings.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    told = dict(line.strip().split(": ", 1) for line in lines)
    rows = [
        (
            code(field.alias or name),
            code(str(field.default).lower() if isinstance(field.default, bool) else str(field.default)),
            words(told[name]),
        )
        for name, field in EditorSettings.model_fields.items()
    ]
    return table([words(head) for head in ("key", "default", "meaning")], rows)
