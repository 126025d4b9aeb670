"""What a run is: its kind, its status, its caps and the words it is described with."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from treewright.tree.citation import Frozen


class RunKind(StrEnum):
    """What grows."""

    EXPLORATION = "exploration"
    DELIBERATION = "deliberation"
    SEARCH = "search"
    CHAIN = "chain"


class Status(StrEnum):
    """Where a run stands (contract: exploration, 7)."""

    GROWING = "GROWING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    SPEND_CAP_REACHED = "SPEND_CAP_REACHED"
    WIDTH_CAP_REACHED = "WIDTH_CAP_REACHED"
    DEPTH_CAP_REACHED = "DEPTH_CAP_REACHED"
    ROUNDS_EXHAUSTED = "ROUNDS_EXHAUSTED"
    EARLY_STOP = "EARLY_STOP"
    CONVERGED = "CONVERGED"

    @property
    def final(self) -> bool:
        """Whether nothing can continue the run."""
        return self in (Status.CONVERGED, Status.EARLY_STOP)


class Role(StrEnum):
    """What the engine does with a node that has a verdict."""

    ADVANCES = "advances"
    KEPT = "kept"
    PRUNED = "pruned"
    BLOCKED = "blocked"


class Caps(Frozen):
    """Limits that only the user sets; None is no limit (rule F7).

    Attributes:
        width: terminal nodes.
        depth: segments below the root.
        rounds: closed rounds.
        max_branches: children per node and round, 12 or more.
        spend_usd: dollars for the whole run.
    """

    width: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1)
    rounds: int | None = Field(default=None, ge=1)
    max_branches: int | None = Field(default=None, ge=12)
    spend_usd: float | None = Field(default=None, ge=0)


class RootSpec(Frozen):
    """What a run starts from.

    Attributes:
        kind: the preset's root kind.
        text: the topic or design prompt, verbatim; for seeded runs, derived from the seeds.
        path: for `artifact` and `code`, relative to the workspace with forward slashes (`.` for the workspace itself).
        workspace: absolute path of the workspace that citations are relative to.
        focus: for an artifact, the section, claim or equation that narrows it.
        changed_since: for code, the revision whose changes are audited.
        inferred: the topic was inferred from the project.
    """

    kind: Literal["topic", "artifact", "code", "design-prompt"]
    text: str = ""
    path: str = ""
    workspace: str = ""
    focus: str = ""
    changed_since: str = ""
    inferred: bool = False


class Language(Frozen):
    """The language settled for a run and its whole chain (contract: exploration, 6)."""

    request: str = "en"
    output: str = "en"
    source: Literal["explicit", "auto-detected", "default", "resume", "legacy-default"] = "default"
