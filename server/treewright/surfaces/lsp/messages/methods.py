"""Which method carries what: the table that `tools/generate_protocol.py` writes `extension/src/protocol.ts` from."""

from treewright.surfaces.lsp.messages.catalogue import (
    AboutRequest,
    AboutResult,
    DocumentRequest,
    KeysRequest,
    KeysResult,
    ModelsRequest,
    ModelsResult,
    PresetsRequest,
    PresetsResult,
    PresetTextRequest,
    PresetTextResult,
    ReportRequest,
    ValidateRequest,
    ValidateResult,
)
from treewright.surfaces.lsp.messages.events import (
    FindingsChanged,
    ModelCompleteRequest,
    ModelCompleteResult,
    RunChanged,
    SearchEnded,
)
from treewright.surfaces.lsp.messages.findings import (
    DecideRequest,
    DecideResult,
    DecisionsRequest,
    DecisionsResult,
    DeeperRequest,
    FindingRequest,
    FindingsRequest,
    FindingsResult,
    FixResult,
    SearchFixRequest,
    SearchFixResult,
)
from treewright.surfaces.lsp.messages.message import Message
from treewright.surfaces.lsp.messages.runs import (
    GrowingResult,
    ResumeRequest,
    RunRequest,
    RunResult,
    RunsRequest,
    RunsResult,
    StartRequest,
    StopRequest,
    StopResult,
)
from treewright.surfaces.lsp.messages.trees import (
    ChildrenRequest,
    ChildrenResult,
    CompareRequest,
    MapRequest,
    MapResult,
    NodeRequest,
    NodeResult,
    TextResult,
)

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
