"""The tools of the spend cap: reserve before something that costs is sent, settle after."""

from treewright.store.cap import CapAnswer
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Reply, done, refused


async def cap_reserve(call: Call) -> Reply:
    """Hold an amount."""
    app = await call.office.app()
    answer = await call.thread(app.cap_reserve, call.arguments["run"], call.arguments["estimate"])
    if answer.reservation is None:
        return _refusal(answer)
    held = answer.reservation.model_dump(mode="json")
    told = f"Held. Settle it with reservation={answer.reservation.id} when the work is done, on failure too."
    return done(told, "cap_settle", run=answer.run, reservation=held)


async def cap_settle(call: Call) -> Reply:
    """Charge what was spent."""
    app = await call.office.app()
    run, reservation, actual = (call.arguments[name] for name in ("run", "reservation", "actual"))
    failed = bool(call.get("failed", False))
    answer = await call.thread(lambda: app.cap_settle(run, reservation, actual, failed=failed))
    if answer.settlement is None:
        return _refusal(answer)
    return done(
        "Settled.", "cap_status", run=answer.run, settlement=answer.settlement.model_dump(mode="json")
    )


async def cap_status(call: Call) -> Reply:
    """Say what a run has spent."""
    app = await call.office.app()
    answer = await call.thread(app.cap_status, call.arguments["run"])
    if answer.refused is not None:
        return _refusal(answer)
    state = answer.state.model_dump(mode="json") if answer.state is not None else {}
    return done("The account as it stands.", "cap_reserve", run=answer.run, state=state)


def _refusal(answer: CapAnswer) -> Reply:
    assert answer.refused is not None
    found = answer.refused
    return refused(found.error, found.message, "cap_status", run=answer.run)
