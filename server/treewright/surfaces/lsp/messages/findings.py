"""Messages about findings: listed, decided, fixed, searched, gone on from."""

from typing import Annotated, Any, Literal

from pydantic import Field

from treewright.surfaces.lsp.messages.message import Limit, Message, Name, NodeId, Offset, RunRef
from treewright.surfaces.lsp.messages.runs import Growth, NoticeRow


class FindingsRequest(Message):
    """`treewright/findings`: what is shown in files now, file by file, the most severe first.

    `uri`: only of this file; empty for all.
    """

    uri: Name = ""
    offset: Offset = 0
    limit: Limit = 200


class Spot(Message):
    """A position in the units agreed on: line and character from 0."""

    line: int
    character: int


class SpotRange(Message):
    """From, and up to but not including."""

    start: Spot
    end: Spot


class FindingRow(Message):
    """A finding where it is now. `severity`: as diagnostics have it, 1 to 4. `stale`: its code was changed since."""

    run: str
    node: str
    uri: str
    path: str
    range: SpotRange
    statement: str
    label: str
    role: str
    severity: int
    score: int
    cwe: str
    stale: bool
    fixable: bool


class FindingsResult(Message):
    """`total`: shown in all. `hidden`: left out, since a file has more than `maxFindingsPerFile`."""

    findings: list[FindingRow]
    total: int
    hidden: int


class FindingRequest(Message):
    """One finding, by its run and node."""

    run: RunRef
    node: NodeId


class DecideRequest(Message):
    """`treewright/decide`: what the user decided about a finding; later runs respect it.

    `accepted`: a risk that is taken. `dismissed`: a false alarm. `reopened`: neither any more. Each but the last needs a
    reason.
    """

    run: RunRef
    node: NodeId
    decision: Literal["accepted", "dismissed", "reopened"]
    reason: Annotated[str, Field(max_length=4000)] = ""


class DecideResult(Message):
    """`note`: something the user should know; mostly empty."""

    note: str


class DecisionsRequest(Message):
    """`treewright/decisions`: what was decided in the client's folders, the latest first."""


class DecisionRow(Message):
    """One decision. `decision`: `accepted`, `dismissed` or `refuted`. `at`: ISO 8601 in UTC."""

    workspace: str
    path: str
    rule: str
    symbol: str
    quote: str
    decision: str
    reason: str
    at: str


class DecisionsResult(Message):
    """All decisions of the client's folders."""

    decisions: list[DecisionRow]


class FixResult(Message):
    """`edit`: an LSP `WorkspaceEdit`, null when the fix cannot be applied any more; `reason` says why."""

    edit: dict[str, Any] | None
    title: str
    reason: str


class DeeperRequest(Growth):
    """`treewright/deeper`: a new run that goes on from one finding or node, with what is known of it as its seed."""

    run: RunRef
    node: NodeId


class SearchFixRequest(Message):
    """`treewright/searchFix`: search code branches for a program that passes the tests that reach a function.

    Either `run` and `node` of a finding, or `uri` and `line` (from 0) of a place in a file; `checks`: files of tests,
    empty for those that are found to reach it. Code is executed, so the workspace must be trusted. How it ended is told
    by `treewright/searchEnded`.
    """

    run: Name = ""
    node: Annotated[str, Field(max_length=2000)] = ""
    uri: Name = ""
    line: Annotated[int, Field(ge=0)] = 0
    checks: list[Name] = Field(default_factory=list, max_length=50)
    model: Name = ""
    time_limit_s: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    spend_cap_usd: Annotated[float, Field(ge=0)] | None = None
    work_done_token: str | int | None = None


class SearchFixResult(Message):
    """A search has begun. `function`: under test. `checks`: paths of the files of tests."""

    run: str
    folder: str
    function: str
    checks: list[str]
    notices: list[NoticeRow]
