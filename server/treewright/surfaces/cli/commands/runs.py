"""`treewright runs`: the known runs."""

import json
from pathlib import Path

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.saying import say, short_path


@click.command()
@click.option("--here", is_flag=True, help="Only the runs of this workspace.")
@flags.text_or_json
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
        what = entry.preset if entry.kind == "exploration" else entry.kind
        when = entry.updated[:16].replace("T", " ")
        say(f"{entry.id}  {when}  {entry.status:<18} {what:<12} {entry.title[:60]}")
        say(f"{'':<14}{short_path(entry.path)}")
