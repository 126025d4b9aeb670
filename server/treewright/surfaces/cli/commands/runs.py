"""`treewright runs`: the known runs."""

import json
from pathlib import Path

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli.saying import say


@click.command()
@click.option("--here", is_flag=True, help="Only the runs of this workspace.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def runs(here: bool, form: str) -> None:
    """List runs and sessions, the latest first."""
    from treewright.store.paths import find_workspace

    entries = Treewright("cli").runs(find_workspace(Path.cwd()) if here else None)
    if form == "json":
        say(json.dumps([entry.model_dump(mode="json") for entry in entries], ensure_ascii=False, indent=1))
        return
    if not entries:
        say("No runs yet. Start one: treewright audit PATH")
    for entry in entries:
        say(f"{entry.id}  {entry.updated[:16]}  {entry.status:<18} {entry.preset:<12} {entry.title[:60]}")
