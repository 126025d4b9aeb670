"""`treewright resume`: go on with a run."""

from typing import Any

import click

from treewright.app.request import ResumeRequest
from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.drive import announce, drive


@click.command()
@click.argument("run")
@flags.output
@flags.caps
def resume(run: str, form: str, quiet: bool, **given: Any) -> int:
    """Go on with a run that was stopped, paused, capped or cut off; flags may raise its caps.

    RUN is an id, the beginning of one, a folder, or `last`.
    """
    app = Treewright("cli")
    growing = app.resume(ResumeRequest(run=run, **given))
    picked = growing.picked_up()
    announce(
        f"resumed {growing.folder}: {picked.kept} nodes kept, {picked.redone} tasks asked again, "
        f"{picked.to_do} nodes to expand",
        form,
        quiet=quiet,
    )
    return drive(app, growing, form, quiet=quiet)
