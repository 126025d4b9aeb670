"""The tool that grows one tree after another, with a configured provider."""

import asyncio
from typing import Any

from treewright.app.chains import Chain, ChainOutcome, ChainRequest
from treewright.app.driving import Driver
from treewright.app.performers import GUIDED
from treewright.app.request import ExplorationRequest
from treewright.explore.chaining import DEFAULT_STAGES, DEFAULT_TOP_K
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done
from treewright.surfaces.mcp.tools.starting import exploration_request

_TOP_K_MOST = 100


class Chains:
    """The chains that a server drives. Used on the loop."""

    def __init__(self) -> None:
        """Nothing is driven."""
        self.driven: dict[str, Driver[ChainOutcome]] = {}

    def drive(self, chain: Chain) -> Driver[ChainOutcome]:
        """Drive an open chain driver everything else."""
        run = chain.run
        driver = Driver(chain)
        self.driven[run] = driver
        driver.done.add_done_callback(lambda _: self.driven.pop(run, None))
        return driver

    def close(self) -> None:
        """Ask everything to stop, and wait a little; what counts is journalled."""
        for driver in list(self.driven.values()):
            driver.stop()
        for driver in list(self.driven.values()):
            driver.done.exception(timeout=3.0)


async def tree_chain(call: Call) -> Reply:
    """Start a chain, and tell what came of it, or that it goes on."""
    performer = call.get("performer", "")
    if performer.casefold() in GUIDED:
        shape = "a configured provider's name; leave it out for the default one"
        raise Correction(
            "performer", "a chain runs by itself, so nobody can think task by task", shape, "local"
        )
    stages = tuple(str(each).strip() for each in call.get("stages", DEFAULT_STAGES))
    top_k = call.get("top_k", DEFAULT_TOP_K)
    if top_k > _TOP_K_MOST:
        raise Correction("top_k", f"{top_k} is too many", f"a whole number from 1 to {_TOP_K_MOST}", "3")
    confinement = await call.confinement()
    first: ExplorationRequest = await exploration_request(call, confinement, stages[0])
    request = ChainRequest(
        stages=stages, top_k=top_k, exploration=first.model_copy(update={"model": performer})
    )
    app = await call.office.app()
    return await driven(call, await call.thread(app.start_chain, request))


async def driven(call: Call, chain: Chain) -> Reply:
    """Drive an open chain, and tell what came of it, or that it goes on."""
    folder, run = str(chain.folder), chain.run
    driver = (await call.office.part("chains", Chains)).drive(chain)
    reply = await call.long(_ended(driver), driver.stop)
    if "handle" in reply:
        reply |= {"run": run, "folder": folder, "status": "GROWING"}
        reply |= {
            "message": f"The chain grows. Ask with tree_status run={run} how far it is.",
            "next_tool": "tree_status",
        }
    return reply


async def _ended(driver: Driver[ChainOutcome]) -> Reply:
    outcome = await asyncio.wrap_future(driver.done)
    stages: list[Any] = [
        {"preset": each.preset, "cut": each.cut, "runs": each.runs} for each in outcome.stages
    ]
    told = f"{outcome.status.value}{'=' + outcome.reason if outcome.reason else ''}. The report is CHAIN_REPORT.md in {outcome.folder}."
    return done(
        told,
        "tree_report",
        run=outcome.run,
        folder=str(outcome.folder),
        status=outcome.status.value,
        stages=stages,
    )
