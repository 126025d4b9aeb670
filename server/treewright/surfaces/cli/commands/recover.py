"""`treewright recover`: repair a damaged journal."""

from typing import Any

import click

from treewright.app.treewright import Treewright
from treewright.surfaces.cli.naming import run_argument
from treewright.surfaces.cli.saying import say


@click.command(short_help="Repair a damaged journal; the original is kept.")
@run_argument
def recover(run: str) -> None:
    """Repair a run's damaged journal; the original is kept beside it."""
    for line in _said(Treewright("cli").recover(run)):
        say(line)


def _said(done: dict[str, Any]) -> list[str]:
    """Return what recovering did as lines for a person (see `treewright.store.recover.Recovery`)."""
    if not done["original"]:
        return [f"Nothing was damaged: {done['kept']} events."]
    lines = (
        [f"Damaged lines: {_listed(sorted({each.number for each in done['damage']}))}."]
        if done["damage"]
        else []
    )
    lines.append(f"Events kept: {done['kept']}, of them {done['rescued']} out of damaged or misplaced lines.")
    if done["lost"]:
        lines.append(
            f"Events lost: {len(done['lost'])} (number {_listed(done['lost'])}); resume does their tasks again."
        )
    if done["torn"]:
        lines.append(f"An unfinished append of {done['torn']} bytes was dropped.")
    return [*lines, f"The damaged journal is kept as {done['original']}"]


def _listed(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers[:10]) + (" and more" if len(numbers) > 10 else "")
