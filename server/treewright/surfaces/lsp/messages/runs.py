"""Messages about runs: listed, started, resumed, stopped."""

from typing import Annotated, Any, Literal

from pydantic import Field

from treewright.surfaces.lsp.messages.message import Limit, Message, Name, Offset, RunRef, Text


class RunRow(Message):
    """A run or session as a list shows it.

    `drivenHere`: this server drives it. `drivenBy`: who else does; empty for nobody. `workspace`: a path; may be empty.
    `folder`: its folder, or the session's file.
    """

    id: str
    kind: Literal["exploration", "deliberation", "search", "chain"]
    status: str
    preset: str
    title: str
    created: str
    updated: str
    folder: str
    workspace: str
    driven_here: bool
    driven_by: str


class RunsRequest(Message):
    """`treewright/runs`: known runs and sessions, the latest first.

    `workspace`: only those of this folder, an address or a path; empty for the client's folders; `*` for all.
    """

    workspace: Name = ""
    offset: Offset = 0
    limit: Limit = 200


class RunsResult(Message):
    """`total`: in all, of which this is a page."""

    runs: list[RunRow]
    total: int


class RunRequest(Message):
    """`treewright/run`: all figures of one run: conditions, framings, verdicts, spend."""

    run: RunRef


class Condition(Message):
    """One of the six conditions that end a run together, as they stand now."""

    number: int
    name: str
    met: bool
    figures: dict[str, Any]


class Verdict(Message):
    """How many nodes stand for themselves with this verdict."""

    role: str
    label: str
    count: int


class RunResult(Message):
    """A run's figures. `subject`: what a node is called. `terminal`: nodes that count for the width cap. `frontier`: nodes waiting to be expanded. `framings`: letter to how it fired on the root."""

    row: RunRow
    reason: str
    performer: str
    language: str
    subject: str
    nodes: int
    terminal: int
    frontier: int
    verdicts: list[Verdict]
    merged: int
    superseded: int
    unresolved: int
    rounds: int
    conditions: list[Condition]
    framings: dict[str, str]
    citations_held: int
    citations_all: int
    usd: float
    prompt_tokens: int
    completion_tokens: int
    caps: dict[str, int | float | None]
    damaged_lines: list[int]
    revision: int


class Growth(Message):
    """What starting and resuming have in common; what is null takes the configuration's, or keeps what the run has."""

    width: Annotated[int, Field(ge=1)] | None = None
    depth: Annotated[int, Field(ge=1)] | None = None
    rounds: Annotated[int, Field(ge=1)] | None = None
    max_branches: Annotated[int, Field(ge=12)] | None = None
    spend_cap_usd: Annotated[float, Field(ge=0)] | None = None
    min_novelty_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=64)] | None = None
    lang: Name | None = None
    model: Name = ""
    work_done_token: str | int | None = None


class StartRequest(Growth):
    """`treewright/start`: a new exploration.

    `root`: the topic, design prompt, or what is looked at, as a path or an address. `base`: folder that paths start
    from, as an address or a path; empty for the workspace folder of the root, else the first one.
    """

    preset: Name = "code-audit"
    root: Text = ""
    base: Name = ""
    out: Name = ""
    field: Name = ""
    seed_from: Name = ""
    glossary: Name = ""
    no_grill: bool = True
    online: bool | None = None
    focus: Text = ""
    changed_since: Name = ""
    mode: Name = ""
    python: Name = ""


class ResumeRequest(Growth):
    """`treewright/resume`: go on with exactly the tasks not yet done; caps may be raised."""

    run: RunRef


class NoticeRow(Message):
    """Something the user should know that is no error."""

    code: str
    message: str
    severity: Literal["info", "warning"]


class GrowingResult(Message):
    """A run has begun, or goes on; `treewright/runChanged` tells how."""

    run: str
    folder: str
    kept: int
    redone: int
    to_do: int
    notices: list[NoticeRow]


class StopRequest(Message):
    """`treewright/stop`: stop a run, whoever drives it; nothing is lost."""

    run: RunRef
    reason: Text = ""


class StopResult(Message):
    """Who was asked to stop."""

    holder: str
