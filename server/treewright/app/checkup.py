"""What `treewright doctor` finds: one value for each thing that was looked at."""

from dataclasses import dataclass
from typing import Literal

State = Literal["good", "missing", "optional"]


@dataclass(frozen=True, slots=True)
class Checkup:
    """One thing that was looked at.

    Attributes:
        name: what.
        state: `good`; `missing`, so that something does not work; `optional`, not there and not needed by everybody.
        detail: what was found.
        mend: the command or act that mends it; empty when nothing has to be done.
    """

    name: str
    state: State
    detail: str
    mend: str = ""
