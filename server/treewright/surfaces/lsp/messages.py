"""Our own messages: the one schema of both sides. `tools/generate_protocol.py` writes `extension/src/protocol.ts` from it.

Names go out in camelCase and come in either way. Unknown keys are refused, so that a misspelt one is told and not
passed over.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """Anything that crosses the wire in a message of ours."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_enum_values=True
    )


Text = Annotated[str, Field(max_length=100_000)]
Name = Annotated[str, Field(max_length=4096)]
RunRef = Annotated[str, Field(min_length=1, max_length=4096)]
NodeId = Annotated[str, Field(min_length=1, max_length=2000)]
Offset = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=1000)]
NodeState = Literal["advances", "kept", "pruned", "blocked", "waiting", "merged", "superseded", "unresolved"]
Progressed = Annotated[str | int | None, Field(default=None)]


# --- runs ------------------------------------------------------------------------------------------------------------


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


# --- growing ---------------------------------------------------------------------------------------------------------


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


# --- the tree --------------------------------------------------------------------------------------------------------


class FilterSpec(Message):
    """Which nodes are wanted; what is empty does not narrow. `text`: words that must all occur."""

    states: list[NodeState] = Field(default_factory=list)
    framings: list[Annotated[str, Field(pattern=r"^[A-LS]$")]] = Field(default_factory=list)
    text: Annotated[str, Field(max_length=500)] = ""


class ChildrenRequest(Message):
    """`treewright/children`: a page of a node's children.

    `flat`: all nodes that match, wherever they are, instead of the children of `node`.
    """

    run: RunRef
    node: NodeId = "0"
    offset: Offset = 0
    limit: Limit = 200
    sort: Literal["tree", "score", "newest"] = "tree"
    filter: FilterSpec = FilterSpec()
    flat: bool = False


class NodeLine(Message):
    """A node as a line of a list.

    `state`: `root` or a filter's state. `label`: the verdict's label, the tag, or what the node waits for. `total`: sum
    of the scores, -1 before there are any. `children`: how many the same filter shows. `matches`: false for a node that
    is only on the way to one that matches.
    """

    id: str
    parent: str | None
    statement: str
    state: str
    label: str
    role: str
    total: int
    framing: str
    depth: int
    round: int
    position: str
    cwe: str
    children: int
    matches: bool


class ChildrenResult(Message):
    """`revision` grows with the run: a page of another revision may have been paged differently."""

    run: str
    node: str
    rows: list[NodeLine]
    total: int
    offset: int
    revision: int


class NodeRequest(Message):
    """`treewright/node`: one node with everything there is about it."""

    run: RunRef
    node: NodeId


class Located(Message):
    """A place in a file: `uri` as addresses are written, lines from 1, inclusive; 0 when it has no lines."""

    uri: str
    path: str
    start: int
    end: int


class CitationRow(Message):
    """A citation with its state: `verified`, `corrected`, `weak` or `unverified`."""

    kind: Literal["file", "url", "command"]
    label: str
    state: str
    field: str
    quote: str
    reason: str
    location: Located | None


class NodeResult(Message):
    """`uri`: its virtual document. `edits`: how many changes its fix has. `children`: ids."""

    line: NodeLine
    uri: str
    markdown: str
    fields: dict[str, str | list[str]]
    scores: dict[str, int]
    reasons: list[str]
    citations: list[CitationRow]
    children: list[str]
    edits: int


class MapRequest(Message):
    """`treewright/map`: the whole tree for the radial map, as columns of equal length, parents before children."""

    run: RunRef
    limit: Annotated[int, Field(ge=1, le=200_000)] = 20_000


class MapResult(Message):
    """`parent`: index into the columns, -1 for the root. `total`: nodes in all, the ones left out included."""

    run: str
    subject: str
    labels: dict[str, str]
    id: list[str]
    parent: list[int]
    state: list[str]
    score: list[int]
    statement: list[str]
    total: int
    revision: int


class CompareRequest(Message):
    """`treewright/compare`: two nodes of a run, field by field, as Markdown."""

    run: RunRef
    left: NodeId
    right: NodeId


class TextResult(Message):
    """A text to show."""

    text: str
    language: str = "markdown"


# --- findings --------------------------------------------------------------------------------------------------------


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


class SearchEnded(Message):
    """`treewright/searchEnded`: `edit` is an LSP `WorkspaceEdit`, only when a program passed every check and the file is
    as it was when the search began; `headline` says in one line how it ended.
    """

    run: str
    status: str
    verified: bool
    headline: str
    uri: str
    diff: str
    edit: dict[str, Any] | None


# --- catalogues ------------------------------------------------------------------------------------------------------


class PresetsRequest(Message):
    """`treewright/presets`: the shipped presets and the user's."""


class PresetRow(Message):
    """`source`: `shipped` or `user`. `faults`: how many errors keep it from being used."""

    name: str
    description: str
    source: str
    path: str
    faults: int


class PresetsResult(Message):
    """Every preset that can be named."""

    presets: list[PresetRow]


class ModelsRequest(Message):
    """`treewright/models`: which providers answer.

    `discover`: also ask the usual local ports; only on the user's wish.
    """

    discover: bool = False


class ModelRow(Message):
    """A provider; `name` is what `model` of a request takes."""

    name: str
    kind: str
    detail: str
    ready: bool


class ModelsResult(Message):
    """`default`: what is used when nothing is named; may be empty."""

    models: list[ModelRow]
    default: str


class KeysRequest(Message):
    """`treewright/keys`: keys of endpoints by name, from the editor's secret storage; kept in memory, never written."""

    keys: dict[str, Annotated[str, Field(max_length=10_000)]]


class KeysResult(Message):
    """How many keys are known now."""

    known: int


class ValidateRequest(Message):
    """`treewright/validate`: check a preset, profile or lens file, or a folder of them; an address or a path."""

    target: Name


class FaultRow(Message):
    """A broken rule: line and columns from 1, columns in code points, the end exclusive."""

    uri: str
    path: str
    line: int
    column: int
    end_column: int
    rule: str
    message: str
    severity: Literal["error", "warning"]


class ValidateResult(Message):
    """In reading order."""

    faults: list[FaultRow]


class PresetTextRequest(Message):
    """`treewright/presetText`: the text of a new preset, to be saved as `<name>.md`; made from a shipped one."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$", max_length=64)]
    like: Name = "brainstorm"


class PresetTextResult(Message):
    """`folder`: where the user's presets are kept."""

    text: str
    folder: str


class AboutRequest(Message):
    """`treewright/about`: what an issue report needs."""


class AboutResult(Message):
    """`root`: the store's folder."""

    version: str
    python: str
    executable: str
    platform: str
    root: str
    trusted: bool
    diagnostics: Literal["push", "pull"]
    position_encoding: str
    runs_driven: int


# --- documents -------------------------------------------------------------------------------------------------------


class ReportRequest(Message):
    """`treewright/report`: a run as a document: its report, outline, a deliverable by its file name, or SARIF."""

    run: RunRef
    name: Annotated[str, Field(max_length=200)] = "report"


class DocumentRequest(Message):
    """`treewright/document`: the text of a `treewright:` address."""

    uri: Name


# --- notifications ---------------------------------------------------------------------------------------------------


class RunChange(Message):
    """What changed of one run since the last notice.

    `row`: null when the run is gone. `nodes`: whose lines changed, when the run is open in a view and they are few;
    `many`: too many to name. `revision`: as in pages; 0 when the run is not open in a view.
    """

    run: str
    row: RunRow | None
    nodes: list[str]
    many: bool
    revision: int
    in_flight: int


class RunChanged(Message):
    """`treewright/runChanged`: runs have changed, whoever changed them; at most ten notices a second."""

    changes: list[RunChange]


class FindingsChanged(Message):
    """`treewright/findingsChanged`: how many findings are shown in files, and how many more there are."""

    shown: int
    hidden: int


# --- asked of the client ---------------------------------------------------------------------------------------------


class ModelMessage(Message):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


class ModelCompleteRequest(Message):
    """`treewright/model/complete`: one completion by the editor's own model; cancelled by `$/cancelRequest`."""

    messages: list[ModelMessage]
    max_tokens: int
    temperature: float | None = None
    stop: list[str] = Field(default_factory=list)
    model: str = ""


class ModelError(Message):
    """`code` of the editor's error: `NoPermissions`, `Blocked`, `NotFound`, `Cancelled` or another word."""

    code: str
    message: str


class ModelCompleteResult(Message):
    """What the editor's model answered, or its error; `finishReason` as the editor names it."""

    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: ModelError | None = None


# --- which method carries what ---------------------------------------------------------------------------------------

REQUESTS: dict[str, tuple[type[Message], type[Message]]] = {
    "treewright/runs": (RunsRequest, RunsResult),
    "treewright/run": (RunRequest, RunResult),
    "treewright/start": (StartRequest, GrowingResult),
    "treewright/resume": (ResumeRequest, GrowingResult),
    "treewright/deeper": (DeeperRequest, GrowingResult),
    "treewright/stop": (StopRequest, StopResult),
    "treewright/children": (ChildrenRequest, ChildrenResult),
    "treewright/node": (NodeRequest, NodeResult),
    "treewright/map": (MapRequest, MapResult),
    "treewright/compare": (CompareRequest, TextResult),
    "treewright/findings": (FindingsRequest, FindingsResult),
    "treewright/fix": (FindingRequest, FixResult),
    "treewright/searchFix": (SearchFixRequest, SearchFixResult),
    "treewright/issue": (FindingRequest, TextResult),
    "treewright/decide": (DecideRequest, DecideResult),
    "treewright/decisions": (DecisionsRequest, DecisionsResult),
    "treewright/presets": (PresetsRequest, PresetsResult),
    "treewright/presetText": (PresetTextRequest, PresetTextResult),
    "treewright/validate": (ValidateRequest, ValidateResult),
    "treewright/models": (ModelsRequest, ModelsResult),
    "treewright/keys": (KeysRequest, KeysResult),
    "treewright/report": (ReportRequest, TextResult),
    "treewright/document": (DocumentRequest, TextResult),
    "treewright/about": (AboutRequest, AboutResult),
}
"""Asked by the client: parameters and result."""

NOTIFICATIONS: dict[str, type[Message]] = {
    "treewright/runChanged": RunChanged,
    "treewright/findingsChanged": FindingsChanged,
    "treewright/searchEnded": SearchEnded,
}
"""Told to the client."""

CLIENT_REQUESTS: dict[str, tuple[type[Message], type[Message]]] = {
    "treewright/model/complete": (ModelCompleteRequest, ModelCompleteResult),
}
"""Asked of the client: parameters and result."""
