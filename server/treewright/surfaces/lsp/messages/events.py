"""What the client is told and asked."""

from typing import Any, Literal

from pydantic import Field

from treewright.surfaces.lsp.messages.message import Message
from treewright.surfaces.lsp.messages.runs import RunRow


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
