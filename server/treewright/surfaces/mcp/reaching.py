"""Runs that a call may reach: those that lie in its roots, and those in the store."""

from pathlib import Path

from treewright.app.runs import find_run
from treewright.errors import RequestError
from treewright.surfaces.mcp.calls import Call


async def reached_folder(call: Call, run: str) -> Path:
    """Return a run's folder.

    Args:
        call: whose roots count.
        run: an id, the beginning of one, a folder, or `last`.

    Raises:
        RunError: there is no such run.
        RequestError: `outside_roots`.
    """
    app = await call.office.app()
    confinement = await call.confinement()  # first: it says where `last` is looked for
    folder = await call.thread(lambda: find_run(app.context, run).folder)
    if not confinement.holds(folder):
        raise RequestError(
            "outside_roots",
            f"The run {run!r} belongs to a folder that this server may not look at.",
            "Call tree_status without a run for those it may. The user can add a folder with --root.",
        )
    return folder
