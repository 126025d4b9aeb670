"""`treewright cap`: the enforced spend cap; each command prints one JSON object (contract: search, 5)."""

import json
from collections.abc import Callable

import click

from treewright.app.treewright import Treewright
from treewright.data.codes import ExitClass, exit_class
from treewright.errors import TreewrightError
from treewright.store.cap import CapAnswer
from treewright.surfaces.cli.saying import say

_RUN = click.option("--run", required=True, help="Id of the run.")


def _answered(action: str, run: str | None, act: Callable[[], CapAnswer]) -> int:
    """Print what the ledger answers; a fault of the ledger or an amount is answered in the same shape."""
    try:
        answer = act()
    except TreewrightError as fault:
        shown = {
            "ok": False,
            "action": action,
            "run": run,
            "refused": {"error": fault.code, "message": fault.message, "hint": fault.hint},
        }
        say(json.dumps(shown, ensure_ascii=False))
        code = exit_class(fault.code)
        return int(ExitClass.USAGE if code in (ExitClass.USAGE, ExitClass.STORAGE) else code)
    say(answer.to_json())
    return answer.exit


@click.group(short_help="Reserve before you spend, settle after.")
def cap() -> None:
    """Reserve before you spend, settle after; the cap cannot be passed."""


@cap.command()
@_RUN
@click.option("--estimate", required=True, metavar="USD", help="Worst case of what will be spent.")
def reserve(run: str, estimate: str) -> int:
    """Hold an amount. Exit 0 granted, 3 refused."""
    return _answered("reserve", run, lambda: Treewright("cli").cap_reserve(run, estimate))


@cap.command()
@_RUN
@click.option("--reservation", required=True, help="Id of the hold.")
@click.option("--actual", required=True, metavar="USD", help="What it really cost.")
@click.option("--failed", is_flag=True, help="The branch failed; what it cost is charged all the same.")
def settle(run: str, reservation: str, actual: str, failed: bool) -> int:
    """Charge what was spent and release the hold."""
    return _answered(
        "settle", run, lambda: Treewright("cli").cap_settle(run, reservation, actual, failed=failed)
    )


@cap.command()
@_RUN
def status(run: str) -> int:
    """Show what a run has spent and holds."""
    return _answered("status", run, lambda: Treewright("cli").cap_status(run))


@cap.command()
@_RUN
def reset(run: str) -> int:
    """Forget what a run has spent and holds."""
    return _answered("reset", run, lambda: Treewright("cli").cap_reset(run))


@cap.command()
def config() -> int:
    """Show the cap that holds and whether it was set or defaulted."""
    return _answered("config", None, lambda: Treewright("cli").cap_config())
