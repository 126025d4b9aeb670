"""The tools by which the caller, or the client's own model, fills a run's tasks in."""

import functools
from pathlib import Path
from typing import Any

from treewright.app.guided import Due, Standing, Taken
from treewright.app.guiding import Guide
from treewright.app.performers import SAMPLING
from treewright.counted import counted
from treewright.explore.tasks import Brief
from treewright.performers.guided import Fault, parse_answer, task_card
from treewright.performers.model.material import Material, read_material
from treewright.performers.sampled import SYSTEM, TRIES, answer_of, request_text, room_for
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done, refused
from treewright.surfaces.mcp.reaching import reached_folder
from treewright.tree.run import RootSpec

_FAULTS_TOLD = 8


async def tree_next(call: Call) -> Reply:
    """Hand out the next task; on a sampling run, have the client's model do it."""
    folder = await reached_folder(call, call.arguments["run"])
    guide = await call.office.guide()
    found = await guide.next(str(folder), frozenset(call.get("skip", ())))
    if isinstance(found, Standing):
        return _nothing_due(found)
    if found.standing.performer == SAMPLING and call.asking.samples:
        return await _sampled(call, guide, str(folder), found)
    material = await call.thread(material_of, found.brief.root_spec)
    card = await call.thread(task_card, found.brief, material)
    told = (
        f"Fill in task {card['task']} ({card['kind']}). Follow the card, then call tree_submit with "
        f"run={found.standing.run}, task={card['task']} and your answer as JSON."
    )
    text = "\n\n".join(
        part
        for part in (
            card["instructions"],
            f"Return JSON of this shape:\n{card['shape']}",
            card.get("optional", ""),
        )
        if part
    )
    return done(
        told,
        "tree_submit",
        run=found.standing.run,
        task=card["task"],
        kind=card["kind"],
        node=card["node"],
        framing=card["framing"],
        schema=card["schema"],
        progress=_progress(found.standing),
        card=text,
    )


@functools.lru_cache(maxsize=8)
def _material(spec: str, stamp: int) -> Material:  # noqa: ARG001 - a changed file has another stamp
    return read_material(RootSpec.model_validate_json(spec))


def material_of(spec: RootSpec) -> Material:
    """Return what a run's root offers to quote; read once, and again when its file has changed."""
    path = Path(spec.workspace) / spec.path if spec.path else None
    stamp = path.stat().st_mtime_ns if path is not None and path.is_file() else 0
    return _material(spec.model_dump_json(), stamp)


def _progress(standing: Standing) -> dict[str, Any]:
    return {
        "nodes": standing.nodes,
        "advancing": standing.advancing,
        "tasks_ready": standing.ready,
        "rounds": standing.rounds,
    }


def _nothing_due(standing: Standing) -> Reply:
    facts = {"run": standing.run, "status": standing.status.value, "progress": _progress(standing)}
    if standing.growing:
        return done(
            "Every task that is ready is with somebody else. Submit those first.", "tree_submit", **facts
        )
    ended = standing.status.value + (f"={standing.reason}" if standing.reason else "")
    if standing.status.final:
        told = f"The run has ended: {ended}. Read the report to the user; the files are in {standing.folder}."
        return done(told, "tree_report", **facts)
    return done(f"The run stands still: {ended}. tree_resume goes on with it.", "tree_resume", **facts)


async def tree_submit(call: Call) -> Reply:
    """Take a task's answer in."""
    if call.get("answer") is None and call.get("refuse") is None:
        shape = "the answer as JSON in the shape of the task's card, or refuse with a reason"
        raise Correction("answer", "it is missing", shape, '{"proposals": [...]}')
    folder = await reached_folder(call, call.arguments["run"])
    return await call.long(_submitted(call, str(folder), call.arguments["task"].strip("\"'` ")))


async def _submitted(call: Call, folder: str, task: str) -> Reply:
    guide = await call.office.guide()
    answer = call.get("answer")
    if answer is None:
        taken = await guide.fail(folder, task, "refused_by_caller", call.arguments["refuse"])
    else:
        taken = await guide.submit(folder, task, lambda brief: parse_answer(brief, _data(answer)))
    return _reply(taken, task)


def _data(answer: Any) -> Any:
    return {"proposals": answer} if isinstance(answer, list) else answer


def _reply(taken: Taken, task: str) -> Reply:
    standing = taken.standing
    facts: dict[str, Any] = {
        "run": standing.run,
        "task": task,
        "progress": _progress(standing),
        "status": standing.status.value,
    }
    if isinstance(taken.value, Fault):
        told = f"The answer to {task} cannot be read:\n{taken.value.message}\nExpected:\n{taken.value.shape}\nSend it again with tree_submit."
        listed = list(taken.value.faults)
        return refused(
            "retry_with_clarification",
            told,
            "tree_submit",
            kind="retry_with_clarification",
            faults=listed,
            shape=taken.value.shape,
            **facts,
        )
    if not taken.accepted:
        told = f"There is no task {task} to be filled in now: it was done already, or is not due. Nothing changed."
        return refused("task_not_due", told, "tree_next", accepted=False, **facts)
    faults = list(taken.faults)[:_FAULTS_TOLD]
    if not standing.growing:
        return {**_nothing_due(standing), "accepted": True, "task": task, "faults": faults}
    told = "Taken."
    if faults:
        told = "Taken, with faults that the engine wants mended:\n" + "\n".join(
            f"- {fault}" for fault in faults
        )
    return done(
        f"{told} {counted(standing.ready, 'task')} {'is' if standing.ready == 1 else 'are'} ready. Call tree_next.",
        "tree_next",
        accepted=True,
        faults=faults,
        **facts,
    )


async def _sampled(call: Call, guide: Guide, folder: str, due: Due) -> Reply:
    """Have the client's model fill one task in, in one round."""
    task = due.task.id
    key = (due.standing.run, task)
    faults = call.office.faults.get(key, [])
    material = await call.thread(material_of, due.brief.root_spec)
    text = await call.thread(request_text, task_card(due.brief, material), faults)
    answered = await call.asking.sample(f"sample:{task}:{len(faults)}", SYSTEM, text, room_for(due.brief))
    if answered is None:
        told = "The client or its user did not let its model answer. Nothing changed."
        return refused("sampling_refused", told, "tree_next", run=due.standing.run, task=task)

    def read(brief: Brief) -> Any:
        return answer_of(brief, answered)

    taken = await guide.submit(folder, task, read)
    if isinstance(taken.value, Fault):
        call.office.faults[key] = [*faults, taken.value.message]
        if len(faults) + 1 >= TRIES:
            call.office.faults.pop(key)
            taken = await guide.fail(folder, task, "model_unusable", taken.value.message)
            return {
                **_reply(taken, task),
                "message": f"The client's model could not fill {task} in; the engine goes another way. Call tree_next.",
            }
        told = f"The model's answer to {task} could not be read; tree_next asks it again with the fault."
        return done(
            told, "tree_next", run=due.standing.run, task=task, accepted=False, faults=[taken.value.message]
        )
    call.office.faults.pop(key, None)
    return _reply(taken, task)
