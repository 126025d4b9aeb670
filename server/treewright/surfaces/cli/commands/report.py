"""`treewright report`: a run's report as it stands now."""

import json

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli.flags import FORMATS


@click.command()
@click.argument("run")
@click.option("--format", "form", type=FORMATS, default="text", show_default=True)
def report(run: str, form: str) -> None:
    """Print a run's report; it need not have ended."""
    view = Treewright("cli").look(run)
    if form == "json":
        click.echo(json.dumps(view.summary(), ensure_ascii=False, indent=1))
    elif form == "sarif":
        click.echo(view.sarif())
    else:
        click.echo(view.report(), nl=False)
