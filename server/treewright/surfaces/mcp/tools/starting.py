"""The tools that start runs, go on with them and stop them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.app.explorations import Growing
from treewright.app.guided import Standing
from treewright.app.performers import CALLER, GUIDED, SAMPLING, STATIC
from treewright.app.request import ExplorationRequest, Notice, ResumeRequest
from treewright.app.runs import RunView
from treewright.counted import counted
from treewright.store.locks import run_holder
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done
from treewright.surfaces.mcp.reaching import reached_folder
from treewright.surfaces.mcp.running import Driven
from treewright.surfaces.mcp.tools.glossary import settled_by_user
from treewright.tree.run import Role

if TYPE_CHECKING:
    from treewright.surfaces.mcp.confinement import Confinement

_CAPS = ("width", "depth", "rounds", "max_branches", "spend_cap_usd", "min_novelty_ratio")
_PATHS = ("out", "seed_from", "glossary")
_FINDINGS_TOLD = 20
_PATH_KINDS = ("artifact", "code")
_SHOWN_ROLES = (Role.ADVANCES, Role.KEPT)


async def tree_start(call: Call) -> Reply:
    """Start an exploration."""
    confinement = await call.confinement()
    performer = await _performer(call)
    request = await exploration_request(call, confinement, call.arguments["preset"])
    ask = await settled_by_user(call, request)
    if performer in GUIDED:
        guide = await call.office.guide()
        standing = await guide.start(request, performer, ask)
        return _started(standing, performer)
    app = await call.office.app()
    asked = request.model_copy(update={"model": "" if performer == "default" else performer})
    growing = await call.thread(app.start, asked)
    driven = (await call.office.running()).drive(growing)
    told = f"Started; {performer} thinks. Ask with tree_status how far it is; tree_stop stops it."
    return done(
        told,
        "tree_status",
        run=driven.run,
        folder=str(growing.folder),
        performer=performer,
        status="GROWING",
        **_noticed(growing.notices),
    )


def _started(standing: Standing, performer: str) -> Reply:
    thinks = (
        "this client's model thinks: each tree_next does one task"
        if performer == SAMPLING
        else "you think, task by task"
    )
    return done(
        f"Started; {thinks}. Call tree_next with run={standing.run}.",
        "tree_next",
        run=standing.run,
        folder=str(standing.folder),
        performer=performer,
        status=standing.status.value,
        **_noticed(standing.notices),
    )


def _noticed(notices: Any) -> dict[str, Any]:
    found = [notice.message for notice in notices if isinstance(notice, Notice)]
    return {"notices": found} if found else {}


async def _performer(call: Call, default: str = CALLER) -> str:
    performer: str = call.get("performer", default)
    plain = performer.casefold().strip("\"'` ")
    if plain in (*GUIDED, STATIC, "default"):
        performer = plain
    elif plain in ("me", "self", "you", "client", "assistant"):
        performer = CALLER
    if performer == SAMPLING and not call.asking.samples:
        raise Correction(
            "performer",
            "this client does not lend its model (it offers no sampling)",
            "caller (you think, task by task), static for code-audit, or a configured provider's name",
            "caller",
        )
    return performer


async def exploration_request(call: Call, confinement: "Confinement", preset: str) -> ExplorationRequest:
    """Return the request that the arguments stand for, all paths admitted."""
    app = await call.office.app()
    store = app.context.configuration().root.folder
    base = confinement.folders[0] if confinement.folders else store
    if preset.endswith(".md") or "/" in preset or "\\" in preset:
        preset = str(confinement.admit(preset, base))
    kind = await call.thread(_root_kind, preset, store)
    root, within = await call.thread(_admitted, confinement, base, kind, call.get("root", ""))
    given = {name: call.get(name) for name in (*_CAPS, "lang", "online") if call.get(name) is not None}
    given |= {name: call.get(name, "") for name in ("field", "focus", "mode", "changed_since")}
    given |= {name: str(confinement.admit(call.get(name), base)) for name in _PATHS if call.get(name)}
    return ExplorationRequest(
        preset=preset,
        root=root,
        base=str(base),
        within=str(within),
        no_grill=bool(call.get("no_grill", False)),
        **{name: _checked(name, value) for name, value in given.items()},
    )


def _admitted(confinement: "Confinement", base: Path, kind: str, root: str) -> tuple[str, Path]:
    """Return a root with its path admitted, where it is one, and the folder that its workspace may not lie above."""
    if kind not in _PATH_KINDS and not _is_file(base, root):
        return root, base
    path = confinement.admit(root or ".", base)
    real = path.resolve()
    return str(path), next((folder for folder in confinement.folders if real.is_relative_to(folder)), path)


def _is_file(base: Path, root: str) -> bool:
    """Tell whether a topic or prompt is the name of a file, which would be read."""
    try:
        return bool(root) and (base / Path(root).expanduser()).is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _checked(name: str, value: Any) -> Any:
    if name == "min_novelty_ratio" and not 0 <= value <= 1:
        raise Correction(name, f"{value:g} is no share", "a number from 0 to 1", "0.15")
    return value


def _root_kind(preset: str, store: Path) -> str:
    from treewright.presets.loader import load_preset

    return load_preset(preset, store).root_kind


async def audit_code(call: Call) -> Reply:
    """Audit code offline, and tell what was found."""
    confinement = await call.confinement()
    call.arguments["root"] = call.get("path", ".")
    request = (await exploration_request(call, confinement, "code-audit")).model_copy(
        update={"model": STATIC, "no_grill": True}
    )
    app = await call.office.app()
    growing: Growing = await call.thread(app.start, request)
    driven = (await call.office.running()).drive(growing)
    reply = await call.long(_audited(call, driven), driven.driver.stop, driven.told)
    if "handle" in reply:
        reply |= {"run": driven.run, "folder": str(growing.folder), "status": "GROWING"}
    return reply


async def _audited(call: Call, driven: Driven) -> Reply:
    await driven.ended.wait()
    if driven.fault is not None:
        raise driven.fault
    outcome = driven.outcome
    assert outcome is not None
    app = await call.office.app()
    findings = await call.thread(_findings, app, str(outcome.folder))
    told = f"{outcome.status.value}: {counted(len(findings), 'finding')}."
    if len(findings) > _FINDINGS_TOLD:
        told += f" The first {_FINDINGS_TOLD} are here; tree_children has all."
    return done(
        told,
        "tree_node" if findings else "tree_report",
        run=outcome.run,
        folder=str(outcome.folder),
        status=outcome.status.value,
        findings=findings[:_FINDINGS_TOLD],
        total=len(findings),
    )


def _findings(app: Any, run: str) -> list[dict[str, Any]]:
    view: RunView = app.view(run)
    nodes = [n for n in view.reader.tree.descendants() if n.counts and n.role in _SHOWN_ROLES]
    keys, artifacts = view.preset.dim_keys(), view.preset.output_artifacts
    nodes.sort(
        key=lambda n: (
            n.role is not Role.ADVANCES,
            -artifacts.sort_value(dict(zip(keys, n.scores, strict=True))),
        )
    )
    return [
        {
            "node": node.id,
            "verdict": view.preset.label(node.role) if node.role else "",
            "statement": node.statement,
            "position": node.position,
            "cwe": node.cwe,
        }
        for node in nodes
    ]


async def tree_resume(call: Call) -> Reply:
    """Go on with a run."""
    folder = await reached_folder(call, call.arguments["run"])
    app = await call.office.app()
    if (other := await _resumed_of_another_kind(call, str(folder))) is not None:
        return other
    before = await call.thread(lambda: _thinker(app, str(folder)))
    performer = await _performer(call, before)
    given = {name: call.get(name) for name in (*_CAPS, "lang") if call.get(name) is not None}
    request = ResumeRequest(run=str(folder), **{name: _checked(name, value) for name, value in given.items()})
    if performer in GUIDED:
        picked, standing = await (await call.office.guide()).resume(request, performer)
        run, status = standing.run, standing.status.value
        told, next_tool = f"Resumed. Call tree_next with run={run}.", "tree_next"
    else:
        asked = request.model_copy(update={"model": "" if performer == before else performer})
        growing = await call.thread(app.resume, asked)
        picked = growing.picked_up()
        driven = (await call.office.running()).drive(growing)
        run, status = driven.run, "GROWING"
        told, next_tool = f"Resumed; {performer} thinks. Ask with tree_status how far it is.", "tree_status"
    told += f" Of the run: {picked.text()}."
    facts = {"kept": picked.kept, "redone": picked.redone, "to_do": picked.to_do}
    return done(told, next_tool, run=run, status=status, performer=performer, **facts)


async def _resumed_of_another_kind(call: Call, folder: str) -> Reply | None:
    """Go on with a search or a chain; None for an exploration."""
    app = await call.office.app()
    if await call.thread(app.kind, folder) == "search":
        from treewright.surfaces.mcp.tools.searching import resume_search

        return await resume_search(call, folder)
    performer, cap = call.get("performer", ""), call.get("spend_cap_usd")
    chain = await call.thread(lambda: app.chain_of(folder, model=performer, spend_cap_usd=cap))
    if chain is None:
        return None
    from treewright.surfaces.mcp.tools.chaining import driven

    return await driven(call, chain)


def _thinker(app: Any, run: str) -> str:
    view: RunView = app.view(run)
    started = view.reader.tree.started
    model = str(view.reader.tree.option("model", ""))
    return model or (STATIC if started and started.performer == STATIC else "default")


async def tree_stop(call: Call) -> Reply:
    """Stop a run, whoever drives it."""
    run = call.arguments["run"]
    folder = await reached_folder(call, run)
    app = await call.office.app()
    if await call.thread(app.kind, str(folder)) != "exploration":
        by = await call.thread(app.stop, str(folder), call.get("reason", ""))
        return done("Asked to stop; tree_resume goes on with it.", "search_result", run=run, driven_by=by)
    view = await call.office.view(str(folder))
    running = await call.office.running()
    holder = await call.thread(run_holder, folder)
    told = "Asked to stop; tree_resume goes on with it."
    if running.stop(view.run):
        driven = running.find(view.run)
        assert driven is not None
        await call.long(_ended(driven))
        by = "this server"
    elif holder is not None:
        by = await call.thread(app.stop, str(folder), call.get("reason", ""))
    else:
        standing = await (await call.office.guide()).stop(str(folder), call.get("reason", ""))
        return done(
            f"{standing.status.value}. tree_resume goes on with it.",
            "tree_report",
            run=standing.run,
            status=standing.status.value,
        )
    view = await call.office.view(str(folder))
    summary = await call.thread(view.with_view, lambda each: each.summary())
    return done(told, "tree_status", run=view.run, status=summary["status"], driven_by=by)


async def _ended(driven: Driven) -> Reply:
    await driven.ended.wait()
    return done("ended")
