"""The exploration engine: a pure state machine from tasks and results to events.

    run = Explorer(tree, materials, bodies)
    events = run.begin(started)          then, again and again:
    tasks = run.ready(limit, exclude)    brief = run.brief(task)
    events = run.accept(task.id, result) or run.fail(task.id, code, message)
    events = run.settle()                until it returns none

The caller folds each event into the tree as it gets it, before asking for more, and journals them; `store.run_folder` does both.
The engine has no clock, no randomness and no file.
"""

from collections.abc import Collection

from treewright.errors import RunError
from treewright.explore import accept as accepting
from treewright.explore import briefs, ready, settle
from treewright.explore.materials import Materials
from treewright.explore.ports import Bodies
from treewright.explore.tasks import RESULT_KINDS, Brief, Result, Task
from treewright.tree import event as e
from treewright.tree.fold import Tree
from treewright.tree.ids import sort_key
from treewright.tree.run import Caps, Status


class Explorer:
    """Drives one exploration over a folded tree."""

    def __init__(
        self,
        tree: Tree,
        materials: Materials,
        bodies: Bodies,
        priority: settle.Priority | None = None,
    ) -> None:
        """Take a tree, empty or reopened.

        Args:
            tree: the folded state; the caller goes on folding into it.
            materials: preset, framings and profile notes.
            bodies: reads events back by number.
            priority: orders the frontier beside the score.
        """
        self.tree = tree
        self.materials = materials
        self.bodies = bodies
        self.priority = priority or settle.Priority()

    def begin(self, started: e.RunStarted) -> list[e.Event]:
        """Return the events that start a new run.

        Raises:
            RunError: `run_started` when it was started before.
        """
        if self.tree.started is not None:
            raise RunError("run_started", "This run was started before.", "Resume it instead.")
        options = {**started.options, "convergence_metric": self.materials.preset.convergence_metric.value}
        return [started.model_copy(update={"options": options})]

    def ready(self, limit: int, exclude: Collection[str] = ()) -> list[Task]:
        """Return up to `limit` tasks that can be performed now, those in `exclude` left out."""
        return ready.ready(self.tree, limit, exclude)

    def find(self, task_id: str) -> Task | None:
        """Return a ready task by its id; None when it is done, not due or unknown."""
        return ready.find(self.tree, task_id)

    def brief(self, task: Task) -> Brief:
        """Return what a performer needs for a ready task."""
        return briefs.brief(self.tree, self.materials, self.bodies, task)

    def accept(self, task_id: str, result: Result) -> list[e.Event]:
        """Return the events of a result; none when the task is done already or not due.

        Raises:
            RunError: `wrong_result` when the result is of another kind than the task asks for.
        """
        task = self.find(task_id)
        if task is None:
            return []
        if not isinstance(result, RESULT_KINDS[task.kind]):
            raise RunError(
                "wrong_result",
                f"{type(result).__name__} does not answer a {task.kind} task.",
                f"Return a {RESULT_KINDS[task.kind].__name__}.",
            )
        return accepting.accept(self.tree, self.materials, self.bodies, task, result)

    def fail(self, task_id: str, code: str, message: str, raw: str = "") -> list[e.Event]:
        """Return the events of a task that its performer could not fill in; none when it is not due."""
        task = self.find(task_id)
        return accepting.failed(self.tree, task, code, message, raw) if task else []

    def settle(self) -> list[e.Event]:
        """Return what follows from the state by itself; call until it returns none."""
        return settle.settle(self.tree, self.materials, self.bodies, self.priority)

    def stop(self, status: Status, reason: str = "") -> list[e.Event]:
        """Return the events that pause a growing run with a status that can be continued; none when it has ended."""
        if self.tree.status is not Status.GROWING or status.final:
            return []
        details = {"unfinished": self.unfinished()} if status is Status.SPEND_CAP_REACHED else {}
        return [e.StatusChanged(status=status, reason=reason, details=details)]

    def unfinished(self) -> list[str]:
        """Return the nodes with a task that is not done, and those whose framings are still being asked."""
        waiting = [node for ids in self.tree.waiting.values() for node in ids]
        return sorted({*waiting, *self.tree.passes}, key=sort_key)

    def resume(self, caps: Caps | None = None, options: dict[str, object] | None = None) -> list[e.Event]:
        """Return the events that continue a paused, stopped or capped run.

        Args:
            caps: the new caps; None keeps them.
            options: options to change.

        Raises:
            RunError: `run_final` when nothing can continue it.
        """
        if self.tree.status.final:
            raise RunError(
                "run_final",
                f"This run has ended: {self.tree.status} {self.tree.reason}".rstrip() + ".",
                "Start a new run with --out, or seed one with --seed-from.",
            )
        found: list[e.Event] = [e.CapsChanged(caps=caps or self.tree.caps, options=options or {})]
        if self.tree.status is not Status.GROWING:
            found.append(e.StatusChanged(status=Status.GROWING, reason="resumed"))
        return found
