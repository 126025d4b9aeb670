"""How runs, presets and providers are named on the command line, and how a shell completes these names.

Completing must never fail and never be slow: what cannot be read is not offered.
"""

from collections.abc import Callable
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from treewright.errors import TreewrightError

Command = TypeVar("Command", bound=Callable[..., object])

RUN_HELP = "RUN is an id, the beginning of one, a folder, or `last` (the latest of this folder); `treewright runs` lists the ids."
_MOST = 30
"""Runs that are offered: more than a screen of them helps nobody."""


def run_argument(command: Command) -> Command:
    """Add RUN, completed from the runs there are, and say in the command's help how it is named."""
    made = click.argument("run", shell_complete=complete_run)(command)
    made.__doc__ = f"{(made.__doc__ or '').rstrip()}\n\n    {RUN_HELP}\n    "
    return made


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Return the runs whose id begins as typed, and folders."""
    from treewright.app.treewright import Treewright

    try:
        entries = Treewright("cli").runs(None)[:_MOST]
    except (TreewrightError, OSError):
        entries = []
    offered = [
        ("last", "the latest of this folder"),
        *((entry.id, f"{entry.status} {entry.title[:50]}") for entry in entries),
    ]
    found = [CompletionItem(name, help=about) for name, about in offered if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="dir")]


def complete_preset(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Return the presets, shipped and the user's, that begin as typed; for `--stages` the last one of the list."""
    from treewright.app.treewright import Treewright

    before, comma, begun = incomplete.rpartition(",")
    try:
        presets = Treewright("cli").presets()
    except (TreewrightError, OSError):
        return []
    return [
        CompletionItem(f"{before}{comma}{preset.name}", help=preset.description.split(".")[0][:60])
        for preset in presets
        if preset.name.startswith(begun)
    ]


def complete_field(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Return the field profiles that begin as typed."""
    from treewright.app.treewright import Treewright
    from treewright.presets.profiles import list_profiles

    try:
        profiles = list_profiles(Treewright("cli").context.configuration().root.folder)
    except (TreewrightError, OSError):
        return []
    return [CompletionItem(name) for name in sorted(profiles) if name.startswith(incomplete)]


def complete_model(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Return the configured providers that begin as typed, and the forms of address."""
    from treewright.app.treewright import Treewright

    try:
        providers = list(Treewright("cli").context.configuration().settings.providers)
    except (TreewrightError, OSError):
        providers = []
    offered = [*providers, "static", "openai:", "anthropic:", "ollama:", "local:"]
    return [CompletionItem(name) for name in offered if name.startswith(incomplete)]
