"""`treewright resume`: go on with a run."""

from typing import Any

import click

from treewright.app.request import ResumeRequest
from treewright.app.search_request import SearchResumeRequest
from treewright.app.treewright import Treewright
from treewright.errors import RunError
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.drive import announce, drive
from treewright.surfaces.cli.naming import run_argument


@click.command(short_help="Go on with a run that was stopped, capped or cut off.")
@run_argument
@flags.output
@flags.caps
@click.option(
    "--max-candidates",
    type=click.IntRange(min=1),
    help="Of a code-branch search: most candidates that cost money, those it has had among them.",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Of a code-branch search: seconds from now on.",
)
def resume(run: str, form: str, quiet: bool, **given: Any) -> int:
    """Go on with a run that was stopped, paused, capped or cut off; flags may raise its caps."""
    app = Treewright("cli")
    kind = app.kind(run)
    if kind == "search":
        return _search(app, run, form, quiet=quiet, **given)
    for name in _OF_A_SEARCH:
        if given.pop(name) is not None:
            raise click.UsageError(f"{_flag(name)} belongs to a code-branch search.")
    if kind == "deliberation":
        raise RunError(
            "not_an_exploration",
            "This is a deliberation.",
            f"Go on with it: treewright deliberate --session {run}",
        )
    made = app.chain_of(run, model=given["model"], spend_cap_usd=given["spend_cap_usd"])
    if made is not None:
        from treewright.surfaces.cli.commands.chain import drive_chain

        announce(f"resumed {made.folder}", form, quiet=quiet)
        return drive_chain(made, form, quiet=quiet)
    growing = app.resume(ResumeRequest(run=run, **given))
    announce(
        f"resumed {growing.folder}: {growing.picked_up().text()}",
        form,
        quiet=quiet,
    )
    return drive(app, growing, form, quiet=quiet)


_OF_A_SEARCH = ("max_candidates", "time_limit_s")


def _flag(name: str) -> str:
    return f"--{name.removesuffix('_s').removesuffix('_usd').replace('_', '-')}"


def _search(app: Treewright, run: str, form: str, *, quiet: bool, **given: Any) -> int:
    from treewright.surfaces.cli.commands.search import run_search

    taken = {name: given.pop(name) for name in ("spend_cap_usd", "model", *_OF_A_SEARCH)}
    for name, value in given.items():
        if value:
            raise click.UsageError(f"{_flag(name)} says nothing to a code-branch search.")
    if form == "sarif":
        raise click.UsageError("A code-branch search has no SARIF.")
    request = SearchResumeRequest(run=run, **taken)
    return run_search(app, app.resume_search(request), form, quiet=quiet)
