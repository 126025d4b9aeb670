"""Messages about what can be chosen, checked, made and read."""

from typing import Annotated, Literal

from pydantic import Field

from treewright.surfaces.lsp.messages.message import Message, Name, RunRef


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


class ReportRequest(Message):
    """`treewright/report`: a run as a document: its report, outline, a deliverable by its file name, or SARIF."""

    run: RunRef
    name: Annotated[str, Field(max_length=200)] = "report"


class DocumentRequest(Message):
    """`treewright/document`: the text of a `treewright:` address."""

    uri: Name
