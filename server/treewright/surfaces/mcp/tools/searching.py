"""The tools of code-branch search. A search runs driver the server; its journal tells how far it is, from any process."""

import asyncio
import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.app import searches
from treewright.app.driving import Driver
from treewright.app.looking import SearchLook
from treewright.app.search_drive import Searching
from treewright.app.search_outcome import SearchOutcome
from treewright.app.search_request import SearchRequest, SearchResumeRequest
from treewright.app.search_sources import split_target
from treewright.counted import counted
from treewright.errors import RunError
from treewright.search.report import SearchReport
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done, refused
from treewright.surfaces.mcp.reaching import reached_folder

if TYPE_CHECKING:
    from treewright.surfaces.mcp.confinement import Confinement

_GENERATORS = ("mutate", "model", "revise", "given")
_TIME_LIMIT_S = 60.0
_WAIT_MOST_S = 15.0
_LOOK_S = 0.2
_BRANCHES_TOLD = 20


class Searches:
    """The searches that a server drives. Used on the loop."""

    def __init__(self) -> None:
        """Nothing is driven."""
        self.driven: dict[str, Driver[SearchOutcome]] = {}
        self.turns: dict[str, asyncio.Lock] = {}

    def drive(self, searching: Searching) -> Driver[SearchOutcome]:
        """Drive an open search driver everything else."""
        driver = Driver(searching)
        self.driven[searching.run] = driver
        driver.done.add_done_callback(lambda _: self.driven.pop(searching.run, None))
        return driver

    def close(self) -> None:
        """Ask everything to stop, and wait a little; what counts is journalled."""
        left = list(self.driven.values())
        for driver in left:
            driver.stop()
        for driver in left:
            with contextlib.suppress(Exception):
                driver.done.result(timeout=3.0)


async def _searches(call: Call) -> Searches:
    return await call.office.part("searches", Searches)


async def search_start(call: Call) -> Reply:
    """Start a search, and tell what it found, or that it goes on."""
    confinement = await call.confinement()
    request = await call.thread(_request, call, confinement, await _store(call))
    app = await call.office.app()
    return await _driven(call, await call.thread(app.search, request))


async def resume_search(call: Call, folder: str) -> Reply:
    """Go on with a search."""
    given = {"spend_cap_usd": call.get("spend_cap_usd"), "model": call.get("performer", "")}
    app = await call.office.app()
    request = SearchResumeRequest(run=folder, **given)
    return await _driven(call, await call.thread(app.resume_search, request))


async def _driven(call: Call, searching: Searching) -> Reply:
    driver = (await _searches(call)).drive(searching)
    reply = await call.long(_ended(driver, None), driver.stop)
    if "handle" in reply:
        reply |= {"run": searching.run, "status": "growing"}
        reply |= {
            "message": f"Still searching. Call search_result with run={searching.run}.",
            "next_tool": "search_result",
        }
    return reply


async def _store(call: Call) -> Path:
    app = await call.office.app()
    return app.context.configuration().root.folder


def _request(call: Call, confinement: "Confinement", store: Path) -> SearchRequest:
    base = confinement.folders[0] if confinement.folders else store
    file, function = "", call.get("entry_point", "")
    if path := call.get("path"):
        named, inside = split_target(path, base)
        file, function = str(confinement.admit(named, base)), function or inside
    elif start := call.get("start"):
        base = _kept(store, _program(start))
        file = str(base / "start.py")
    given = tuple(call.get("candidates", ()))
    model = call.get("performer", "")
    generators = _generators(call)
    caps = {
        name: call.get(name) for name in ("max_candidates", "spend_cap_usd") if call.get(name) is not None
    }
    holdout = call.get("holdout", 0.0)
    if not 0 <= holdout <= 0.9:
        raise Correction("holdout", f"{holdout:g} is no such share", "a number from 0 to 0.9", "0.3")
    return SearchRequest(
        base=str(base),
        file=file,
        function=function,
        statement=call.get("statement", ""),
        check_texts=(_checks(call.arguments["checks"]),),
        candidate_texts=given,
        generators=generators,
        awaits=True,
        model=model,
        holdout=holdout,
        time_limit_s=call.get("time_limit_s") or _TIME_LIMIT_S,
        exhaustive=bool(call.get("exhaustive", False)),
        **caps,
    )


def _generators(call: Call) -> tuple[Any, ...]:
    found = tuple(str(each).strip().casefold() for each in call.get("generators", ()))
    for each in found:
        if each not in _GENERATORS:
            raise Correction(
                "generators", f"there is no generator {each!r}", f"some of {', '.join(_GENERATORS)}", "mutate"
            )
    return found


def _checks(given: Any) -> str:
    """Return checks as the text that is read: lines of a list, or JSON of pairs."""
    if isinstance(given, str):
        return given
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return "\n".join(given)
    return json.dumps(given, ensure_ascii=False)


def _program(given: Any) -> str:
    if not isinstance(given, str):
        raise Correction("start", "it is no text", "the whole text of a program", "def f(n):\n    return n")
    return given


def _kept(store: Path, program: str) -> Path:
    """Write a starting program that came as text to a folder of its own, where its kernels find it."""
    from treewright.store.durable import make_folder, replace_file

    data = program.encode("utf-8")
    folder = make_folder(store / "cache" / "programs" / hashlib.sha256(data).hexdigest()[:16], private=True)
    (folder / "pyproject.toml").touch()  # it is a workspace of its own: nothing above it belongs to it
    replace_file(folder / "start.py", [data], private=True)
    return folder


async def _ended(driver: Driver[SearchOutcome], before: set[str] | None) -> Reply:
    outcome = await asyncio.wrap_future(driver.done)
    reply = _told(outcome.report, outcome.status, str(outcome.folder))
    if before is not None:
        new = [row for row in reply["branches"] if row["id"] not in before]
        reply["branch"] = new[-1] if new else None
    return reply


def _told(report: SearchReport, status: str, folder: str) -> Reply:
    plain = report.model_dump(mode="json")
    chosen = plain["chosen"]
    facts = {
        "run": report.run,
        "status": status,
        "folder": folder,
        **{
            key: plain[key]
            for key in ("verified", "halted", "reason", "discriminating", "failing", "advice", "alternatives")
        },
        "chosen": chosen,
        "branches": plain["branches"][:_BRANCHES_TOLD],
        "spend_usd": report.spend_usd,
    }
    if status == "growing":
        return done("Still searching. Call search_result again.", "search_result", **facts)
    if report.verified and chosen:
        told = f"Verified: {chosen['id']} passes {chosen['passed']} of {chosen['total']} checks. Show the change to the user; nothing was written."
        return done(" ".join([told, *report.advice]), "", **facts)
    if chosen:
        told = f"Best so far: {chosen['id']} passes {chosen['passed']} of {chosen['total']}. Write a better program and send it with search_submit_candidate."
    else:
        told = "No program yet. Write one and send it with search_submit_candidate."
    return done(" ".join([told, *report.advice]), "search_submit_candidate", **facts)


async def search_submit_candidate(call: Call) -> Reply:
    """Run a program of the caller's as one more branch."""
    folder = await reached_folder(call, call.arguments["run"])
    code = call.arguments["code"]
    if not isinstance(code, str):
        raise Correction("code", "it is no text", "the whole program", "def f(n):\n    return n * n")
    held = await _searches(call)

    async def work() -> Reply:
        async with held.turns.setdefault(str(folder), asyncio.Lock()):
            app = await call.office.app()
            before = await call.thread(lambda: {row.id for row in SearchLook(folder).found.branches})
            try:
                searching = await call.thread(searches.offer, app.context, str(folder), code)
            except RunError as fault:
                if fault.code != "search_verified":
                    raise
                told = (
                    "This search has found a program that passes every check; there is nothing left to try."
                )
                return refused(fault.code, told, "search_result", run=call.arguments["run"])
            return await _ended(held.drive(searching), before)

    return await call.long(work())


async def search_result(call: Call) -> Reply:
    """Tell what a search has found."""
    folder = await reached_folder(call, call.arguments["run"])
    loop = asyncio.get_running_loop()
    end = loop.time() + min(call.get("wait_s", 0.0), _WAIT_MOST_S)
    while True:
        look = await call.thread(_look, folder)
        summary = await call.thread(look.summary)
        if summary["status"] != "growing" or loop.time() >= end:
            return _told(look.found, summary["status"], str(folder))
        await call.report(
            float(len(look.found.branches)), counted(len(look.found.branches), "branch", "branches")
        )
        await asyncio.sleep(_LOOK_S)


def _look(folder: Path) -> SearchLook:
    from treewright.app.describe import is_search

    if not is_search(folder):
        raise RunError("run_not_found", "This run is no search.", "tree_status looks at explorations.")
    return SearchLook(folder)
