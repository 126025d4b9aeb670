"""What a user asks for when a run is started or resumed; every surface fills in the same form."""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.tree.event import Event


class ExplorationRequest(BaseModel):
    """A new exploration.

    Attributes:
        preset: a shipped name, a name in the user's presets, or a path.
        root: the topic, design prompt, or path, in the user's words.
        base: absolute folder that relative paths start from.
        within: absolute folder above which no workspace is looked for; empty for no bound.
        out: output folder, absolute; empty for a new one in the workspace.
        width, depth, rounds, max_branches: caps; None takes the configuration's.
        spend_cap_usd: None takes the configuration's.
        min_novelty_ratio: None takes the configuration's.
        concurrency: tasks in flight; None takes the configuration's.
        lang: what `--lang` says; None when nothing was said.
        field: field profile's name; empty for none.
        seed_from: a prior deliverable, absolute; empty for none.
        glossary: a term list, absolute; empty to look for one.
        no_grill: skip the glossary step.
        online: check addresses and run the cross-check X; None takes the configuration's.
        focus: narrows an artifact.
        changed_since: audits only what changed since this revision.
        mode: brainstorm's `research` or `problem`; empty decides by the topic.
        model: a provider's name or specification; empty for the default, `static` for none.
        python: interpreter whose packages checks import; empty to find one.
        trusted: the workspace may configure and execute.
        spend_account: whose spend cap holds, as for a stage of a chain; empty for the run's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str
    root: str = ""
    base: str
    within: str = ""
    out: str = ""
    width: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1)
    rounds: int | None = Field(default=None, ge=1)
    max_branches: int | None = Field(default=None, ge=12)
    spend_cap_usd: float | None = Field(default=None, ge=0)
    min_novelty_ratio: float | None = Field(default=None, ge=0, le=1)
    concurrency: int | None = Field(default=None, ge=1, le=64)
    lang: str | None = None
    field: str = ""
    seed_from: str = ""
    glossary: str = ""
    no_grill: bool = False
    online: bool | None = None
    focus: str = ""
    changed_since: str = ""
    mode: str = ""
    model: str = ""
    python: str = ""
    trusted: bool = True
    spend_account: str = ""


class ResumeRequest(BaseModel):
    """A run to go on with; what is None keeps what the run has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    width: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1)
    rounds: int | None = Field(default=None, ge=1)
    max_branches: int | None = Field(default=None, ge=12)
    spend_cap_usd: float | None = Field(default=None, ge=0)
    min_novelty_ratio: float | None = Field(default=None, ge=0, le=1)
    concurrency: int | None = Field(default=None, ge=1, le=64)
    lang: str | None = None
    model: str = ""
    trusted: bool = True


class Progress(BaseModel):
    """What a surface is told while a run grows.

    Attributes:
        run: the run's id.
        folder: its folder.
        events: what just happened.
        in_flight: tasks being performed.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    run: str
    folder: str
    events: list[Event]
    in_flight: int


Listener = Callable[[Progress], None]

Severity = Literal["info", "warning"]


class Notice(BaseModel):
    """Something the user should know that is no error."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    severity: Severity = "info"
