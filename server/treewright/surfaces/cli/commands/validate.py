"""`treewright validate`: check presets, profiles, lenses, framings and document pairs."""

from pathlib import Path

import click

from treewright.app.treewright import Treewright
from treewright.counted import counted
from treewright.presets.validator import as_json
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.saying import say


@click.command(short_help="Check presets, profiles, lenses and framings.")
@click.argument("paths", nargs=-1, type=click.Path())
@flags.text_or_json
def validate(paths: tuple[str, ...], form: str) -> int:
    """Check PATHS, or everything shipped and yours; one line a fault, exit 1 when there is an error."""
    report = Treewright("cli").validate([Path(path) for path in paths])
    if form == "json":
        say(as_json(report.faults))
    else:
        for fault in report.faults:
            say(str(fault))
        # A file without the keys of a preset is taken for a page of prose; whoever meant a preset has to see that.
        files = ", ".join(f"{count} as {kind}" for kind, count in sorted(report.checked.items()))
        counts = (
            f"{counted(report.errors, 'error')}, {counted(len(report.faults) - report.errors, 'warning')}"
        )
        say(f"{counts}; checked: {files}" if paths and files else counts, err=True)
    return 1 if report.errors else 0
