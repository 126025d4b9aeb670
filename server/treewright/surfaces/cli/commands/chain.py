"""`treewright chain`: one preset's deliverable starts the next."""

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import click

from treewright.app.chains import Chain, ChainOutcome, ChainRequest
from treewright.app.explorations import Growing
from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.data.codes import ExitClass
from treewright.explore.chaining import DEFAULT_STAGES, DEFAULT_TOP_K
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.drive import STATUS_EXIT, announce
from treewright.surfaces.cli.naming import complete_preset
from treewright.surfaces.cli.saying import go_on, say


@click.command(short_help="Run presets one after another, each on the best before.")
@click.argument("root", nargs=-1)
@click.option(
    "--stages",
    default=",".join(DEFAULT_STAGES),
    show_default=True,
    shell_complete=complete_preset,
    help="Presets in order, separated by commas.",
)
@click.option(
    "--top-k",
    type=click.IntRange(min=1, max=100),
    default=DEFAULT_TOP_K,
    show_default=True,
    help="Entries carried on.",
)
@flags.exploring
def chain(root: tuple[str, ...], stages: str, top_k: int, form: str, quiet: bool, **given: Any) -> int:
    """Run presets one after another, each on the best of the one before; one spend cap for all.

    \b
    treewright chain ways to cut our cold start --model ollama:NAME
    treewright chain --stages brainstorm,design --top-k 2 a cache for builds
    """
    for name in ("min_frameworks", "no_questions"):  # a chain asks nothing: its stages start by themselves
        given.pop(name, None)
    for name in ("out", "glossary", "seed_from"):
        given[name] = str(Path(given[name]).expanduser().absolute()) if given.get(name) else ""
    names = tuple(name.strip() for name in stages.replace("，", ",").split(",") if name.strip())
    app = Treewright("cli")
    exploration = ExplorationRequest(
        preset=names[0] if names else "", root=" ".join(root), base=str(Path.cwd()), **given
    )
    made = app.start_chain(ChainRequest(stages=names, top_k=top_k, exploration=exploration))
    announce(f"chain: {made.folder}", form, quiet=quiet)
    return drive_chain(made, form, quiet=quiet)


def drive_chain(made: Chain, form: str, *, quiet: bool) -> int:
    """Drive a chain to its end and print what came of it.

    Returns:
        The exit class of its status.
    """
    try:
        outcome = asyncio.run(_driven(made, form, quiet=quiet))
    except KeyboardInterrupt:
        say(go_on(made.folder))
        raise
    if form == "json":
        shown = {
            "run": outcome.run,
            "folder": str(outcome.folder),
            "status": outcome.status.value,
            "reason": outcome.reason,
            "stages": [
                {"number": s.number, "preset": s.preset, "cut": s.cut, "runs": s.runs} for s in outcome.stages
            ],
        }
        say(json.dumps(shown, ensure_ascii=False, indent=1))
    else:
        _print(outcome)
    return int(STATUS_EXIT.get(outcome.status, ExitClass.DONE))


async def _driven(made: Chain, form: str, *, quiet: bool) -> ChainOutcome:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM"):
        with contextlib.suppress(NotImplementedError, AttributeError, RuntimeError):
            loop.add_signal_handler(getattr(signal, name), made.stop)

    def told(text: str, growing: Growing | None) -> None:
        announce(text, form, quiet=quiet)
        if growing is not None and (estimate := growing.estimate()):
            announce(f"  {estimate.text()}", form, quiet=quiet)

    return await made.drive(None, told)


def _print(outcome: ChainOutcome) -> None:
    reason = f" ({outcome.reason})" if outcome.reason else ""
    say(f"{outcome.status.value}{reason}")
    for stage in outcome.stages:
        states = ", ".join(f"{run['folder']} {run['status']}" for run in stage.runs) or "not begun"
        cut = f" [{stage.cut}]" if stage.cut else ""
        say(f"  {stage.number} {stage.preset}{cut}: {states}")
    say(f"  {outcome.folder / 'CHAIN_REPORT.md'}")
    if not outcome.status.final:
        say(go_on(outcome.folder))
