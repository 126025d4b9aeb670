"""Messages about trees: pages of children, nodes, the map."""

from typing import Annotated, Literal

from pydantic import Field

from treewright.surfaces.lsp.messages.message import Limit, Message, NodeId, NodeState, Offset, RunRef


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
