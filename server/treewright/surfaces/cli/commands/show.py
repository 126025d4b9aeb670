"""`treewright show`: a run's outline, or one of its nodes."""

import json

import click

from treewright.app.runs import RunView
from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.naming import run_argument
from treewright.surfaces.cli.saying import say, warn, warn_of_damage


@click.command()
@run_argument
@click.argument("node", required=False)
@flags.text_or_json
def show(run: str, node: str | None, form: str) -> None:
    """Show a run's outline, or one node whole."""
    view = Treewright("cli", tell=warn).look(run)
    if isinstance(view, RunView):
        warn_of_damage(view.reader.damage, run)
    if form == "json":
        shown = view.node(node) if node else view.summary()
        say(json.dumps(shown, ensure_ascii=False, indent=1))
    else:
        say(view.node_markdown(node) if node else view.outline(), nl=False)
