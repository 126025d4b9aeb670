"""`treewright report`: a run's report as it stands now."""

import json

import click

from treewright.app.runs import RunView
from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.naming import run_argument
from treewright.surfaces.cli.saying import say, warn, warn_of_damage


@click.command()
@run_argument
@flags.any_format
def report(run: str, form: str) -> None:
    """Print a run's report; it need not have ended."""
    view = Treewright("cli", tell=warn).look(run)
    if isinstance(view, RunView):
        warn_of_damage(view.reader.damage, run)
    if form == "json":
        say(json.dumps(view.summary(), ensure_ascii=False, indent=1))
    elif form == "sarif":
        say(view.sarif())
    else:
        say(view.report(), nl=False)
