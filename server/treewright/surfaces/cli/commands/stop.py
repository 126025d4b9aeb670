"""`treewright stop`: ask whoever drives a run to stop it."""

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli.naming import run_argument
from treewright.surfaces.cli.saying import say


@click.command(short_help="Stop a run that another process drives.")
@run_argument
@click.option("--reason", default="", help="Kept with the run.")
def stop(run: str, reason: str) -> None:
    """Stop a run that another process drives; nothing is lost."""
    holder = Treewright("cli").stop(run, reason)
    say(f"Asked {holder} to stop.")
