"""`treewright accept`, `dismiss`, `reopen`: what the user decides about a finding."""

import click

from treewright.app.decide import Chosen, decide
from treewright.app.treewright import Treewright
from treewright.surfaces.cli.naming import run_argument
from treewright.surfaces.cli.saying import say


def _decide(run: str, node: str, verdict: Chosen, reason: str) -> None:
    finding, note = decide(Treewright("cli").context, run, node, verdict, reason)
    say(f"{node} ({finding.path}:{finding.start}) is {verdict}; later runs respect it.")
    if note:
        say(note, err=True)


@click.command()
@run_argument
@click.argument("node")
@click.option("--reason", required=True, help="Why the risk is taken; kept with the decision.")
def accept(run: str, node: str, reason: str) -> None:
    """Accept the risk of a finding."""
    _decide(run, node, "accepted", reason)


@click.command()
@run_argument
@click.argument("node")
@click.option("--reason", required=True, help="Why it is no finding; kept with the decision.")
def dismiss(run: str, node: str, reason: str) -> None:
    """Dismiss a finding as a false alarm."""
    _decide(run, node, "dismissed", reason)


@click.command()
@run_argument
@click.argument("node")
@click.option("--reason", default="", help="Why it counts again.")
def reopen(run: str, node: str, reason: str) -> None:
    """Take a decision about a finding back."""
    _decide(run, node, "reopened", reason)
