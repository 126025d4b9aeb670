"""`treewright doctor`: what is missing, and the command that mends it."""

import dataclasses
import json

import click

from treewright.app.doctor import examine
from treewright.app.treewright import Treewright
from treewright.surfaces.cli.saying import say

_MARKS = {"good": "ok", "missing": "MISSING", "optional": "optional"}


@click.command(short_help="Say what is missing here, and how to mend it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(form: str) -> int:
    """Look at Python, settings, store, git, ruff, kernels and models; exit 1 when something is missing."""
    found = examine(Treewright("cli").context)
    if form == "json":
        say(json.dumps([dataclasses.asdict(each) for each in found], ensure_ascii=False, indent=1))
    else:
        for each in found:
            say(f"{_MARKS[each.state]:<9} {each.name}: {each.detail}")
            if each.mend:
                say(f"{'':<10}{each.mend}")
    return 1 if any(each.state == "missing" for each in found) else 0
