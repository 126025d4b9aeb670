"""`treewright skills`: skill files and slash commands for agents that load them."""

from pathlib import Path

import click

from treewright.app.skills import write_skills
from treewright.app.treewright import Treewright
from treewright.surfaces.cli.saying import say


@click.command(short_help="Write skills and slash commands for agents.")
@click.argument("names", nargs=-1, metavar="[PRESET]...")
@click.option(
    "--into", default=".claude", show_default=True, type=click.Path(file_okay=False), metavar="DIR",
    help="The agent's folder; gets skills/ and commands/.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file is missing or stale.")
def skills(names: tuple[str, ...], into: str, check: bool) -> int:
    """Write a skill and a slash command for each preset, for chain, search and deliberation.

    They tell an agent when to use Treewright and when not, and how. Made from the presets, yours too: after a preset has
    changed, write them again.

    \b
    treewright skills --into .claude            # for everybody who works on this project
    treewright skills --into ~/.claude attack   # one of them, for you
    """
    done = write_skills(Treewright("cli").context, Path(into).expanduser(), names, check=check)
    for path in done.changed:
        say(f"{'stale' if check else 'wrote'}: {path}")
    for name in done.left_out:
        say(f"left out: the preset {name} has faults; treewright validate tells them", err=True)
    say(f"{len(done.changed)} {'stale' if check else 'written'}, {done.current} as they should be", err=True)
    return 1 if check and done.changed else 0
