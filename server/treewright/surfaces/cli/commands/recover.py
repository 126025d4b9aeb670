"""`treewright recover`: repair a damaged journal."""

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli.saying import say


@click.command()
@click.argument("run")
def recover(run: str) -> None:
    """Repair a run's damaged journal; the original is kept beside it."""
    done = Treewright("cli").recover(run)
    for key, value in done.items():
        say(f"{key}: {value}")
