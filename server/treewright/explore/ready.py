"""What is ready: a function of the folded tree, never a queue kept beside it.

Task ids are deterministic paths, so a task can be looked up again from its id, and one that is already done is simply not ready.
"""

from collections.abc import Collection, Iterator

from treewright.explore.tasks import Task, TaskKind
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT
from treewright.tree.node import Node, Phase
from treewright.tree.passes import FramingState, FramingStep
from treewright.tree.run import Status

GROUND_TRIES = 3
"""Answers to `ground` before the root counts as unfillable."""
SUMMARY_TRIES = 2
"""Answers to `summarise` before the report goes without a narrative."""


def ready(tree: Tree, limit: int, exclude: Collection[str] = ()) -> list[Task]:
    """Return tasks that can be performed now.

    Args:
        tree: the folded state.
        limit: how many at most.
        exclude: ids of tasks already being performed.
    """
    found: list[Task] = []
    for task in _all(tree):
        if task.id not in exclude:
            found.append(task)
            if len(found) >= limit:
                break
    return found


def find(tree: Tree, task_id: str) -> Task | None:
    """Return the task of an id when it is ready, else None: done, not yet due, or no task at all."""
    kind, _, rest = task_id.partition("/")
    node_id, _, tail = rest.partition("/")
    candidates: list[Task] = []
    if node_id == ROOT and tree.root_checked is False:
        candidates = list(_root(tree))
    elif kind == "summarise":
        candidates = list(_ending(tree))
    elif tree.status is Status.GROWING and tree.started:
        candidates = list(_of_node(tree, node_id))
        home = tree.passes.get(node_id)
        letter = tail.partition("/")[0]
        if home and letter in home.framings:
            candidates += _of_framing(node_id, letter, home.framings[letter])
    return next((task for task in candidates if task.id == task_id), None)


def _all(tree: Tree) -> Iterator[Task]:
    if tree.started is None or tree.status is not Status.GROWING:
        return
    if not tree.root_checked:
        yield from _root(tree)
        return
    for phase in _PHASES:
        for node_id in tree.waiting[phase]:
            yield from _of_node(tree, node_id)
    for node_id, letter in tree.asking:
        yield from _of_framing(node_id, letter, tree.passes[node_id].framings[letter])
    yield from _ending(tree)


_PHASES = (Phase.DERIVED, Phase.EXTERNAL_CHECK, Phase.FAULTY, Phase.REROUTING, Phase.DRAFTED, Phase.EXTERNAL)


def _root(tree: Tree) -> Iterator[Task]:
    if tree.started is None or tree.status is not Status.GROWING:
        return
    if tree.grounded_at < 0:
        if tree.ground_attempts < GROUND_TRIES:
            attempt = tree.ground_attempts + 1
            yield Task(id=f"ground/{ROOT}/{attempt}", kind=TaskKind.GROUND, node=ROOT, attempt=attempt)
    else:
        yield Task(id=f"verify/{ROOT}/root", kind=TaskKind.VERIFY, node=ROOT)


def _of_node(tree: Tree, node_id: str) -> Iterator[Task]:
    node = tree.nodes.get(node_id)
    if node is None:
        return
    made = _node_task(node)
    if made is not None:
        yield made


def _node_task(node: Node) -> Task | None:
    step = f"{node.revision}.{node.failures + 1}"
    common = {"node": node.id, "framing": node.framing}
    match node.phase:
        case Phase.DRAFTED:
            return Task(
                id=f"derive/{node.id}/{step}", kind=TaskKind.DERIVE, attempt=node.failures + 1, **common
            )
        case Phase.FAULTY:
            return Task(id=f"revise/{node.id}/{step}", kind=TaskKind.REVISE, attempt=node.revision, **common)
        case Phase.DERIVED:
            checked = f"verify/{node.id}/{node.revision}"
            return Task(id=checked, kind=TaskKind.VERIFY, node=node.id, attempt=node.revision)
        case Phase.REROUTING:
            return _reroute(node)
        case Phase.EXTERNAL:
            return Task(id=f"external/{node.id}/1", kind=TaskKind.EXTERNAL, node=node.id, framing="X")
        case Phase.EXTERNAL_CHECK:
            return Task(id=f"verify/{node.id}/external", kind=TaskKind.VERIFY, node=node.id, framing="X")
        case _:
            return None


def _reroute(node: Node) -> Task:
    attempt = node.reroutes + 1
    return Task(
        id=f"reroute/{node.id}/{attempt}",
        kind=TaskKind.PROPOSE,
        node=node.parent or ROOT,
        framing="E",
        attempt=attempt,
        replaces=node.id,
    )


def _of_framing(node_id: str, letter: str, state: FramingState) -> Iterator[Task]:
    if state.step is FramingStep.ASKED:
        attempt = state.tries + 1
        yield Task(
            id=f"propose/{node_id}/{letter}/{attempt}",
            kind=TaskKind.PROPOSE,
            node=node_id,
            framing=letter,
            attempt=attempt,
        )
    elif state.step is FramingStep.ANSWERED:
        yield Task(
            id=f"verify/{node_id}/{letter}/{state.attempt}",
            kind=TaskKind.VERIFY,
            node=node_id,
            framing=letter,
            attempt=state.attempt,
        )


def _ending(tree: Tree) -> Iterator[Task]:
    if tree.ending is not None and tree.summarised_at < 0 and tree.summary_failures < SUMMARY_TRIES:
        attempt = tree.summary_failures + 1
        yield Task(id=f"summarise/{ROOT}/{attempt}", kind=TaskKind.SUMMARISE, node=ROOT, attempt=attempt)
