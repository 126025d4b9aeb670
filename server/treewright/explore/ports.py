"""What the exploration engine and whoever drives it see of the outside."""

from collections.abc import Sequence
from typing import Protocol

from treewright.explore.tasks import Brief, Result
from treewright.tree.citation import Frozen
from treewright.tree.event import AnyEvent, SpendRecorded


class Bodies(Protocol):
    """Reads back events that were folded, by the number the tree keeps."""

    def read(self, at: int) -> AnyEvent:
        """Return event number `at` of the run's journal."""
        ...


class Performance(Frozen):
    """A filled-in task.

    Attributes:
        result: of the kind the task asks for.
        spent: what it used; empty for performers that cost nothing.
    """

    result: Result
    spent: Sequence[SpendRecorded] = ()


class Performer(Protocol):
    """Fills tasks in.

    Attributes:
        name: what reports call it, such as `static`, `model qwen2.5-coder` or `scripted`.
    """

    name: str

    async def perform(self, brief: Brief) -> Performance:
        """Fill a task in.

        Raises:
            TreewrightError: the task cannot be filled in; codes in `runner.PAUSING` pause the run, others count as a
                failed attempt.
        """
        ...
