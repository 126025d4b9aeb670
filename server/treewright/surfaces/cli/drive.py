"""Drives a run from the command line: progress, Ctrl-C, the result."""

import asyncio
import contextlib
import json
import signal
from pathlib import Path

from treewright.app.explorations import Growing, Outcome
from treewright.app.request import Listener
from treewright.app.treewright import Treewright
from treewright.counted import counted
from treewright.data.codes import ExitClass
from treewright.surfaces.cli.live import live_view
from treewright.surfaces.cli.saying import go_on, say
from treewright.tree.run import Status

STATUS_EXIT = {
    Status.CONVERGED: ExitClass.DONE,
    Status.SPEND_CAP_REACHED: ExitClass.REFUSED,
    Status.PAUSED: ExitClass.MODEL,
    Status.STOPPED: ExitClass.INTERRUPTED,
    Status.EARLY_STOP: ExitClass.NOT_AS_ASKED,
}
"""Exit class of each status; a cap that the user set is done."""


def drive(app: Treewright, growing: Growing, form: str, *, quiet: bool, fail_on: tuple[str, ...] = ()) -> int:
    """Drive a run to its end and print what came of it.

    Returns:
        The exit class: of the status, or 1 when a label of `fail_on` was given to a node.
    """
    try:
        with live_view(growing, quiet=quiet or form != "text") as listener:
            outcome = asyncio.run(_driven(growing, listener))
    except KeyboardInterrupt:
        # It came before or after the run was driven, when nobody but us could catch it; the journal is whole.
        growing.writer.close()
        say(go_on(_short(growing.folder)))
        raise
    view = app.view(str(outcome.folder))
    summary = view.summary()
    if form == "json":
        say(json.dumps({**summary, "outputs": outcome.outputs}, ensure_ascii=False, indent=1))
    elif form == "sarif":
        say(view.sarif())
    else:
        _print(outcome, summary, view.not_read())
        if known := view.decided():
            say(f"decided before, so not counted: {len(known)} (see REPORT.md)")
    code = STATUS_EXIT.get(outcome.status, ExitClass.DONE)
    wanted = {label.casefold() for label in fail_on}
    met = bool(wanted) and any(
        count for label, count in view.standing().items() if label.casefold() in wanted
    )
    return int(ExitClass.NOT_AS_ASKED if met and code is ExitClass.DONE else code)


async def _driven(growing: Growing, listener: Listener | None) -> Outcome:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM"):
        with contextlib.suppress(NotImplementedError, AttributeError, RuntimeError):
            loop.add_signal_handler(getattr(signal, name), growing.stop)
    return await growing.drive(listener)


def _print(outcome: Outcome, summary: dict[str, object], not_read: int) -> None:
    status = outcome.status.value
    if outcome.status is Status.EARLY_STOP:
        status += f"={outcome.reason}"
    elif outcome.reason:
        status += f" ({outcome.reason})"
    verdicts = summary["verdicts"]
    assert isinstance(verdicts, dict)
    aside = {name: summary[name] for name in ("merged", "superseded", "unresolved")}
    counts = ", ".join(f"{count} {label}" for label, count in [*verdicts.items(), *aside.items()] if count)
    say(f"{status}: {counted(int(str(summary['nodes'])), 'node')}" + (f", {counts}" if counts else ""))
    details = summary["details"]
    if isinstance(details, dict) and details.get("why"):
        say(f"{details['why']}")
    citations = summary["citations"]
    assert isinstance(citations, dict)
    if citations["all"]:
        say(f"citations that hold: {citations['held']} of {citations['all']}")
    if not_read:
        say(f"not read: {not_read} (REPORT.md names each, and why)")
    for notice in outcome.notices:
        say(f"{notice.severity}: {notice.message}")
    folder = _short(outcome.folder)
    for name in outcome.outputs:
        say(f"  {folder / name}")
    if not outcome.status.final:
        say(go_on(folder))


def _short(folder: Path) -> Path:
    with contextlib.suppress(ValueError):
        return folder.relative_to(Path.cwd())
    return folder


def announce(text: str, form: str, *, quiet: bool) -> None:
    """Print a line for a person to stderr, unless only data is wanted."""
    if not quiet and form == "text":
        say(text, err=True)
